/* ranks.h: several GPUs train together, a process each, by NCCL, which is loaded at run time: gradients are summed bucket by
 * bucket while the rest of them is still being made, each GPU updates its parts (interface/shard.h), and all get the new parameters.
 *
 * All that GPUs tell each other goes through one stream, in one order.  What goes wrong is kept until ranks_failure asks; calls
 * after it do nothing. */
#ifndef LATHE_CUDA_RANKS_H
#define LATHE_CUDA_RANKS_H

#include "cuda/optim.h"

const char *ranks_load(void);           /* NULL: NCCL is there; else what to tell the user */
const char *ranks_name(char *id);       /* by the first rank: what all join by, LATHE_RANKS_ID bytes */
const char *ranks_join(int rank, const char *id, const Lathe_shards *shards, Lathe_dtype real, Lathe_dtype weights); /* waits for the others */
void ranks_leave(void);
bool ranks_joined(void);
const char *ranks_failure(void);
bool ranks_in_trouble(double waited);   /* asked again and again while the host waits, for so many seconds now */

void ranks_share(void *at, int64_t bytes, cudaStream_t stream);        /* the first rank's to all */

/* Around an entry that makes gradients, which says itself when some of them are whole (gradients_done in lathe_cuda.cuh), and
 * behind it, as gpu_optimize. */
void ranks_begin(const Gpu_optimizer *o, void *grads);
void ranks_optimize(void *params, const void *loss, Lathe_dtype loss_type, const Cuda_bad_id *bad, cudaStream_t stream);

#endif
