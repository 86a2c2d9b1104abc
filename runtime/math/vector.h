/* vector.h: vector registers, and their fused multiply-add, which rounds alike on every processor.
 *
 * A compiler without vectors has vectors of one lane; no result depends on their width.  Compiled for float and double:
 * REAL, NAME(x) and IS_FLOAT as in math/attention.c. */

#ifndef IS_FLOAT
#error "define IS_FLOAT: 1 where REAL is float, else 0"
#endif
#include "math/math.h"
#include "math/width.h"

/* A vector register at any address; its lanes, and one of them. */
#ifdef __GNUC__
typedef REAL NAME(Vector) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
enum { NAME(WIDTH) = VECTOR_BYTES / sizeof(REAL) };
#else
typedef REAL NAME(Vector);
enum { NAME(WIDTH) = 1 };
#endif

/* v, in a register: else gcc may read it from memory again for every product. */
static INLINE NAME(Vector) NAME(kept)(NAME(Vector) v)
{
#if defined __AVX512F__ || defined __FMA__
    __asm__("" : "+v"(v));
#endif
    return v;
}

#if IS_FLOAT && !FMA_OF_FLOATS && defined __GNUC__
/* software_fma_f32 of math/fma.h, of all lanes at once */
static INLINE Vector_f32 software_fused(Vector_f32 a, Vector_f32 b, Vector_f32 c)
{
    typedef double Doubles __attribute__((vector_size(2 * VECTOR_BYTES)));
    typedef uint64_t Bits __attribute__((vector_size(2 * VECTOR_BYTES)));
    const Doubles product = __builtin_convertvector(a, Doubles) * __builtin_convertvector(b, Doubles);
    const Doubles added = __builtin_convertvector(c, Doubles), sum = product + added, of_c = sum - product;
    const Doubles error = (product - (sum - of_c)) + (added - of_c);
    const Bits bits = (Bits)sum, beyond = (bits ^ (Bits)error) >> 63, inexact = (Bits)(error > 0) | (Bits)(error < 0);
    return __builtin_convertvector((Doubles)((bits & ~inexact) | (((bits - beyond) | 1) & inexact)), Vector_f32);
}
#endif

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
#elif defined __GNUC__ && defined __aarch64__ && IS_FLOAT
    return (NAME(Vector))vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif defined __GNUC__ && defined __aarch64__
    return (NAME(Vector))vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#elif !defined __GNUC__
    return NAME(fma)(a, b, c);
#elif IS_FLOAT && !FMA_OF_FLOATS
    return software_fused(a, b, c);
#else
    for (int l = 0; l < NAME(WIDTH); l++) c[l] = NAME(fma)(a[l], b[l], c[l]);
    return c;
#endif
}
