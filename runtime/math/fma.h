/* fma.h: a · b + c, rounded once, on every processor: by its instruction where it has one, else computed exactly.
 *
 * No call of libm is left: some C libraries round twice.  tests/math/test_fma.c compares both ways. */
#ifndef LATHE_MATH_FMA_H
#define LATHE_MATH_FMA_H

#include "inline.h"
#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define MATH static inline __host__ __device__
#else
#define MATH static inline
#endif

/* 16: halves, too, in their own precision. */
#if (defined __FLT_EVAL_METHOD__ && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16) || (defined __TINYC__ && defined __i386__)
#error "floats would be computed with more digits than they have: for x86 give -msse2 -mfpmath=sse"
#endif

/* With instructions for floats, and for doubles. */
#if defined __CUDACC__ || defined __FMA__ || defined __AVX512F__ || (defined __GNUC__ && defined __aarch64__)
#define FMA_OF_FLOATS  1
#define FMA_OF_DOUBLES 1
#else
#if defined __FP_FAST_FMAF || defined __ARM_FEATURE_FMA || (defined __riscv_flen && __riscv_flen >= 32)
#define FMA_OF_FLOATS 1
#else
#define FMA_OF_FLOATS 0
#endif
#if defined __FP_FAST_FMA || (defined __ARM_FEATURE_FMA && __ARM_FP & 8) || (defined __riscv_flen && __riscv_flen >= 64)
#define FMA_OF_DOUBLES 1
#else
#define FMA_OF_DOUBLES 0
#endif
#endif

MATH uint64_t bits_of_f64(double x)
{
    uint64_t u;
    __builtin_memcpy(&u, &x, sizeof u);
    return u;
}
MATH double f64_of_bits(uint64_t u)
{
    double x;
    __builtin_memcpy(&x, &u, sizeof x);
    return x;
}

/* In doubles: the product is exact, and the sum is rounded to odd: if it is not exact, to the neighbour whose last bit is 1.
 * Such a number is never half-way between floats (S. Boldo & G. Melquiond 2008, Emulation of FMA and correctly rounded
 * sums).  Of an infinity or NaN, error is NaN, and nothing is changed. */
MATH float software_fma_f32(float a, float b, float c)
{
    double product = (double)a * b, sum = product + c, of_c = sum - product;
    double error = (product - (sum - of_c)) + (c - of_c);
    uint64_t bits = bits_of_f64(sum), beyond = (bits ^ bits_of_f64(error)) >> 63; /* rounded away from zero */
    return (float)f64_of_bits(fabs(error) > 0 ? (bits - beyond) | 1 : bits);
}

/* high · 2^64 + low.  What is shifted out of it is told by the last bit. */
typedef struct Long_bits {
    uint64_t high, low;
} Long_bits;

MATH Long_bits long_right(Long_bits x, int n)
{
    uint64_t lost = 0;
    if (n >= 64) lost = x.low, x.low = x.high, x.high = 0, n -= 64;
    if (n >= 64) lost |= x.low, x.low = 0;
    else if (n > 0) lost |= x.low << (64 - n), x.low = x.low >> n | x.high << (64 - n), x.high >>= n;
    x.low |= lost != 0;
    return x;
}

MATH Long_bits long_product(uint64_t a, uint64_t b)
{
    uint64_t a1 = a >> 32, a0 = (uint32_t)a, b1 = b >> 32, b0 = (uint32_t)b, low = a0 * b0;
    uint64_t middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;
    Long_bits y;
    y.high = a1 * b1 + (middle >> 32) + (other >> 32), y.low = other << 32 | (uint32_t)low;
    return y;
}

/* |a|, not 0, is 2^power times an integer from 2^52 to 2^53 - 1. */
MATH uint64_t integer_of_f64(double a, int *power)
{
    int tiny = fabs(a) < 0x1p-1022;
    uint64_t u = bits_of_f64(tiny ? a * 0x1p54 : a);
    *power = (int)(u >> 52 & 0x7ff) - (tiny ? 1075 + 54 : 1075);
    return (u & 0xfffffffffffff) | 0x10000000000000;
}

/* ± x · 2^power, rounded once; x is not 0. */
MATH double rounded_f64(uint64_t sign, Long_bits x, int power)
{
    if (!x.high) x.high = x.low, x.low = 0, power -= 64;
    for (int n = 32; n > 0; n /= 2)
        if (!(x.high >> (64 - n))) x.high = x.high << n | x.low >> (64 - n), x.low <<= n, power -= n;
    power += 64 + 11; /* of the last bit of 53 */
    if (power < -1074) x = long_right(x, -1074 - power), power = -1074;
    if (power > 971) return f64_of_bits(sign | 0x7ff0000000000000);
    uint64_t kept = x.high >> 11, rest = (x.high & 0x7ff) << 1 | (x.low != 0);
    kept += rest > 0x800 || (rest == 0x800 && (kept & 1));
    return f64_of_bits(sign | (((uint64_t)(power + 1074) << 52) + kept));
}

/* In integers: product and c as numbers of 126 bits; the smaller one is shifted. */
MATH double software_fma_f64(double a, double b, double c)
{
    if (!(fabs(a * 0) + fabs(b * 0) + fabs(c * 0) == 0)) return fabs(a * 0) + fabs(b * 0) == 0 ? c : a * b + c;
    if (a == 0 || b == 0) return a * b + c;
    if (c == 0) return a * b;
    int of_a, of_b, of_c;
    uint64_t m = integer_of_f64(a, &of_a), n = integer_of_f64(b, &of_b), p = integer_of_f64(c, &of_c);
    uint64_t sign = (bits_of_f64(a) ^ bits_of_f64(b)) >> 63 << 63, other = bits_of_f64(c) >> 63 << 63;
    Long_bits x = long_product(m << 10, n << 10), y, sum;
    y.high = p << 9, y.low = 0;
    int power = of_a + of_b - 20, shift = power - (of_c - 73);
    if (shift > 0) y = long_right(y, shift);
    else x = long_right(x, -shift), power -= shift;
    if (sign == other) {
        sum.low = x.low + y.low, sum.high = x.high + y.high + (sum.low < x.low);
        return rounded_f64(sign, sum, power);
    }
    if (x.high == y.high && x.low == y.low) return 0;
    if (x.high < y.high || (x.high == y.high && x.low < y.low)) sum = x, x = y, y = sum, sign = other;
    sum.low = x.low - y.low, sum.high = x.high - y.high - (x.low < y.low);
    return rounded_f64(sign, sum, power);
}

#if FMA_OF_FLOATS
MATH float fma_f32(float a, float b, float c) { return fmaf(a, b, c); }
#else
MATH float fma_f32(float a, float b, float c) { return software_fma_f32(a, b, c); }
#endif
#if FMA_OF_DOUBLES
MATH double fma_f64(double a, double b, double c) { return fma(a, b, c); }
#else
MATH double fma_f64(double a, double b, double c) { return software_fma_f64(a, b, c); }
#endif

#endif
