/* device.h: a trainer's memory on a GPU: one allocation, a copy of the host's block (trainer/memory.c) byte for byte,
 * copies between the two, and entries as CUDA graphs.  For C as well.
 *
 * Everything happens in one stream, in order, except gpu_ahead.  An error is kept for gpu_failure; calls after it do
 * nothing. */
#ifndef LATHE_CUDA_DEVICE_H
#define LATHE_CUDA_DEVICE_H

#include "interface/lathe_model.h"

#ifdef __cplusplus
#include <cuda_runtime.h>
extern "C" {
#else
typedef struct CUstream_st *cudaStream_t;
#endif

typedef struct Gpu_needs {
    const char *command;                /* for messages: "train" */
    int number, gpus;                   /* the index of this GPU; the number of GPUs wanted */
    void *host;                         /* the host's block, */
    int64_t bytes;                      /* the plan's */
    int64_t workspace;                  /* of products, after the block; includes LATHE_GPU_ALIGN for alignment */
    int64_t ahead;                      /* for the bytes of gpu_ahead between two gpu_arrive, after the workspace */
    int64_t staged;                     /* bytes of a pinned piece for copies (lathe_pinned_bytes) */
    int64_t most;                       /* limit of bytes; 0: none */
    int64_t rooms;                      /* bytes that are mapped beside (cuda/rooms.h) */
    int capability;                     /* of the kernels' target: 80 */
} Gpu_needs;

/* Opens the GPU and allocates its memory, zeroed.  NULL: done.  Otherwise a message, and nothing is allocated: no GPU,
 * too old a GPU, a driver older than CUDA, too little memory. */
const char *gpu_open(const Gpu_needs *needs);
void gpu_close(void);
const char *gpu_failure(void);          /* the first error, with the kernel's name if it is known; NULL: none */

cudaStream_t gpu_stream(void);
void *gpu_place(const void *host);      /* the address on the device of a byte of the block; NULL for NULL */
/* From now on also that of a byte of this array, which is no part of the block. */
void gpu_add_window(const void *host, int64_t bytes, void *device);
Lathe_call gpu_call(const Lathe_call *host); /* the same with the device's pointers, and the stream */
void *gpu_workspace(void);

/* Copies bytes of the block to the device and back, in pieces through pinned memory.  After gpu_up the host may change
 * them; it waits only if there are more than two pieces.  gpu_down waits until they have arrived. */
void gpu_up(const void *host, int64_t bytes);
void gpu_down(void *host, int64_t bytes);
void gpu_clear(void *host, int64_t bytes);      /* on the device */
/* Copies on the device: n pieces of `piece` bytes, `apart` bytes from each other on both sides. */
void gpu_copy(void *to, const void *from, int64_t piece, int64_t n, int64_t apart);
void gpu_wait(void);                    /* for everything */

/* Like gpu_up in a separate stream, while the main stream works: bytes go to a place beside the block.  gpu_arrive,
 * after all of them, makes the main stream move them to their places. */
void gpu_ahead(const void *host, int64_t bytes);
void gpu_arrive(void);

/* While the host waits, it calls `trouble` repeatedly with the seconds waited so far; if that returns true, it stops
 * waiting, and gpu_failure does not report it.  NULL: it only waits. */
void gpu_watch(bool (*trouble)(double waited));

/* others_failed: whether a library call has failed; then nothing that depends on it is launched.  NULL: not called. */
void gpu_ask(bool (*others_failed)(void));

/* Sends a few bytes of device memory, in stream order, to one of two pinned rooms, for the host to read later.
 * gpu_sent waits for them, and for nothing after them; NULL: they did not arrive because of a failure or trouble. */
void gpu_begin(int room);               /* from here on */
void gpu_send(int room, const void *device, int64_t bytes);     /* LATHE_GPU_SENT at most */
const void *gpu_sent(int room, double *seconds);        /* seconds: since gpu_begin, by the device's clock; or NULL */

/* Records an event in the stream; in a captured graph, at each launch. */
void gpu_mark(struct CUevent_st *event);

/* Called after a launch: an error is attributed to `kernel` (its name and Lua line).  With LATHE_CUDA_CHECK=1 in the
 * environment it waits for the kernel, so that the error cannot be an earlier one's; entries are then not graphs. */
void gpu_launched(const char *kernel);
bool gpu_in_trouble(void);              /* whether gpu_failure would report an error */

/* An entry: it always enqueues the same work, apart from values in device memory.  The first call runs it directly
 * (products make their plans), the second captures it, and from then on the graph runs.  call: pointers into the host's
 * block, always the same; the entry gets the device's, and the stream. */
typedef struct Gpu_entry {
    void (*enqueue)(void *with, const Lathe_call *device);
    void *with;
    bool by_itself;                     /* not captured: every call enqueues it */
    int calls;
    Lathe_call call;
    struct CUgraphExec_st *graph;
    bool no_graph;                      /* CUDA refused a graph: every call enqueues it */
} Gpu_entry;
void gpu_run(Gpu_entry *e, const Lathe_call *call);
void gpu_forget(Gpu_entry *e);          /* before gpu_close */

#ifdef __cplusplus
}
#endif
#endif
