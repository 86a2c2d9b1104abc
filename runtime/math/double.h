/* double.h: exp, log, pow, sin and their kin for double: the same bits with any compiler, C library and processor.  Part
 * of math/math.h; the compiler computes constants with it.
 *
 * Only + - * /, sqrt and fma, which IEEE 754 defines to the last bit.  Only exact products are operands of +, so that
 * nothing changes where a compiler contracts a * b + c by itself.  What must be finer than a double is a Twofold, the
 * sum of two, by T. J. Dekker (1971, A floating-point technique for extending the available precision); series are
 * Taylor's, those of erf our own fits.  Largest errors in units of the last place (tests/math/test_double.c), of
 * results that are subnormal 0.76:
 *
 *     exp, pow 0.53   expm1 0.62   log, log1p, log2, log10, hypot 0.501   sin, cos 0.56   tanh 0.58   erf 0.77
 *
 * NaN, infinities and zeros as C's functions of these names treat them; which NaN comes out is not fixed. */
#ifndef LATHE_MATH_DOUBLE_H
#define LATHE_MATH_DOUBLE_H

#include "fma.h" /* beside it: the compiler has another root */

/* high + low, |low| at most half a unit in high's last place */
typedef struct Twofold {
    double high, low;
} Twofold;

MATH Twofold twofold_of(double high, double low)
{
    Twofold x;
    x.high = high, x.low = low;
    return x;
}
/* a + b, where |a| >= |b| or a = 0 */
MATH Twofold twofold_joined(double a, double b)
{
    double high = a + b;
    return twofold_of(high, b - (high - a));
}
/* a + b for any two: Knuth's */
MATH Twofold twofold_sum(double a, double b)
{
    double high = a + b, of_b = high - a;
    return twofold_of(high, (a - (high - of_b)) + (b - of_b));
}
/* a · b; + 0.0: an fma, which no compiler contracts with a sum that comes after it */
MATH Twofold twofold_product(double a, double b)
{
    double high = fma_f64(a, b, 0.0);
    return twofold_of(high, fma_f64(a, b, -high));
}
MATH Twofold twofold_plus(Twofold a, Twofold b)
{
    Twofold s = twofold_sum(a.high, b.high);
    return twofold_joined(s.high, s.low + (a.low + b.low));
}
MATH Twofold twofold_times(Twofold a, Twofold b)
{
    Twofold p = twofold_product(a.high, b.high);
    return twofold_joined(p.high, fma_f64(a.high, b.low, fma_f64(a.low, b.high, p.low)));
}
MATH Twofold twofold_ratio(Twofold a, Twofold b)
{
    double q = a.high / b.high, rest = fma_f64(-q, b.high, a.high) + a.low;
    return twofold_joined(q, fma_f64(-q, b.low, rest) / b.high);
}

/* ---- exponentials: x = n ln 2 + r, |r| <= ln 2 / 2, e^x = 2^n e^r */

#define LN2_HIGH_F64 0x1.62e42fefa3800p-1 /* 42 bits: exact times any n */
#define LN2_LOW_F64  0x1.ef35793c76730p-45
#define LOG2_E_F64   0x1.71547652b82fep+0
#define ROUND_F64    0x1.8p52 /* adding it rounds to an integer, which is then in the low bits */

MATH double power_of_two_f64(int64_t n) { return f64_of_bits((uint64_t)(n + 1023) << 52); } /* -1022 … 1023 */

/* y 2^n: in two steps, so that only the last rounds to a subnormal */
MATH double scaled_f64(double y, int64_t n)
{
    int64_t half = n >> 1;
    return y * power_of_two_f64(half) * power_of_two_f64(n - half);
}

