/* math.h: the functions of graph/ops.def for float, double and int.  They have no branches, so that loops calling them
 * vectorise, and give the same bits in vector bodies and tails.
 *
 * Compile with -ffp-contract=off -fno-math-errno -fno-trapping-math: fused operations are written as fma_f32.  Polynomials
 * are our own minimax fits.  Every function treats NaN, infinities, zeros of both signs and subnormals like C's
 * function of that name, unless its comment says otherwise; NaN propagates through all functions, max and min included.
 * Largest errors in units of the last place, over all floats (tests/math/test_math.c):
 *
 *     exp 1.02   expm1 1.44   log 0.84   tanh 1.34   erf 1.16   sqrt 0.5   rsqrt 1.5
 *     sin, cos 0.51 for |x| < 2^48; pow 0.51 on twenty million random pairs
 *
 * Those for double are in math/double.h.  The files are also C++ and CUDA (nvcc -fmad=false).  Some functions have their
 * own code on a GPU, with the same results, except that the bits of a NaN are not kept, and that of two zeros max_f32
 * returns the positive one and min_f32 the negative one. */
#ifndef LATHE_MATH_MATH_H
#define LATHE_MATH_MATH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define ROUNDS _Pragma("unroll")
#else
#define ROUNDS _Pragma("GCC unroll 10")
#endif

#include "interface/dtype.h"
#include "math/double.h"
#include "math/philox.h"

/* Code for a GPU, with an nvcc that is known to have these undocumented intrinsics.  Inline PTX would work with any
 * nvcc, but around it nvcc does not merge neighbouring loads and stores. */
#ifdef __CUDA_ARCH__
#define ON_GPU   1
#define BY_NAMES (__CUDACC_VER_MAJOR__ == 13)
#else
#define ON_GPU   0
#define BY_NAMES 0
#endif

/* ---- bits */

MATH uint32_t bits_of_f32(float x)
{
    uint32_t u;
    __builtin_memcpy(&u, &x, sizeof u);
    return u;
}
MATH float f32_of_bits(uint32_t u)
{
    float x;
    __builtin_memcpy(&x, &u, sizeof x);
    return x;
}

/* ---- storage in 16 bits: bf16, a float's upper half, and IEEE's binary16.  Rounded to nearest, ties to even; overflow
 * gives infinity; NaN stays NaN.  A double is rounded to float first. */

typedef uint16_t bf16;
typedef uint16_t f16;

MATH float from_bf16_f32(bf16 x) { return f32_of_bits((uint32_t)x << 16); }
MATH bf16 to_bf16_f32(float a)
{
    uint32_t u = bits_of_f32(a), up = u + 0x7fff + (u >> 16 & 1);
    return (bf16)((a != a ? u | 0x400000 : up) >> 16);
}

#if BY_NAMES
MATH float from_f16_f32(f16 x) { return __nvvm_h2f(x); }
MATH f16 to_f16_f32(float a) { return (f16)__nvvm_f2h_rn(a); }
#else
MATH float from_f16_f32(f16 x)
{
    uint32_t size = x & 0x7fff, bits = (size << 13) + (size < 0x7c00 ? 0x38000000 : 0x70000000);
    uint32_t small = bits_of_f32((float)(int)size * 0x1p-24f);
    return f32_of_bits((uint32_t)(x & 0x8000) << 16 | (size < 0x400 ? small : bits));
}
MATH f16 to_f16_f32(float a)
{
    uint32_t u = bits_of_f32(a), size = u & 0x7fffffff;
    uint32_t small = bits_of_f32(f32_of_bits(size) + 0.5f) - 0x3f000000; /* the sum's last bit is the smallest number */
    uint32_t y = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    y = size < 0x38800000 ? small : y;
    y = size < 0x477ff000 ? y : 0x7c00;
    y = a != a ? 0x7e00 : y;
    return (f16)((u >> 16 & 0x8000) | y);
}
#endif

/* Element i of a row of blocks. */
MATH float from_q8_0(const Lathe_q8_0 *row, int64_t i)
{
    const Lathe_q8_0 *b = &row[i / LATHE_BLOCK];
    return from_f16_f32(b->scale) * b->code[i % LATHE_BLOCK];
}

MATH float from_q4_0(const Lathe_q4_0 *row, int64_t i)
{
    const Lathe_q4_0 *b = &row[i / LATHE_BLOCK];
    int two = b->codes[i % (LATHE_BLOCK / 2)], upper = i % LATHE_BLOCK >= LATHE_BLOCK / 2;
    return from_f16_f32(b->scale) * ((upper ? two >> 4 : two & 15) - 8);
}

