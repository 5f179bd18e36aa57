/* SPDX-License-Identifier: MIT */
/* The registry: overlaps of memory ranges, found among many. Needs no GPU. */
#include <pthread.h>
#include <stdio.h>

#include "publication_case.h"
#include "publish/registry.h"

static h2d_interval_t interval(uintptr_t begin, uintptr_t end, const char *name)
{
	return (h2d_interval_t){
		.begin = begin, .end = end, .owner_name = "slot", .buffer_name = name};
}

static h2d_registry_t *new_registry(void)
{
	h2d_registry_t *registry = NULL;

	check_success(h2d_registry_create(&registry));
	return registry;
}

START_TEST(P06_destination_overlap_names_both_buffers)
{
	h2d_registry_t *registry = new_registry();
	h2d_interval_t first = interval(0x1000, 0x2000, "first");
	h2d_interval_t first_source = interval(0x10, 0x20, "first");
	h2d_interval_t inside = interval(0x1400, 0x1500, "inside");
	h2d_interval_t inside_source = interval(0x30, 0x40, "inside");

	check_success(h2d_registry_insert(registry, &first, &first_source));
	check_fails(h2d_registry_insert(registry, &inside, &inside_source), H2D_STATUS_OVERLAP,
		    "destination overlaps");
	ck_assert_ptr_nonnull(strstr(h2d_error_message(), "'inside' of owner 'slot'"));
	ck_assert_ptr_nonnull(strstr(h2d_error_message(), "'first' of owner 'slot'"));
	ck_assert_ptr_nonnull(strstr(h2d_error_message(), "[0x1400, 0x1500) and [0x1000, 0x2000)"));
	h2d_registry_remove(registry, &first, &first_source);
	check_success(h2d_registry_destroy(registry));
}
END_TEST

START_TEST(P07_source_overlap_registers_neither_side)
{
	h2d_registry_t *registry = new_registry();
	h2d_interval_t first = interval(0x1000, 0x2000, "first");
	h2d_interval_t first_source = interval(0x10, 0x20, "first");
	h2d_interval_t second = interval(0x3000, 0x4000, "second");
	h2d_interval_t second_source = interval(0x1f, 0x21, "second");
	h2d_interval_t third = interval(0x3000, 0x4000, "third");
	h2d_interval_t third_source = interval(0x20, 0x30, "third");

	check_success(h2d_registry_insert(registry, &first, &first_source));
	check_fails(h2d_registry_insert(registry, &second, &second_source), H2D_STATUS_OVERLAP,
		    "source overlaps");
	/* The rejected buffer's destination is free again; touching ranges do not overlap. */
	check_success(h2d_registry_insert(registry, &third, &third_source));
	h2d_registry_remove(registry, &third, &third_source);
	h2d_registry_remove(registry, &first, &first_source);
	check_success(h2d_registry_destroy(registry));
}
END_TEST

START_TEST(empty_ranges_overlap_nothing)
{
	h2d_registry_t *registry = new_registry();
	h2d_interval_t full = interval(0x1000, 0x2000, "full");
	h2d_interval_t full_source = interval(0x10, 0x20, "full");
	h2d_interval_t empty = interval(0x1800, 0x1800, "empty");
	h2d_interval_t empty_source = interval(0x18, 0x18, "empty");

	check_success(h2d_registry_insert(registry, &full, &full_source));
	check_success(h2d_registry_insert(registry, &empty, &empty_source));
	h2d_registry_remove(registry, &empty, &empty_source);
	check_fails(h2d_registry_destroy(registry), H2D_STATUS_INVALID_STATE, "'full'");
	h2d_registry_remove(registry, &full, &full_source);
	check_success(h2d_registry_destroy(registry));
}
END_TEST

#define RANGES 2000
#define SPAN   20000

/* Random ranges against a byte map: insertion succeeds exactly where the map is free. */
START_TEST(random_ranges_agree_with_a_map)
{
	static h2d_interval_t kept[RANGES], kept_source[RANGES];
	static const char *const names[] = {"even", "odd"};
	static bool destination_map[SPAN], source_map[SPAN];
	unsigned int seed = 20261130;
	h2d_registry_t *registry = new_registry();
	unsigned int count = 0, rejected = 0, i;

	printf("# seed %u\n", seed);
	for (i = 0; i < 4 * RANGES && count < RANGES; i++) {
		uintptr_t begin = (uintptr_t)rand_r(&seed) % (SPAN - 20);
		uintptr_t source_begin = (uintptr_t)rand_r(&seed) % (SPAN - 20);
		uintptr_t length = (uintptr_t)rand_r(&seed) % 12;
		bool destination_free = true, source_free = true;
		h2d_status_t expected = H2D_STATUS_SUCCESS, actual;
		uintptr_t k;

		if (count > 0 && i % 5 == 4) { /* take one out again */
			unsigned int victim = (unsigned int)rand_r(&seed) % count;

			h2d_registry_remove(registry, &kept[victim], &kept_source[victim]);
			for (k = kept[victim].begin; k < kept[victim].end; k++)
				destination_map[k] = false;
			for (k = kept_source[victim].begin; k < kept_source[victim].end; k++)
				source_map[k] = false;
			/* The registry keeps addresses of intervals, so the last one moves by
			 * being registered anew. */
			count--;
			if (victim != count) {
				h2d_registry_remove(registry, &kept[count], &kept_source[count]);
				kept[victim] = kept[count];
				kept_source[victim] = kept_source[count];
				check_success(h2d_registry_insert(registry, &kept[victim],
								  &kept_source[victim]));
			}
		}
		for (k = 0; k < length; k++) {
			destination_free = destination_free && !destination_map[begin + k];
			source_free = source_free && !source_map[source_begin + k];
		}
		if (!destination_free || !source_free)
			expected = H2D_STATUS_OVERLAP;
		kept[count] = interval(begin, begin + length, names[i % 2]);
		kept_source[count] = interval(source_begin, source_begin + length, names[i % 2]);
		actual = h2d_registry_insert(registry, &kept[count], &kept_source[count]);
		ck_assert_msg(actual == expected, "step %u: %s instead of %s", i,
			      h2d_status_string(actual), h2d_status_string(expected));
		if (actual != H2D_STATUS_SUCCESS) {
			ck_assert_ptr_nonnull(strstr(h2d_error_message(),
						     destination_free ? "source overlaps"
								      : "destination overlaps"));
			rejected++;
			continue;
		}
		for (k = 0; k < length; k++) {
			destination_map[begin + k] = true;
			source_map[source_begin + k] = true;
		}
		count++;
	}
	ck_assert_uint_gt(rejected, RANGES / 4);
	ck_assert_uint_gt(count, RANGES / 4);
	for (i = 0; i < count; i++)
		h2d_registry_remove(registry, &kept[i], &kept_source[i]);
	check_success(h2d_registry_destroy(registry));
}
END_TEST

