/* direction.h: what an optimizer written in Lua (the entry direction) is given on a GPU: gradients as it expects them, and
 * its inputs, from device memory. */
#ifndef LATHE_CUDA_DIRECTION_H
#define LATHE_CUDA_DIRECTION_H

#include "cuda/optim.h"

/* Both are called when the step is settled.  first: the first element that is directed; all behind it are. */
void gpu_ready_gradients(const Gpu_optimizer *o, void *grads, int64_t first, cudaStream_t stream);
void gpu_tell_direction(const Gpu_optimizer *o, const Lathe_entry *direction, void *in, cudaStream_t stream);

#endif
