/* gemm_check.cu: compares every element of the library's result with the plain kernel's, including ends and second
 * results. */
#include "cuda/gemm_internal.h"
#include "cuda/tensor.cuh"

#include <math.h>

template <class T> DEVICE double number_of(T x) { return (double)(float)x; }
template <> __device__ inline double number_of(double x) { return x; }

/* The largest |x - y| / (absolute + relative |y|), as the bits of a float; NaN counts as infinite. */
template <class T>
KERNEL void largest_difference(unsigned *largest, const T *x, const T *y, Lathe_gemm s, double absolute,
                               double relative)
{
    float most = 0;
    int64_t n = s.M * s.N;
    for (int k = 0; k < s.nbatch; k++) n *= s.batch[k];
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS) {
        int64_t at = i % s.N * s.c_n + i / s.N % s.M * s.c_m, batch = i / s.N / s.M;
        for (int k = s.nbatch - 1; k >= 0; k--) {
            at += batch % s.batch[k] * s.c_batch[k];
            batch /= s.batch[k];
        }
        const double a = number_of(x[at]), b = number_of(y[at]), off = fabs(a - b) / (absolute + relative * fabs(b));
        if (!(off <= (double)most)) most = off > 0 ? (float)off : INFINITY;
    }
    most = block_max_f32(most);
    unsigned bits;
    memcpy(&bits, &most, sizeof bits);
    if (threadIdx.x == 0) atomicMax(largest, bits); /* bits of floats that are not negative have the floats' order */
}

/* The possible difference of sums of K products of numbers between 1 and 2: by rounding stored values, and by the order
 * and precision of the sum.  A wrong element differs by about √K. */
typedef struct Rounding {
    double stored, summed; /* stored: relative; summed: per K */
} Rounding;

static Rounding rounding_of_product(const Cuda_gemm *g)
{
    const double K = (double)g->shape.K;
    switch (g->numbers) {
    case GEMM_F64: return {0x1p-45, 0x1p-43 * K};
    case GEMM_F32: return {0x1p-20, 0x1p-17 * K};
    case GEMM_TF32: return {0x1p-9, 0x1p-6 * sqrt(K)};
    case GEMM_BF16: return {0x1p-6, 0x1p-15 * K};
    case GEMM_F16: return {0x1p-9, 0x1p-15 * K};
    case GEMM_BF16_TO_F32:
    case GEMM_F16_TO_F32: return {0x1p-18, 0x1p-15 * K};
    }
    return {};
}

/* A bias may cancel a product that was stored before it was added. */
static Rounding rounding_of(const Cuda_gemm *g)
{
    Rounding r = rounding_of_product(g);
    if (gemm_has_bias(g)) r.summed += 2 * r.stored;
    return r;
}

/* A library may compute gelu and its slope with an approximation of tanh. */
static Rounding rounding_of_end(const Cuda_gemm *g)
{
    Rounding r = rounding_of(g);
    const double K = (double)g->shape.K, coarse = g->numbers == GEMM_F64 ? 1e-9 : 0.02;
    if (gemm_is_gelu(g)) r.summed = 2 * r.summed + coarse;
    if (g->end == GEMM_END_GELU_BACK) r.summed = 2 * r.summed + coarse * sqrt(K);
    return r;
}

static void compare(const Cuda_gemm *g, unsigned *largest, const void *x, const void *y, const Lathe_gemm *s,
                    Rounding r, cudaStream_t stream)
{
    int64_t n = s->M * s->N;
    for (int k = 0; k < s->nbatch; k++) n *= s->batch[k];
    const int blocks = (int)(n / THREADS < 1024 ? n / THREADS + 1 : 1024);
    switch (g->numbers) {
    case GEMM_F64:
        return launch(largest_difference<double>, blocks, stream, largest, (const double *)x, (const double *)y, *s,
                      r.summed, r.stored);
    case GEMM_BF16:
        return launch(largest_difference<Bf16>, blocks, stream, largest, (const Bf16 *)x, (const Bf16 *)y, *s, r.summed,
                      r.stored);
    case GEMM_F16:
        return launch(largest_difference<F16>, blocks, stream, largest, (const F16 *)x, (const F16 *)y, *s, r.summed,
                      r.stored);
    default:
        return launch(largest_difference<float>, blocks, stream, largest, (const float *)x, (const float *)y, *s,
                      r.summed, r.stored);
    }
}

/* [rows][columns] with row stride `apart`: a vector, or aux. */
static Lathe_gemm matrix_of(int64_t rows, int64_t columns, int64_t apart)
{
    Lathe_gemm s = {};
    s.M = rows, s.N = columns, s.c_m = apart, s.c_n = 1;
    return s;
}

float gemm_off(const Cuda_gemm *g, const Gemm_results *x, const Gemm_results *y, unsigned *room, cudaStream_t stream)
{
    const Lathe_gemm *s = &g->shape, vector = matrix_of(1, g->end == GEMM_END_SUM_A ? s->M : s->N, 0),
                     aux = matrix_of(s->M, s->N, g->aux_m);
    const Rounding sums = {rounding_of(g).stored, rounding_of(g).summed + 0x1p-16 * (double)s->K};
    unsigned bits = 0;
    float off = INFINITY;
    (void)cudaMemsetAsync(room, 0, sizeof *room, stream);
    compare(g, room, x->c, y->c, s, rounding_of_end(g), stream);
    if (gemm_sums(g)) compare(g, room, x->vector, y->vector, &vector, sums, stream);
    if (gemm_is_gelu(g) && g->aux_m) compare(g, room, x->aux, y->aux, &aux, rounding_of(g), stream);
    (void)cudaMemcpyAsync(&bits, room, sizeof bits, cudaMemcpyDeviceToHost, stream);
    if (cudaStreamSynchronize(stream) == cudaSuccess) memcpy(&off, &bits, sizeof off);
    return off;
}
