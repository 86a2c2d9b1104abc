/* attention_nvcc.cu: the kernels of attention for nvcc, at the widths that models have. */
#include "cuda_attention.cuh"

#ifndef WIDE /* -DWIDE=true: more of them, which take nvcc some minutes */
#define WIDE false
#endif

template <class T, int WIDTH, bool DROPOUT> static void both(cudaStream_t s, T *x, typename Arithmetic<T>::Real *lse)
{
    Lathe_attention g = {};
    Cuda_masks m = {};
    launch_attention<T, WIDTH, WIDTH, DROPOUT>(s, x, lse, WIDE ? x : NULL, x, x, x, g, m);
    launch_attention_back<T, WIDTH, WIDTH, DROPOUT>(s, x, x, x, x, x, x, x, lse, x, g, m);
}

void all(cudaStream_t s, float *x, double *y, Bf16 *z, F16 *h);
void all(cudaStream_t s, float *x, double *y, Bf16 *z, F16 *h)
{
    both<Bf16, 64, false>(s, z, x);
    both<float, 64, true>(s, x, x);
    if constexpr (WIDE) {
        both<F16, 128, true>(s, h, x);
        both<Bf16, 256, false>(s, z, x);
        both<float, 256, false>(s, x, x);
        both<double, 128, true>(s, y, y);
    }
    (void)y, (void)h;
}
