/* SPDX-License-Identifier: MIT */
/*
 * The smallest user of h2dpub: two host arrays, published as one group to fixed GPU addresses, in
 * order with the work on one queue.
 *
 * Build: cc publish.c $(pkg-config --cflags --libs h2dpub)
 */
#include <stdio.h>
#include <stdlib.h>

#include <h2dpub/h2dpub.h>

enum { MAX_REQUESTS = 8 };

static void check(h2d_status_t status)
{
	if (status == H2D_STATUS_SUCCESS)
		return;
	fprintf(stderr, "%s: %s\n", h2d_status_string(status), h2d_error_message());
	exit(EXIT_FAILURE);
}

static h2d_buffer_t *make_buffer(h2d_owner_t *owner, const char *name, size_t element_size)
{
	const h2d_buffer_description_t description = {
		.name = name,
		.element_size = element_size,
		.dimensions = 1,
		.shape = {MAX_REQUESTS},
		.unit = H2D_COUNT_ROWS,
	};
	h2d_buffer_t *buffer;

	check(h2d_buffer_allocate(owner, &description, &buffer));
	return buffer;
}

static void print_landed(h2d_device_t *device, const h2d_buffer_t *temperatures,
			 const h2d_buffer_t *top_ks)
{
	float landed_temperatures[MAX_REQUESTS];
	int32_t landed_top_ks[MAX_REQUESTS];

	check(h2d_device_read(device, landed_temperatures, h2d_buffer_device(temperatures),
			      sizeof(landed_temperatures), H2D_DEFAULT_TIMEOUT_NS));
	check(h2d_device_read(device, landed_top_ks, h2d_buffer_device(top_ks),
			      sizeof(landed_top_ks), H2D_DEFAULT_TIMEOUT_NS));
	for (int i = 0; i < MAX_REQUESTS; i++)
		printf("request %d: temperature %.2f, top_k %d\n", i, landed_temperatures[i],
		       landed_top_ks[i]);
}

int main(void)
{
	h2d_device_t *device;
	h2d_stream_t *stream;
	h2d_owner_t *owner;
	h2d_buffer_t *buffers[2];
	h2d_group_t *group;

	/* Once: a GPU, a queue, an owner with its buffers, and one group of them. */
	check(h2d_device_open(0, &device));
	check(h2d_stream_create(device, NULL, &stream));
	check(h2d_owner_create(device, NULL, NULL, &owner));
	buffers[0] = make_buffer(owner, "temperatures", sizeof(float));
	buffers[1] = make_buffer(owner, "top_ks", sizeof(int32_t));
	check(h2d_group_create(owner, "sampling", buffers, 2, &group));
	check(h2d_owner_select_transports(owner));

	/* Every step: begin waits until the GPU is done with the sources of the last one. */
	for (int step = 1; step <= 2; step++) {
		const int requests = 3 * step;
		const int64_t counts[] = {requests, requests};
		float *temperatures;
		int32_t *top_ks;

		check(h2d_owner_begin(owner, stream));
		temperatures = h2d_buffer_host(buffers[0]);
		top_ks = h2d_buffer_host(buffers[1]);
		for (int i = 0; i < requests; i++) {
			temperatures[i] = 0.25f * (float)step;
			top_ks[i] = 10 * step + i;
		}
		check(h2d_group_publish(group, stream, counts, NULL));
		check(h2d_owner_finish(owner, stream));

		/* Kernels enqueued on the stream from here on read the new values. */
		check(h2d_stream_synchronize(stream));
		printf("step %d, %d requests\n", step, requests);
		print_landed(device, buffers[0], buffers[1]);
	}

	check(h2d_owner_destroy(owner));
	check(h2d_stream_destroy(stream));
	check(h2d_device_close(device));
	return EXIT_SUCCESS;
}
