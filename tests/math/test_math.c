/* test_math.c: math/math.h and math/quick.h: errors over all floats (every 257th in the quick mode) against libm's
 * double, special values, the same bits in vector bodies and alone, integers, Philox against its published vectors. */
#pragma GCC optimize("O3,no-math-errno,no-trapping-math") /* as generated code is compiled */
#include "harness.h"
#include "math/quick.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 1024 };

typedef struct Function {
    const char *name;
    void (*vector)(float *restrict y, const float *restrict x, int n);
    float (*single)(float);
    double (*exact)(double);
    double limit; /* units of the last place */
    double range; /* tested for |x| < range; 0: all */
    double least; /* results below it may be 0 */
} Function;

#define VECTOR(name)                                                                                                   \
    __attribute__((noinline)) static void vector_##name(float *restrict y, const float *restrict x, int n)             \
    {                                                                                                                  \
        for (int i = 0; i < n; i++) y[i] = name##_f32(x[i]);                                                           \
    }                                                                                                                  \
    __attribute__((noinline)) static float single_##name(float x) { return name##_f32(x); }
VECTOR(exp)
VECTOR(expm1)
VECTOR(log)
VECTOR(tanh)
VECTOR(erf)
VECTOR(sin)
VECTOR(cos)
VECTOR(sqrt)
VECTOR(rsqrt)
VECTOR(floor)
VECTOR(abs)
VECTOR(sign)
VECTOR(quick_exp)
VECTOR(quick_log)
VECTOR(quick_tanh)
VECTOR(quick_erf)

static double exact_rsqrt(double x) { return 1 / sqrt(x); }
static double exact_sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

#define ROW(name, exact, limit, range)                                                                                 \
    {                                                                                                                  \
#name, vector_##name, single_##name, exact, limit, range, 0                                                    \
    }
#define QUICK(name, limit, least)                                                                                      \
    {                                                                                                                  \
        "quick_" #name, vector_quick_##name, single_quick_##name, name, limit, 0, least                                \
    }
static const Function functions[] = {
    ROW(exp, exp, 1.02, 0),
    ROW(expm1, expm1, 1.44, 0),
    ROW(log, log, 0.84, 0),
    ROW(tanh, tanh, 1.34, 0),
    ROW(erf, erf, 1.16, 0),
    ROW(sin, sin, 0.51, 0x1p48),
    ROW(cos, cos, 0.51, 0x1p48),
    ROW(sqrt, sqrt, 0.5, 0),
    ROW(rsqrt, exact_rsqrt, 1.5, 0),
    ROW(floor, floor, 0, 0),
    ROW(abs, fabs, 0, 0),
    ROW(sign, exact_sign, 0, 0),
    QUICK(exp, 6.1, 0x1.001p-126),
    QUICK(log, 2.4, 0),
    QUICK(tanh, 1.6, 0),
    QUICK(erf, 1.3, 0),
};

/* |y - exact| in units of the last place of a float of exact's size; infinity counts as 2^128. */
static double ulps(float y, double exact)
{
    if (isnan(exact) || isnan(y)) return isnan(exact) && isnan(y) ? 0 : INFINITY;
    if (exact == 0) return y == 0 && !signbit(y) == !signbit(exact) ? 0 : INFINITY;
    if (isinf(exact)) return y == exact ? 0 : INFINITY;
    if (isinf(y) && (float)exact == y) return 0;
    int e = ilogb(exact);
    if (e < -126) e = -126;
    double got = isinf(y) ? copysign(0x1p128, y) : y;
    return fabs(got - exact) * ldexp(1, 23 - e);
}

static float worst_of_block(const Function *f, const float *x, double *worst, long *differing)
{
    float y[BLOCK], at = 0;
    f->vector(y, x, BLOCK);
    for (int i = 0; i < BLOCK; i++) {
        float alone = f->single(x[i]);
        if (memcmp(&alone, &y[i], 4) && !(isnan(alone) && isnan(y[i]))) ++*differing;
        if (f->range && fabs(x[i]) >= f->range) continue;
        double exact = f->exact(x[i]), u = ulps(y[i], exact);
        if (y[i] == 0 && fabs(exact) < f->least) continue;
        if (u > *worst) {
            *worst = u;
            at = x[i];
        }
    }
    return at;
}