MATH double from_bf16_f64(bf16 x) { return from_bf16_f32(x); }
MATH bf16 to_bf16_f64(double a) { return to_bf16_f32((float)a); }
MATH double from_f16_f64(f16 x) { return from_f16_f32(x); }
MATH f16 to_f16_f64(double a) { return to_f16_f32((float)a); }

/* ---- simple functions */

MATH float abs_f32(float a) { return fabsf(a); }
MATH double abs_f64(double a) { return fabs(a); }
MATH int abs_i32(int a) { return (int)(a < 0 ? 0u - (uint32_t)a : (uint32_t)a); }

MATH float sign_f32(float a) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a; } /* a zero or NaN is returned unchanged */
MATH double sign_f64(double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : a; }
MATH int sign_i32(int a) { return (a > 0) - (a < 0); }

MATH float floor_f32(float a) { return floorf(a); }
MATH double floor_f64(double a) { return floor(a); }

/* If either is NaN, the result is NaN.  If they are equal, it is a, except for zeros on a GPU (above). */
#if ON_GPU
MATH float max_f32(float a, float b)
{
    float y = fmaxf(a, b);
    return (a != a) | (b != b) ? NAN : y;
}
MATH float min_f32(float a, float b)
{
    float y = fminf(a, b);
    return (a != a) | (b != b) ? NAN : y;
}
#else
MATH float max_f32(float a, float b)
{
    float y = a >= b ? a : b;
    return a != a ? a : y;
}
MATH float min_f32(float a, float b)
{
    float y = a <= b ? a : b;
    return a != a ? a : y;
}
#endif
MATH double max_f64(double a, double b)
{
    double y = a >= b ? a : b;
    return a != a ? a : y;
}
MATH double min_f64(double a, double b)
{
    double y = a <= b ? a : b;
    return a != a ? a : y;
}
MATH int max_i32(int a, int b) { return a >= b ? a : b; }
MATH int min_i32(int a, int b) { return a <= b ? a : b; }

MATH float sqrt_f32(float a) { return sqrtf(a); }
MATH double sqrt_f64(double a) { return sqrt(a); }
MATH float rsqrt_f32(float a) { return 1.0f / sqrtf(a); }
MATH double rsqrt_f64(double a) { return 1.0 / sqrt(a); }

/* Quotient rounded down, remainder of the sign of b.  By 0: 0 and a.  The smallest integer by -1 wraps around. */
MATH int idiv_i32(int a, int b)
{
    int d = ((b == 0) | (b == -1)) ? 1 : b, q = a / d;
    q -= (q * d != a) & ((a < 0) != (d < 0));
    q = b == -1 ? (int)(0u - (uint32_t)a) : q;
    return b == 0 ? 0 : q;
}
MATH int mod_i32(int a, int b)
{
    int d = ((b == 0) | (b == -1)) ? 1 : b, r = a % d;
    r += ((r != 0) & ((r < 0) != (d < 0))) ? d : 0;
    return b == 0 ? a : r;
}
/* Overflow wraps around. */
MATH int neg_i32(int a) { return (int)(0u - (uint32_t)a); }
MATH int add_i32(int a, int b) { return (int)((uint32_t)a + (uint32_t)b); }
MATH int sub_i32(int a, int b) { return (int)((uint32_t)a - (uint32_t)b); }
MATH int mul_i32(int a, int b) { return (int)((uint32_t)a * (uint32_t)b); }

MATH int ult_i32(int a, int b) { return (uint32_t)a < (uint32_t)b; }

/* Does element i, a, come after element j, b?  NaN counts as largest; of equal ones the first comes first. */
#define COMES_AFTER(name, T)                                                                                           \
    MATH int name(T a, int i, T b, int j, bool falling)                                                                \
    {                                                                                                                  \
        return (a == b || ((a != a) & (b != b))) ? i > j : ((a > b) | (a != a)) != falling;                            \
    }
COMES_AFTER(comes_after_f32, float)
COMES_AFTER(comes_after_f64, double)
MATH int comes_after_i32(int a, int i, int b, int j, bool falling) { return a == b ? i > j : (a > b) != falling; }

/* ---- exponentials: x = n ln 2 + r, |r| <= ln 2 / 2, e^x = 2^n e^r */

#define LN2_HIGH_F32 0x1.62e400p-1f /* 15 bits: exact times any n */
#define LN2_LOW_F32  0x1.7f7d1cp-20f
#define LOG2_E_F32   0x1.715476p+0f
#define ROUND_F32    0x1.8p23f /* adding it rounds to an integer, which is then in the low bits */