/* e^r - 1 = r + r^2 / 2 + r^3 q(r), and n */
MATH Twofold exp_core_f64(Twofold x, int64_t *power)
{
    double t = fma_f64(x.high, LOG2_E_F64, ROUND_F64);
    double n = t - ROUND_F64;
    Twofold r = twofold_sum(fma_f64(-n, LN2_HIGH_F64, x.high), fma_f64(-n, LN2_LOW_F64, x.low));
    Twofold square = twofold_product(0.5 * r.high, r.high);
    double q = 1.0 / 87178291200; /* 14! */
    q = fma_f64(q, r.high, 1.0 / 6227020800);
    q = fma_f64(q, r.high, 1.0 / 479001600);
    q = fma_f64(q, r.high, 1.0 / 39916800);
    q = fma_f64(q, r.high, 1.0 / 3628800);
    q = fma_f64(q, r.high, 1.0 / 362880);
    q = fma_f64(q, r.high, 1.0 / 40320);
    q = fma_f64(q, r.high, 1.0 / 5040);
    q = fma_f64(q, r.high, 1.0 / 720);
    q = fma_f64(q, r.high, 1.0 / 120);
    q = fma_f64(q, r.high, 1.0 / 24);
    q = fma_f64(q, r.high, 1.0 / 6);
    double low = r.low + fma_f64(r.high, r.low, square.low);
    Twofold y = twofold_joined(r.high, square.high);
    *power = (int64_t)(bits_of_f64(t) - bits_of_f64(ROUND_F64));
    return twofold_joined(y.high, y.low + fma_f64(2 * square.high * r.high, q, low));
}

/* e^(high + low): overflows to infinity or underflows to 0 */
MATH double exp_of_twofold(Twofold x)
{
    if (x.high > 710) x = twofold_of(710, 0);
    if (x.high < -746) x = twofold_of(-746, 0);
    int64_t n;
    Twofold e = exp_core_f64(x, &n), y = twofold_joined(1, e.high);
    return scaled_f64(y.high + (y.low + e.low), n);
}

MATH double exp_f64(double a) { return exp_of_twofold(twofold_of(a, 0)); }

/* e^a - 1 = 2^n (e^r - 1) + 2^n - 1, for |a| <= 60 */
MATH Twofold twofold_expm1(double a)
{
    int64_t n;
    Twofold e = exp_core_f64(twofold_of(a, 0), &n);
    double s = power_of_two_f64(n);
    if (n == 0) return e;
    return twofold_plus(twofold_sum(s, -1), twofold_of(s * e.high, s * e.low)); /* powers of two: exact */
}

MATH double expm1_f64(double a)
{
    if (a > 60) return exp_f64(a);
    if (a < -60) return -1;
    if (fabs(a) < 0x1p-54) return a;
    Twofold y = twofold_expm1(a);
    return y.high + y.low;
}

/* E / (E + 2), E = e^(2a) - 1 */
MATH double tanh_f64(double a)
{
    double x = fabs(a);
    if (x < 0x1p-28) return a;
    if (x > 20) return copysign(1.0, a);
    Twofold e = twofold_expm1(2 * x), y = twofold_ratio(e, twofold_plus(e, twofold_of(2, 0)));
    return a != a ? a : copysign(y.high + y.low, a);
}

MATH double sigmoid_f64(double a) { return 0.5 + 0.5 * tanh_f64(0.5 * a); }

/* ---- logarithms: a = 2^n m, m in [sqrt(1/2), sqrt(2)); log m = 2 s + 2 s^3 / 3 …, s = (m - 1) / (m + 1) */

MATH Twofold log_core_f64(double m)
{
    Twofold s = twofold_ratio(twofold_of(m - 1, 0), twofold_joined(2, m - 1)), z = twofold_times(s, s);
    double q = 1.0 / 27;
    q = fma_f64(q, z.high, 1.0 / 25);
    q = fma_f64(q, z.high, 1.0 / 23);
    q = fma_f64(q, z.high, 1.0 / 21);
    q = fma_f64(q, z.high, 1.0 / 19);
    q = fma_f64(q, z.high, 1.0 / 17);
    q = fma_f64(q, z.high, 1.0 / 15);
    q = fma_f64(q, z.high, 1.0 / 13);
    q = fma_f64(q, z.high, 1.0 / 11);
    q = fma_f64(q, z.high, 1.0 / 9);
    q = fma_f64(q, z.high, 1.0 / 7);
    Twofold y = twofold_times(z, twofold_of(q, 0));
    y = twofold_plus(twofold_of(0x1.999999999999ap-3, -0x1.999999999999ap-57), y);
    y = twofold_plus(twofold_of(0x1.5555555555555p-2, 0x1.5555555555555p-56), twofold_times(z, y));
    s.high *= 2, s.low *= 2;
    return twofold_plus(s, twofold_times(s, twofold_times(z, y)));
}

