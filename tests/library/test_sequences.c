/* SPDX-License-Identifier: MIT */
/*
 * Random sequences of epochs, publications, rejected calls, re-publications, rotations, replays and
 * GPU writes against a model that knows nothing of transports, on a hostile software GPU. A failing
 * sequence is shortened and printed.
 *
 * H2D_SEQUENCES sets the number of sequences for each backend, H2D_TEST_SEED their seed.
 */
#include <stdio.h>

#include "sequence_world.h"

#define MAXIMUM_OPS 14

enum kind {
	NEXT_EPOCH,
	PUBLISH,
	REPUBLISH,
	REPUBLISH_GROUP,
	REPLAY,
	GPU_WRITE,
	FINISH_AND_RESUME,
	PUBLISH_LATE, /* into the sealed epoch of the other slot, which is resumed for it */
	KINDS
};

struct operation {
	enum kind kind;
	uint32_t slot;	 /* REPLAY, GPU_WRITE */
	uint32_t group;	 /* PUBLISH, REPUBLISH_GROUP, PUBLISH_LATE */
	uint32_t member; /* REPUBLISH, GPU_WRITE */
	int64_t counts[MEMBERS];
};

/* ---- the model: what must come out ----------------------------------------------------------- */

static struct {
	uint8_t device[SLOTS][SNAPSHOT];
	uint8_t source[SLOTS][SOURCE_SIZE]; /* at the same offsets */
	uint8_t snapshot[REPLAYS][SNAPSHOT];
	bool published[SLOTS][MEMBERS];
	bool in_use[SLOTS][MEMBERS];
	bool in_flight[SLOTS][GROUPS];
	bool has_epoch[SLOTS]; /* in this sequence */
	uint32_t slot;	       /* whose epoch is open */
	bool open;
	uint32_t replays;
	uint32_t arguments;
	uint8_t pattern; /* of the next source write */
} model;

/* Which groups share descriptors between publications of several members. */
static bool has_descriptors(h2d_backend_t backend, uint32_t group)
{
	return (backend == H2D_BACKEND_PULL && group < 2) ||
	       (backend == H2D_BACKEND_PACKED && group == 0);
}

static h2d_status_t expected_status(h2d_backend_t backend, const struct operation *operation,
				    bool with_reasons)
{
	uint32_t active = 0;

	for (uint32_t i = 0; i < group_sizes[operation->group]; i++) {
		const uint32_t member = group_members[operation->group][i];

		if (operation->counts[member] == H2D_COUNT_OMITTED)
			continue;
		if (model.published[model.slot][member] && !with_reasons)
			return H2D_STATUS_ALREADY_PUBLISHED;
		if (model.in_use[model.slot][member])
			return H2D_STATUS_SOURCE_IN_USE;
		if (operation->counts[member] < 0 ||
		    operation->counts[member] > (int64_t)capacities[member])
			return H2D_STATUS_OUT_OF_RANGE;
		active += operation->counts[member] > 0;
	}
	if (active > 1 && has_descriptors(backend, operation->group) &&
	    model.in_flight[model.slot][operation->group])
		return H2D_STATUS_TRANSPORT_IN_FLIGHT;
	return H2D_STATUS_SUCCESS;
}

static void model_publication(uint32_t member, int64_t count)
{
	uint8_t *device = model.device[model.slot] + offsets[member];
	const uint8_t *source = model.source[model.slot] + offsets[member];

	model.published[model.slot][member] = true;
	model.in_use[model.slot][member] = count > 0;
	if (member != STRIDED)
		memcpy(device, source, (size_t)count);
	for (int64_t row = 0; member == STRIDED && row < count; row++)
		memcpy(device + row * DEVICE_PITCH, source + row * SOURCE_PITCH, ROW_BYTES);
}

/* ---- running a sequence ---------------------------------------------------------------------- */

static char failure[512];

