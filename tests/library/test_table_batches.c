/* SPDX-License-Identifier: MIT */
/* Preparing block tables on the host: random batches against a model that copies everything. */
#include <stdlib.h>
#include <string.h>

#include "../run_suite.h"
#include "state_case.h"

/*
 * Random batches against a model that keeps copies of everything: appends, edits, reorders,
 * requests that leave from the middle, limits, required pages, padding, refused acquisitions,
 * versioned and unversioned rows.
 */
#define POOL 6

struct model_row {
	uint64_t lineage; /* 0: unversioned, compared by contents */
	uint32_t length;
	uint32_t required_pages;
	int32_t ids[COLUMNS + 2];
};

static struct {
	int32_t host[ROWS * COLUMNS];
	struct model_row rows[ROWS];
	uint32_t described, zero_to;
	uint64_t revision;
	unsigned int acquires;
} model;

static bool model_unchanged(uint32_t i, const struct model_row *row)
{
	if (i >= model.described || model.rows[i].length != row->length)
		return false;
	if (row->lineage)
		return model.rows[i].lineage == row->lineage;
	return !memcmp(model.host + i * COLUMNS, row->ids, row->length * sizeof(int32_t));
}

static h2d_status_t model_prepare(const struct model_row *rows, uint32_t n, uint32_t end,
				  uint64_t limit)
{
	bool write = end > n && (n != model.described || end > model.zero_to);
	struct model_row kept[ROWS];

	if (limit > INT32_MAX)
		limit = UINT64_C(1) << 31;
	if (n > end || end > ROWS)
		return H2D_STATUS_OUT_OF_RANGE;
	for (uint32_t i = 0; i < n; i++) {
		if (rows[i].length > COLUMNS || rows[i].length < rows[i].required_pages)
			return H2D_STATUS_OUT_OF_RANGE;
		for (uint32_t j = 0; j < rows[i].length; j++) {
			if (rows[i].ids[j] < 0 || (uint64_t)rows[i].ids[j] >= limit)
				return H2D_STATUS_OUT_OF_RANGE;
		}
		write = write || !model_unchanged(i, &rows[i]);
	}
	if (write) {
		model.acquires++;
		if (acquire_result != H2D_STATUS_SUCCESS)
			return acquire_result;
		model.revision++;
	}
	for (uint32_t i = 0; i < n; i++) {
		kept[i] = rows[i];
		/* An unversioned row that equals the snapshot keeps its lineage, as the snapshot. */
		if (!rows[i].lineage && model_unchanged(i, &rows[i]))
			kept[i].lineage = model.rows[i].lineage;
		if (!model_unchanged(i, &rows[i])) {
			memset(model.host + i * COLUMNS, 0, COLUMNS * sizeof(int32_t));
			memcpy(model.host + i * COLUMNS, rows[i].ids, rows[i].length * sizeof(int32_t));
		}
	}
	memcpy(model.rows, kept, n * sizeof(kept[0]));
	if (write) {
		for (uint32_t i = n; i < end && end > n && (n != model.described || end > model.zero_to);
		     i++)
			memset(model.host + i * COLUMNS, 0, COLUMNS * sizeof(int32_t));
	}
	model.zero_to = n == model.described && model.zero_to > end ? model.zero_to : end;
	model.described = n;
	return H2D_STATUS_SUCCESS;
}

static void change_row(h2d_block_table_t *row, unsigned int *seed)
{
	int32_t id = rand_r(seed) % 200 == 0 ? -1 : rand_r(seed) % 20;
	uint32_t length = h2d_block_table_length(row);

	switch (rand_r(seed) % 8) {
	case 0:
		h2d_block_table_set(row, length ? (uint32_t)rand_r(seed) % length : 0, id);
		break;
	case 1:
		h2d_block_table_clear(row);
		break;
	case 2:
		h2d_block_table_pop(row, NULL);
		break;
	case 3:
		h2d_block_table_insert(row, 0, id);
		break;
	default:
		h2d_block_table_append(row, id);
		break;
	}
	if (h2d_block_table_length(row) > COLUMNS + 1)
		h2d_block_table_clear(row);
}

