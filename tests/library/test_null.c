/* SPDX-License-Identifier: MIT */
/*
 * Every public function that can fail, called with NULL for all that it is given: an error with a
 * message, and for those that destroy, success.
 */
#include <string.h>

#include <h2dpub/h2dpub.h>

#include "fixture.h"

/* clang-format off */
#define REFUSED(X)                                                                                 \
	X(h2d_block_table_create(NULL, 0, NULL))                                                   \
	X(h2d_block_table_copy(NULL, NULL))                                                        \
	X(h2d_block_table_append(NULL, 0))                                                         \
	X(h2d_block_table_extend(NULL, NULL, 0))                                                   \
	X(h2d_block_table_set(NULL, 0, 0))                                                         \
	X(h2d_block_table_insert(NULL, 0, 0))                                                      \
	X(h2d_block_table_remove(NULL, 0))                                                         \
	X(h2d_block_table_pop(NULL, NULL))                                                         \
	X(h2d_block_table_erase(NULL, 0, 0))                                                       \
	X(h2d_table_state_create(NULL, NULL, 0, 0, 0, NULL, NULL))                                 \
	X(h2d_table_state_prepare(NULL, NULL, NULL))                                               \
	X(h2d_table_state_pad(NULL, 0, 0, NULL))                                                   \
	X(h2d_table_state_slice(NULL, 0, 0, NULL, NULL))                                           \
	X(h2d_delta_encoder_create(0, NULL))                                                       \
	X(h2d_delta_encoder_encode(NULL, 0, NULL, NULL, NULL, NULL))                               \
	X(h2d_delta_decoder_create(NULL))                                                          \
	X(h2d_delta_decoder_decode(NULL, NULL, 0, NULL))                                           \
	X(h2d_device_count(NULL))                                                                  \
	X(h2d_device_open(0, NULL))                                                                \
	X(h2d_device_get_info(NULL, NULL))                                                         \
	X(h2d_device_allocate_host(NULL, 0, NULL))                                                 \
	X(h2d_device_allocate(NULL, 0, NULL))                                                      \
	X(h2d_device_read(NULL, NULL, NULL, 1, 0))                                                 \
	X(h2d_device_write(NULL, NULL, NULL, 1, 0))                                                \
	X(h2d_device_get_kernel(NULL, NULL, NULL))                                                 \
	X(h2d_code_object_load(NULL, NULL, 0, NULL))                                               \
	X(h2d_code_object_get_kernel(NULL, NULL, NULL))                                            \
	X(h2d_graph_begin_capture(NULL))                                                           \
	X(h2d_graph_end_capture(NULL, NULL))                                                       \
	X(h2d_graph_launch(NULL, NULL))                                                            \
	X(h2d_mha_decode_prepare(NULL, NULL, NULL, NULL))                                          \
	X(h2d_mha_decode_enqueue_kv_indices(NULL, NULL, 0, 0))                                     \
	X(h2d_mha_decode_view(NULL, 0, NULL))                                                      \
	X(h2d_mla_decode_prepare(NULL, NULL, NULL, NULL))                                          \
	X(h2d_mla_decode_prepare_capture(NULL, NULL, 0, NULL))                                     \
	X(h2d_mla_decode_enqueue_kv_indices(NULL, NULL, 0, 0))                                     \
	X(h2d_mla_decode_view(NULL, 0, NULL))                                                      \
	X(h2d_mla_prefill_prepare(NULL, NULL, NULL, NULL))                                         \
	X(h2d_mrope_prepare(NULL, NULL, NULL, NULL))                                               \
	X(h2d_mrope_view(NULL, 0, NULL))                                                           \
	X(h2d_prefill_inputs_prepare(NULL, NULL, NULL, NULL))                                      \
	X(h2d_prefill_inputs_enqueue_kv_indices(NULL, NULL, 0, 0))                                 \
	X(h2d_producer_create(NULL, NULL, NULL))                                                   \
	X(h2d_producer_run(NULL, NULL, NULL))                                                      \
	X(h2d_producer_run_late(NULL, NULL, NULL))                                                 \
	X(h2d_backend_from_name(NULL, NULL))                                                       \
	X(h2d_registry_create(NULL))                                                               \
	X(h2d_owner_create(NULL, NULL, NULL, NULL))                                                \
	X(h2d_owner_select_transports(NULL))                                                       \
	X(h2d_owner_begin(NULL, NULL))                                                             \
	X(h2d_owner_finish(NULL, NULL))                                                            \
	X(h2d_owner_resume(NULL, NULL))                                                            \
	X(h2d_owner_record(NULL, NULL))                                                            \
	X(h2d_owner_fail(NULL))                                                                    \
	X(h2d_owner_drain(NULL))                                                                   \
	X(h2d_owner_rebuild(NULL))                                                                 \
	X(h2d_buffer_allocate(NULL, NULL, NULL))                                                   \
	X(h2d_buffer_wrap(NULL, NULL, NULL, NULL, NULL))                                           \
	X(h2d_buffer_use_in_recording(NULL, NULL))                                                 \
	X(h2d_buffer_publish(NULL, NULL, 0, NULL))                                                 \
	X(h2d_buffer_publish_rows(NULL, NULL, 0, NULL))                                            \
	X(h2d_buffer_acquire_write(NULL, NULL, NULL))                                              \
	X(h2d_group_create(NULL, NULL, NULL, 0, NULL))                                             \
	X(h2d_group_use_transport(NULL, 0, NULL))                                                  \
	X(h2d_group_set_count(NULL, NULL, 0))                                                      \
	X(h2d_group_check_writable(NULL, NULL))                                                    \
	X(h2d_group_publish(NULL, NULL, NULL, NULL))                                               \
	X(h2d_qsa_prepare(NULL, NULL, NULL, NULL))                                                 \
	X(h2d_qsa_enqueue_compressed_slots(NULL, NULL, 0, NULL, 0, 0))                             \
	X(h2d_qsa_view(NULL, 0, NULL))                                                             \
	X(h2d_ple_prepare(NULL, NULL, NULL, NULL))                                                 \
	X(h2d_ple_view(NULL, 0, NULL))                                                             \
	X(h2d_runner_create(NULL, NULL, NULL))                                                     \
	X(h2d_runner_group(NULL, NULL, NULL))                                                      \
	X(h2d_runner_buffer(NULL, NULL, NULL))                                                     \
	X(h2d_runner_begin(NULL, NULL))                                                            \
	X(h2d_runner_finish(NULL, NULL))                                                           \
	X(h2d_runner_record(NULL, NULL))                                                           \
	X(h2d_stream_create(NULL, NULL, NULL))                                                     \
	X(h2d_stream_create_alias(NULL, NULL))                                                     \
	X(h2d_stream_synchronize(NULL))                                                            \
	X(h2d_stream_dispatch(NULL, NULL))                                                         \
	X(h2d_published_table_create(NULL, NULL))                                                  \
	X(h2d_published_table_prepare(NULL, NULL, NULL, NULL))                                     \
	X(h2d_published_table_pad(NULL, NULL, 0, 0, NULL))                                         \
	X(h2d_published_table_slice(NULL, 0, 0, NULL, NULL, NULL))                                 \
	X(h2d_published_table_publish(NULL, NULL, 0, NULL, NULL, NULL))                            \
	X(h2d_tbo_prepare(NULL, NULL, NULL, NULL))                                                 \
	X(h2d_tbo_enqueue_kv_indices(NULL, NULL, 0, 0, 0))                                         \
	X(h2d_tbo_view(NULL, 0, NULL))                                                             \
	X(h2d_token_inputs_prepare(NULL, NULL, NULL, NULL))                                        \
	X(h2d_sampling_prepare(NULL, NULL, NULL, NULL))                                            \
	X(h2d_query_prefix_prepare(NULL, NULL, NULL, NULL))                                        \
	X(h2d_input_ids_prepare(NULL, NULL, NULL, NULL))                                           \
	X(h2d_verification_prepare(NULL, NULL, NULL, NULL))                                        \
	X(h2d_sampling_enqueue_greedy_correction(NULL, NULL, 0, 0, NULL, NULL))                    \
	X(h2d_token_inputs_view(NULL, 0, NULL))