static bool mismatch(const char *what, h2d_status_t got, h2d_status_t expected)
{
	snprintf(failure, sizeof(failure), "%s: %s instead of %s: %s", what, h2d_status_string(got),
		 h2d_status_string(expected), got ? h2d_error_message() : "");
	return false;
}

#define EXPECT(call, expected)                                                                     \
	do {                                                                                       \
		h2d_status_t expect_status = (call);                                               \
		if (expect_status != (expected))                                                   \
			return mismatch(#call, expect_status, expected);                           \
	} while (0)

/* A producer: new bytes in the whole source, which must be writable. */
static void write_source(uint32_t slot, uint32_t member)
{
	uint8_t *host = h2d_buffer_host(world.buffer[slot][member]);

	for (uint32_t i = 0; i < source_sizes[member]; i++)
		model.source[slot][offsets[member] + i] = (uint8_t)(model.pattern + 7 * i);
	memcpy(host, model.source[slot] + offsets[member], source_sizes[member]);
	model.pattern += 31;
}

static bool next_epoch(void)
{
	if (model.open) {
		EXPECT(h2d_owner_finish(world.owner[model.slot], fixture_stream),
		       H2D_STATUS_SUCCESS);
		model.slot = (model.slot + 1) % SLOTS;
	}
	EXPECT(h2d_owner_begin(world.owner[model.slot], fixture_stream), H2D_STATUS_SUCCESS);
	model.open = true;
	model.has_epoch[model.slot] = true;
	memset(model.published[model.slot], 0, sizeof(model.published[0]));
	memset(model.in_use[model.slot], 0, sizeof(model.in_use[0]));
	memset(model.in_flight[model.slot], 0, sizeof(model.in_flight[0]));
	for (uint32_t i = 0; i < MEMBERS; i++)
		write_source(model.slot, i);
	return true;
}

static bool publish(h2d_backend_t backend, const struct operation *operation, const char *reason)
{
	h2d_status_t expected = expected_status(backend, operation, reason != NULL);
	const char *const reasons[] = {reason, reason, reason, reason};
	int64_t counts[4];
	uint32_t active = 0;

	for (uint32_t i = 0; i < group_sizes[operation->group]; i++)
		counts[i] = operation->counts[group_members[operation->group][i]];
	EXPECT(h2d_group_publish(world.group[model.slot][operation->group], fixture_stream, counts,
				 reason ? reasons : NULL),
	       expected);
	if (expected != H2D_STATUS_SUCCESS)
		return true;
	for (uint32_t i = 0; i < group_sizes[operation->group]; i++) {
		if (counts[i] == H2D_COUNT_OMITTED)
			continue;
		model_publication(group_members[operation->group][i], counts[i]);
		active += counts[i] > 0;
	}
	if (active > 1 && has_descriptors(backend, operation->group))
		model.in_flight[model.slot][operation->group] = true;
	return true;
}

/* Acquires a member, which the GPU may be reading, and writes new bytes. */
static bool correct(uint32_t member)
{
	uint32_t slot = model.slot;

	EXPECT(h2d_buffer_acquire_write(world.buffer[slot][member], fixture_stream, "corrected"),
	       H2D_STATUS_SUCCESS);
	if (model.in_use[slot][member])
		memset(model.in_flight[slot], 0, sizeof(model.in_flight[slot]));
	model.in_use[slot][member] = false;
	write_source(slot, member);
	return true;
}

static bool republish(const struct operation *operation)
{
	uint32_t slot = model.slot, member = operation->member;
	int64_t count = operation->counts[0] % capacities[member];
	h2d_buffer_t *buffer = world.buffer[slot][member];

	if (model.published[slot][member]) {
		EXPECT(h2d_buffer_acquire_write(buffer, fixture_stream, NULL),
		       H2D_STATUS_ALREADY_PUBLISHED);
		if (model.in_use[slot][member])
			EXPECT(h2d_buffer_publish(buffer, fixture_stream, 1, "too early"),
			       H2D_STATUS_SOURCE_IN_USE);
	}
	if (!correct(member))
		return false;
	EXPECT(h2d_buffer_publish(buffer, fixture_stream, count, "corrected"), H2D_STATUS_SUCCESS);
	model_publication(member, count);
	return true;
}

/* Acquires all that it publishes, or all but one: then the group may have to be refused. */
static bool republish_group(h2d_backend_t backend, const struct operation *operation)
{
	for (uint32_t i = 0; i < group_sizes[operation->group]; i++) {
		const uint32_t member = group_members[operation->group][i];

		if (operation->counts[member] != H2D_COUNT_OMITTED && member != operation->member &&
		    !correct(member))
			return false;
	}
	return publish(backend, operation, "corrected");
}

static bool publish_late(h2d_backend_t backend, const struct operation *operation)
{
	uint32_t current = model.slot, other = (current + 1) % SLOTS;
	bool passed;

	if (!model.has_epoch[other])
		return true;
	EXPECT(h2d_owner_resume(world.owner[other], fixture_stream), H2D_STATUS_SUCCESS);
	model.slot = other;
	passed = publish(backend, operation, NULL);
	model.slot = current;
	if (!passed)
		return false;
	EXPECT(h2d_owner_finish(world.owner[other], fixture_stream), H2D_STATUS_SUCCESS);
	return true;
}

static bool replay(const struct operation *operation)
{
	struct h2d_pull_arguments *arguments = world.arguments[model.arguments++];

	arguments->member[0] = (struct h2d_pull_member){
		.source = (uintptr_t)world.seen,
		.destination = (uintptr_t)world.snapshots + model.replays * SNAPSHOT,
		.bytes = SNAPSHOT,
	};
	EXPECT(h2d_graph_launch(world.graph[operation->slot], fixture_stream), H2D_STATUS_SUCCESS);
	EXPECT(enqueue_copy(arguments), H2D_STATUS_SUCCESS);
	memcpy(model.snapshot[model.replays++], model.device[operation->slot], SNAPSHOT);
	return true;
}

/* A kernel overwrites what was published, as token assembly does. */
static bool gpu_write(const struct operation *operation)
{
	struct h2d_pull_arguments *arguments = world.arguments[model.arguments++];
	uint32_t bytes = 1 + (uint32_t)operation->counts[0] % sizes[operation->member];

	arguments->member[0] = (struct h2d_pull_member){
		.source = (uintptr_t)world.constants,
		.destination = (uintptr_t)h2d_buffer_device(
			world.buffer[operation->slot][operation->member]),
		.bytes = bytes,
	};
	EXPECT(enqueue_copy(arguments), H2D_STATUS_SUCCESS);
	memset(model.device[operation->slot] + offsets[operation->member], 0xc3, bytes);
	return true;
}

static bool run_operation(h2d_backend_t backend, const struct operation *operation)
{
	switch (operation->kind) {
	case NEXT_EPOCH:
		return next_epoch();
	case PUBLISH:
		return publish(backend, operation, NULL);
	case REPUBLISH:
		return republish(operation);
	case REPUBLISH_GROUP:
		return republish_group(backend, operation);
	case PUBLISH_LATE:
		return publish_late(backend, operation);
	case REPLAY:
		return replay(operation);
	case GPU_WRITE:
		return gpu_write(operation);
	default:
		EXPECT(h2d_owner_finish(world.owner[model.slot], fixture_stream),
		       H2D_STATUS_SUCCESS);
		EXPECT(h2d_owner_resume(world.owner[model.slot], fixture_stream),
		       H2D_STATUS_SUCCESS);
		return true;
	}
}

static bool compare(const char *what, uint32_t number, const void *device, const uint8_t *expected,
		    size_t size)
{
	static uint8_t actual[SNAPSHOT];

	EXPECT(h2d_device_read(fixture_device, actual, device, size, TIMEOUT_NS),
	       H2D_STATUS_SUCCESS);
	for (size_t i = 0; i < size; i++) {
		if (actual[i] == expected[i])
			continue;
		snprintf(failure, sizeof(failure), "%s %u: byte %zu is %u instead of %u", what,
			 number, i, actual[i], expected[i]);
		return false;
	}
	return true;
}

static bool run_sequence(h2d_backend_t backend, const struct operation *operations, uint32_t count)
{
	static const uint8_t zero[SNAPSHOT];
	uint8_t constants[70007];

	memset(&model, 0, sizeof(model));
	memset(constants, 0xc3, sizeof(constants));
	check_success(h2d_device_write(fixture_device, world.seen, zero, SNAPSHOT, TIMEOUT_NS));
	check_success(h2d_device_write(fixture_device, world.constants, constants,
				       sizeof(constants), TIMEOUT_NS));
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		for (uint32_t i = 0; i < MEMBERS; i++)
			check_success(h2d_device_write(fixture_device,
						       h2d_buffer_device(world.buffer[slot][i]),
						       zero, sizes[i], TIMEOUT_NS));
	}
	/* What the DMA engine has just written is to be seen by the first replay. */
	check_success(h2d_stream_synchronize(fixture_stream));
	if (!next_epoch())
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (!run_operation(backend, &operations[i]))
			return false;
	}
	EXPECT(h2d_owner_finish(world.owner[model.slot], fixture_stream), H2D_STATUS_SUCCESS);
	EXPECT(h2d_stream_synchronize(fixture_stream), H2D_STATUS_SUCCESS);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		for (uint32_t i = 0; i < MEMBERS; i++) {
			if (!compare(slot ? "slot 1 member" : "slot 0 member", i,
				     h2d_buffer_device(world.buffer[slot][i]),
				     model.device[slot] + offsets[i], sizes[i]))
				return false;
		}
	}
	for (uint32_t r = 0; r < model.replays; r++) {
		for (uint32_t i = 0; i < MEMBERS; i++) {
			if (!compare("replay", r, world.snapshots + r * SNAPSHOT + offsets[i],
				     model.snapshot[r] + offsets[i], sizes[i]))
				return false;
		}
	}
	return true;
}