/* 0 < a < infinity */
MATH Twofold twofold_log(double a)
{
    int tiny = a < 0x1p-1022;
    uint64_t u = bits_of_f64(tiny ? a * 0x1p54 : a);
    int64_t e = (int64_t)(u - 0x3fe6a09e667f3bcdu) >> 52;
    double n = (double)(int)(tiny ? e - 54 : e);
    Twofold y = log_core_f64(f64_of_bits(u - ((uint64_t)e << 52)));
    Twofold sum = twofold_sum(n * LN2_HIGH_F64, y.high); /* an exact product */
    return twofold_joined(sum.high, sum.low + fma_f64(n, LN2_LOW_F64, y.low));
}

/* What has no Twofold: the logarithm of 0, infinity, NaN and negative numbers. */
MATH double odd_log_f64(double a) { return a == 0 ? -(double)INFINITY : a > 0 ? a : (double)NAN; }

MATH double log_f64(double a)
{
    if (!(a > 0 && a < (double)INFINITY)) return odd_log_f64(a);
    Twofold y = twofold_log(a);
    return y.high + y.low;
}

/* 1 + a = high + low: log high + c - c^2 / 2, c = low / high */
MATH double log1p_f64(double a)
{
    Twofold one = twofold_sum(1, a);
    if (!(a > -1 && a < (double)INFINITY)) return odd_log_f64(1 + a);
    if (fabs(a) < 0x1p-54) return a;
    Twofold c = twofold_ratio(twofold_of(one.low, 0), twofold_of(one.high, 0));
    c.low = fma_f64(-0.5 * c.high, c.high, c.low);
    Twofold y = twofold_plus(twofold_log(one.high), c);
    return y.high + y.low;
}

MATH double log10_f64(double a)
{
    if (!(a > 0 && a < (double)INFINITY)) return odd_log_f64(a);
    Twofold y = twofold_times(twofold_log(a), twofold_of(0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57));
    return y.high + y.low;
}

MATH double log2_f64(double a)
{
    if (!(a > 0 && a < (double)INFINITY)) return odd_log_f64(a);
    Twofold y = twofold_times(twofold_log(a), twofold_of(0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56));
    return y.high + y.low;
}

/* ---- a to the power b: e^(b log |a|).  A negative a has a power if b is an integer. */

MATH double size_of_power_f64(double x, double b)
{
    if (x == 0 || x == (double)INFINITY) return (x == 0) == (b > 0) ? 0.0 : (double)INFINITY;
    Twofold log_x = twofold_log(x);
    double guess = b * log_x.high;
    if (fabs(guess) > 800) return guess > 0 ? (double)INFINITY : 0.0;
    Twofold y = twofold_product(b, log_x.high);
    return exp_of_twofold(twofold_joined(y.high, fma_f64(b, log_x.low, y.low)));
}

MATH double pow_f64(double a, double b)
{
    if (b == 0 || a == 1) return 1;
    if (a != a || b != b) return a + b;
    if (a == -1 && fabs(b) == (double)INFINITY) return 1;
    double whole = floor(b), half = floor(0.5 * b), y = size_of_power_f64(fabs(a), b);
    if (a < 0 && whole != b && a > -(double)INFINITY) return (double)NAN;
    int odd = whole == b && half + half != b;
    return odd && bits_of_f64(a) >> 63 ? -y : y;
}

/* ---- sine and cosine: |x| = k pi/2 + r, |r| <= pi/4, by M. Payne and R. Hanek (1983, Radian reduction for
 * trigonometric functions): of the bits of 2 / pi only those matter that do not give whole turns. */

/* Bits number `from` … from + 191 of 2 / pi, after 64 zeros, the highest word first. */
MATH void two_over_pi_f64(int from, uint32_t *word)
{
    const uint32_t bits[] = {0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
                             0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c,
                             0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639,
                             0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f,
                             0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7,
                             0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};
    for (int i = 0; i < 6; i++) {
        uint64_t two = (uint64_t)bits[from / 32 + i] << 32 | bits[from / 32 + i + 1];
        word[i] = (uint32_t)(two >> (32 - from % 32));
    }
}