MATH float power_of_two_f32(int32_t n) { return f32_of_bits((uint32_t)(n + 127) << 23); } /* -126 … 127 */

/* e^r, and n for it */
MATH float exp_core_f32(float x, int32_t *power)
{
    float t = fma_f32(x, LOG2_E_F32, ROUND_F32);
    float n = t - ROUND_F32;
    float r = fma_f32(n, -LN2_LOW_F32, fma_f32(n, -LN2_HIGH_F32, x));
    float p = 0x1.6a2250p-10f;
    p = fma_f32(p, r, 0x1.123b02p-7f);
    p = fma_f32(p, r, 0x1.5558f8p-5f);
    p = fma_f32(p, r, 0x1.555490p-3f);
    p = fma_f32(p, r, 0x1.fffffcp-2f);
    *power = (int32_t)(bits_of_f32(t) - bits_of_f32(ROUND_F32));
    return fma_f32(p, r * r, r) + 1.0f;
}

MATH float exp_f32(float a)
{
    int32_t n;
    float p = exp_core_f32(fabsf(a) > 104.0f ? copysignf(104.0f, a) : a, &n); /* overflows to infinity or underflows to 0 */
    int32_t half = n >> 1; /* in two steps, so that only the last rounds to a subnormal */
    return p * power_of_two_f32(half) * power_of_two_f32(n - half);
}

/* -80 <= x <= 80 */
MATH float exp_near_f32(float x)
{
    int32_t n;
    float p = exp_core_f32(x, &n);
    return p * power_of_two_f32(n);
}

/* 2 (2^(n-1) (e^r - 1) + 2^(n-1) - 1/2); if a is very small, a */
MATH float expm1_f32(float a)
{
    float x = a > 89.0f ? 89.0f : a < -26.0f ? -26.0f : a;
    float t = fma_f32(x, LOG2_E_F32, ROUND_F32);
    float n = t - ROUND_F32;
    float r = fma_f32(n, -LN2_LOW_F32, fma_f32(n, -LN2_HIGH_F32, x));
    float p = 0x1.a032d4p-13f;
    p = fma_f32(p, r, 0x1.6d7346p-10f);
    p = fma_f32(p, r, 0x1.11118ap-7f);
    p = fma_f32(p, r, 0x1.5554b0p-5f);
    p = fma_f32(p, r, 0x1.555554p-3f);
    p = fma_f32(p, r, 0.5f);
    p = fma_f32(p, r * r, r);
    float s = power_of_two_f32((int32_t)(bits_of_f32(t) - bits_of_f32(ROUND_F32)) - 1);
    float y = 2.0f * fma_f32(p, s, s - 0.5f);
    return fabsf(x) < 0x1p-24f ? x : y;
}

/* a + a^3 q(a^2), for |a| < 0.6 */
MATH float tanh_near_0_f32(float a)
{
    float xx = a * a;
    float q = -0x1.825860p-8f;
    q = fma_f32(q, xx, 0x1.54b8a2p-6f);
    q = fma_f32(q, xx, -0x1.b898dep-5f);
    q = fma_f32(q, xx, 0x1.1109aep-3f);
    q = fma_f32(q, xx, -0x1.55553ep-2f);
    return fma_f32(q, xx * a, a);
}

/* From |a| = 0.6 on: 1 - 2 / (e^(2 |a|) + 1) */
MATH float tanh_f32(float a)
{
    float x = fabsf(a), small = tanh_near_0_f32(a);
    float large = 1.0f - 2.0f / (exp_near_f32(2.0f * (x > 10.0f ? 10.0f : x)) + 1.0f);
    return copysignf(x < 0.6f ? small : large, a);
}

MATH float sigmoid_f32(float a) { return 0.5f + 0.5f * tanh_f32(0.5f * a); }

/* a + a q(a^2), for |a| < 1 */
MATH float erf_near_0_f32(float a)
{
    float xx = a * a;
    float q = 0x1.496a42p-14f;
    q = fma_f32(q, xx, -0x1.a3f706p-11f);
    q = fma_f32(q, xx, 0x1.5405b2p-8f);
    q = fma_f32(q, xx, -0x1.b7f90ep-6f);
    q = fma_f32(q, xx, 0x1.ce2cf8p-4f);
    q = fma_f32(q, xx, -0x1.81273ep-2f);
    q = fma_f32(q, xx, 0x1.06eba8p-3f);
    return fma_f32(q, a, a);
}

