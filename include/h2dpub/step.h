/* SPDX-License-Identifier: MIT */
/*
 * Steps: the serving groups of a decode or prefill step on top of publication.h. A step hands a
 * plain description of the batch (batch.h) to a runner (runner.h) and gets its metadata published
 * and its first GPU consumers fed: one header a serving group.
 */
#ifndef H2DPUB_STEP_H
#define H2DPUB_STEP_H

#include <h2dpub/batch.h>
#include <h2dpub/graph.h>
#include <h2dpub/mha_decode.h>
#include <h2dpub/mla_decode.h>
#include <h2dpub/mla_prefill.h>
#include <h2dpub/mrope.h>
#include <h2dpub/prefill_inputs.h>
#include <h2dpub/producer.h>
#include <h2dpub/ragged.h>
#include <h2dpub/runner.h>
#include <h2dpub/tbo.h>
#include <h2dpub/token_inputs.h>

#endif
