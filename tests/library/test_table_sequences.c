/* SPDX-License-Identifier: MIT */
/*
 * Long random sequences on published tables, against a model that copies everything: what the host
 * array holds, what the device holds, revisions, refusals and which publications are sent.
 *
 * A batch mixes versioned and unversioned rows, rows that grow, change, are shared by prefix, swap
 * places, leave from the middle, are preempted and come back; with limits, required pages, padding,
 * sub-batches, epochs that are over, and second publications with and without a reason.
 */
#include <h2dpub/table_publication.h>

#include "publication_case.h"

#define ROWS    5
#define COLUMNS 9
#define POOL    7
#define STEPS   33334 /* for each backend: 100,002 in all */

static uint64_t state; /* of the random numbers */

static uint32_t random_below(uint32_t limit)
{
	return (uint32_t)fixture_random_between(&state, 0, limit - 1);
}

static bool one_in(uint32_t times)
{
	return random_below(times) == 0;
}

/* ---- the pool of requests, twice: the library's rows and copies with lineages of their own --- */

struct model_row {
	uint64_t lineage; /* 0: unversioned */
	uint32_t length;
	int32_t ids[COLUMNS + 3];
	bool below_limit; /* known to be: a row of a described sub-batch */
	uint32_t required_pages;
};

static h2d_block_table_t *pool[POOL];
static struct model_row copies[POOL];
static uint64_t last_lineage;
static uint32_t order[POOL]; /* in which a batch takes them */

static void arrive(uint32_t i, const struct model_row *prefix, uint32_t length)
{
	h2d_block_table_release(pool[i]);
	check_success(h2d_block_table_create(prefix->ids, length, &pool[i]));
	memmove(copies[i].ids, prefix->ids, length * sizeof(int32_t));
	copies[i].length = length;
	copies[i].lineage = ++last_lineage;
}

static void change(uint32_t i)
{
	struct model_row *copy = &copies[i];
	int32_t id = one_in(150) ? -1 : (int32_t)random_below(20);
	uint32_t place = copy->length ? random_below(copy->length) : 0;

	if (copy->length == COLUMNS + 2 || one_in(30)) { /* preempted, and back with other pages */
		arrive(i, copy, 0);
	} else if (one_in(20)) { /* a new request with the prefix of another one */
		const struct model_row *other = &copies[random_below(POOL)];

		arrive(i, other, other->length / 2);
	} else if (one_in(10) && copy->length) {
		check_success(h2d_block_table_set(pool[i], place, id));
		copy->ids[place] = id;
		copy->lineage = ++last_lineage;
	} else if (one_in(12) && copy->length) {
		check_success(h2d_block_table_pop(pool[i], NULL));
		copy->length--;
		copy->lineage = ++last_lineage;
	} else if (one_in(30)) { /* refused, and still another lineage */
		check_status(h2d_block_table_set(pool[i], copy->length, id), H2D_STATUS_OUT_OF_RANGE);
		copy->lineage = ++last_lineage;
	} else {
		check_success(h2d_block_table_append(pool[i], id));
		copy->ids[copy->length++] = id;
	}
}

/* Two requests swap places, or one leaves, and those behind it move up. */
static void change_order(void)
{
	uint32_t one = random_below(POOL), other = random_below(POOL), request = order[one];

	if (one_in(2)) {
		order[one] = order[other];
		order[other] = request;
	} else {
		memmove(order + one, order + one + 1, (POOL - 1 - one) * sizeof(*order));
		order[POOL - 1] = request;
	}
}

/* ---- the model ------------------------------------------------------------------------------- */

struct model_table {
	int32_t host[ROWS][COLUMNS];
	int32_t device[ROWS][COLUMNS];
	struct model_row rows[ROWS];
	uint32_t described, zero_to;
	uint64_t limit, revision;
	/* The last publication that got through. */
	bool sent;
	uint64_t sent_revision;
	uint32_t sent_rows;
	uint64_t uploads, omitted;
	/* In this epoch. */
	bool published, in_use;
};