/* ---- making, shortening and printing sequences ----------------------------------------------- */

static int64_t random_count(uint64_t *state, uint32_t member)
{
	switch (fixture_random(state) % 8) {
	case 0:
	case 1:
		return H2D_COUNT_OMITTED;
	case 2:
		return 0;
	case 3:
		return capacities[member];
	case 4:
		return fixture_random(state) % 8 ? 1 : (int64_t)capacities[member] + 1;
	default:
		return (int64_t)fixture_random_between(state, 1, capacities[member]);
	}
}

static struct operation random_operation(uint64_t *state)
{
	/* Publications and replays are the commonest. */
	static const enum kind kinds[] = {
		NEXT_EPOCH, NEXT_EPOCH,	     PUBLISH,	      PUBLISH,	 PUBLISH,
		REPUBLISH,  REPUBLISH_GROUP, REPLAY,	      REPLAY,	 GPU_WRITE,
		GPU_WRITE,  PUBLISH_LATE,    FINISH_AND_RESUME,
	};
	struct operation operation = {
		.kind = kinds[fixture_random(state) % (sizeof(kinds) / sizeof(kinds[0]))],
		.slot = (uint32_t)(fixture_random(state) % SLOTS),
		.group = (uint32_t)(fixture_random(state) % GROUPS),
		.member = (uint32_t)(fixture_random(state) % MEMBERS),
	};

