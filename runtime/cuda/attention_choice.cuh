/* attention_choice.cuh: attention as entries call it: by cuDNN if it was started and serves the call, otherwise by our
 * kernels.  Forward and backward of a call are chosen independently: o and lse have the same meaning. */
#ifndef LATHE_CUDA_ATTENTION_CHOICE_CUH
#define LATHE_CUDA_ATTENTION_CHOICE_CUH

#include "cuda/attention.cuh"
#include "cuda/cudnn.h"

/* Excludes masks and dropout, which cuDNN does not serve here; the shape decides the rest. */
template <class T, bool DROPOUT> static inline bool may_be_cudnns(const Cuda_masks &m)
{
    return sizeof(T) == 2 && !DROPOUT && !m.offset.at && !m.offset.value && !m.offsets && !m.lengths && !m.q_segments && !m.q_turns &&
           !m.k_turns;
}

/* Clears the CUDA error of a library failure if our kernel computes the result. */
static inline bool made(bool clean, bool served)
{
    if (!served && clean) (void)cudaGetLastError();
    return served;
}

static inline bool is_clean(void) { return cudaPeekAtLastError() == cudaSuccess; }

template <class T> static inline Lathe_dtype dtype_of_half(void) { return Is_fp16<T>::value ? LATHE_F16 : LATHE_BF16; }

template <class T, int D, int E, bool DROPOUT>
static inline void attention(cudaStream_t stream, T *o, typename Arithmetic<T>::Real *lse, T *p, const T *q, const T *k,
                             const T *v, const Lathe_attention &g, const Cuda_masks &m)
{
    if constexpr (sizeof(T) == 2)
        if (!p && may_be_cudnns<T, DROPOUT>(m) &&
            made(is_clean(), cudnn_attention(stream, dtype_of_half<T>(), &g, o, lse, q, k, v)))
            return;
    launch_attention<T, D, E, DROPOUT>(stream, o, lse, p, q, k, v, g, m);
}

template <class T, int D, int E, bool DROPOUT>
static inline void attention_back(cudaStream_t stream, T *d_q, T *d_k, T *d_v, const T *q, const T *k, const T *v,
                                  const T *o, const typename Arithmetic<T>::Real *lse, const T *d_o,
                                  const Lathe_attention &g, const Cuda_masks &m)
{
    if constexpr (sizeof(T) == 2)
        if (may_be_cudnns<T, DROPOUT>(m) &&
            made(is_clean(), cudnn_attention_back(stream, dtype_of_half<T>(), &g, d_q, d_k, d_v, q, k, v, o, lse, d_o)))
            return;
    launch_attention_back<T, D, E, DROPOUT>(stream, d_q, d_k, d_v, q, k, v, o, lse, d_o, g, m);
}

#endif
