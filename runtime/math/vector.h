/* vector.h: vector registers, and their fused multiply-add, which rounds alike on every processor that has one.
 *
 * Compiled for float and double: REAL, NAME(x) and IS_FLOAT as in math/attention.c. */

#ifndef IS_FLOAT
#error "define IS_FLOAT: 1 where REAL is float, else 0"
#endif
#include "math/width.h"

/* A vector register at any address. */
typedef REAL NAME(Vector) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
enum { NAME(WIDTH) = VECTOR_BYTES / sizeof(REAL) }; /* its lanes */

/* v, in a register: else gcc may read it from memory again for every product. */
static INLINE NAME(Vector) NAME(kept)(NAME(Vector) v)
{
#if defined __AVX512F__ || defined __FMA__
    __asm__("" : "+v"(v));
#endif
    return v;
}

/* a · b + c, rounded once, lane by lane */
static INLINE NAME(Vector) NAME(fused)(NAME(Vector) a, NAME(Vector) b, NAME(Vector) c)
{
#if defined __AVX512F__ && IS_FLOAT
    return (NAME(Vector))_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined __AVX512F__
    return (NAME(Vector))_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined __FMA__ && IS_FLOAT
    return (NAME(Vector))_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined __FMA__
    return (NAME(Vector))_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined __aarch64__ && IS_FLOAT
    return (NAME(Vector))vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif defined __aarch64__
    return (NAME(Vector))vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#elif defined FP_FAST_FMAF
    for (int l = 0; l < NAME(WIDTH); l++) c[l] = NAME(fma)(a[l], b[l], c[l]);
    return c;
#else
    return a * b + c; /* rounded twice: an fma in software takes fifty times as long */
#endif
}

/* The same of one number. */
static INLINE REAL NAME(fused_one)(REAL a, REAL b, REAL c)
{
#if defined __AVX512F__ || defined __FMA__ || defined FP_FAST_FMAF
    return NAME(fma)(a, b, c);
#else
    return a * b + c;
#endif
}
