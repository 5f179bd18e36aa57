/* SPDX-License-Identifier: MIT */
/* The code objects in the library: one for each GPU that the kernels were compiled for. */
#ifndef H2DPUB_SRC_HSA_EMBEDDED_H
#define H2DPUB_SRC_HSA_EMBEDDED_H

/* One entry of the table that kernels/build.sh generates; the last has a null isa. */
struct h2d_embedded_code_object {
	const char *isa;
	const unsigned char *begin;
	const unsigned char *end;
};

extern const struct h2d_embedded_code_object h2d_embedded_code_objects[];

#endif
