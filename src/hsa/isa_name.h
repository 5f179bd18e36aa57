/* SPDX-License-Identifier: MIT */
/* ISA names such as "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-" and which code objects fit them. */
#ifndef H2DPUB_SRC_HSA_ISA_NAME_H
#define H2DPUB_SRC_HSA_ISA_NAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether code built for one ISA runs on an agent of another: the same target and processor, and
 * every feature that the code insists on ("xnack+", "sramecc-") as the agent has it. A feature that
 * the code does not name may be either way.
 */
bool h2d_isa_name_fits(const char *code_isa, const char *agent_isa);

/*
 * Finds the ISA name that an AMD GPU's code object carries in its metadata and stores it with its
 * terminator. False: there is none, or it does not fit into capacity bytes.
 */
bool h2d_isa_name_of_code_object(const void *bytes, size_t size, char *name, size_t capacity);

#endif
