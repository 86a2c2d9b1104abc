/* device.h: a trainer's memory on a GPU: one allocation that pictures the host's block (trainer/memory.c) byte for byte, copies
 * between the two, and entries as CUDA graphs.  For C as well.
 *
 * Everything happens in one stream, in order, but for what is sent ahead of it.  What goes wrong is kept until gpu_failure
 * asks; calls after it do nothing. */
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
    int number, gpus;                   /* which GPU, of those CUDA shows; so many are wanted in all */
    void *host;                         /* the host's block, */
    int64_t bytes;                      /* as the plan has it */
    int64_t workspace;                  /* of products, behind it; LATHE_GPU_ALIGN of them may be lost to its alignment */
    int64_t ahead;                      /* of what arrives between two gpu_arrive (gpu_ahead), behind that */
    int64_t staged;                     /* copies go through pinned pieces of so many bytes: lathe_pinned_bytes(staged) are taken of the host's memory */
    int64_t most;                       /* bytes that may be taken; 0: all there are */
    int capability;                     /* that the kernels were compiled for: 80 */
} Gpu_needs;

/* Takes the GPU and its memory, all of it zero.  NULL: done.  Otherwise what to tell the user, and nothing is taken: no GPU, one
 * that is too old, a driver older than CUDA, too little memory. */
const char *gpu_open(const Gpu_needs *needs);
void gpu_close(void);
const char *gpu_failure(void);          /* the first, with the kernel's name where that is known; NULL: none */

cudaStream_t gpu_stream(void);
void *gpu_place(const void *host);      /* where the device has that byte of the block; NULL of NULL */
void *gpu_workspace(void);

/* Bytes of the block, to the device and back, by pieces through pinned memory.  After gpu_up the host may change them, and has
 * waited only where there were more than two pieces; gpu_down waits until they are there. */
void gpu_up(const void *host, int64_t bytes);
void gpu_down(void *host, int64_t bytes);
void gpu_clear(void *host, int64_t bytes);      /* zero there */
/* There: n pieces of so many bytes, on both sides `apart` from each other. */
void gpu_copy(void *to, const void *from, int64_t piece, int64_t n, int64_t apart);
void gpu_wait(void);                    /* for everything */

/* The same as gpu_up in a stream of its own, while the stream does what it was asked for: bytes go to a place beside the block, and
 * gpu_arrive, behind all of them, has the stream take them from there to theirs. */
void gpu_ahead(const void *host, int64_t bytes);
void gpu_arrive(void);

/* While the host waits it asks again and again whether there is trouble, waited: seconds so far; then it waits no longer, and
 * gpu_failure has nothing to say of it.  NULL: it just waits. */
void gpu_watch(bool (*trouble)(double waited));

/* Whether a library has failed to do what it was asked for: then nothing that follows from that is launched.  NULL: none is asked. */
void gpu_ask(bool (*others_failed)(void));

/* What the host reads later: a few bytes of the device's memory into one of two pinned rooms, behind all that was asked for.
 * gpu_sent waits for them, and for nothing behind them; NULL: there was a failure, or trouble, and they have not come. */
void gpu_begin(int room);               /* from here on */
void gpu_send(int room, const void *device, int64_t bytes);     /* LATHE_GPU_SENT at most */
const void *gpu_sent(int room, double *seconds);        /* seconds: from gpu_begin to there on the device's clock; NULL: not asked */

/* An event where the stream has come, or in the graph that it is captured for: at each of its launches. */
void gpu_mark(struct CUevent_st *event);

/* After a launch: `kernel` (its name and Lua line) is who failed, if anyone has.  With LATHE_CUDA_CHECK=1 in the environment it
 * waits for it, so that it is not one of those before; entries are no graphs then. */
void gpu_launched(const char *kernel);
bool gpu_in_trouble(void);              /* whether it would have something to say */

/* An entry: what it puts into the stream is fixed but for what it reads from the device's memory.  The first call does it
 * (products make their plans), the second one captures it, and that graph is what runs from then on.  call: pointers into
 * the host's block, always the same ones; the entry gets the device's, and the stream. */
typedef struct Gpu_entry {
    void (*enqueue)(void *with, const Lathe_call *device);
    void *with;
    bool by_itself;                     /* no graph: every call does it */
    int calls;
    Lathe_call call;
    struct CUgraphExec_st *graph;
    bool no_graph;                      /* CUDA makes none of it: every call does it */
} Gpu_entry;
void gpu_run(Gpu_entry *e, const Lathe_call *call);
void gpu_forget(Gpu_entry *e);          /* before gpu_close */

#ifdef __cplusplus
}
#endif
#endif
