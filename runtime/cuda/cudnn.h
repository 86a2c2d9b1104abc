/* cudnn.h: attention by cuDNN, where it is installed and serves a call; all other attention is cuda/attention.cuh's.
 *
 * It serves bf16 and fp16 on sm_80 and later, causal or not, heads up to 256 wide (multiples of 8), keys shared by heads, any
 * number of queries and keys; no dropout, segments, lengths, window, rotary positions, no offset.  Both ways mean the same by
 * lse (natural logarithm, fp32), so that forward and backward of one call may be made by different ones.  Algorithms that do
 * not give the same bits every time are not used.
 *
 * LATHE_CUDNN names the library; "none": it is not looked for. */
#ifndef LATHE_CUDA_CUDNN_H
#define LATHE_CUDA_CUDNN_H

#include "math/attention.h"

#ifdef __cplusplus
#include <cuda_runtime.h>
extern "C" {
#else
typedef struct CUstream_st *cudaStream_t;
#endif

/* Loads the library and gives it its workspace: of the device, at a multiple of 256 bytes; who shares it runs in the same
 * stream.  NULL: done, or LATHE_CUDNN=none.  Otherwise a line for the user: it is missing, too old, or does not start; all attention is ours then. */
const char *cudnn_start(void *workspace, size_t bytes);
void cudnn_stop(void);
size_t cudnn_version(void);             /* 91900: 9.19.0; 0: not started */

/* What a workspace must have for the derivative of so many samples of g in one call (interface/lathe_model.h).  With less, a call becomes several
 * of fewer samples; with less than one sample's it is not served. */
int64_t cudnn_workspace_bytes(const Lathe_attention *g, int64_t samples);

/* Whether cuDNN computes g, of BF16 or F16.  The first question about a shape compiles it, which takes about a second; answers are
 * kept. */
typedef enum Cudnn_what { CUDNN_FORWARD, CUDNN_FORWARD_LSE, CUDNN_BACKWARD } Cudnn_what;
bool cudnn_serves(Lathe_dtype type, const Lathe_attention *g, Cudnn_what what);

/* The shapes that were asked about so far; of one its name, by which it can be switched off (cuda/second_way.h), NULL: not served. */
int cudnn_plans(void);
const char *cudnn_plan(int i);

/* Each is false where the call is not served: by its shape, or where a pointer is not at a multiple of 16 bytes, or NULL (but for
 * lse, which nobody may want); or where the library fails, which is said, and not asked for it again: its results are to be
 * written by another then, whole. */
bool cudnn_attention(cudaStream_t stream, Lathe_dtype type, const Lathe_attention *g, void *o, float *lse, const void *q,
                     const void *k, const void *v);
bool cudnn_attention_back(cudaStream_t stream, Lathe_dtype type, const Lathe_attention *g, void *d_q, void *d_k, void *d_v,
                          const void *q, const void *k, const void *v, const void *o, const float *lse, const void *d_o);

#ifdef __cplusplus
}
#endif
#endif
