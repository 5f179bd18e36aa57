/* SPDX-License-Identifier: MIT */
/* Producers: refused re-entry, late preparation, forwards on several streams, groups of one's own.
 */
#include <string.h>

#include "publication_case.h"
#include "token_model.h"

static const h2d_runner_options_t options = {.max_requests = 8,
					     .query_length = 4,
					     .max_tokens = 64,
					     .block_size = 16,
					     .max_model_length = 64};

/* ---- R09: re-entry --------------------------------------------------------------------------- */

enum { SAMPLING, PREFILL_IDS, DEFERRED_IDS, QUERY_PREFIX, SPEC_INDICES, COMBINED, R09_KINDS };

static void make_case(token_case_t *token_case, int kind, bool changed)
{
	h2d_batch_t *batch = &token_case->batch;

	*token_case = (token_case_t){
		.scheduled = {1, 1, 1},
		.contexts = {1, 1, 1},
		.ids = {11, 12, 13, 14, 15},
		.temperatures = {.2f, .4f, .6f},
		.top_ks = {4, 5, 6},
		.top_ps = {.7f, .8f, .9f},
		.rows = {1, -1, 0},
		.previous_sampled = {71, 82},
	};
	token_case_attach(token_case, 3);
	batch->context_lengths = token_case->contexts;
	if (kind == QUERY_PREFIX || kind == SPEC_INDICES || kind == COMBINED) {
		token_case->scheduled[0] = 2;
		token_case->scheduled[1] = 3;
		batch->num_requests = 2;
		batch->running_requests = 3;
	}
	if (kind == PREFILL_IDS)
		batch->phase = H2D_PHASE_PREFILL;
	if (kind == DEFERRED_IDS || kind == COMBINED) {
		token_case_upload_previous(token_case, 2, 3, 3, 0);
		batch->previous_rows = token_case->rows;
	}
	if (!changed)
		return;
	for (int i = 0; i < 3; i++) {
		token_case->ids[i] += 10;
		token_case->temperatures[i] += .1f;
		token_case->top_ks[i] += 1;
		token_case->top_ps[i] -= .1f;
		token_case->rows[i] = i == 0 ? 0 : 1 - i;
	}
	if (kind == QUERY_PREFIX || kind == SPEC_INDICES || kind == COMBINED)
		token_case->scheduled[0] = 3;
}

static h2d_status_t produce(step_world_t *world, int kind, const h2d_batch_t *batch)
{
	h2d_runner_t *runner = world->runner;

	switch (kind) {
	case SAMPLING:
		return h2d_sampling_prepare(runner, fixture_stream, batch, NULL);
	case PREFILL_IDS:
	case DEFERRED_IDS:
		return h2d_input_ids_prepare(runner, fixture_stream, batch, NULL);
	case QUERY_PREFIX:
		return h2d_query_prefix_prepare(runner, fixture_stream, batch, NULL);
	case SPEC_INDICES:
		return h2d_verification_prepare(runner, fixture_stream, batch, NULL);
	default:
		return h2d_token_inputs_prepare(runner, fixture_stream, batch, NULL);
	}
}

/* What comes before the producer in its forward. */
static void produce_earlier_parts(step_world_t *world, int kind, const token_case_t *token_case)
{
	const h2d_batch_t *batch = &token_case->batch;

	if (kind == DEFERRED_IDS || kind == SPEC_INDICES) {
		check_success(h2d_query_prefix_prepare(world->runner, fixture_stream, batch, NULL));
		token_model_query_prefix(world, batch);
	}
	if (kind == SPEC_INDICES) {
		check_success(h2d_input_ids_prepare(world->runner, fixture_stream, batch, NULL));
		token_model_input_ids(world, token_case);
	}
}

static void model(step_world_t *world, int kind, const token_case_t *token_case)
{
	switch (kind) {
	case SAMPLING:
		token_model_sampling(world, &token_case->batch);
		break;
	case PREFILL_IDS:
	case DEFERRED_IDS:
		token_model_input_ids(world, token_case);
		break;
	case QUERY_PREFIX:
		token_model_query_prefix(world, &token_case->batch);
		break;
	case SPEC_INDICES:
		token_model_verification(world, &token_case->batch);
		break;
	default:
		token_model_all(world, token_case);
	}
}