#define ACCEPTED(X)                                                                                \
	X(h2d_device_close(NULL))                                                                  \
	X(h2d_device_free(NULL, NULL))                                                             \
	X(h2d_code_object_unload(NULL))                                                            \
	X(h2d_graph_destroy(NULL))                                                                 \
	X(h2d_registry_destroy(NULL))                                                              \
	X(h2d_owner_destroy(NULL))                                                                 \
	X(h2d_buffer_destroy(NULL))                                                                \
	X(h2d_group_destroy(NULL))                                                                 \
	X(h2d_runner_destroy(NULL))                                                                \
	X(h2d_stream_destroy(NULL))
/* clang-format on */

#define COUNT_CALL(call) +1
#define MAKE_CALL(call)                                                                            \
	if (index-- == 0) {                                                                        \
		*name = #call;                                                                     \
		return call;                                                                       \
	}

static h2d_status_t call_refused(int index, const char **name)
{
	REFUSED(MAKE_CALL)
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t call_accepted(int index, const char **name)
{
	ACCEPTED(MAKE_CALL)
	return H2D_STATUS_NOT_FOUND;
}

START_TEST(null_is_an_error_that_names_what_is_missing)
{
	const char *name = "no call";
	h2d_status_t status = call_refused(_i, &name);

	ck_assert_msg(status == H2D_STATUS_INVALID_ARGUMENT, "%s: %s", name,
		      h2d_status_string(status));
	ck_assert_msg(strlen(h2d_error_message()) > 10, "%s: no message", name);
}
END_TEST

START_TEST(nothing_is_destroyed_without_an_error)
{
	const char *name = "no call";

	ck_assert_msg(call_accepted(_i, &name) == H2D_STATUS_SUCCESS, "%s: %s", name,
		      h2d_error_message());
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("null");
	TCase *cases = tcase_create("null");

	tcase_add_loop_test(cases, null_is_an_error_that_names_what_is_missing, 0,
			    0 REFUSED(COUNT_CALL));
	tcase_add_loop_test(cases, nothing_is_destroyed_without_an_error, 0,
			    0 ACCEPTED(COUNT_CALL));
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