static void test_all(const Function *f)
{
    uint64_t step = long_run() ? 1 : 257;
    double worst = 0;
    float worst_at = 0;
    long differing = 0;
    for (uint64_t block = 0; block < (1ull << 32); block += BLOCK * step) {
        float x[BLOCK];
        for (uint64_t i = 0; i < BLOCK; i++) x[i] = f32_of_bits((uint32_t)(block + i * step));
        double before = worst;
        float at = worst_of_block(f, x, &worst, &differing);
        if (worst > before) worst_at = at;
    }
    printf("%-10s %.4f ulp at %a\n", f->name, worst, worst_at);
    expect(worst <= f->limit, "%s: error %.4f ulp at %a (%.9g), allowed %.2f", f->name, worst, worst_at, worst_at,
           f->limit);
    expect(differing == 0, "%s: %ld results differ between a vector and alone", f->name, differing);
}

/* The ends of ranges, whatever the stride above skips. */
static void test_edges(const Function *f)
{
    static const float edge[] = {0,
                                 -0.0f,
                                 INFINITY,
                                 -INFINITY,
                                 NAN,
                                 FLT_MAX,
                                 -FLT_MAX,
                                 FLT_MIN,
                                 -FLT_MIN,
                                 0x1p-149f,
                                 -0x1p-149f,
                                 1,
                                 -1,
                                 0x1p-126f,
                                 88.72283f,
                                 88.72284f,
                                 89,
                                 -87.33654f,
                                 -87.33655f,
                                 -103.97207f,
                                 -103.97208f,
                                 -103.98f,
                                 -104,
                                 0x1.62e42ep+6f,
                                 0.5f,
                                 -0.5f,
                                 0x1.62e430p-2f,
                                 -0x1.62e430p-2f,
                                 3.92f,
                                 3.95f,
                                 -3.95f,
                                 4,
                                 9,
                                 9.02f,
                                 10,
                                 -17.4f,
                                 -26,
                                 -25.99f,
                                 0x1p-24f,
                                 -0x1p-24f,
                                 0x1p-25f,
                                 0x1.fffffep-25f,
                                 0x1.6a09e6p-1f,
                                 0x1.6a09e8p-1f,
                                 0x1.6a09e6p+0f,
                                 0.99999994f,
                                 1.0000001f,
                                 1.5707964f,
                                 3.1415927f,
                                 0x1.921fb6p+1f,
                                 1e5f,
                                 -1e5f,
                                 0x1.e848p+16f,
                                 16367173.0f,
                                 8388609.0f,
                                 -2.5f,
                                 2.5f,
                                 1e15f,
                                 1e30f};
    float x[BLOCK] = {0};
    memcpy(x, edge, sizeof edge);
    double worst = 0;
    long differing = 0;
    float at = worst_of_block(f, x, &worst, &differing);
    expect(worst <= f->limit, "%s: error %.4f ulp at %a, allowed %.2f", f->name, worst, at, f->limit);
    expect(differing == 0, "%s: %ld edge results differ between a vector and alone", f->name, differing);
}

static void test_huge_angles(void)
{
    static const float x[] = {0x1p48f, -0x1p60f, 1e38f, -FLT_MAX};
    for (int i = 0; i < COUNT_OF(x); i++)
        expect(sin_f32(x[i]) == 0 && cos_f32(x[i]) == 1, "the sine of %a is not that of 0", x[i]);
}

__attribute__((noinline)) static void vector_pow(float *restrict y, const float *restrict a, const float *restrict b,
                                                 int n)
{
    for (int i = 0; i < n; i++) y[i] = pow_f32(a[i], b[i]);
}

