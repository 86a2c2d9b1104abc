/* test_init.c: model/init.c: distributions of initial values, names of copies, independence of layout and threads. */
#include "harness.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/init.h"
#include "model/tables.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { TALL = 700, WIDE = 301, N = TALL * WIDE };

static Lathe_param weight(Lathe_init init, double a, double b)
{
    return (Lathe_param){.name = "layer.weight",
                         .export_name = "h.%d.weight",
                         .rank = 3,
                         .loops = 1,
                         .dim = {2, TALL, WIDE},
                         .stride = {N + 3, WIDE, 1},
                         .init = init,
                         .init_a = a,
                         .init_b = b};
}

static void *filled_with(Lathe_dtype real, const Lathe_param *p, int n, int64_t flat, uint64_t seed)
{
    Lathe_model m = {.real = real, .params = n, .param = p, .flat_elements = flat};
    void *at = alloc((size_t)flat * 8);
    memset(at, 0xff, (size_t)flat * 8); /* NaN */
    init_parameters(&m, seed, at);
    return at;
}

static int ascending(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Largest distance between the distribution of x and a given one (Kolmogorov and Smirnov), times sqrt(n): 1.95 in a
 * thousand. */
static double distance(double *x, int n, double (*below)(double))
{
    double worst = 0;
    qsort(x, (size_t)n, sizeof *x, ascending);
    for (int i = 0; i < n; i++)
        worst = fmax(worst, fmax(fabs(below(x[i]) - (double)i / n), fabs(below(x[i]) - (i + 1.0) / n)));
    return worst * sqrt(n);
}

static double normal_below(double x) { return 0.5 * erfc(-x / 0.02 / sqrt(2)); }
static double uniform_below(double x) { return (x + 0.5) / 2; }

static void test_distributions(void)
{
    Lathe_param gauss = weight(LATHE_NORMAL, 0.02, 0), flat = weight(LATHE_UNIFORM, -0.5, 1.5);
    for (uint64_t seed = 1; seed < 6; seed++) {
        double *x = filled_with(LATHE_F64, &gauss, 1, 2 * (N + 3), seed * 0x100000001ull);
        double correlation = 0, neighbours = 0;
        for (int i = 0; i < N - 1; i++)
            correlation += x[i] * x[i + N + 3] / 0.0004, neighbours += x[i] * x[i + 1] / 0.0004;
        expect(fabs(correlation) < 4.5 * sqrt(N) && fabs(neighbours) < 4.5 * sqrt(N), "correlations: %g, %g",
               correlation, neighbours);
        expect(x[N] == 0 && x[N + 1] == 0 && x[2 * N + 5] == 0, "padding must be zero");
        expect(distance(x, N, normal_below) < 1.95, "not a normal distribution");
        x = filled_with(LATHE_F64, &flat, 1, 2 * (N + 3), seed);
        for (int i = 0; i < N; i++) expect(x[i] > -0.5 && x[i] < 1.5, "uniform element %g", x[i]);
        expect(distance(x, N, uniform_below) < 1.95, "not a uniform distribution");
    }
}

static void test_constants(void)
{
    static const Lathe_init kind[] = {LATHE_ZEROS, LATHE_ONES, LATHE_CONSTANT};
    for (int k = 0; k < 3; k++) {
        Lathe_param p = weight(kind[k], 0.25, 0);
        float *x = filled_with(LATHE_F32, &p, 1, 2 * (N + 3), 1);
        for (int i = 0; i < N; i++)
            expect(x[i] == (k == 0 ? 0 : k == 1 ? 1 : 0.25f) && x[N] == 0, "constant element %g", x[i]);
    }
}

/* The same values wherever they lie: as a stack with gaps, interleaved with another parameter, as single tensors, in
 * float. */
static void test_layouts(void)
{
    Lathe_param stack = weight(LATHE_NORMAL, 0.02, 0), spread = stack, single = stack;
    spread.stride[0] = 1;
    spread.stride[1] = 2 * WIDE + 5;
    spread.stride[2] = 2;
    single.export_name = "h.1.weight";
    single.rank = 2, single.loops = 0;
    single.dim[0] = TALL, single.dim[1] = WIDE;
    single.stride[0] = WIDE, single.stride[1] = 1;
    double *a = filled_with(LATHE_F64, &stack, 1, 2 * (N + 3), 7);
    double *b = filled_with(LATHE_F64, &spread, 1, TALL * (2 * WIDE + 5), 7);
    double *c = filled_with(LATHE_F64, &single, 1, N, 7);
    float *d = filled_with(LATHE_F32, &single, 1, N, 7);
    double *other = filled_with(LATHE_F64, &single, 1, N, 8);
    for (int i = 0; i < N; i++) {
        double x = a[N + 3 + i];
        expect(b[1 + i / WIDE * (2 * WIDE + 5) + i % WIDE * 2] == x && c[i] == x && d[i] == (float)x,
               "element %d by layout", i);
        expect(x != other[i] && x != a[i], "element %d does not depend on seed or name", i);
    }
}

static void test_threads(void)
{
    static const int threads[] = {1, 2, 3, 8};
    Lathe_param p = weight(LATHE_NORMAL, 0.02, 0);
    float *first = NULL;
    for (int t = 0; t < COUNT_OF(threads); t++) {
        omp_set_num_threads(threads[t]);
        float *x = filled_with(LATHE_F32, &p, 1, 2 * (N + 3), 42);
        if (!first) first = x;
        expect(!memcmp(first, x, 2 * (N + 3) * 4), "other values with %d threads", threads[t]);
    }
}

static void test_names(void)
{
    Lathe_param p = {.export_name = "a.%d.b.%d.%d", .loops = 2, .rank = 2, .dim = {3, 4}};
    char name[64];
    copy_name(name, sizeof name, &p, 7);
    expect(same(name, "a.1.b.3.%d"), "name of a copy: %s", name);
    copy_name(name, 6, &p, 7);
    expect(strlen(name) == 5, "a name cut off: %s", name);
    expect(copies_of_parameter(&p) == 12 && copy_elements(&p) == 1, "counts");
}

/* A number of each type, and nothing beside it. */
static void test_write_real(void)
{
    static const struct {
        Lathe_dtype type;
        int bytes;
        double x, nearest;
    } cases[] = {{LATHE_F64, 8, 0.1, 0.1},
                 {LATHE_F32, 4, 0.1, 0.100000001490116119384765625},
                 {LATHE_BF16, 2, 0.1, 0.10009765625},
                 {LATHE_F16, 2, 0.1, 0.0999755859375}};
    for (int i = 0; i < COUNT_OF(cases); i++) {
        unsigned char at[24];
        int n = cases[i].bytes;
        memset(at, 0xaa, sizeof at);
        write_real(cases[i].type, at, 1, cases[i].x);
        expect(read_element(cases[i].type, at, 1) == cases[i].nearest, "type %d: %.17g", i,
               read_element(cases[i].type, at, 1));
        for (int k = 0; k < (int)sizeof at; k++)
            expect((k >= n && k < 2 * n) || at[k] == 0xaa, "type %d: byte %d beside it changed", i, k);
    }
}

int main(void)
{
    test_write_real();
    test_distributions();
    test_constants();
    test_layouts();
    test_threads();
    test_names();
    return finish();
}
