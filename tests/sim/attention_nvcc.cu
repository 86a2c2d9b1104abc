/* attention_nvcc.cu: the kernels of attention for nvcc, at the widths that models have. */
#include "cuda/attention.cuh"

#ifndef MORE /* -DMORE=true: more of them, which take nvcc a minute or two */
#define MORE false
#endif

template <class T, int WIDTH, bool DROPOUT> static void both(cudaStream_t s, T *x, typename Arithmetic<T>::Real *lse)
{
    Lathe_attention g = {};
    Cuda_masks m = {};
    launch_attention<T, WIDTH, WIDTH, DROPOUT>(s, x, lse, NULL, x, x, x, g, m);
    launch_attention_back<T, WIDTH, WIDTH, DROPOUT>(s, x, x, x, x, x, x, x, lse, x, g, m);
}

void all(cudaStream_t s, float *x, Bf16 *z, F16 *h);
void all(cudaStream_t s, float *x, Bf16 *z, F16 *h)
{
    both<Bf16, 64, false>(s, z, x);
    if constexpr (MORE) {
        both<F16, 128, false>(s, h, x);
        both<float, 64, true>(s, x, x);
        both<float, 128, false>(s, x, x);
    }
    (void)h;
}