/* -log(erfc x) from 1 to 3.95: beyond it erf is 1 */
MATH float erf_fall_f32(float x)
{
    float t = x > 3.95f ? 3.95f : x;
    float u = -0x1.86dd84p-13f;
    u = fma_f32(u, t, 0x1.825af8p-9f);
    u = fma_f32(u, t, -0x1.65cb76p-6f);
    u = fma_f32(u, t, 0x1.a65342p-4f);
    u = fma_f32(u, t, 0x1.46baecp-1f);
    u = fma_f32(u, t, 0x1.2088eap+0f);
    return fma_f32(u, t, 0x1.661d2ap-12f);
}

MATH float erf_f32(float a)
{
    float x = fabsf(a), small = erf_near_0_f32(a), large = 1.0f - exp_near_f32(-erf_fall_f32(x));
    return x < 1.0f ? small : copysignf(large, a);
}

/* ---- logarithm: a = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)) */

MATH float log_f32(float a)
{
    int tiny = a < 0x1p-126f; /* subnormal (zero and negative numbers are handled below) */
    uint32_t u = bits_of_f32(tiny ? a * 0x1p23f : a);
    int32_t e = (int32_t)(u - 0x3f3504f3u) >> 23;
    float f = f32_of_bits(u - ((uint32_t)e << 23)) - 1.0f;
    float n = (float)(tiny ? e - 23 : e);
    float q = 0x1.145736p-4f;
    q = fma_f32(q, f, -0x1.de3bb0p-4f);
    q = fma_f32(q, f, 0x1.e6f066p-4f);
    q = fma_f32(q, f, -0x1.fc2218p-4f);
    q = fma_f32(q, f, 0x1.23376ap-3f);
    q = fma_f32(q, f, -0x1.555c4cp-3f);
    q = fma_f32(q, f, 0x1.99a4b6p-3f);
    q = fma_f32(q, f, -0x1.000006p-2f);
    q = fma_f32(q, f, 0x1.555548p-2f);
    float ff = f * f;
    float y = fma_f32(ff, -0.5f, fma_f32(q, ff * f, n * LN2_LOW_F32)); /* log(1 + f) - f, and the low part of n ln 2 */
    y = fma_f32(n, LN2_HIGH_F32, f + y);
    y = a == INFINITY ? INFINITY : y;
    y = a == 0.0f ? -INFINITY : y;
    return a >= 0.0f ? y : NAN;
}

/* ---- sine and cosine, in double inside: x = n pi/2 + r, |r| <= pi/4.  Above 2^48, neighbouring floats are millions of
 * periods apart; the argument is then replaced by 0. */

MATH float sin_shifted_f32(float a, uint64_t quarter)
{
    double x = fabsf(a) < 0x1p48f ? (double)a : (double)a * 0.0; /* infinity · 0 is NaN, as it should be */
    double t = fma_f64(x, 0x1.45f306dc9c883p-1, 0x1.8p52);
    double n = t - 0x1.8p52;
    uint64_t k = bits_of_f64(t) + quarter;
    double r = fma_f64(n, -0x1.1a62633145c07p-54, fma_f64(n, -0x1.921fb54442d18p+0, x));
    double rr = r * r;
    double s = 0x1.6cd1b08f645a3p-19;
    s = fma_f64(s, rr, -0x1.a00f7e1496c45p-13);
    s = fma_f64(s, rr, 0x1.111108690ba31p-7);
    s = fma_f64(s, rr, -0x1.5555554c6ffc0p-3);
    s = fma_f64(s, rr, 1.0) * r; /* a product, so that -0 stays */
    double c = -0x1.241e6b16f5ddcp-22;
    c = fma_f64(c, rr, 0x1.a010dde235c7ep-16);
    c = fma_f64(c, rr, -0x1.6c16b828aa42ap-10);
    c = fma_f64(c, rr, 0x1.5555554ed8310p-5);
    c = fma_f64(fma_f64(c, rr, -0.5), rr, 1.0);
    double y = k & 1 ? c : s;
    return (float)f64_of_bits(bits_of_f64(y) ^ (k & 2) << 62);
}

MATH float sin_f32(float a) { return sin_shifted_f32(a, 0); }
MATH float cos_f32(float a) { return sin_shifted_f32(a, 1); }

/* ---- a to the power b, in double inside: 2^(b log2 |a|).  A negative a has a power if b is an integer. */