/* The re-entry is refused by whichever part it is, the combined group included. */
static void check_reentry(step_world_t *world, int kind, bool sealed, int epoch)
{
	token_case_t token_case, changed;
	step_sources_t sources;

	make_case(&token_case, kind, false);
	make_case(&changed, kind, true);
	step_begin(world);
	delay(fixture_stream, 5);
	produce_earlier_parts(world, kind, &token_case);
	check_success(produce(world, kind, &token_case.batch));
	model(world, kind, &token_case);
	sources = step_sources_take(world);
	if (sealed)
		check_success(h2d_runner_finish(world->runner, fixture_stream));
	check_fails(produce(world, kind, &changed.batch),
		    sealed ? H2D_STATUS_INVALID_STATE : H2D_STATUS_ALREADY_PUBLISHED,
		    sealed ? "sealed" : "republish_reason");
	if (kind == COMBINED)
		check_fails(produce(world, SAMPLING, &changed.batch),
			    sealed ? H2D_STATUS_INVALID_STATE : H2D_STATUS_ALREADY_PUBLISHED,
			    sealed ? "sealed" : "republish_reason");
	step_sources_check(world, &sources, "refused");
	step_observe(world, "first consumer", epoch);
	if (!sealed)
		step_finish(world);
}

START_TEST(R09_producer_reentry_preserves_sources_and_first_consumer)
{
	const int kind = _i / STEP_MODES / 2;
	const bool sealed = _i / STEP_MODES % 2;
	step_world_t *world;

	world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	for (int epoch = 0; epoch < 2; epoch++)
		check_reentry(world, kind, sealed, epoch);
	step_world_destroy(world);
}
END_TEST

/* ---- P24: forwards on streams of their own --------------------------------------------------- */

START_TEST(P24_runner_entries_gate_sources_on_the_selected_stream)
{
	const bool prefill = _i >= STEP_MODES;
	h2d_stream_t *streams[2];
	const int32_t *seen[6];
	step_world_t *world;

	world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	for (int i = 0; i < 2; i++)
		check_success(h2d_stream_create(fixture_device, NULL, &streams[i]));
	for (int i = 0; i < 6; i++) {
		h2d_stream_t *stream = streams[i % 2];
		token_case_t token_case = {.contexts = {16}, .scheduled = {16}};
		h2d_token_inputs_step_t step;

		for (int j = 0; j < 16; j++)
			token_case.ids[j] = i + 1;
		token_case_attach(&token_case, 1);
		token_case.batch.phase = H2D_PHASE_PREFILL;
		token_case.batch.context_lengths = token_case.contexts;
		check_success(h2d_runner_begin(world->runner, stream));
		delay(stream, 4);
		check_fails(h2d_input_ids_prepare(world->runner, streams[1 - i % 2],
						  &token_case.batch, NULL),
			    H2D_STATUS_WRONG_STREAM, "compute stream");
		check_success(
			h2d_input_ids_prepare(world->runner, stream, &token_case.batch, &step));
		token_model_input_ids(world, &token_case);
		check_success(h2d_runner_finish(world->runner, stream));
		seen[i] = consume(stream, step.input_ids, 16 * sizeof(int32_t));
		check_success(h2d_runner_record(world->runner, stream));
		if (prefill)
			check_success(h2d_stream_synchronize(stream));
	}
	for (int i = 0; i < 2; i++)
		check_success(h2d_stream_synchronize(streams[i]));
	for (int i = 0; i < 6; i++)
		expect_values(seen[i], 0, 16, i + 1);
	step_world_destroy(world);
	for (int i = 0; i < 2; i++)
		check_success(h2d_stream_destroy(streams[i]));
}
END_TEST

/* ---- a group of one's own, as doc/adding-a-group.md shows it --------------------------------- */

static const h2d_member_declaration_t lora_members[] = {
	{.name = "lora_ids", .element_size = sizeof(int32_t), .rows = 8},
	{.name = "lora_scales", .element_size = sizeof(float), .rows = 8},
	{.name = "cu_seqlens_q"}, /* shared with token_inputs */
};
/* What the producer writes, and what is published together. */
static const h2d_group_declaration_t lora_groups[] = {
	{.name = "lora_sources", .members = lora_members, .num_members = 2},
	{.name = "lora", .members = lora_members, .num_members = 3},
};

typedef struct lora_batch {
	uint32_t num_requests;
	const int32_t *ids;
	const float *scales;
	bool fails;
} lora_batch_t;

