/* test_draws.c: random numbers of generated code have the distributions they are named after, and are functions of
 * seed, step, sample and place: other ones for each, the same for another batch size. */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 16, COLUMNS = 1024, N = SAMPLES * COLUMNS };

typedef double Cdf(double x);

static double uniform_cdf(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
static double wide_cdf(double x) { return uniform_cdf((x + 3) / 8); }
static double normal_cdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
static double gumbel_cdf(double x) { return exp(-exp(-x)); }

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov's test: the largest distance times sqrt(n) is above 1.95 once in a thousand times. */
static void check_distribution(const Live *l, int entry, const char *name, Cdf *cdf)
{
    double *x = read_output(l, entry, name), distance = 0;
    expect(tensor_elements(output_of(l, entry, name)) == N, "%s: its shape", name);
    for (int i = 0; i < N; i++) expect(isfinite(x[i]), "%s: element %d is not finite", name, i);
    qsort(x, N, sizeof *x, ascending);
    for (int i = 0; i < N; i++) distance = fmax(distance, fabs(cdf(x[i]) - (i + 0.5) / N) + 0.5 / N);
    expect(distance * sqrt(N) < 1.95, "%s: %.2f from its distribution", name, distance * sqrt(N));
}

static void check_shares(const Live *l, int entry)
{
    const double *b = read_output(l, entry, "bernoulli"), *k = read_output(l, entry, "integers");
    double yes = 0, count[7] = {0}, chi = 0;
    for (int i = 0; i < N; i++) {
        yes += b[i];
        expect(k[i] >= 0 && k[i] <= 6 && k[i] == floor(k[i]), "an integer below 7: %g", k[i]);
        if (k[i] >= 0 && k[i] <= 6) count[(int)k[i]]++;
    }
    for (int i = 0; i < 7; i++) chi += (count[i] - N / 7.0) * (count[i] - N / 7.0) / (N / 7.0);
    expect(fabs(yes - 0.3 * N) < 3.3 * sqrt(0.21 * N), "%g of %d with probability 0.3", yes, N);
    expect(chi < 22.5, "integers: chi squared %.1f with 6 degrees of freedom", chi); /* once in a thousand times */
}

/* Column c is true with probability c / COLUMNS. */
static void check_own_probabilities(const Live *l, int entry)
{
    const double *b = read_output(l, entry, "often");
    double off = 0, variance = 0;
    for (int r = 0; r < SAMPLES; r++)
        for (int c = 0; c < COLUMNS; c++) {
            double p = (double)c / COLUMNS, sign = c < COLUMNS / 2 ? -1 : 1;
            off += sign * (b[r * COLUMNS + c] - p);
            variance += p * (1 - p);
        }
    expect(fabs(off) < 3.3 * sqrt(variance), "probabilities of each place: off by %g", off);
}

static int equal(const double *a, const double *b, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) count += a[i] == b[i];
    return count;
}

static Live *drawn(int batch, int seed, int step)
{
    Rng r = rng_of(1);
    Live *l = build_model(format("tests/models/draws.lua --set batch=%d", batch));
    int entry = entry_index(l, "grad");
    fill_params(l, &r);
    fill_inputs(l, entry, &r);
    *(int32_t *)input_at(l, entry, "seed") = seed;
    *(int32_t *)input_at(l, entry, "step") = step;
    call_entry(l, entry);
    return l;
}

static double *of(const Live *l, const char *name) { return read_output(l, entry_index(l, "grad"), name); }

int main(void)
{
    Live *l = drawn(SAMPLES, 7, 3), *half = drawn(SAMPLES / 2, 7, 3), *next = drawn(SAMPLES, 7, 4),
         *other = drawn(SAMPLES, 8, 3);
    int entry = entry_index(l, "grad");
    const double *x = of(l, "uniform");
    expect(equal(x, of(l, "again"), N) < 10, "a second call draws the same");
    expect(equal(x, x + COLUMNS, N - COLUMNS) < 10, "two samples draw the same");
    expect(equal(x, of(next, "uniform"), N) < 10, "another step draws the same");
    expect(equal(x, of(other, "uniform"), N) < 10, "another seed draws the same");
    expect(equal(x, of(half, "uniform"), N / 2) == N / 2, "another batch size draws other numbers");
    expect(equal(of(l, "normal"), of(half, "normal"), N / 2) == N / 2, "another batch size draws other numbers");
    expect(equal(of(l, "rows"), of(half, "rows"), SAMPLES / 2) == SAMPLES / 2,
           "another batch size draws other numbers");
    check_shares(l, entry);
    check_own_probabilities(l, entry);
    check_distribution(l, entry, "uniform", uniform_cdf);
    check_distribution(l, entry, "wide", wide_cdf);
    check_distribution(l, entry, "normal", normal_cdf);
    check_distribution(l, entry, "gumbel", gumbel_cdf);
    Live *const all[] = {l, half, next, other};
    for (int i = 0; i < 4; i++) unload(all[i]);
    return finish();
}
