/* SPDX-License-Identifier: MIT */
/* ISA names such as "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-" and which code objects fit them. */
#include "hsa/isa_name.h"

#include <string.h>

/* The length of the part up to the next ':' or the end. */
static size_t part_length(const char *part)
{
	return strcspn(part, ":");
}

/* Whether the agent's name has this feature with this sign. */
static bool has_feature(const char *agent_isa, const char *feature, size_t length)
{
	for (const char *part = strchr(agent_isa, ':'); part != NULL; part = strchr(part, ':')) {
		part++;
		if (part_length(part) == length && memcmp(part, feature, length) == 0)
			return true;
	}
	return false;
}

bool h2d_isa_name_fits(const char *code_isa, const char *agent_isa)
{
	size_t length = part_length(code_isa);

	if (length != part_length(agent_isa) || memcmp(code_isa, agent_isa, length) != 0)
		return false;
	for (const char *part = strchr(code_isa, ':'); part != NULL; part = strchr(part, ':')) {
		part++;
		if (!has_feature(agent_isa, part, part_length(part)))
			return false;
	}
	return true;
}

bool h2d_isa_name_of_code_object(const void *bytes, size_t size, char *name, size_t capacity)
{
	static const char target[] = "amdgcn-amd-amdhsa--";
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-:+";
	const char *begin = memmem(bytes, size, target, sizeof(target) - 1);

	if (begin == NULL)
		return false;
	size_t left = size - (size_t)(begin - (const char *)bytes);
	size_t length = 0;
	while (length < left && begin[length] != '\0' && strchr(letters, begin[length]) != NULL)
		length++;
	if (length >= capacity)
		return false;
	memcpy(name, begin, length);
	name[length] = '\0';
	return true;
}
