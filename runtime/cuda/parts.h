/* parts.h: GPUs that keep their own elements of parameters and gradients (--shard-parameters).
 *
 * All of them run the same entries, and what they tell each other depends on what those say alone. */
#ifndef LATHE_CUDA_PARTS_H
#define LATHE_CUDA_PARTS_H

#include "cuda/device.h"
#include "step/device_parts.h"

/* Maps the arrays; NULL, or a message. */
const char *parts_open(int gpu, const Device_parts *of, const Lathe_model *m);
bool parts_opened(void);
void parts_close(void);
void parts_join(int rank);              /* after ranks_join */

void parts_begin(const Lathe_entry *e); /* before it is enqueued */
void parts_rest(cudaStream_t stream);   /* after one with gradients, before ranks_optimize: those that it has not touched */

/* Between the whole array on the first rank's host and each rank's own elements. */
void parts_spread(void *params);
void parts_collect(void *params);

#endif
