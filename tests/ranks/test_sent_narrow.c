/* test_sent_narrow.c: gradients sent as bf16 (trainer/narrow.c) against plain loops: what 200 steps have sent is what
 * they had, by error feedback, and is not without it; packed and plain; sums in the tree, bit for bit; what is not
 * finite.
 */
#include "harness.h"
#include "interface/dealt.h"
#include "trainer/narrow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double get(Lathe_dtype type, const void *x, int64_t i)
{
    return type == LATHE_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void put(Lathe_dtype type, void *x, int64_t i, double value)
{
    if (type == LATHE_F64) ((double *)x)[i] = value;
    else ((float *)x)[i] = (float)value;
}

/* The nearest of the two neighbours with 8 significant bits, or an even last bit if both are as near. */
static double in_eight_bits(double x)
{
    if (x == 0 || !isfinite(x)) return x;
    const double unit = ldexp(1, ilogb(x) - 7);
    return nearbyint(x / unit) * unit;
}

/* ------------------------------------------------------------------ error feedback */

enum { STEPS = 200 };

/* The farthest of sums of what is sent from sums of what was to be sent, in relation to the size of one. */
static double drift(Lathe_dtype type, int64_t n, bool feedback)
{
    double *sent = calloc((size_t)n, sizeof *sent), *wanted = calloc((size_t)n, sizeof *wanted), most = 0;
    void *x = calloc((size_t)n, sizeof(double));
    bf16 *error = calloc((size_t)n, sizeof *error);
    Rng r = rng_of(7);
    for (int step = 0; step < STEPS; step++) {
        for (int64_t i = 0; i < n; i++) {
            put(type, x, i, ldexp(1 + 0.0013 * (double)(i % 3) + 1e-4 * uniform(&r), (int)(i % 40) - 20));
            wanted[i] += get(type, x, i);
        }
        narrow_reals(type, x, feedback ? error : NULL, n, false);
        for (int64_t i = 0; i < n; i++) sent[i] += get(type, x, i);
    }
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(sent[i] - wanted[i]) / ldexp(1, (int)(i % 40) - 20));
    free(sent), free(wanted), free(x), free(error);
    return most;
}

static void check_drift(Lathe_dtype type)
{
    const double fed = drift(type, 120, true), lost = drift(type, 120, false);
    expect(fed < 0x1p-8 + STEPS * 0x1p-17, "with feedback 200 steps are off by %g of a gradient", fed);
    expect(lost > 0.2, "without feedback they are off by only %g: the test does not see it", lost);
}

/* ------------------------------------------------------------------ forms */

static void check_forms(Lathe_dtype type, int64_t n)
{
    const size_t size = type == LATHE_F64 ? sizeof(double) : sizeof(float), bytes = (size_t)(n + 1) * size;
    void *given = calloc(1, bytes), *plain = malloc(bytes), *packed = malloc(bytes);
    bf16 *error = calloc((size_t)n + 1, sizeof *error), *other = calloc((size_t)n + 1, sizeof *other);
    Rng r = rng_of((uint64_t)n);
    for (int64_t i = 0; i <= n; i++) put(type, given, i, normal(&r) * exp(4 * normal(&r)));
    for (int64_t i = 0; i <= n; i++) error[i] = other[i] = to_bf16_f64(0.001 * get(type, given, i));
    memcpy(plain, given, bytes), memcpy(packed, given, bytes);
    narrow_reals(type, plain, error, n, false);
    narrow_reals(type, packed, other, n, true);
    bool right = true, same = true;
    for (int64_t i = 0; i < n; i++) {
        const double sent = get(type, plain, i);
        const double was = from_bf16_f64(to_bf16_f64(0.001 * get(type, given, i)));
        const double all =
            type == LATHE_F64 ? get(type, given, i) + was : (double)((float)get(type, given, i) + (float)was);
        right &= sent == in_eight_bits((float)all) && from_bf16_f64(error[i]) == in_eight_bits((float)(all - sent));
        same &= from_bf16_f64(((const bf16 *)packed)[i]) == sent;
    }
    expect(right, "%lld reals are not rounded to bf16", (long long)n);
    expect(same && memcmp(error, other, (size_t)n * sizeof *error) == 0, "%lld packed numbers are others",
           (long long)n);
    expect(memcmp((char *)packed + 2 * (size_t)n, (char *)given + 2 * (size_t)n, bytes - 2 * (size_t)n) == 0,
           "behind %lld packed numbers something changed", (long long)n);
    widen_reals(type, packed, n);
    expect(memcmp(packed, plain, bytes) == 0, "%lld numbers are not where they were", (long long)n);
    free(given), free(plain), free(packed), free(error), free(other);
}

