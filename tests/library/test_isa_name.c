/* SPDX-License-Identifier: MIT */
/* Which code objects fit an agent's ISA, by name. */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "hsa/embedded.h"
#include "hsa/isa_name.h"

#define TARGET "amdgcn-amd-amdhsa--"

static const struct {
	const char *code;
	const char *agent;
	bool fits;
} pairs[] = {
    {TARGET "gfx90a", TARGET "gfx90a", true},
    {TARGET "gfx90a", TARGET "gfx90a:sramecc+:xnack-", true},
    {TARGET "gfx90a:xnack-", TARGET "gfx90a:sramecc+:xnack-", true},
    {TARGET "gfx90a:sramecc+", TARGET "gfx90a:sramecc+:xnack-", true},
    {TARGET "gfx90a:sramecc+:xnack-", TARGET "gfx90a:sramecc+:xnack-", true},
    {TARGET "gfx90a:xnack-:sramecc+", TARGET "gfx90a:sramecc+:xnack-", true},
    {TARGET "gfx90a:xnack+", TARGET "gfx90a:sramecc+:xnack-", false},
    {TARGET "gfx90a:sramecc-", TARGET "gfx90a:sramecc+:xnack-", false},
    {TARGET "gfx90a:sramecc+:xnack+", TARGET "gfx90a:sramecc+:xnack-", false},
    {TARGET "gfx90a:xnack-", TARGET "gfx90a", false},
    {TARGET "gfx90a:xnack", TARGET "gfx90a:sramecc+:xnack-", false},
    {TARGET "gfx90", TARGET "gfx90a", false},
    {TARGET "gfx90a", TARGET "gfx90", false},
    {TARGET "gfx90c", TARGET "gfx90a", false},
    {TARGET "gfx942", TARGET "gfx90a:sramecc+:xnack-", false},
    {TARGET "gfx1100", TARGET "gfx110", false},
    {"amdgcn-amd-amdpal--gfx90a", TARGET "gfx90a", false},
    {"gfx90a", TARGET "gfx90a", false},
    {"", TARGET "gfx90a", false},
};

START_TEST(code_fits_processor_and_features)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		ck_assert_msg(h2d_isa_name_fits(pairs[i].code, pairs[i].agent) == pairs[i].fits,
			      "\"%s\" on \"%s\"", pairs[i].code, pairs[i].agent);
}
END_TEST

START_TEST(embedded_code_objects_carry_the_name_that_the_table_says)
{
	char name[64];
	size_t count = 0;

	for (const struct h2d_embedded_code_object *e = h2d_embedded_code_objects; e->isa != NULL;
	     e++, count++) {
		ck_assert(h2d_isa_name_of_code_object(e->begin, (size_t)(e->end - e->begin), name,
						      sizeof(name)));
		ck_assert_str_eq(name, e->isa);
		ck_assert_mem_eq(e->begin,
				 "\x7f"
				 "ELF",
				 4);
	}
	ck_assert_uint_ge(count, 1);
}
END_TEST

START_TEST(name_is_found_within_the_bytes_only)
{
	const char bytes[] = "metadata \xd9\x1f" TARGET "gfx90a:xnack-\xae"
			     "amdhsa.version";
	size_t end = strlen("metadata \xd9\x1f" TARGET "gfx90a:xnack-");
	char name[64];

	ck_assert(h2d_isa_name_of_code_object(bytes, sizeof(bytes), name, sizeof(name)));
	ck_assert_str_eq(name, TARGET "gfx90a:xnack-");
	ck_assert(h2d_isa_name_of_code_object(bytes, end - 7, name, sizeof(name)));
	ck_assert_str_eq(name, TARGET "gfx90a");
	ck_assert(!h2d_isa_name_of_code_object(bytes, 20, name, sizeof(name)));
	ck_assert(!h2d_isa_name_of_code_object(bytes, sizeof(bytes), name, 32));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_name");
	TCase *cases = tcase_create("isa_name");

	tcase_add_test(cases, code_fits_processor_and_features);
	tcase_add_test(cases, embedded_code_objects_carry_the_name_that_the_table_says);
	tcase_add_test(cases, name_is_found_within_the_bytes_only);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
