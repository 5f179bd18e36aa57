/* SPDX-License-Identifier: MIT */
/* The interpreter's loop: fetch, decode, execute. */
#include "memory_access.h"
#include "wave.h"
#include "workgroup.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define CACHE_ENTRIES 4096

struct cache_entry {
	uint64_t pc;
	uint64_t epoch; /* memory was last compared in this epoch; 0: empty */
	softgpu_execute *execute;
	struct softgpu_instruction instruction;
};

struct softgpu_instruction_cache {
	struct cache_entry entry[CACHE_ENTRIES];
};

struct softgpu_instruction_cache *softgpu_instruction_cache_create(void)
{
	return calloc(1, sizeof(struct softgpu_instruction_cache));
}

void softgpu_instruction_cache_destroy(struct softgpu_instruction_cache *cache)
{
	free(cache);
}

static void record_fault(struct softgpu_wave *wave, uint64_t pc, const uint32_t *encoding,
			 unsigned int dwords, enum softgpu_fault_kind kind, const char *text)
{
	struct softgpu_fault *fault = &wave->workgroup->fault;
	char code[24] = "";

	if (dwords > 0)
		snprintf(code, sizeof(code), " [%08x%s", encoding[0], dwords > 1 ? "" : "]");
	if (dwords > 1)
		snprintf(code + strlen(code), sizeof(code) - strlen(code), " %08x]", encoding[1]);
	softgpu_fault_set(fault, kind, "kernel 0x%" PRIx64 ": pc 0x%" PRIx64 "%s: %s",
			  wave->workgroup->kernel->dispatch.kernel_object, pc, code, text);
	fault->pc = pc;
	wave->state = SOFTGPU_WAVE_FAULTED;
}

void softgpu_wave_fault(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			enum softgpu_fault_kind kind, const char *format, ...)
{
	char text[192];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	record_fault(wave, wave->pc - 4 * instruction->size, instruction->encoding,
		     instruction->size, kind, text);
}

/* Makes the entry hold the instruction at the wave's pc; false after a fault. */
static bool fill(struct softgpu_wave *wave, struct cache_entry *entry)
{
	uint64_t pc = wave->pc;
	uint32_t dwords[2] = {0, 0};
	const char *what = NULL;
	unsigned int fetched = 0;

	if (pc % 4 == 0 && softgpu_fetch_dword(wave, pc, &dwords[0]))
		fetched = 1;
	if (fetched && softgpu_fetch_dword(wave, pc + 4, &dwords[1]))
		fetched = 2;
	if (fetched == 0) {
		record_fault(wave, pc, dwords, 0, SOFTGPU_FAULT_MEMORY,
			     "instruction fetch from memory that is not executable");
		wave->workgroup->fault.address = pc;
		return false;
	}
	if (entry->epoch != 0 && entry->pc == pc && entry->instruction.encoding[0] == dwords[0] &&
	    (entry->instruction.size == 1 ||
	     (fetched == 2 && entry->instruction.encoding[1] == dwords[1]))) {
		entry->epoch = wave->workgroup->code_epoch;
		return true;
	}
	entry->epoch = 0;
	switch (softgpu_decode(dwords, &entry->instruction, &what)) {
	case SOFTGPU_DECODED:
		break;
	case SOFTGPU_DECODE_UNKNOWN:
		record_fault(wave, pc, dwords, fetched, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION,
			     "unknown instruction");
		return false;
	case SOFTGPU_DECODE_NOT_EMULATED: {
		char text[96];

		snprintf(text, sizeof(text), "%s is not emulated", what);
		record_fault(wave, pc, dwords, fetched, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, text);
		return false;
	}
	}
	if (entry->instruction.size > fetched) {
		record_fault(wave, pc, dwords, fetched, SOFTGPU_FAULT_MEMORY,
			     "instruction runs into memory that is not executable");
		wave->workgroup->fault.address = pc + 4;
		return false;
	}
	entry->pc = pc;
	entry->execute = entry->instruction.operation->execute;
	entry->epoch = wave->workgroup->code_epoch;
	return true;
}

/* Bits of M0[15:12] in indexed mode: the operands whose VGPR numbers M0[7:0] displaces. */
enum {
	INDEX_SOURCE_0 = 1 << 0,
	INDEX_DESTINATION = 1 << 3,
};

/*
 * Executes one instruction in GPR indexing mode (s_set_gpr_idx_on): the vector ALU's register
 * numbers are relative to M0.
 */
static void execute_indexed(struct softgpu_wave *wave,
			    const struct softgpu_instruction *instruction)
{
	struct softgpu_instruction indexed = *instruction;
	uint32_t index = wave->m0 & 0xff;
	uint32_t operands = wave->m0 >> 12 & 0xf;
	bool is_vector = instruction->family >= SOFTGPU_VOP1 && instruction->family <= SOFTGPU_VOPC;

	for (int i = 0; is_vector && i < 3; i++)
		if (operands & (uint32_t)INDEX_SOURCE_0 << i &&
		    indexed.operation->source[i] != SOFTGPU_NONE &&
		    indexed.source[i] >= SOFTGPU_CODE_VGPR0)
			indexed.source[i] = (uint16_t)(indexed.source[i] + index);
	if (is_vector && operands & INDEX_DESTINATION)
		indexed.destination = (uint16_t)(indexed.destination + index);
	for (int i = 0; i < 3; i++)
		if (indexed.source[i] >= 2 * SOFTGPU_CODE_VGPR0 ||
		    indexed.destination >= SOFTGPU_VGPRS) {
			softgpu_wave_fault(wave, instruction, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION,
					   "%s: indexed VGPR number is out of range",
					   instruction->operation->name);
			return;
		}
	indexed.operation->execute(wave, &indexed);
}

uint64_t softgpu_wave_run(struct softgpu_wave *wave, struct softgpu_instruction_cache *cache,
			  uint64_t budget)
{
	struct softgpu_workgroup *workgroup = wave->workgroup;
	uint64_t executed = 0;

	while (executed < budget && wave->state == SOFTGPU_WAVE_RUNNING) {
		struct cache_entry *entry = &cache->entry[wave->pc / 4 % CACHE_ENTRIES];

		if (entry->pc != wave->pc || entry->epoch < workgroup->code_epoch)
			if (!fill(wave, entry))
				break;
		wave->pc += 4 * entry->instruction.size;
		if (__builtin_expect(wave->mode >> SOFTGPU_MODE_GPR_INDEX_EN & 1, 0))
			execute_indexed(wave, &entry->instruction);
		else
			entry->execute(wave, &entry->instruction);
		executed++;
	}
	return executed;
}
