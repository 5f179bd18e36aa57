/* SPDX-License-Identifier: MIT */
/* Writes the corpus's inputs into the directory argv[1], with the encoder itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <h2dpub/delta_codec.h>

#define REQUESTS 4

static FILE *output;

static void open_input(const char *directory, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	output = fopen(path, "wb");
	if (!output) {
		perror(path);
		exit(EXIT_FAILURE);
	}
}

static void write_message(const void *bytes, size_t size, unsigned int repaired)
{
	fputc((int)(size & 0xff), output);
	fputc((int)(size >> 8 | repaired << 7), output);
	fwrite(bytes, 1, size, output);
}

/* Steps of growing, changing, leaving and returning requests; times: how often each is sent. */
static void write_steps(const char *directory, const char *name, int steps, unsigned int repaired,
			int whole_step, int lost_step, int times)
{
	h2d_delta_encoder_t *encoder = NULL;
	h2d_block_table_t *rows[REQUESTS];
	uint64_t request_ids[REQUESTS];

	open_input(directory, name);
	h2d_delta_encoder_create(0x1234, &encoder);
	for (int32_t i = 0; i < REQUESTS; i++)
		h2d_block_table_create((const int32_t[]){i, i + 1, i + 2}, (uint64_t)i, &rows[i]);
	for (int step = 0; step < steps; step++) {
		uint32_t count = step % 5 == 3 ? REQUESTS - 1 : REQUESTS;
		const h2d_block_table_t *batch[REQUESTS];
		const void *bytes;
		size_t size;

		for (uint32_t i = 0; i < count; i++) {
			uint32_t request = (i + (uint32_t)step / 4) % REQUESTS;

			batch[i] = rows[request];
			request_ids[i] = 100 + request;
		}
		if (step == whole_step)
			h2d_delta_encoder_request_whole(encoder);
		h2d_delta_encoder_encode(encoder, count, request_ids, batch, &bytes, &size);
		for (int i = 0; i < times && step != lost_step; i++)
			write_message(bytes, size, repaired);
		h2d_block_table_append(rows[step % REQUESTS], 1000 + step);
		if (step % 3 == 2)
			h2d_block_table_set(rows[0], 0, -step);
	}
	for (int i = 0; i < REQUESTS; i++)
		h2d_block_table_release(rows[i]);
	h2d_delta_encoder_destroy(encoder);
	fclose(output);
}

/* A scheduler's messages come again, among those of the one that was started after it. */
static void write_restart(const char *directory)
{
	static const struct {
		int encoder, number;
	} order[] = {{0, 0}, {0, 1}, {1, 0}, {0, 0}, {0, 1},
		     {0, 2}, {1, 0}, {1, 1}, {0, 2}, {1, 2}};
	enum { MESSAGES = 3, LARGEST = 256 };
	static uint8_t messages[2][MESSAGES][LARGEST];
	size_t sizes[2][MESSAGES];
	const uint64_t request_id = 7;

	for (int i = 0; i < 2; i++) {
		h2d_delta_encoder_t *encoder = NULL;
		h2d_block_table_t *row = NULL;

		h2d_delta_encoder_create((uint64_t)(i + 1), &encoder);
		h2d_block_table_create((const int32_t[]){1, 2 + i}, 2, &row);
		for (int j = 0; j < MESSAGES; j++) {
			const h2d_block_table_t *batch[] = {row};
			const void *bytes;

			h2d_delta_encoder_encode(encoder, 1, &request_id, batch, &bytes,
						 &sizes[i][j]);
			memcpy(messages[i][j], bytes, sizes[i][j]);
			h2d_block_table_append(row, 10 * i + j);
		}
		h2d_block_table_release(row);
		h2d_delta_encoder_destroy(encoder);
	}
	open_input(directory, "restarted");
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		write_message(messages[order[i].encoder][order[i].number],
			      sizes[order[i].encoder][order[i].number], 1);
	fclose(output);
}

int main(int argc, char *argv[])
{
	if (argc != 2)
		return EXIT_FAILURE;
	write_steps(argv[1], "one-message", 1, 0, -1, -1, 1);
	write_steps(argv[1], "steps", 12, 0, -1, -1, 1);
	write_steps(argv[1], "steps-repaired", 12, 1, -1, -1, 1);
	write_steps(argv[1], "duplicated", 4, 1, -1, -1, 2);
	write_steps(argv[1], "lost-then-whole", 9, 1, 6, 3, 1);
	write_restart(argv[1]);
	open_input(argv[1], "empty-batch");
	{
		h2d_delta_encoder_t *encoder = NULL;
		const void *bytes;
		size_t size;

		h2d_delta_encoder_create(1, &encoder);
		for (int i = 0; i < 2; i++) {
			h2d_delta_encoder_encode(encoder, 0, NULL, NULL, &bytes, &size);
			write_message(bytes, size, 1);
		}
		h2d_delta_encoder_destroy(encoder);
	}
	fclose(output);
	return EXIT_SUCCESS;
}