static h2d_status_t produce_lora(h2d_runner_t *runner, h2d_stream_t *stream, void *context)
{
	const lora_batch_t *batch = context;
	h2d_buffer_t *ids, *scales;
	h2d_group_t *group;
	const int64_t counts[] = {batch->num_requests, batch->num_requests, H2D_COUNT_OMITTED};
	h2d_status_t status = h2d_runner_group(runner, "lora", &group);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_runner_buffer(runner, "lora_ids", &ids);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_runner_buffer(runner, "lora_scales", &scales);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	memcpy(h2d_buffer_host(ids), batch->ids, batch->num_requests * sizeof(*batch->ids));
	memcpy(h2d_buffer_host(scales), batch->scales,
	       batch->num_requests * sizeof(*batch->scales));
	if (batch->fails)
		return H2D_STATUS_OUT_OF_RANGE;
	return h2d_group_publish(group, stream, counts, NULL);
}

static const char *const lora_sources[] = {"lora_sources"};
static const h2d_producer_declaration_t lora_producer = {"lora", lora_sources, 1, produce_lora};

static step_world_t *create_lora_world(int mode, h2d_producer_t **producer)
{
	h2d_runner_options_t with_group = options;
	step_world_t *world;

	with_group.groups = lora_groups;
	with_group.num_groups = 2;
	world = step_world_create(&with_group, STEP_BACKEND(mode), STEP_SLOTS(mode));
	check_success(h2d_producer_create(world->runner, &lora_producer, producer));
	return world;
}

static void model_lora(step_world_t *world, const lora_batch_t *batch)
{
	memcpy(step_image(world, "lora_ids"), batch->ids, batch->num_requests * 4);
	memcpy(step_image(world, "lora_scales"), batch->scales, batch->num_requests * 4);
}

START_TEST(group_of_the_caller_is_published_in_every_slot)
{
	h2d_producer_t *producer;
	step_world_t *world = create_lora_world(_i, &producer);
	h2d_group_t *group;

	for (int i = 0; i < 5; i++) {
		const int32_t ids[] = {i, i + 1, i + 2};
		const float scales[] = {(float)i, 2, 3};
		const h2d_batch_t tokens = {.num_requests = 3};
		lora_batch_t batch = {3, ids, scales, false};
		lora_batch_t changed = {2, ids + 1, scales + 1, false};
		step_sources_t sources;

		step_begin(world);
		check_success(
			h2d_query_prefix_prepare(world->runner, fixture_stream, &tokens, NULL));
		token_model_query_prefix(world, &tokens);
		check_success(h2d_producer_run(producer, fixture_stream, &batch));
		model_lora(world, &batch);
		sources = step_sources_take(world);
		check_fails(h2d_producer_run(producer, fixture_stream, &changed),
			    H2D_STATUS_ALREADY_PUBLISHED, "lora_ids");
		step_sources_check(world, &sources, "refused");
		step_observe(world, "lora", i);
		step_finish(world);
	}
	check_success(h2d_runner_group(world->runner, "lora", &group));
	ck_assert_int_eq(h2d_group_transport(group), STEP_BACKEND(_i));
	step_world_destroy(world);
}
END_TEST

/* Its members would fill an arena; a selection after a rebuild gives it none either. */
START_TEST(unpacked_group_of_the_caller_gets_no_arena)
{
	const h2d_backend_t expected[] = {H2D_BACKEND_DIRECT, H2D_BACKEND_DIRECT, H2D_BACKEND_PULL};
	const h2d_group_declaration_t unpacked = {
		.name = "lora",
		.members = lora_members,
		.num_members = 3,
		.unpacked = true,
	};
	h2d_runner_options_t with_group = options;
	h2d_runner_t *runner = NULL;
	h2d_group_t *group;

	with_group.slots = 1;
	with_group.groups = &unpacked;
	with_group.num_groups = 1;
	with_group.backend = h2d_backend_name((h2d_backend_t)_i);
	check_success(h2d_runner_create(fixture_device, &with_group, &runner));
	check_success(h2d_runner_group(runner, "lora", &group));
	for (int selection = 0; selection < 2; selection++) {
		ck_assert_int_eq(h2d_group_transport(group), expected[_i]);
		ck_assert_ptr_null(h2d_group_fallback_reason(group));
		check_success(h2d_owner_rebuild(h2d_runner_owner(runner, 0)));
		check_success(h2d_owner_select_transports(h2d_runner_owner(runner, 0)));
	}
	check_success(h2d_runner_destroy(runner));
}
END_TEST

