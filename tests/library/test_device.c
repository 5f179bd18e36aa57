/* SPDX-License-Identifier: MIT */
/* Devices: opening, memory, transfers, checks of pointers, code objects. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hsa/hsa_ext_amd.h>

#include "fixture.h"
#include "hsa/device.h"
#include "hsa/embedded.h"
#include "hsa/isa_name.h"

/* ---- opening --------------------------------------------------------------------------------- */

START_TEST(gpus_are_counted_and_an_index_behind_them_is_refused)
{
	uint32_t count = 99;
	h2d_device_t *device = NULL;

	check_success(h2d_device_count(&count));
	ck_assert_uint_ge(count, 1);
	ck_assert_uint_lt(count, 99);
	check_status(h2d_device_open(count, &device), H2D_STATUS_NO_DEVICE);
	ck_assert_ptr_null(device);
	check_status(h2d_device_count(NULL), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_open(0, NULL), H2D_STATUS_INVALID_ARGUMENT);
	check_success(h2d_device_close(NULL));
}
END_TEST

START_TEST(device_is_described)
{
	h2d_device_info_t info;
	h2d_device_info_t zero = {.name = ""};

	info = zero;
	check_success(h2d_device_get_info(fixture_device, &info));
	ck_assert_uint_eq(info.index, 0);
	ck_assert_int_eq(strncmp(info.name, "gfx", 3), 0);
	ck_assert_ptr_nonnull(strstr(info.isa, info.name));
	ck_assert(info.wavefront_size == 32 || info.wavefront_size == 64);
	ck_assert_uint_ge(info.compute_units, 1);
	ck_assert_uint_ge(info.memory_bytes, 1 << 20);
	ck_assert_uint_ne(info.agent.handle, 0);
	check_status(h2d_device_get_info(NULL, &info), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_get_info(fixture_device, NULL), H2D_STATUS_INVALID_ARGUMENT);
}
END_TEST

START_TEST(device_can_be_opened_again_and_twice)
{
	h2d_device_t *second = NULL;
	void *memory;

	check_success(h2d_device_open(0, &second));
	check_success(h2d_device_allocate(second, 1, &memory));
	check_status(h2d_device_free(fixture_device, memory), H2D_STATUS_INVALID_ARGUMENT);
	check_success(h2d_device_free(second, memory));
	check_success(h2d_device_close(second));
	for (int i = 0; i < 3; i++) {
		check_success(h2d_device_open(0, &second));
		check_success(h2d_device_close(second));
	}
}
END_TEST