/* |x| / (2 pi), less whole turns, as a fraction of six words: x = integer · 2^e. */
MATH void turns_f64(double x, uint32_t *fraction)
{
    uint64_t u = bits_of_f64(x), integer = (u & 0xfffffffffffff) | 0x10000000000000;
    int e = (int)(u >> 52 & 2047) - 1075;
    uint32_t word[6];
    two_over_pi_f64(e - 2 + 64, word);
    uint64_t low = (uint32_t)integer, high = integer >> 32, carry = 0;
    for (int i = 5; i >= 0; i--) { /* the low words of high · word[i + 1] and the rest of the places below */
        uint64_t a = low * word[i], b = i < 5 ? high * word[i + 1] : 0;
        uint64_t sum = carry + (uint32_t)a + (uint32_t)b;
        carry = (sum >> 32) + (a >> 32) + (b >> 32);
        fraction[i] = (uint32_t)sum;
    }
}

/* r, and in *quarter k mod 4; pi/4 < |x| < infinity */
MATH Twofold quarters_f64(double x, int *quarter)
{
    uint32_t f[6];
    turns_f64(x, f);
    uint64_t a = (uint64_t)f[0] << 32 | f[1], b = (uint64_t)f[2] << 32 | f[3], c = (uint64_t)f[4] << 32 | f[5];
    int back = (int)(a >> 61 & 1); /* more than half a quarter: from the next one backwards */
    *quarter = (int)(a >> 62) + back;
    a = a << 2 | b >> 62, b = b << 2 | c >> 62, c <<= 2;
    if (back) a = ~a, b = ~b, c = ~c;
    double scale = back ? -1.0 : 1.0;
    for (; a < (uint64_t)1 << 63 && scale != 0x1p-128 && scale != -0x1p-128; scale *= 0.5)
        a = a << 1 | b >> 63, b = b << 1 | c >> 63, c <<= 1;
    Twofold y = twofold_of((double)(a >> 11) * 0x1p-53, (double)((a & 2047) << 42 | b >> 22) * 0x1p-106);
    y = twofold_times(y, twofold_of(0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54));
    return twofold_of(y.high * scale, y.low * scale);
}

/* r + r z (-1/6 + z / 120 …), z = r^2 */
MATH double sin_core_f64(Twofold r, Twofold z)
{
    double q = 1.0 / 355687428096000; /* 17! */
    q = fma_f64(q, z.high, -1.0 / 1307674368000);
    q = fma_f64(q, z.high, 1.0 / 6227020800);
    q = fma_f64(q, z.high, -1.0 / 39916800);
    q = fma_f64(q, z.high, 1.0 / 362880);
    q = fma_f64(q, z.high, -1.0 / 5040);
    q = fma_f64(q, z.high, 1.0 / 120);
    Twofold third = twofold_of(-0x1.5555555555555p-3, -0x1.5555555555555p-57);
    Twofold y = twofold_times(r, twofold_times(z, twofold_plus(third, twofold_times(z, twofold_of(q, 0)))));
    y = twofold_plus(r, y);
    return y.high + y.low;
}

/* 1 - z / 2 + z^2 (1/24 - z / 720 …) */
MATH double cos_core_f64(Twofold z)
{
    double q = -1.0 / 6402373705728000; /* 18! */
    q = fma_f64(q, z.high, 1.0 / 20922789888000);
    q = fma_f64(q, z.high, -1.0 / 87178291200);
    q = fma_f64(q, z.high, 1.0 / 479001600);
    q = fma_f64(q, z.high, -1.0 / 3628800);
    q = fma_f64(q, z.high, 1.0 / 40320);
    q = fma_f64(q, z.high, -1.0 / 720);
    q = fma_f64(q, z.high, 1.0 / 24);
    Twofold y = twofold_joined(1, -0.5 * z.high);
    return y.high + (y.low + fma_f64(z.high * z.high, q, -0.5 * z.low));
}

MATH double sin_shifted_f64(double a, int quarter)
{
    double x = fabs(a);
    if (!(x < (double)INFINITY)) return (double)NAN;
    int k = 0;
    Twofold r = x > 0x1.921fb54442d18p-1 ? quarters_f64(x, &k) : twofold_of(x, 0), z = twofold_times(r, r);
    int negative = quarter == 0 && bits_of_f64(a) >> 63; /* the sine is odd */
    k = (k + quarter) & 3;
    double y = k & 1 ? cos_core_f64(z) : x < 0x1p-28 ? x : sin_core_f64(r, z);
    return (k >> 1) != negative ? -y : y;
}

MATH double sin_f64(double a) { return sin_shifted_f64(a, 0); }
MATH double cos_f64(double a) { return sin_shifted_f64(a, 1); }