/* ---- late preparation ------------------------------------------------------------------------ */

START_TEST(late_preparation_resumes_the_epoch_and_seals_it_again)
{
	const int32_t ids[] = {4, 5};
	const float scales[] = {6, 7};
	lora_batch_t batch = {2, ids, scales, false};
	const h2d_batch_t sampling = {.num_requests = 2};
	h2d_producer_t *producer;
	step_world_t *world = create_lora_world(_i, &producer);

	for (int i = 0; i < 4; i++) {
		h2d_owner_t *owner;
		uint64_t epoch;
		step_sources_t sources;

		step_begin(world);
		owner = h2d_runner_owner(world->runner, h2d_runner_slot(world->runner));
		epoch = h2d_owner_epoch(owner);
		check_success(h2d_sampling_prepare(world->runner, fixture_stream, &sampling, NULL));
		token_model_sampling(world, &sampling);
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		delay(fixture_stream, 3);
		check_success(h2d_producer_run_late(producer, fixture_stream, &batch));
		model_lora(world, &batch);
		ck_assert_int_eq(h2d_owner_state(owner), H2D_OWNER_SEALED);
		ck_assert_uint_eq(h2d_owner_epoch(owner), epoch);
		sources = step_sources_take(world);
		check_fails(h2d_producer_run_late(producer, fixture_stream, &batch),
			    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
		ck_assert_int_eq(h2d_owner_state(owner), H2D_OWNER_SEALED);
		step_sources_check(world, &sources, "refused");
		step_observe(world, "late", i);
		check_success(h2d_runner_record(world->runner, fixture_stream));
	}
	step_world_destroy(world);
}
END_TEST

/* Before finish it is like any producer, and leaves the epoch open. */
START_TEST(late_preparation_of_an_open_epoch_does_not_seal_it)
{
	const int32_t ids[] = {4};
	const float scales[] = {6};
	lora_batch_t batch = {1, ids, scales, false};
	h2d_producer_t *producer;
	step_world_t *world = create_lora_world(_i, &producer);
	h2d_owner_t *owner;

	step_begin(world);
	owner = h2d_runner_owner(world->runner, h2d_runner_slot(world->runner));
	check_success(h2d_producer_run_late(producer, fixture_stream, &batch));
	model_lora(world, &batch);
	ck_assert_int_eq(h2d_owner_state(owner), H2D_OWNER_ACTIVE);
	check_fails(h2d_producer_run_late(producer, fixture_stream, &batch),
		    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
	ck_assert_int_eq(h2d_owner_state(owner), H2D_OWNER_ACTIVE);
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);
}
END_TEST

/* The wrong stream is refused before anything happens; an error of the body is final. */
START_TEST(late_preparation_refuses_other_streams_and_fails_with_its_body)
{
	const int32_t ids[] = {4};
	const float scales[] = {6};
	lora_batch_t batch = {1, ids, scales, true};
	h2d_producer_t *producer;
	step_world_t *world = create_lora_world(_i, &producer);
	h2d_owner_t *owner;
	h2d_stream_t *other;
	step_sources_t sources;

	check_success(h2d_stream_create(fixture_device, NULL, &other));
	step_begin(world);
	owner = h2d_runner_owner(world->runner, h2d_runner_slot(world->runner));
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	sources = step_sources_take(world);
	check_fails(h2d_producer_run_late(producer, other, &batch), H2D_STATUS_WRONG_STREAM,
		    "original owner stream");
	step_sources_check(world, &sources, "refused");
	ck_assert_int_eq(h2d_owner_state(owner), H2D_OWNER_SEALED);
	check_fails(h2d_producer_run_late(producer, fixture_stream, &batch),
		    H2D_STATUS_OUT_OF_RANGE, "late preparation");
	ck_assert_int_eq(h2d_owner_state(owner), H2D_OWNER_FAILED);
	check_fails(h2d_producer_run_late(producer, fixture_stream, &batch),
		    H2D_STATUS_INVALID_STATE, "failed");
	check_success(h2d_owner_drain(owner));
	step_world_destroy(world);
	check_success(h2d_stream_destroy(other));
}
END_TEST

/* ---- declarations ---------------------------------------------------------------------------- */

START_TEST(wrong_declarations_are_refused)
{
	static const char *const unknown[] = {"sampling", "samplings"};
	const h2d_producer_declaration_t no_group = {"p", unknown, 2, produce_lora};
	const h2d_producer_declaration_t no_body = {"p", unknown, 1, NULL};
	const h2d_member_declaration_t other_shape[] = {
		{.name = "cu_seqlens_q", .element_size = 4, .rows = 8}};
	const h2d_member_declaration_t other_unit[] = {
		{.name = "cu_seqlens_q", .element_size = 4, .rows = 9, .unit = H2D_COUNT_BYTES}};
	const h2d_member_declaration_t nowhere[] = {{.name = "nowhere"}};
	const struct {
		h2d_group_declaration_t group;
		h2d_status_t status;
		const char *words;
	} groups[] = {
		{{"mine", other_shape, 1, false}, H2D_STATUS_INVALID_ARGUMENT, "cu_seqlens_q"},
		{{"mine", other_unit, 1, false}, H2D_STATUS_INVALID_ARGUMENT, "cu_seqlens_q"},
		{{"mine", nowhere, 1, false}, H2D_STATUS_NOT_FOUND, "nowhere"},
		{{"sampling", lora_members, 3, false},
		 H2D_STATUS_INVALID_ARGUMENT,
		 "two groups sampling"},
		{{"mine", NULL, 1, false}, H2D_STATUS_INVALID_ARGUMENT, "no members"},
		{{NULL, lora_members, 1, false}, H2D_STATUS_INVALID_ARGUMENT, "no name"},
	};
	h2d_runner_options_t with_group = options;
	h2d_producer_t *producer = NULL;
	h2d_runner_t *runner = NULL;

	with_group.slots = 1;
	with_group.num_groups = 1;
	check_fails(h2d_runner_create(fixture_device, &with_group, &runner),
		    H2D_STATUS_INVALID_ARGUMENT, "groups: NULL");
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		with_group.groups = &groups[i].group;
		check_fails(h2d_runner_create(fixture_device, &with_group, &runner),
			    groups[i].status, groups[i].words);
	}
	with_group.groups = lora_groups;
	check_success(h2d_runner_create(fixture_device, &with_group, &runner));
	check_fails(h2d_producer_create(runner, &no_group, &producer), H2D_STATUS_NOT_FOUND,
		    "samplings");
	check_fails(h2d_producer_create(runner, &no_body, &producer), H2D_STATUS_INVALID_ARGUMENT,
		    "missing");
	ck_assert_ptr_null(producer);
	check_success(h2d_runner_destroy(runner));
}
END_TEST