	for (uint32_t i = 0; i < MEMBERS; i++)
		operation.counts[i] = random_count(state, i);
	if (operation.kind == REPUBLISH || operation.kind == GPU_WRITE)
		operation.counts[0] = (int64_t)fixture_random_between(state, 0, 100000);
	return operation;
}

static void print_operation(const struct operation *operation)
{
	static const char *const names[KINDS] = {
		"next epoch", "publish", "republish",	      "correct and republish",
		"replay",     "write",	 "finish and resume", "publish late",
	};
	const bool group = operation->kind == PUBLISH || operation->kind == REPUBLISH_GROUP ||
			   operation->kind == PUBLISH_LATE;

	fprintf(stderr, "#   %s", names[operation->kind]);
	if (operation->kind == REPLAY || operation->kind == GPU_WRITE)
		fprintf(stderr, " slot %u", operation->slot);
	if (operation->kind == REPUBLISH || operation->kind == GPU_WRITE)
		fprintf(stderr, " member %u count %lld", operation->member,
			(long long)operation->counts[0] % capacities[operation->member]);
	if (operation->kind == REPUBLISH_GROUP)
		fprintf(stderr, " but not member %u", operation->member);
	if (group)
		fprintf(stderr, " '%s'", group_names[operation->group]);
	for (uint32_t i = 0; group && i < group_sizes[operation->group]; i++) {
		const int64_t count = operation->counts[group_members[operation->group][i]];

		if (count == H2D_COUNT_OMITTED)
			fprintf(stderr, " -");
		else
			fprintf(stderr, " %lld", (long long)count);
	}
	fprintf(stderr, "\n");
}

