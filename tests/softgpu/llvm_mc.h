/* SPDX-License-Identifier: MIT */
/* llvm-mc as the oracle of the decoder tests. */
#ifndef LLVM_MC_H
#define LLVM_MC_H

#include <stdbool.h>
#include <stdint.h>

struct llvm_answer {
	char text[160]; /* with single spaces; empty: not an instruction */
	unsigned int dwords;
};

/* The program to run: $LLVM_MC or one on the path; NULL if there is none. */
const char *llvm_mc_path(void);
/* Its major version. */
int llvm_mc_version(void);
/* Disassembles `count` encodings of two dwords each. */
void llvm_mc_disassemble(const uint32_t (*encodings)[2], unsigned int count,
			 struct llvm_answer *answers);
/* Assembles lines; accepted[i] says whether line i is an instruction. */
void llvm_mc_assemble(const char *const *lines, unsigned int count, bool *accepted);

#endif