/* Owners of different threads share a registry. */
struct registering {
	pthread_t thread;
	h2d_registry_t *registry;
	uintptr_t first; /* its ranges lie between those of the others */
	uint32_t failed;
};

#define REGISTERING	 3
#define RANGES_AT_A_TIME 200

static void *register_and_remove(void *argument)
{
	struct registering *work = argument;
	h2d_interval_t ranges[RANGES_AT_A_TIME];

	for (uintptr_t i = 0; i < RANGES_AT_A_TIME; i++) {
		const uintptr_t begin = (i * REGISTERING + work->first + 1) * 0x1000;

		ranges[i] = interval(begin, begin + 0x1000, "range");
	}
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < RANGES_AT_A_TIME; i++)
			work->failed += h2d_registry_insert(work->registry, &ranges[i],
							    &ranges[i]) != H2D_STATUS_SUCCESS;
		for (int i = 0; i < RANGES_AT_A_TIME; i++)
			h2d_registry_remove(work->registry, &ranges[i], &ranges[i]);
	}
	return NULL;
}

START_TEST(threads_may_share_a_registry)
{
	h2d_registry_t *registry = new_registry();
	struct registering work[REGISTERING];

	for (uintptr_t i = 0; i < REGISTERING; i++) {
		work[i] = (struct registering){.registry = registry, .first = i};
		ck_assert_int_eq(
			pthread_create(&work[i].thread, NULL, register_and_remove, &work[i]), 0);
	}
	for (int i = 0; i < REGISTERING; i++) {
		ck_assert_int_eq(pthread_join(work[i].thread, NULL), 0);
		ck_assert_uint_eq(work[i].failed, 0);
	}
	check_success(h2d_registry_destroy(registry));
}
END_TEST

START_TEST(backends_have_names)
{
	h2d_backend_t backend;
	int i;

	for (i = 0; i < BACKENDS; i++) {
		check_success(h2d_backend_from_name(h2d_backend_name((h2d_backend_t)i), &backend));
		ck_assert_int_eq(backend, i);
	}
	ck_assert_ptr_null(h2d_backend_name((h2d_backend_t)BACKENDS));
	check_fails(h2d_backend_from_name("", &backend), H2D_STATUS_INVALID_ARGUMENT,
		    "H2D transport must be packed, direct or pull");
	check_fails(h2d_backend_from_name("Packed", &backend), H2D_STATUS_INVALID_ARGUMENT,
		    "'Packed'");

	ck_assert_int_eq(unsetenv("ATOM_H2D_BACKEND"), 0);
	backend = H2D_BACKEND_PULL;
	check_success(h2d_backend_from_name(NULL, &backend));
	ck_assert_int_eq(backend, H2D_BACKEND_PACKED);
	ck_assert_int_eq(setenv("ATOM_H2D_BACKEND", "direct", 1), 0);
	check_success(h2d_backend_from_name(NULL, &backend));
	ck_assert_int_eq(backend, H2D_BACKEND_DIRECT);
	ck_assert_int_eq(setenv("ATOM_H2D_BACKEND", "dma", 1), 0);
	check_fails(h2d_backend_from_name(NULL, &backend), H2D_STATUS_INVALID_ARGUMENT,
		    "ATOM_H2D_BACKEND is 'dma'");
	ck_assert_int_eq(backend, H2D_BACKEND_DIRECT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("registry");
	TCase *tcase = tcase_create("ranges");

	tcase_add_test(tcase, P06_destination_overlap_names_both_buffers);
	tcase_add_test(tcase, P07_source_overlap_registers_neither_side);
	tcase_add_test(tcase, empty_ranges_overlap_nothing);
	tcase_add_test(tcase, random_ranges_agree_with_a_map);
	tcase_add_test(tcase, threads_may_share_a_registry);
	tcase_add_test(tcase, backends_have_names);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