/* Whether the sequence fails in a new world; the timing differs each time, so it gets some tries.
 */
static bool fails_again(h2d_backend_t backend, const struct operation *operations, uint32_t count)
{
	for (int attempt = 0; attempt < 5; attempt++) {
		bool passed;

		destroy_world();
		make_world(backend);
		passed = run_sequence(backend, operations, count);
		if (!passed)
			return true;
	}
	return false;
}

static void shorten(h2d_backend_t backend, struct operation *operations, uint32_t count,
		    uint64_t number)
{
	char first_failure[sizeof(failure)];

	memcpy(first_failure, failure, sizeof(failure));
	for (uint32_t i = count; i-- > 0;) {
		struct operation shorter[MAXIMUM_OPS];

		memcpy(shorter, operations, i * sizeof(*operations));
		memcpy(shorter + i, operations + i + 1, (count - i - 1) * sizeof(*operations));
		if (fails_again(backend, shorter, count - 1)) {
			memcpy(operations, shorter, --count * sizeof(*operations));
			memcpy(first_failure, failure, sizeof(failure));
		}
	}
	fprintf(stderr, "# %s sequence %llu, shortened: %s\n", h2d_backend_name(backend),
		(unsigned long long)number, first_failure);
	for (uint32_t i = 0; i < count; i++)
		print_operation(&operations[i]);
	memcpy(failure, first_failure, sizeof(failure));
}

START_TEST(random_sequences_land_what_the_model_says)
{
	const char *text = getenv("H2D_SEQUENCES");
	uint64_t sequences = text ? strtoull(text, NULL, 10) : 300;
	h2d_backend_t backend = (h2d_backend_t)_i;
	uint64_t state = fixture_seed() + (uint64_t)_i;

	make_world(backend);
	for (uint64_t n = 0; n < sequences; n++) {
		struct operation operations[MAXIMUM_OPS];
		uint32_t count = (uint32_t)fixture_random_between(&state, 3, MAXIMUM_OPS);

		for (uint32_t i = 0; i < count; i++)
			operations[i] = random_operation(&state);
		if (!run_sequence(backend, operations, count)) {
			shorten(backend, operations, count, n);
			ck_abort_msg("sequence %llu: %s", (unsigned long long)n, failure);
		}
	}
	destroy_world();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sequences");
	TCase *cases = tcase_create("sequences");

	/* Hostile unless the environment says otherwise; a real GPU does not read these. */
	setenv("SOFTGPU_L2S", "3", 0);
	setenv("SOFTGPU_DELAY", "60", 0);
	setenv("SOFTGPU_REORDER", "1", 0);
	tcase_add_checked_fixture(cases, fixture_setup, fixture_teardown);
	tcase_set_timeout(cases, 3600);
	tcase_add_loop_test(cases, random_sequences_land_what_the_model_says, 0, BACKENDS);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
