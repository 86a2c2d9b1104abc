/* cuda_gemm_internal.h: what the files of CUDA's products share. */
#ifndef CUDA_GEMM_INTERNAL_H
#define CUDA_GEMM_INTERNAL_H

#include "cuda_gemm.h"

/* cuda_gemm_ends.cu: what g's end makes of the product that has been stored in c, in kernels of ours.  add: END_SUM_* adds to what
 * vector holds.  parts: `bytes` on the device, for partial sums. */
void gemm_end(const Cuda_gemm *g, void *c, const void *a, const void *b, bool add, void *vector, void *aux, void *parts,
              size_t bytes, cudaStream_t stream);

#endif