static void check_pow(const float *a, const float *b, int n, double limit)
{
    float y[BLOCK];
    vector_pow(y, a, b, n);
    for (int i = 0; i < n; i++) {
        double u = ulps(y[i], pow(a[i], b[i]));
        expect(u <= limit, "pow(%a, %a) is %a, %.3f ulp off", a[i], b[i], y[i], u);
    }
}

static void test_pow(void)
{
    static const float special[] = {
        0,        -0.0f,   1,         -1,         2,           -2,         0.5f,         -0.5f,     3,    -3,
        1.5f,     -1.5f,   0x1p24f,   0x1p25f,    16777215,    -16777215,  INFINITY,     -INFINITY, NAN,  FLT_MAX,
        -FLT_MAX, FLT_MIN, 0x1p-149f, -0x1p-149f, 0.99999994f, 1.0000001f, -0.99999994f, 1e9f,      -1e9f};
    float a[BLOCK], b[BLOCK];
    for (int i = 0; i < COUNT_OF(special); i++) {
        for (int k = 0; k < COUNT_OF(special); k++) {
            a[k] = special[i];
            b[k] = special[k];
        }
        check_pow(a, b, COUNT_OF(special), 0.51);
    }
    Rng r = rng_of(7);
    for (int block = 0; block < (long_run() ? 20000 : 500); block++) {
        for (int i = 0; i < BLOCK; i++) {
            a[i] = f32_of_bits((uint32_t)below(&r, 0x7f800000));
            double span = 150 / (fabs(log2(a[i])) + 0.01); /* results from subnormal to infinite */
            b[i] = (float)((2 * uniform(&r) - 1) * span);
        }
        check_pow(a, b, BLOCK, 0.51);
    }
}

static void test_order(void)
{
    expect(isnan(max_f32(NAN, 1)) && isnan(max_f32(1, NAN)) && isnan(min_f32(NAN, 1)) && isnan(min_f32(1, NAN)),
           "NaN of max, min");
    expect(isnan(max_f64(NAN, 1)) && isnan(max_f64(1, NAN)) && isnan(min_f64(NAN, 1)) && isnan(min_f64(1, NAN)),
           "NaN of max_f64");
    expect(!signbit(max_f32(0.0f, -0.0f)) && signbit(max_f32(-0.0f, 0.0f)), "a tie is a's");
    expect(max_f32(2, 3) == 3 && max_f32(3, 2) == 3 && min_f32(2, 3) == 2 && min_f32(3, 2) == 2, "max, min");
    expect(max_f64(2, 3) == 3 && min_f64(2, 3) == 2 && max_i32(-2, 3) == 3 && min_i32(-2, 3) == -2, "max, min");
    float lane[16];
    for (int l = 0; l < 16; l++) lane[l] = (float)(l * 7 % 16);
    expect(max_lanes_f32(lane) == 15 && min_lanes_f32(lane) == 0 && sum_lanes_f32(lane) == 120, "lanes");
    lane[11] = NAN;
    expect(isnan(max_lanes_f32(lane)) && isnan(min_lanes_f32(lane)), "a NaN in a lane");
}

/* C's own / and % truncate; rounding down differs where signs do. */
static void test_integers(void)
{
    static const int v[] = {
        0, 1, -1, 2, -2, 3, -3, 7, -7, 100, -100, INT32_MAX, INT32_MIN, INT32_MAX - 1, INT32_MIN + 1};
    for (int i = 0; i < COUNT_OF(v); i++)
        for (int k = 0; k < COUNT_OF(v); k++) {
            int64_t a = v[i], b = v[k];
            int64_t q = b ? (int64_t)floor((double)a / (double)b) : 0;
            expect(idiv_i32((int)a, (int)b) == (int)(uint32_t)q, "idiv(%d, %d)", v[i], v[k]);
            expect(mod_i32((int)a, (int)b) == a - q * b, "mod(%d, %d)", v[i], v[k]);
            expect(ult_i32((int)a, (int)b) == ((uint32_t)a < (uint32_t)b), "ult(%d, %d)", v[i], v[k]);
        }
    expect(abs_i32(-5) == 5 && abs_i32(INT32_MIN) == INT32_MIN && sign_i32(-9) == -1 && sign_i32(0) == 0, "abs, sign");
}