static struct {
	bool active;
	bool in_flight; /* the group's descriptors */
	struct model_table tables[2];
	bool other_published, other_in_use;
} model;

static bool same_as_described(const struct model_table *table, uint32_t i, const struct model_row *row)
{
	if (i >= table->described || table->rows[i].length != row->length)
		return false;
	if (row->lineage)
		return table->rows[i].lineage == row->lineage;
	return !memcmp(table->host[i], row->ids, row->length * sizeof(int32_t));
}

static h2d_status_t model_acquire(struct model_table *table, const char *reason)
{
	if (!model.active)
		return H2D_STATUS_INVALID_STATE;
	if (table->published && !reason)
		return H2D_STATUS_ALREADY_PUBLISHED;
	if (table->in_use)
		model.in_flight = false;
	table->in_use = false;
	return H2D_STATUS_SUCCESS;
}

static bool ids_below(const struct model_row *row, uint64_t limit)
{
	for (uint32_t i = 0; i < row->length && !row->below_limit; i++) {
		if (row->ids[i] < 0 || (uint64_t)row->ids[i] >= limit)
			return false;
	}
	return true;
}

static h2d_status_t model_prepare(struct model_table *table, const struct model_row *rows, uint32_t count,
				  uint32_t end, uint64_t limit, const char *reason)
{
	bool pads, changes = false;
	h2d_status_t status;

	if (count > end || end > ROWS)
		return H2D_STATUS_OUT_OF_RANGE;
	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].length > COLUMNS || rows[i].length < rows[i].required_pages ||
		    !ids_below(&rows[i], limit))
			return H2D_STATUS_OUT_OF_RANGE;
		changes = changes || !same_as_described(table, i, &rows[i]);
	}
	pads = end > count && (count != table->described || end > table->zero_to);
	if (changes || pads) {
		status = model_acquire(table, reason);
		if (status != H2D_STATUS_SUCCESS)
			return status;
		table->revision++;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (same_as_described(table, i, &rows[i]))
			continue;
		memset(table->host[i], 0, sizeof(table->host[i]));
		memcpy(table->host[i], rows[i].ids, rows[i].length * sizeof(int32_t));
		table->rows[i] = rows[i];
		if (!rows[i].lineage)
			table->rows[i].lineage = ++last_lineage;
	}
	for (uint32_t i = count; pads && i < end; i++)
		memset(table->host[i], 0, sizeof(table->host[i]));
	table->zero_to = count == table->described && table->zero_to > end ? table->zero_to : end;
	table->described = count;
	table->limit = limit;
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t model_pad(struct model_table *table, uint32_t scheduled, uint32_t running,
			      const char *reason)
{
	h2d_status_t status;

	if (scheduled > running || running > ROWS || scheduled > table->described)
		return H2D_STATUS_OUT_OF_RANGE;
	if (running > scheduled && (scheduled != table->described || running > table->zero_to)) {
		status = model_acquire(table, reason);
		if (status != H2D_STATUS_SUCCESS)
			return status;
		table->revision++;
		for (uint32_t i = scheduled; i < running; i++)
			memset(table->host[i], 0, sizeof(table->host[i]));
	}
	if (scheduled != table->described || running > table->zero_to)
		table->zero_to = running;
	table->described = scheduled;
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t model_slice(uint32_t first, uint32_t count, uint32_t end, uint64_t limit,
				const char *reason)
{
	const struct model_table *source = &model.tables[0];
	struct model_row rows[ROWS] = {{0}};
	bool described = first + count <= source->described;

	if (first + count > ROWS)
		return H2D_STATUS_OUT_OF_RANGE;
	for (uint32_t i = 0; i < count; i++) {
		rows[i].length = described ? source->rows[first + i].length : COLUMNS;
		rows[i].lineage = described ? source->rows[first + i].lineage : 0;
		rows[i].below_limit = described;
		memcpy(rows[i].ids, source->host[first + i], rows[i].length * sizeof(int32_t));
	}
	return model_prepare(&model.tables[1], rows, count, end, described ? source->limit : limit, reason);
}

/* Whether this publication of a member may go; count in rows, -1: omitted. */
static h2d_status_t model_member(bool published, bool in_use, int64_t count, const char *reason)
{
	if (count < 0)
		return H2D_STATUS_SUCCESS;
	if (published && !reason)
		return H2D_STATUS_ALREADY_PUBLISHED;
	if (published && in_use)
		return H2D_STATUS_SOURCE_IN_USE;
	return count > ROWS ? H2D_STATUS_OUT_OF_RANGE : H2D_STATUS_SUCCESS;
}

/* other: rows of the group's other member, -1: omitted; -2: published alone. */
static h2d_status_t model_publish(struct model_table *table, uint32_t rows, int64_t other,
				  h2d_backend_t backend, const char *reason)
{
	bool stale = !table->sent || table->sent_revision != table->revision || table->sent_rows != rows;
	bool shared = stale && rows && other > 0 && backend != H2D_BACKEND_DIRECT;
	h2d_status_t status = H2D_STATUS_SUCCESS;

	if (rows > (table->zero_to > table->described ? table->zero_to : table->described))
		return H2D_STATUS_OUT_OF_RANGE;
	if ((stale || other > -2) && !model.active)
		return H2D_STATUS_INVALID_STATE;
	if (stale)
		status = model_member(table->published, table->in_use, rows, reason);
	if (status == H2D_STATUS_SUCCESS && other >= 0)
		status = model_member(model.other_published, model.other_in_use, other, NULL);
	if (status == H2D_STATUS_SUCCESS && shared && model.in_flight)
		status = H2D_STATUS_TRANSPORT_IN_FLIGHT;
	if (status != H2D_STATUS_SUCCESS)
		return status;
	model.in_flight = model.in_flight || shared;
	if (other >= 0) {
		model.other_published = true;
		model.other_in_use = other > 0;
	}
	if (stale) {
		table->published = true;
		table->in_use = rows > 0;
		memcpy(table->device, table->host, rows * sizeof(table->host[0]));
	}
	table->uploads += stale;
	table->omitted += !stale;
	table->sent = true;
	table->sent_revision = table->revision;
	table->sent_rows = rows;
	return H2D_STATUS_SUCCESS;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static struct {
	h2d_backend_t backend;
	h2d_owner_t *owner;
	h2d_buffer_t *buffers[2], *other;
	h2d_group_t *group;
	h2d_published_table_t *tables[2];
	int step;
} world;

static const char *random_reason(void)
{
	return one_in(3) ? "again" : NULL;
}

static uint64_t random_limit(void)
{
	return one_in(4) ? H2D_NO_PAGE_LIMIT : one_in(10) ? 12 : 20;
}

static void expect_status(h2d_status_t actual, h2d_status_t expected, const char *what)
{
	if (actual != expected)
		ck_abort_msg("step %d, %s: %s instead of %s: %s", world.step, what,
			     h2d_status_string(actual), h2d_status_string(expected),
			     h2d_error_message());
}

static void step_prepare(void)
{
	const h2d_block_table_t *tables[ROWS + 1];
	const int32_t *ids[ROWS + 1];
	uint32_t lengths[ROWS + 1], required_pages[ROWS + 1];
	struct model_row rows[ROWS + 1];
	uint32_t count = random_below(one_in(50) ? ROWS + 2 : ROWS + 1);
	bool requires = one_in(3);
	h2d_table_options_t options = {.pad_to = one_in(3) ? 0 : count + random_below(3),
				       .page_limit = random_limit(),
				       .reason = random_reason()};
	h2d_table_rows_t batch = {.count = count,
				  .tables = tables,
				  .ids = ids,
				  .lengths = lengths,
				  .required_pages = requires ? required_pages : NULL};
	h2d_status_t expected;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t request = order[i];
		bool versioned = !one_in(5);

		ck_assert_uint_eq(h2d_block_table_length(pool[request]), copies[request].length);
		tables[i] = versioned ? pool[request] : NULL;
		ids[i] = copies[request].ids;
		lengths[i] = copies[request].length;
		rows[i] = copies[request];
		required_pages[i] = one_in(40) ? lengths[i] + 1 : random_below(lengths[i] + 1);
		rows[i].required_pages = requires ? required_pages[i] : 0;
		if (!versioned)
			rows[i].lineage = 0;
	}
	expected = model_prepare(&model.tables[0], rows, count, options.pad_to ? options.pad_to : count,
				 options.page_limit, options.reason);
	expect_status(h2d_published_table_prepare(world.tables[0], fixture_stream, &batch, &options),
		      expected, "prepare");
}

static void step_pad(void)
{
	uint32_t table = random_below(2), running = random_below(ROWS + 2);
	uint32_t scheduled = one_in(4) ? random_below(ROWS + 1) : model.tables[table].described;
	const char *reason = random_reason();
	h2d_status_t expected = model_pad(&model.tables[table], scheduled, running, reason);

	expect_status(h2d_published_table_pad(world.tables[table], fixture_stream, scheduled, running,
					      reason),
		      expected, "pad");
}

static void step_slice(void)
{
	uint32_t first = random_below(ROWS + 1), count = random_below(ROWS);
	h2d_table_options_t options = {.pad_to = one_in(2) ? 0 : count + random_below(2),
				       .page_limit = random_limit(),
				       .reason = random_reason()};
	h2d_status_t expected = model_slice(first, count, options.pad_to ? options.pad_to : count,
					    options.page_limit, options.reason);

	expect_status(h2d_published_table_slice(world.tables[0], first, count, world.tables[1],
						fixture_stream, &options),
		      expected, "slice");
}

static void step_publish(void)
{
	uint32_t place = random_below(2);
	struct model_table *table = &model.tables[place];
	uint32_t valid = table->zero_to > table->described ? table->zero_to : table->described;
	uint32_t rows = one_in(4) ? random_below(ROWS + 1) : valid;
	/* Only the first table is in the group. */
	int64_t other = place == 1 || one_in(3) ? -2 : one_in(2) ? -1 : (int64_t)random_below(ROWS + 2);
	const char *reasons[2] = {random_reason(), NULL};
	uint64_t uploads = table->uploads;
	bool uploaded = false;
	h2d_status_t expected = model_publish(table, rows, other, world.backend, reasons[0]);

	if (other > -2)
		check_success(h2d_group_set_count(world.group, world.other,
						  other < 0 ? H2D_COUNT_OMITTED : other));
	expect_status(h2d_published_table_publish(world.tables[place], fixture_stream, rows,
						  other > -2 ? world.group : NULL, reasons, &uploaded),
		      expected, "publish");
	if (uploaded != (table->uploads != uploads))
		ck_abort_msg("step %d: the table was %s", world.step, uploaded ? "sent" : "omitted");
}

static void begin_epoch(void)
{
	check_success(h2d_owner_begin(world.owner, fixture_stream));
	for (int i = 0; i < 2; i++)
		model.tables[i].published = model.tables[i].in_use = false;
	model.other_published = model.other_in_use = model.in_flight = false;
	model.active = true;
}

static void step_epoch(void)
{
	if (!model.active) {
		begin_epoch();
		return;
	}
	check_success(h2d_owner_finish(world.owner, fixture_stream));
	model.active = false;
	if (!one_in(4))
		begin_epoch();
}

static void compare_hosts(void)
{
	for (int i = 0; i < 2; i++) {
		const h2d_table_state_t *table = h2d_published_table_state(world.tables[i]);

		if (memcmp(h2d_buffer_host(world.buffers[i]), model.tables[i].host,
			   sizeof(model.tables[i].host)))
			ck_abort_msg("step %d: the host array of table %d differs", world.step, i);
		if (h2d_table_state_revision(table) != model.tables[i].revision)
			ck_abort_msg("step %d: table %d has another revision", world.step, i);
		if (h2d_table_state_described_rows(table) != model.tables[i].described)
			ck_abort_msg("step %d: table %d describes other rows", world.step, i);
	}
}

static void compare_devices(void)
{
	check_success(h2d_stream_synchronize(fixture_stream));
	for (int i = 0; i < 2; i++) {
		int32_t device[ROWS][COLUMNS];

		check_success(h2d_device_read(fixture_device, device, h2d_buffer_device(world.buffers[i]),
					      sizeof(device), H2D_DEFAULT_TIMEOUT_NS));
		if (memcmp(device, model.tables[i].device, sizeof(device)))
			ck_abort_msg("step %d: the device's table %d differs", world.step, i);
	}
}

static void open_world(h2d_backend_t backend)
{
	static const char *const names[] = {"table", "part"};

	world.backend = backend;
	world.owner = case_owner_of("sequence", backend);
	for (int i = 0; i < 2; i++)
		world.buffers[i] = case_buffer(world.owner, names[i], 4, ROWS, COLUMNS, H2D_COUNT_ROWS);
	world.other = case_buffer(world.owner, "other", 4, ROWS, COLUMNS, H2D_COUNT_ROWS);
	check_success(h2d_group_create(world.owner, "step",
				       (h2d_buffer_t *[]){world.buffers[0], world.other}, 2,
				       &world.group));
	check_success(h2d_owner_select_transports(world.owner));
	for (int i = 0; i < 2; i++) {
		fill_source(world.buffers[i], -7);
		memcpy(model.tables[i].host, h2d_buffer_host(world.buffers[i]),
		       sizeof(model.tables[i].host));
		fill_destination_bytes(world.buffers[i], 0x3c);
		memset(model.tables[i].device, 0x3c, sizeof(model.tables[i].device));
		model.tables[i].limit = H2D_NO_PAGE_LIMIT;
		check_success(h2d_published_table_create(world.buffers[i], &world.tables[i]));
	}
	for (uint32_t i = 0; i < POOL; i++) {
		arrive(i, &copies[i], 0);
		order[i] = i;
	}
}

static void close_world(void)
{
	for (int i = 0; i < 2; i++) {
		h2d_published_table_totals_t totals;

		h2d_published_table_get_totals(world.tables[i], &totals);
		ck_assert_uint_eq(totals.uploads, model.tables[i].uploads);
		ck_assert_uint_eq(totals.uploads_omitted, model.tables[i].omitted);
		/* The sequence means something only if it did both often. */
		ck_assert_uint_gt(totals.uploads, STEPS / 100);
		ck_assert_uint_gt(totals.uploads_omitted, STEPS / 100);
		h2d_published_table_destroy(world.tables[i]);
	}
	for (uint32_t i = 0; i < POOL; i++)
		h2d_block_table_release(pool[i]);
	if (model.active)
		check_success(h2d_owner_finish(world.owner, fixture_stream));
}

START_TEST(published_tables_agree_with_a_model_that_copies_everything)
{
	state = fixture_seed() + (uint64_t)_i;
	open_world(_i);
	begin_epoch();
	for (world.step = 0; world.step < STEPS; world.step++) {
		uint32_t choice = random_below(20);

		if (one_in(3))
			change(random_below(POOL));
		if (one_in(30))
			change_order();
		if (choice < 9)
			step_prepare();
		else if (choice < 10)
			step_pad();
		else if (choice < 13)
			step_slice();
		else if (choice < 17)
			step_publish();
		else
			step_epoch();
		compare_hosts();
		if (world.step % 64 == 0)
			compare_devices();
	}
	compare_devices();
	close_world();
}
END_TEST

static Suite *make_suite(void)
{
	Suite *suite = suite_create("table_sequences");
	TCase *tcase = tcase_create("sequences");

	tcase_add_checked_fixture(tcase, case_setup, case_teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, published_tables_agree_with_a_model_that_copies_everything, 0, BACKENDS);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(make_suite());
}