MATH double log2_of_f32(float a) /* of |a|; -infinity at 0, infinity at infinity */
{
    double x = fabs((double)a); /* a subnormal float is a normal double */
    uint64_t u = bits_of_f64(x);
    int64_t e = (int64_t)((u >> 32) - 0x3fe6a09eu) >> 20;
    double m = f64_of_bits(u - ((uint64_t)e << 52));
    double s = (m - 1.0) / (m + 1.0), ss = s * s;
    double q = 0x1.f18716eb36d68p-3;
    q = fma_f64(q, ss, 0x1.0bb7a5ed7de36p-2);
    q = fma_f64(q, ss, 0x1.484facd89ece9p-2);
    q = fma_f64(q, ss, 0x1.a617567499f44p-2);
    q = fma_f64(q, ss, 0x1.2776c516ab3ddp-1);
    q = fma_f64(q, ss, 0x1.ec709dc39c9d4p-1);
    q = fma_f64(q, ss, 0x1.71547652b82ffp+1);
    double y = fma_f64(q, s, (double)(int32_t)e);
    y = x == 0.0 ? -(double)INFINITY : y;
    return x < (double)INFINITY ? y : x; /* infinity and NaN are returned unchanged */
}

MATH double exp2_for_f32(double a)
{
    double x = a > 200.0 ? 200.0 : a < -200.0 ? -200.0 : a; /* beyond the range of float */
    double t = x + 0x1.8p52;
    double r = x - (t - 0x1.8p52);
    double p = 0x1.fde5f95233cb9p-17;
    p = fma_f64(p, r, 0x1.445ca666be89dp-13);
    p = fma_f64(p, r, 0x1.5d8a865d98561p-10);
    p = fma_f64(p, r, 0x1.3b29f375d989cp-7);
    p = fma_f64(p, r, 0x1.c6b08abfbaddcp-5);
    p = fma_f64(p, r, 0x1.ebfbe077ada57p-3);
    p = fma_f64(p, r, 0x1.62e42ff0e2052p-1);
    return fma_f64(p, r, 1.0) * f64_of_bits((bits_of_f64(t) + 1023) << 52);
}

MATH float pow_f32(float a, float b)
{
    float y = (float)exp2_for_f32((double)b * log2_of_f32(a));
    float whole = floorf(b), half = floorf(0.5f * b);
    int odd = (whole == b) & (half + half != b);
    int negative = (int)(bits_of_f32(a) >> 31);
    y = odd & negative ? -y : y;
    y = ((a < 0.0f) & (whole != b) & (a > -INFINITY)) ? NAN : y;
    y = ((a == -1.0f) & (fabsf(b) == INFINITY)) ? 1.0f : y;
    return ((b == 0.0f) | (a == 1.0f)) ? 1.0f : y;
}

/* ---- the end of a reduction over 16 lanes: a fixed tree, which adds halves */

#define LANES_END(name, T, step)                                                                                       \
    MATH T name(const T *lane)                                                                                         \
    {                                                                                                                  \
        T half[8];                                                                                                     \
        for (int l = 0; l < 8; l++) half[l] = step(lane[l], lane[l + 8]);                                              \
        for (int l = 0; l < 4; l++) half[l] = step(half[l], half[l + 4]);                                              \
        for (int l = 0; l < 2; l++) half[l] = step(half[l], half[l + 2]);                                              \
        return step(half[0], half[1]);                                                                                 \
    }
#define PLUS(a, b)    ((a) + (b))
#define LARGER(a, b)  ((b) > (a) ? (b) : (a))
#define SMALLER(a, b) ((b) < (a) ? (b) : (a))
LANES_END(sum_lanes_f32, float, PLUS)
LANES_END(sum_lanes_f64, double, PLUS)
LANES_END(max_numbers_f32, float, LARGER)
LANES_END(max_numbers_f64, double, LARGER)
LANES_END(min_numbers_f32, float, SMALLER)
LANES_END(min_numbers_f64, double, SMALLER)
#undef PLUS
#undef LARGER
#undef SMALLER
#undef LANES_END

#define EXTREME_OF_LANES(name, T, numbers)                                                                             \
    MATH T name(const T *lane)                                                                                         \
    {                                                                                                                  \
        int nan = 0;                                                                                                   \
        for (int l = 0; l < 16; l++) nan |= lane[l] != lane[l];                                                        \
        T y = numbers(lane);                                                                                           \
        return nan ? (T)NAN : y;                                                                                       \
    }
EXTREME_OF_LANES(max_lanes_f32, float, max_numbers_f32)
EXTREME_OF_LANES(max_lanes_f64, double, max_numbers_f64)
EXTREME_OF_LANES(min_lanes_f32, float, min_numbers_f32)
EXTREME_OF_LANES(min_lanes_f64, double, min_numbers_f64)
#undef EXTREME_OF_LANES

#endif