/* Counter (index / 4, row, step, 0), key (seed, site): the algorithm's published answers for all zeros, all ones in
 * three words, and a plain second implementation elsewhere. */
static uint32_t plain_philox(const uint32_t counter[4], uint32_t k0, uint32_t k1, int word)
{
    uint32_t c[4];
    memcpy(c, counter, sizeof c);
    for (int round = 0; round < 10; round++) {
        uint64_t p = c[0] * 0xD2511F53ull, q = c[2] * 0xCD9E8D57ull;
        uint32_t next[4] = {(uint32_t)(q >> 32) ^ c[1] ^ k0, (uint32_t)q, (uint32_t)(p >> 32) ^ c[3] ^ k1, (uint32_t)p};
        memcpy(c, next, sizeof c);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c[word];
}

static void test_philox(void)
{
    static const uint32_t zeros[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}; /* Random123's kat_vectors */
    static const uint32_t pi[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    static const uint32_t pi_counter[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    for (int w = 0; w < 4; w++) {
        expect((uint32_t)philox_word(0, 0, 0, 0, w) == zeros[w], "philox of zeros, word %d", w);
        expect(plain_philox(pi_counter, 0xa4093822, 0x299f31d0, w) == pi[w], "the plain philox, word %d", w);
    }
    Rng r = rng_of(11);
    for (int i = 0; i < 10000; i++) {
        uint32_t seed = (uint32_t)below(&r, 1ll << 32), step = (uint32_t)below(&r, 1ll << 32),
                 site = (uint32_t)below(&r, 1000);
        uint32_t row = (uint32_t)below(&r, 1ll << 32), index = (uint32_t)below(&r, 1ll << 32);
        uint32_t counter[4] = {index / 4, row, step, 0};
        uint32_t got = (uint32_t)philox_word((int)seed, (int)step, (int)site, (int)row, (int)index);
        expect(got == plain_philox(counter, seed, site, (int)(index % 4)), "philox(%u, %u, %u, %u, %u)", seed, step,
               site, row, index);
    }
    expect(u01_f32(-1) == 1 - 0x1p-24f && u01_f32(255) == 0 && u01_f32(256) == 0x1p-24f && u01_f64(-1) == 1 - 0x1p-24,
           "u01");
}

/* Rows that begin and end anywhere in a block, at index 2^32 too; nothing is written beside them. */
static void test_philox_row(void)
{
    enum { MOST = 150 };
    static const int first[] = {0, 1, 2, 3, 4094, INT32_MAX - 50, -70, -1};
    for (int i = 0; i < COUNT_OF(first); i++)
        for (int n = 0; n <= MOST; n++) {
            int words[MOST + 2] = {0};
            words[0] = words[n + 1] = 77;
            philox_row(words + 1, n, 5, 6, 7, 8, first[i]);
            for (int k = 0; k < n; k++) {
                uint32_t index = (uint32_t)first[i] + (uint32_t)k, counter[4] = {index / 4, 8, 6, 0};
                expect((uint32_t)words[k + 1] == plain_philox(counter, 5, 7, (int)(index % 4)),
                       "word %d of %d from %d on", k, n, first[i]);
            }
            expect(words[0] == 77 && words[n + 1] == 77, "%d words from %d on write beside them", n, first[i]);
        }
}

int main(void)
{
    for (int i = 0; i < COUNT_OF(functions); i++) {
        test_edges(&functions[i]);
        test_all(&functions[i]);
    }
    test_huge_angles();
    test_pow();
    test_order();
    test_integers();
    test_philox();
    test_philox_row();
    return finish();
}
