/* SPDX-License-Identifier: MIT */
/* h2dpub: everything that a user includes. */
#ifndef H2DPUB_H2DPUB_H
#define H2DPUB_H2DPUB_H

#include <h2dpub/version.h>
#include <h2dpub/status.h>
#include <h2dpub/device.h>
#include <h2dpub/stream.h>
#include <h2dpub/graph.h>
#include <h2dpub/publication.h>
#include <h2dpub/block_table.h>
#include <h2dpub/table_publication.h>
#include <h2dpub/delta_codec.h>
#include <h2dpub/step.h>

#endif
