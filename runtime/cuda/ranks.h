/* ranks.h: several GPUs train together, one process per GPU, by NCCL, which is loaded at run time: gradients are summed
 * bucket by bucket while others are still being computed, each GPU updates its parts (interface/shard.h), and all get
 * the new parameters while the next step's forward pass runs.
 *
 * All communication goes through one stream, in order.  An error is kept for ranks_failure; calls after it do
 * nothing. */
#ifndef LATHE_CUDA_RANKS_H
#define LATHE_CUDA_RANKS_H

#include "cuda/optim.h"

const char *ranks_load(void);           /* NULL: NCCL is loaded; otherwise a message */
const char *ranks_name(char *id);       /* called by the first rank: the id with which all join, LATHE_RANKS_ID bytes */
const char *ranks_join(int rank, const char *id, const Lathe_shards *shards, Lathe_dtype real, Lathe_dtype weights); /* waits for the others */
void ranks_leave(void);
bool ranks_joined(void);
const char *ranks_failure(void);
bool ranks_in_trouble(double waited);   /* called repeatedly while the host waits; waited: seconds so far */

void ranks_share(void *at, int64_t bytes, cudaStream_t stream);        /* copies the first rank's bytes to all */

/* Called around an entry that computes gradients, which says itself which parameters it needs and which gradients are
 * done (lathe_cuda.cuh), and after it, like gpu_optimize.  Afterwards each GPU has the new parameters of its parts alone:
 * before anything but a step reads parameters, all call ranks_return. */
void ranks_begin(const Gpu_optimizer *o, void *params, void *grads, cudaStream_t stream);
void ranks_optimize(const void *loss, Lathe_dtype loss_type, const Cuda_bad_id *bad, cudaStream_t stream);

void ranks_return(void *params, cudaStream_t stream);

/* This rank keeps its own elements there, one part after the other, and of the arrays of all only the buckets that are
 * at hand (cuda/parts.cu): one is gathered into its place among all parameters, after what is in the stream; or this
 * rank's elements are taken from there; the gradients of one are added up.  Events: that is done. */
void ranks_keep(void *params, void *grads);
void ranks_gather(int bucket, void *whole, cudaEvent_t gathered, cudaStream_t stream);
void ranks_take(int bucket, const void *whole, cudaStream_t stream);
void ranks_add(int bucket, cudaEvent_t added, cudaStream_t stream);

/* Each rank's part of the mean of weights, as parameters of all. */
void ranks_show(const Gpu_optimizer *o, void *params, cudaStream_t stream);

#endif
