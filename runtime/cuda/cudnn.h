/* cudnn.h: attention by cuDNN, if it is installed and serves a call; cuda/attention.cuh computes all other calls.
 *
 * It serves bf16 and fp16 on sm_80 and later, causal or not, heads up to 256 wide (multiples of 8), keys shared by
 * heads, any number of queries and keys; no dropout, segments, lengths, window, rotary positions or offset.  Both ways
 * have the same lse (natural logarithm, fp32), so they may be mixed between forward and backward of a call.  Algorithms
 * with varying bits are not used.
 *
 * LATHE_CUDNN names the library; "none": cuDNN is not used. */
#ifndef LATHE_CUDA_CUDNN_H
#define LATHE_CUDA_CUDNN_H

#include "math/attention.h"

#ifdef __cplusplus
#include <cuda_runtime.h>
extern "C" {
#else
typedef struct CUstream_st *cudaStream_t;
#endif

/* Loads the library and gives it a workspace in device memory, at a multiple of 256 bytes; other users of it must run
 * in the same stream.  NULL: done, or LATHE_CUDNN=none.  Otherwise a message: it is missing, too old, or does not
 * start; our kernels then compute all attention. */
const char *cudnn_start(void *workspace, size_t bytes);
void cudnn_stop(void);
size_t cudnn_version(void);             /* 91900: 9.19.0; 0: not started */

/* Bytes of workspace for the derivative of `samples` samples of g in one call (interface/lathe_model.h).  With less, a
 * call is divided into several; with less than for one sample, it is not served. */
int64_t cudnn_workspace_bytes(const Lathe_attention *g, int64_t samples);

/* Whether cuDNN computes g, in BF16 or F16.  The first query of a shape compiles it, which takes about a second;
 * answers are cached. */
typedef enum Cudnn_what { CUDNN_FORWARD, CUDNN_FORWARD_LSE, CUDNN_BACKWARD } Cudnn_what;
bool cudnn_serves(Lathe_dtype type, const Lathe_attention *g, Cudnn_what what);

/* The number of shapes queried so far; the name of one, by which it can be switched off (cuda/second_way.h), NULL: not
 * served. */
int cudnn_plans(void);
const char *cudnn_plan(int i);

/* False if the call is not served: because of its shape, or because a pointer is not at a multiple of 16 bytes or is
 * NULL (lse may be NULL); or if the library fails, which is reported, and it is not called for that shape again.
 * Another kernel must then compute all results. */
bool cudnn_attention(cudaStream_t stream, Lathe_dtype type, const Lathe_attention *g, void *o, float *lse, const void *q,
                     const void *k, const void *v);
bool cudnn_attention_back(cudaStream_t stream, Lathe_dtype type, const Lathe_attention *g, void *d_q, void *d_k, void *d_v,
                          const void *q, const void *k, const void *v, const void *o, const float *lse, const void *d_o);

#ifdef __cplusplus
}
#endif
#endif