/* Two requests swap places, or one leaves, and those behind it move up. */
static void change_order(uint32_t order[POOL], unsigned int *seed)
{
	uint32_t one = (uint32_t)rand_r(seed) % POOL, other = (uint32_t)rand_r(seed) % POOL;
	uint32_t request = order[one];

	if (rand_r(seed) % 2) {
		order[one] = order[other];
		order[other] = request;
	} else {
		memmove(order + one, order + one + 1, (POOL - 1 - one) * sizeof(*order));
		order[POOL - 1] = request;
	}
}

/* Mostly what the row has, or less. */
static uint32_t random_required_pages(uint32_t length, unsigned int *seed)
{
	if (rand_r(seed) % 40 == 0)
		return length + 1;
	return rand_r(seed) % 2 ? length : (uint32_t)rand_r(seed) % (length + 1);
}

START_TEST(random_batches_agree_with_a_model_that_copies_everything)
{
	unsigned int seed = (unsigned int)_i + 1;
	h2d_block_table_t *pool[POOL];
	uint32_t order[POOL];

	memset(&model, 0, sizeof(model));
	memcpy(model.host, host, sizeof(host));
	for (uint32_t i = 0; i < POOL; i++) {
		pool[i] = row_of(NULL, 0);
		order[i] = i;
	}
	for (int n = 0; n < 25000; n++) {
		const h2d_block_table_t *tables[ROWS + 1];
		const int32_t *ids[ROWS + 1];
		uint32_t lengths[ROWS + 1], required_pages[ROWS + 1];
		struct model_row rows[ROWS + 1];
		uint32_t count = (uint32_t)rand_r(&seed) % (rand_r(&seed) % 50 ? ROWS + 1 : ROWS + 2);
		uint32_t pad_to = rand_r(&seed) % 3 ? count + (uint32_t)rand_r(&seed) % 3 : 0;
		uint64_t limit = rand_r(&seed) % 4 ? 18 : H2D_NO_PAGE_LIMIT;
		bool requires = rand_r(&seed) % 3 == 0;
		h2d_table_rows_t batch = {.count = count,
					  .tables = tables,
					  .ids = ids,
					  .lengths = lengths,
					  .required_pages = requires ? required_pages : NULL};
		h2d_table_options_t options = {.pad_to = pad_to, .page_limit = limit};
		h2d_status_t expected;

		if (rand_r(&seed) % 2)
			change_row(pool[rand_r(&seed) % POOL], &seed);
		if (rand_r(&seed) % 6 == 0)
			change_order(order, &seed);
		acquire_result = rand_r(&seed) % 20 ? H2D_STATUS_SUCCESS : H2D_STATUS_ALREADY_PUBLISHED;
		for (uint32_t i = 0; i < count; i++) {
			const h2d_block_table_t *row = pool[order[i]];
			bool versioned = ((i + (unsigned int)_i) & 1) || rand_r(&seed) % 2;

			tables[i] = versioned ? row : NULL;
			ids[i] = h2d_block_table_ids(row);
			lengths[i] = h2d_block_table_length(row);
			rows[i].lineage = versioned ? h2d_block_table_version(row) : 0;
			rows[i].length = lengths[i];
			required_pages[i] = random_required_pages(lengths[i], &seed);
			rows[i].required_pages = requires ? required_pages[i] : 0;
			if (lengths[i])
				memcpy(rows[i].ids, ids[i], lengths[i] * sizeof(int32_t));
		}
		expected = model_prepare(rows, count, pad_to ? pad_to : count, limit);
		ck_assert_msg(h2d_table_state_prepare(state, &batch, &options) == expected,
			      "seed %d step %d: expected %s: %s", _i + 1, n, h2d_status_string(expected),
			      h2d_error_message());
		ck_assert_msg(!memcmp(host, model.host, sizeof(host)), "seed %d step %d: host differs",
			      _i + 1, n);
		ck_assert_msg(h2d_table_state_revision(state) == model.revision,
			      "seed %d step %d: revision", _i + 1, n);
		ck_assert_msg(acquires == model.acquires, "seed %d step %d: acquires", _i + 1, n);
	}
	for (int i = 0; i < POOL; i++)
		h2d_block_table_release(pool[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("table_batches");
	TCase *batches = tcase_create("batches");

	tcase_add_checked_fixture(batches, state_setup, state_teardown);
	tcase_set_timeout(batches, 60);
	tcase_add_loop_test(batches, random_batches_agree_with_a_model_that_copies_everything, 0, 4);
	suite_add_tcase(suite, batches);
	return run_suite(suite);
}