static void check_values(void)
{
    float x[] = {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, -(1 + 0x1.2p-8f), 0, INFINITY, -INFINITY, NAN, 3.4e38f};
    const float sent[] = {1, 1 + 0x1p-6f, -(1 + 0x1p-7f), 0, INFINITY, -INFINITY, NAN, INFINITY};
    const double left[] = {0x1p-8, -0x1p-8, 0x1.cp-9, 0, 0, 0, 0, 0};
    bf16 error[8] = {0};
    narrow_reals(LATHE_F32, x, error, 8, false);
    for (int i = 0; i < 8; i++)
        expect((x[i] == sent[i] || (isnan(x[i]) && isnan(sent[i]))) && from_bf16_f64(error[i]) == left[i],
               "number %d is sent as %g, and %g is left", i, (double)x[i], from_bf16_f64(error[i]));
}

/* ------------------------------------------------------------------ sums */

static double in_tree(Lathe_dtype type, double *x, int ranks)
{
    for (int step = 1; step < ranks; step *= 2)
        for (int k = 0; k + step < ranks; k += 2 * step)
            x[k] = type == LATHE_F64 ? x[k] + x[k + step] : (double)((float)x[k] + (float)x[k + step]);
    return x[0];
}

static void check_sums(Lathe_dtype type, int ranks, int own, int64_t n)
{
    void *x[8], *room = malloc(LATHE_NARROW_ROOM * sizeof(double));
    double *wanted = malloc((size_t)n * sizeof *wanted), column[8];
    Rng r = rng_of((uint64_t)(ranks * 10 + own));
    for (int k = 0; k < ranks; k++) {
        x[k] = malloc((size_t)n * sizeof(double));
        for (int64_t i = 0; i < n; i++) {
            const bf16 b = to_bf16_f64(normal(&r));
            if (k == own) put(type, x[k], i, from_bf16_f64(b));
            else ((bf16 *)x[k])[i] = b;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < ranks; k++)
            column[k] = k == own ? get(type, x[k], i) : from_bf16_f64(((const bf16 *)x[k])[i]);
        wanted[i] = in_tree(type, column, ranks);
        wanted[i] = type == LATHE_F64 ? wanted[i] * (1.0 / ranks) : (double)((float)wanted[i] * (float)(1.0 / ranks));
    }
    add_narrow(type, x[own], x, own, ranks, n, 1.0 / ranks, room);
    bool same = true;
    for (int64_t i = 0; i < n; i++) same &= get(type, x[own], i) == wanted[i];
    expect(same, "%lld sums over %d ranks by rank %d are others", (long long)n, ranks, own);
    for (int k = 0; k < ranks; k++) free(x[k]);
    free(room), free(wanted);
}

int main(void)
{
    static const int64_t sizes[] = {0, 1, 2, 1023, 1024, 1025, 2048, 5000};
    static const Lathe_dtype types[] = {LATHE_F32, LATHE_F64};
    check_values();
    for (int t = 0; t < 2; t++) {
        check_drift(types[t]);
        for (int i = 0; i < 8; i++) check_forms(types[t], sizes[i]);
        for (int ranks = 2; ranks <= 8; ranks++)
            for (int own = 0; own < ranks; own += 3)
                check_sums(types[t], ranks, own, LATHE_NARROW_ROOM / ranks * 2 + 77);
    }
    return finish();
}
