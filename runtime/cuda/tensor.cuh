/* tensor.cuh: numbers of 16 bits, and the words for what tensor cores need that CUDA has only as PTX (sm_80 and
 * later).
 *
 * In the simulator (tests/sim) they are functions of the same names. */
#ifndef LATHE_CUDA_TENSOR_CUH
#define LATHE_CUDA_TENSOR_CUH

#include "lathe_cuda.cuh"

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

/* ---- 2 to the x, within 2 units of the last place of a float */
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
 * load_matrices(to, row): four matrices of 8 rows of 8; lane l says where row l % 8 of matrix l / 8 lies in shared
 * memory (16 bytes, aligned) and gets of matrix m in to[m] elements 2 q, 2 q + 1 of row g; load_columns: of column g.
 */
#ifdef __CUDACC__
#define MMA(name)                                                                                                      \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." name "." name ".f32 "                                                 \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                              \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                               \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
template <class T> DEVICE void mma(float *d, const uint32_t *a, const uint32_t *b)
{
    if constexpr (Is_fp16<T>::value) MMA("f16");
    else MMA("bf16");
}
#undef MMA

DEVICE unsigned shared_address(const void *at) { return (unsigned)__cvta_generic_to_shared(at); }

#define LOAD_MATRICES(name, how)                                                                                       \
    DEVICE void name(uint32_t *to, const void *row)                                                                    \
    {                                                                                                                  \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" how ".shared.b16 {%0, %1, %2, %3}, [%4];"                         \
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])                                              \
                     : "r"(shared_address(row))                                                                        \
                     : "memory");                                                                                      \
    }
LOAD_MATRICES(load_matrices, "")
LOAD_MATRICES(load_columns, ".trans")
#undef LOAD_MATRICES
#else
#include "sim_tensor.h"
template <class T> DEVICE void mma(float *d, const uint32_t *a, const uint32_t *b)
{
    sim_mma(SIM_HERE, d, a, b, Is_fp16<T>::value);
}
DEVICE void load_matrices(uint32_t *to, const void *row) { sim_ldmatrix(SIM_HERE, to, row, false); }
DEVICE void load_columns(uint32_t *to, const void *row) { sim_ldmatrix(SIM_HERE, to, row, true); }
#endif

/* ---- copies of 16 bytes from global to shared memory that go on while the thread does something else: in groups that
 * a commit closes; a wait is for all groups but the last `left`, after which the thread sees what it has copied, and
 * after a barrier the others do.  Not there: zeros. */
#ifdef __CUDACC__
DEVICE void copy_async(void *to, const void *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(there ? 16 : 0)
                 : "memory");
}
DEVICE void copy_commit(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> DEVICE void copy_wait(void) { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
#else
DEVICE void copy_async(void *to, const void *from, bool there) { sim_copy_async(to, from, there); }
DEVICE void copy_commit(void) { sim_copy_commit(); }
template <int LEFT> DEVICE void copy_wait(void) { sim_copy_wait(LEFT); }
#endif

#endif
