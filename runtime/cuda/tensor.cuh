/* tensor.cuh: numbers of 16 bits, pairs of them, and products of small matrices on tensor cores (sm_80 and later). */
#ifndef LATHE_CUDA_TENSOR_CUH
#define LATHE_CUDA_TENSOR_CUH

#include "cuda/machine.cuh"

#ifdef __CUDACC__
#define MATH_MEMBER __host__ __device__
#else
#define MATH_MEMBER
#endif

/* ---- storage (math/math.h says how it rounds); arithmetic is in floats */

struct alignas(2) Bf16 {
    uint16_t bits;
    Bf16() = default;
    MATH_MEMBER explicit Bf16(float x) : bits(to_bf16_f32(x)) {}
    MATH_MEMBER operator float() const { return from_bf16_f32(bits); }
};

struct alignas(2) F16 {
    uint16_t bits;
    F16() = default;
    MATH_MEMBER explicit F16(float x) : bits(to_f16_f32(x)) {}
    MATH_MEMBER operator float() const { return from_f16_f32(bits); }
};

/* ---- registers of two such numbers, the first in the low half */

template <class T> struct Is_fp16 {
    static constexpr bool value = false;
};
template <> struct Is_fp16<F16> {
    static constexpr bool value = true;
};

template <class T> DEVICE uint32_t pair_of(float low, float high)
{
#ifdef __CUDACC__
    uint32_t x;
    if constexpr (Is_fp16<T>::value) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(high), "f"(low));
    else asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(high), "f"(low));
    return x;
#else
    return (uint32_t)T(high).bits << 16 | T(low).bits;
#endif
}

/* ---- 2 to the power x, within 2 units of the last place of a float */
#ifdef __CUDACC__
DEVICE float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#else
DEVICE float power_of_two(float x) { return exp2f(x); }
#endif

/* ---- matrices: all 32 lanes of a warp together
 *
 * mma<T>(d, a, b): d[16][8] += a[16][16] · b[16][8].  Of lane 4 g + q, half h: register r of
 *     a is a[g + 8 (r & 1)][2 q + h + 8 (r >> 1)]    b is b[2 q + h + 8 r][g]    d is d[g + 8 (r >> 1)][2 q + (r & 1)]
 *
 * load_matrices() and load_columns() of cuda/machine.cuh fill a and b. */
template <class T> DEVICE void mma(float *d, const uint32_t *a, const uint32_t *b)
{
    multiply_matrices<Is_fp16<T>::value>(d, a, b);
}

#endif