/* A count that was set in one epoch and not published does not live on into another. */
START_TEST(begin_resets_the_counts_of_its_slot)
{
	step_world_t *world;
	h2d_group_t *group;

	world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	for (uint32_t i = 0; i < 2 * world->runner->options.slots; i++) {
		step_begin(world);
		check_success(h2d_runner_group(world->runner, "sampling", &group));
		check_success(h2d_group_publish(group, fixture_stream, NULL, NULL));
		step_check_published(world, "top_ks", false);
		check_success(h2d_group_set_count(group, step_buffer(world, "top_ks"), 3));
		check_success(h2d_runner_finish(world->runner, fixture_stream));
	}
	step_world_destroy(world);
}
END_TEST

static Suite *producers_suite(void)
{
	Suite *suite = suite_create("producers");
	TCase *tcase = tcase_create("producers");

	tcase_add_checked_fixture(tcase, step_hostile_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, R09_producer_reentry_preserves_sources_and_first_consumer, 0,
			    R09_KINDS * 2 * STEP_MODES);
	tcase_add_loop_test(tcase, P24_runner_entries_gate_sources_on_the_selected_stream, 0,
			    2 * STEP_MODES);
	tcase_add_loop_test(tcase, group_of_the_caller_is_published_in_every_slot, 0, STEP_MODES);
	tcase_add_loop_test(tcase, late_preparation_resumes_the_epoch_and_seals_it_again, 0,
			    STEP_MODES);
	tcase_add_loop_test(tcase, late_preparation_of_an_open_epoch_does_not_seal_it, 0,
			    STEP_MODES);
	tcase_add_loop_test(tcase, late_preparation_refuses_other_streams_and_fails_with_its_body,
			    0, STEP_MODES);
	tcase_add_loop_test(tcase, unpacked_group_of_the_caller_gets_no_arena, 0, 3);
	tcase_add_test(tcase, wrong_declarations_are_refused);
	tcase_add_loop_test(tcase, begin_resets_the_counts_of_its_slot, 0, STEP_MODES);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(producers_suite());
}
