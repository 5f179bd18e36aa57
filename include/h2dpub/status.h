/* SPDX-License-Identifier: MIT */
/* Status codes and error messages of h2dpub. */
#ifndef H2DPUB_STATUS_H
#define H2DPUB_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#define H2D_API __attribute__((visibility("default")))

/*
 * What every public function returns. Unless its documentation says otherwise, a function that
 * does not return H2D_STATUS_SUCCESS has changed nothing, and the same call can be made again once
 * the cause is gone. NULL for an object or a result that it needs is INVALID_ARGUMENT, whether its
 * documentation lists that or not; functions that return no status must not be given NULL unless
 * it is said to be allowed.
 */
typedef enum h2d_status {
	H2D_STATUS_SUCCESS = 0,

	/* The arguments. */
	H2D_STATUS_INVALID_ARGUMENT = 1, /* a null pointer, an unknown value, a wrong shape */
	H2D_STATUS_OUT_OF_RANGE = 2,     /* a count, size or index outside its limits */
	H2D_STATUS_OVERLAP = 3,          /* memory that another buffer has registered */
	H2D_STATUS_NOT_FOUND = 4,        /* no object of that name */

	/* The publication contract (publication.h). */
	H2D_STATUS_INVALID_STATE = 16,       /* the object's state does not allow the call */
	H2D_STATUS_WRONG_THREAD = 17,        /* not the thread that began the epoch */
	H2D_STATUS_WRONG_DEVICE = 18,        /* a stream or memory of another device */
	H2D_STATUS_CAPTURE_ACTIVE = 19,      /* the stream is recording a graph */
	H2D_STATUS_WRONG_STREAM = 20,        /* not the stream on which the epoch began */
	H2D_STATUS_ALREADY_PUBLISHED = 21,   /* a second publication needs a reason */
	H2D_STATUS_SOURCE_IN_USE = 22,       /* the GPU may still read the source: acquire it */
	H2D_STATUS_TRANSPORT_IN_FLIGHT = 23, /* the GPU may still read the group's descriptors */

	/* The machine. */
	H2D_STATUS_NO_DEVICE = 32,     /* no such GPU */
	H2D_STATUS_NOT_SUPPORTED = 33, /* this GPU or runtime cannot do it */
	H2D_STATUS_OUT_OF_MEMORY = 34, /* host or device memory, signals or queues ran out */
	H2D_STATUS_TIMEOUT = 35,       /* a bounded wait ended before the GPU was done */
	H2D_STATUS_QUEUE_FULL = 36,    /* no room in the queue within the bounded wait */
	H2D_STATUS_QUEUE_ERROR = 37,   /* the queue reported an error; it executes nothing more */
	H2D_STATUS_MEMORY_FAULT = 38,  /* the GPU accessed memory that is not mapped to it */
	H2D_STATUS_HSA_ERROR = 39      /* an hsa_* call failed; the message names it */
} h2d_status_t;

/*
 * The name of a status, such as "H2D_STATUS_OUT_OF_RANGE"; "unknown status" for any other value.
 * The string is constant and never freed. Any thread may call it at any time.
 */
H2D_API const char *h2d_status_string(h2d_status_t status);

/*
 * The message of the last h2dpub call that failed on the calling thread: it names the object, the
 * value and the limit. "" if none has failed yet. Valid until the next h2dpub call on this thread.
 */
H2D_API const char *h2d_error_message(void);

#ifdef __cplusplus
}
#endif

#endif