/* ---- erf: a + a q(a^2) for |a| < 1, else 1 - e^(-a^2) p(t), t = (|a| - 2) / (|a| + 2) */

MATH double erf_near_0_f64(double a)
{
    Twofold z = twofold_product(a, a);
    double q = 0x1.05ffd737fb32ep-34;
    q = fma_f64(q, z.high, -0x1.389d4f2641625p-30);
    q = fma_f64(q, z.high, 0x1.f7b4bf3b13964p-27);
    q = fma_f64(q, z.high, -0x1.5f1ecb6f0764cp-23);
    q = fma_f64(q, z.high, 0x1.b9df224ca4b97p-20);
    q = fma_f64(q, z.high, -0x1.f4d1e3183f7aep-17);
    q = fma_f64(q, z.high, 0x1.f9a321d5b8e1ep-14);
    q = fma_f64(q, z.high, -0x1.c02db3dac435fp-11);
    q = fma_f64(q, z.high, 0x1.565bcd0dbaa38p-8);
    q = fma_f64(q, z.high, -0x1.b82ce31284e00p-6);
    q = fma_f64(q, z.high, 0x1.ce2f21a042b30p-4);
    Twofold y = twofold_times(z, twofold_of(q, 0));
    y = twofold_plus(twofold_of(-0x1.812746b0379e6p-2, 0x1.20a86a0366547p-59), y);
    y = twofold_plus(twofold_of(0x1.06eba8214db69p-3, -0x1.cf08068852920p-57), twofold_times(z, y));
    return fma_f64(y.high, a, a);
}

MATH double erf_f64(double a)
{
    double x = fabs(a) > 6 ? 6.0 : fabs(a); /* beyond it erf is 1 */
    if (x < 1) return erf_near_0_f64(a);
    double t = (x - 2) / (x + 2);
    double p = 0x1.1ff3ece6f55cfp-23;
    p = fma_f64(p, t, -0x1.49e10d18d5753p-21);
    p = fma_f64(p, t, -0x1.0fb4b130c533cp-21);
    p = fma_f64(p, t, 0x1.5126f5fcd1198p-20);
    p = fma_f64(p, t, 0x1.f8ae6103ef0fcp-19);
    p = fma_f64(p, t, 0x1.729906ef9c143p-20);
    p = fma_f64(p, t, -0x1.d478495725ffcp-17);
    p = fma_f64(p, t, -0x1.ceb2f59b612b6p-16);
    p = fma_f64(p, t, 0x1.cdc9f9c4835afp-16);
    p = fma_f64(p, t, 0x1.6da96d093525bp-13);
    p = fma_f64(p, t, 0x1.6d5f08aa8da72p-15);
    p = fma_f64(p, t, -0x1.016b5cdd369e9p-10);
    p = fma_f64(p, t, -0x1.bc25a48226114p-11);
    p = fma_f64(p, t, 0x1.ca95ed53330abp-8);
    p = fma_f64(p, t, 0x1.e9471597a34fap-9);
    p = fma_f64(p, t, -0x1.437f0b68c0bf9p-4);
    p = fma_f64(p, t, 0x1.eeea7dc8a78b2p-3);
    p = fma_f64(p, t, -0x1.b57034efd3f72p-2);
    p = fma_f64(p, t, 0x1.058671b52c776p-2);
    Twofold square = twofold_product(x, x);
    double y = fma_f64(-p, exp_of_twofold(twofold_of(-square.high, -square.low)), 1.0);
    return a != a ? a : copysign(y, a);
}

/* ---- sqrt(a^2 + b^2) */

MATH double hypot_f64(double a, double b)
{
    double x = fmax(fabs(a), fabs(b)), y = fmin(fabs(a), fabs(b));
    if (x == (double)INFINITY) return x;
    if (a != a || b != b) return (double)NAN;
    if (x == 0) return 0;
    double scale = x > 0x1p500 ? 0x1p-600 : x < 0x1p-400 ? 0x1p600 : 1.0;
    x *= scale, y *= scale;
    Twofold sum = twofold_plus(twofold_product(x, x), twofold_product(y, y));
    double root = sqrt(sum.high);
    return (root + (fma_f64(-root, root, sum.high) + sum.low) / (2 * root)) / scale;
}

#endif