START_TEST(device_with_something_left_is_not_closed)
{
	h2d_device_t *device;
	h2d_stream_t *stream;
	void *memory;

	check_success(h2d_device_open(0, &device));
	check_success(h2d_stream_create(device, NULL, &stream));
	check_status(h2d_device_close(device), H2D_STATUS_INVALID_STATE);
	check_message("1 streams, owners, graphs or code objects");
	check_success(h2d_stream_destroy(stream));
	check_success(h2d_device_allocate_host(device, 100, &memory));
	check_status(h2d_device_close(device), H2D_STATUS_INVALID_STATE);
	check_message("1 memory allocations");
	check_success(h2d_device_free(device, memory));
	check_success(h2d_device_close(device));
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

static bool all_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

static const size_t sizes[] = {1, 4095, 4096, 70001, (1 << 20) - 1, 1 << 20, (3 << 20) + 5};

/* Twice, because freed memory comes back with what was in it. */
START_TEST(memory_is_zeroed_aligned_and_keeps_what_is_written)
{
	uint64_t random = fixture_seed();
	size_t size = sizes[_i];
	uint8_t *written = malloc(size);
	uint8_t *read = malloc(size);
	void *host;
	void *device;

	ck_assert(written != NULL && read != NULL);
	for (int round = 0; round < 2; round++) {
		check_success(h2d_device_allocate_host(fixture_device, size, &host));
		ck_assert_uint_eq((uintptr_t)host % 4096, 0);
		ck_assert(all_zero(host, size));
		memset(host, 0xa5, size);
		check_success(h2d_device_free(fixture_device, host));

		check_success(h2d_device_allocate_kernel_arguments(fixture_device, size, &host));
		ck_assert_uint_eq((uintptr_t)host % 64, 0);
		ck_assert(all_zero(host, size));
		memset(host, 0xa5, size);
		check_success(h2d_device_free(fixture_device, host));

		check_success(h2d_device_allocate(fixture_device, size, &device));
		ck_assert_uint_eq((uintptr_t)device % 4096, 0);
		memset(read, 0xff, size);
		check_success(h2d_device_read(fixture_device, read, device, size,
					      H2D_DEFAULT_TIMEOUT_NS));
		ck_assert(all_zero(read, size));
		fixture_random_bytes(&random, written, size);
		check_success(h2d_device_write(fixture_device, device, written, size,
					       H2D_DEFAULT_TIMEOUT_NS));
		check_success(h2d_device_read(fixture_device, read, device, size,
					      H2D_DEFAULT_TIMEOUT_NS));
		fixture_check_bytes("read back", read, written, size);
		check_success(h2d_device_free(fixture_device, device));
	}
	free(written);
	free(read);
}
END_TEST

START_TEST(transfers_touch_only_their_bytes)
{
	uint64_t random = fixture_seed();
	static uint8_t expected[10000];
	static uint8_t actual[10000];
	uint8_t *device;

	check_success(h2d_device_allocate(fixture_device, sizeof(expected), (void **)&device));
	for (int i = 0; i < 50; i++) {
		size_t begin = fixture_random_between(&random, 0, sizeof(expected) - 1);
		size_t size = fixture_random_between(&random, 0, sizeof(expected) - begin);
		fixture_random_bytes(&random, expected + begin, size);
		check_success(h2d_device_write(fixture_device, device + begin, expected + begin,
					       size, H2D_DEFAULT_TIMEOUT_NS));
		check_success(h2d_device_read(fixture_device, actual + begin, device + begin, size,
					      H2D_DEFAULT_TIMEOUT_NS));
		fixture_check_bytes("the mirror", actual, expected, sizeof(expected));
	}
	check_success(h2d_device_read(fixture_device, actual, device, sizeof(actual),
				      H2D_DEFAULT_TIMEOUT_NS));
	fixture_check_bytes("the whole", actual, expected, sizeof(expected));
	check_success(h2d_device_free(fixture_device, device));
}
END_TEST

struct transfer {
	uint8_t *device;
	uint64_t random;
	h2d_status_t status;
	bool equal;
};

static void *transfer(void *data)
{
	enum { SIZE = 200001 };
	struct transfer *transfer = data;
	uint8_t *written = malloc(SIZE);
	uint8_t *read = malloc(SIZE);

	transfer->equal = true;
	for (int i = 0; i < 20 && transfer->status == H2D_STATUS_SUCCESS; i++) {
		fixture_random_bytes(&transfer->random, written, SIZE);
		transfer->status = h2d_device_write(fixture_device, transfer->device, written, SIZE,
						    H2D_DEFAULT_TIMEOUT_NS);
		if (transfer->status == H2D_STATUS_SUCCESS)
			transfer->status = h2d_device_read(fixture_device, read, transfer->device,
							   SIZE, H2D_DEFAULT_TIMEOUT_NS);
		transfer->equal &= memcmp(read, written, SIZE) == 0;
	}
	free(written);
	free(read);
	return NULL;
}

START_TEST(any_thread_may_transfer)
{
	struct transfer transfers[3] = {{.random = fixture_seed()}, {.random = 1}, {.random = 2}};
	pthread_t threads[3];

	for (int i = 0; i < 3; i++) {
		check_success(
			h2d_device_allocate(fixture_device, 200001, (void **)&transfers[i].device));
		ck_assert_int_eq(pthread_create(&threads[i], NULL, transfer, &transfers[i]), 0);
	}
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		ck_assert_int_eq(transfers[i].status, H2D_STATUS_SUCCESS);
		ck_assert(transfers[i].equal);
		check_success(h2d_device_free(fixture_device, transfers[i].device));
	}
}
END_TEST

START_TEST(bad_memory_requests_are_refused)
{
	h2d_device_info_t info;
	void *memory = NULL;
	uint8_t byte = 0;

	check_success(h2d_device_get_info(fixture_device, &info));
	check_status(h2d_device_allocate(fixture_device, 0, &memory), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_allocate_host(fixture_device, 0, &memory),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_allocate(NULL, 1, &memory), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_allocate(fixture_device, 1, NULL), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_allocate(fixture_device, info.memory_bytes + 1, &memory),
		     H2D_STATUS_OUT_OF_MEMORY);
	check_status(h2d_device_allocate(fixture_device, SIZE_MAX, &memory),
		     H2D_STATUS_OUT_OF_MEMORY);
	check_status(h2d_device_allocate_host(fixture_device, SIZE_MAX, &memory),
		     H2D_STATUS_OUT_OF_MEMORY);
	ck_assert_ptr_null(memory);
	check_status(h2d_device_free(fixture_device, &byte), H2D_STATUS_INVALID_ARGUMENT);
	check_success(h2d_device_free(fixture_device, NULL));

	check_success(h2d_device_allocate(fixture_device, 4096, &memory));
	check_status(h2d_device_free(fixture_device, (uint8_t *)memory + 64),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_read(fixture_device, &byte, NULL, 1, 1),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_write(fixture_device, memory, NULL, 1, 1),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_read(NULL, &byte, memory, 1, 1), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_read(fixture_device, &byte, &byte, 1, 1),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_success(h2d_device_free(fixture_device, memory));
	check_status(h2d_device_free(fixture_device, memory), H2D_STATUS_INVALID_ARGUMENT);
}
END_TEST

static void setup_small_gpu(void)
{
	setenv("SOFTGPU_VRAM", "64M", 1);
	fixture_setup();
}

START_TEST(device_memory_runs_out_and_comes_back)
{
	h2d_device_info_t info;
	void *blocks[5] = {NULL};
	void *none = NULL;
	int got = 0;

	check_success(h2d_device_get_info(fixture_device, &info));
	/* Only where the memory is zeroed quickly: on the software GPU. */
	if (info.memory_bytes > UINT64_C(1) << 28)
		return;
	while (got < 5 && h2d_device_allocate(fixture_device, info.memory_bytes / 4,
					      &blocks[got]) == H2D_STATUS_SUCCESS)
		got++;
	ck_assert_int_lt(got, 5);
	check_status(h2d_device_allocate(fixture_device, info.memory_bytes / 4, &none),
		     H2D_STATUS_OUT_OF_MEMORY);
	ck_assert_ptr_null(none);
	for (int i = 0; i < got; i++)
		check_success(h2d_device_free(fixture_device, blocks[i]));
	check_success(h2d_device_allocate(fixture_device, info.memory_bytes / 4, &blocks[0]));
	check_success(h2d_device_free(fixture_device, blocks[0]));
}
END_TEST

/* ---- checks of pointers ---------------------------------------------------------------------- */

START_TEST(caller_s_pointers_are_told_apart)
{
	uint8_t *host;
	uint8_t *device;
	uint8_t pageable[16];

	check_success(h2d_device_allocate_host(fixture_device, 8192, (void **)&host));
	check_success(h2d_device_allocate(fixture_device, 8192, (void **)&device));

	check_success(h2d_device_check_host_memory(fixture_device, "b", host, 8192));
	check_success(h2d_device_check_host_memory(fixture_device, "b", host + 4097, 4095));
	check_success(h2d_device_check_device_memory(fixture_device, "b", device, 8192));
	check_success(h2d_device_check_device_memory(fixture_device, "b", device + 1, 8191));

	check_status(h2d_device_check_host_memory(fixture_device, "positions", device, 1),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_message("positions");
	check_message("is device memory");
	check_status(h2d_device_check_device_memory(fixture_device, "positions", host, 1),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_message("is system memory");
	check_status(h2d_device_check_host_memory(fixture_device, "positions", pageable, 1),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_message("pageable");
	check_status(h2d_device_check_device_memory(fixture_device, "positions", pageable, 1),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_check_host_memory(fixture_device, "positions", NULL, 1),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_check_host_memory(fixture_device, "positions", host, 1 << 22),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_message("4194304 bytes");
	check_status(h2d_device_check_device_memory(fixture_device, "b", device + 1, SIZE_MAX),
		     H2D_STATUS_INVALID_ARGUMENT);

	check_success(h2d_device_free(fixture_device, device));
	check_success(h2d_device_free(fixture_device, host));
}
END_TEST

/* Pages that the application pinned itself count if the GPU sees them at the same address. */
START_TEST(memory_that_the_caller_locked_is_checked)
{
	h2d_device_info_t info;
	void *seen = NULL;
	uint8_t *pages = aligned_alloc(4096, 8192);

	check_success(h2d_device_get_info(fixture_device, &info));
	ck_assert_ptr_nonnull(pages);
	check_status(h2d_device_check_host_memory(fixture_device, "b", pages, 8192),
		     H2D_STATUS_INVALID_ARGUMENT);
	ck_assert_int_eq(hsa_amd_memory_lock(pages, 8192, &info.agent, 1, &seen),
			 HSA_STATUS_SUCCESS);
	if (seen == pages)
		check_success(h2d_device_check_host_memory(fixture_device, "b", pages, 8192));
	else
		check_status(h2d_device_check_host_memory(fixture_device, "b", pages, 8192),
			     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_check_device_memory(fixture_device, "b", seen, 8192),
		     H2D_STATUS_INVALID_ARGUMENT);
	ck_assert_int_eq(hsa_amd_memory_unlock(pages), HSA_STATUS_SUCCESS);
	free(pages);
}
END_TEST

/* ---- asynchronous copies --------------------------------------------------------------------- */

START_TEST(copy_waits_for_its_dependency)
{
	uint8_t *host;
	uint8_t *device;
	uint8_t byte = 0;
	hsa_signal_t dependency;
	hsa_signal_t completion;

	check_success(h2d_device_allocate_host(fixture_device, 64, (void **)&host));
	check_success(h2d_device_allocate(fixture_device, 64, (void **)&device));
	check_success(h2d_device_create_signal(fixture_device, 1, &dependency));
	check_success(h2d_device_create_signal(fixture_device, 2, &completion));
	check_status(h2d_device_copy_async(fixture_device, device, host, 0, dependency, completion),
		     H2D_STATUS_INVALID_ARGUMENT);
	host[0] = 1;
	check_success(
		h2d_device_copy_async(fixture_device, device, host, 64, dependency, completion));
	/* Long enough for a copy that did not wait. */
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	ck_assert_int_eq(hsa_signal_load_scacquire(completion), 2);
	host[0] = 2;
	hsa_signal_store_screlease(dependency, 0);
	while (hsa_signal_load_scacquire(completion) == 2)
		;
	ck_assert_int_eq(hsa_signal_load_scacquire(completion), 1);
	check_success(h2d_device_read(fixture_device, &byte, device, 1, H2D_DEFAULT_TIMEOUT_NS));
	ck_assert_uint_eq(byte, 2);
	h2d_device_destroy_signal(dependency);
	h2d_device_destroy_signal(completion);
	check_success(h2d_device_free(fixture_device, host));
	check_success(h2d_device_free(fixture_device, device));
}
END_TEST

START_TEST(transfer_behind_a_blocked_engine_times_out)
{
	h2d_device_t *device_object;
	h2d_device_info_t info;
	uint8_t *host;
	uint8_t *device;
	uint8_t byte = 7;
	hsa_signal_t dependency;
	hsa_signal_t completion;

	check_success(h2d_device_open(0, &device_object));
	check_success(h2d_device_allocate_host(device_object, 64, (void **)&host));
	check_success(h2d_device_allocate(device_object, 64, (void **)&device));
	check_success(h2d_device_create_signal(device_object, 1, &dependency));
	check_success(h2d_device_create_signal(device_object, 1, &completion));
	check_success(
		h2d_device_copy_async(device_object, device, host, 64, dependency, completion));
	check_status(h2d_device_write(device_object, device, &byte, 1, 30000000),
		     H2D_STATUS_TIMEOUT);
	check_status(h2d_device_write(device_object, device, &byte, 1, 30000000),
		     H2D_STATUS_INVALID_STATE);
	/* Nothing of what is allocated in vain stays allocated: this is more than there is. */
	check_success(h2d_device_get_info(device_object, &info));
	for (int i = 0; i < 20; i++) {
		void *large = NULL;

		check_status(h2d_device_allocate(device_object, info.memory_bytes / 16, &large),
			     H2D_STATUS_INVALID_STATE);
		ck_assert_ptr_null(large);
	}
	hsa_signal_store_screlease(dependency, 0);
	while (hsa_signal_load_scacquire(completion) != 0)
		;
	/* The late copy ends behind the one that held it up; then the staging memory is free. */
	while (h2d_device_write(device_object, device, &byte, 1, H2D_DEFAULT_TIMEOUT_NS) ==
	       H2D_STATUS_INVALID_STATE)
		;
	byte = 0;
	check_success(h2d_device_read(device_object, &byte, device, 1, H2D_DEFAULT_TIMEOUT_NS));
	ck_assert_uint_eq(byte, 7);
	h2d_device_destroy_signal(dependency);
	h2d_device_destroy_signal(completion);
	check_success(h2d_device_free(device_object, host));
	check_success(h2d_device_free(device_object, device));
	check_success(h2d_device_close(device_object));
}
END_TEST

/* ---- code objects ---------------------------------------------------------------------------- */

START_TEST(kernels_of_the_library_are_found_by_name)
{
	static const char *const kernel_names[] = {"h2d_scatter", "h2d_pull", "h2d_kv_indices"};
	h2d_kernel_t kernel = {.object = 0};

	for (int i = 0; i < 3; i++) {
		check_success(h2d_device_get_kernel(fixture_device, kernel_names[i], &kernel));
		ck_assert_uint_ne(kernel.object, 0);
		ck_assert_uint_eq(kernel.object % 64, 0);
		ck_assert_uint_ge(kernel.kernel_arguments_size, 8);
		ck_assert_uint_eq(kernel.group_segment_size, 0);
		ck_assert_uint_eq(kernel.private_segment_size, 0);
	}
	kernel.object = 17;
	check_status(h2d_device_get_kernel(fixture_device, "h2d_gather", &kernel),
		     H2D_STATUS_NOT_FOUND);
	check_message("h2d_gather");
	check_status(h2d_device_get_kernel(fixture_device, "", &kernel), H2D_STATUS_NOT_FOUND);
	ck_assert_uint_eq(kernel.object, 17);
	check_status(h2d_device_get_kernel(fixture_device, NULL, &kernel),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_device_get_kernel(NULL, "h2d_pull", &kernel), H2D_STATUS_INVALID_ARGUMENT);
}
END_TEST

START_TEST(user_s_code_object_keeps_the_device_open)
{
	h2d_code_object_t *code_object = fixture_load_kernels();
	h2d_kernel_t kernel = fixture_kernel(code_object, "append");

	ck_assert_uint_eq(kernel.kernel_arguments_size, 20);
	check_status(h2d_device_close(fixture_device), H2D_STATUS_INVALID_STATE);
	check_success(h2d_code_object_unload(code_object));
	check_success(h2d_code_object_unload(NULL));
}
END_TEST

START_TEST(code_object_of_another_gpu_is_refused_with_both_names)
{
	h2d_device_info_t info;
	h2d_code_object_t *code_object = NULL;
	int refused = 0;

	check_success(h2d_device_get_info(fixture_device, &info));
	for (const struct h2d_embedded_code_object *e = h2d_embedded_code_objects; e->isa != NULL;
	     e++) {
		if (h2d_isa_name_fits(e->isa, info.isa))
			continue;
		check_status(h2d_code_object_load(fixture_device, e->begin,
						  (size_t)(e->end - e->begin), &code_object),
			     H2D_STATUS_NOT_SUPPORTED);
		check_message(e->isa);
		check_message(info.isa);
		refused++;
	}
	ck_assert_int_ge(refused, 1);
	ck_assert_ptr_null(code_object);
}
END_TEST

START_TEST(bytes_that_are_no_code_object_are_refused)
{
	h2d_code_object_t *code_object = NULL;
	uint8_t bytes[256] = {0x7f, 'E', 'L', 'F'};

	check_status(h2d_code_object_load(fixture_device, bytes, 63, &code_object),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_code_object_load(fixture_device, bytes, sizeof(bytes), &code_object),
		     H2D_STATUS_HSA_ERROR);
	bytes[0] = 0;
	check_status(h2d_code_object_load(fixture_device, bytes, sizeof(bytes), &code_object),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_code_object_load(fixture_device, NULL, 256, &code_object),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_code_object_load(NULL, bytes, 256, &code_object),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_code_object_load(fixture_device, bytes, 256, NULL),
		     H2D_STATUS_INVALID_ARGUMENT);
	ck_assert_ptr_null(code_object);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device");
	TCase *opening = tcase_create("opening");
	TCase *cases = tcase_create("memory and code");
	TCase *small = tcase_create("a small GPU");

	tcase_add_test(opening, gpus_are_counted_and_an_index_behind_them_is_refused);
	suite_add_tcase(suite, opening);
	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, fixture_setup, fixture_teardown);
	tcase_add_test(cases, device_is_described);
	tcase_add_test(cases, device_can_be_opened_again_and_twice);
	tcase_add_test(cases, device_with_something_left_is_not_closed);
	tcase_add_loop_test(cases, memory_is_zeroed_aligned_and_keeps_what_is_written, 0,
			    sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_test(cases, transfers_touch_only_their_bytes);
	tcase_add_test(cases, any_thread_may_transfer);
	tcase_add_test(cases, bad_memory_requests_are_refused);
	tcase_add_test(cases, caller_s_pointers_are_told_apart);
	tcase_add_test(cases, memory_that_the_caller_locked_is_checked);
	tcase_add_test(cases, copy_waits_for_its_dependency);
	tcase_add_test(cases, transfer_behind_a_blocked_engine_times_out);
	tcase_add_test(cases, kernels_of_the_library_are_found_by_name);
	tcase_add_test(cases, user_s_code_object_keeps_the_device_open);
	tcase_add_test(cases, code_object_of_another_gpu_is_refused_with_both_names);
	tcase_add_test(cases, bytes_that_are_no_code_object_are_refused);
	suite_add_tcase(suite, cases);
	tcase_set_timeout(small, 60);
	tcase_add_checked_fixture(small, setup_small_gpu, fixture_teardown);
	tcase_add_test(small, device_memory_runs_out_and_comes_back);
	suite_add_tcase(suite, small);
	return run_suite(suite);
}
