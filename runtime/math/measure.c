/* measure.c: measures this machine's best rates of copies and products, with this program's threads. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "lathe_rt.h"
#include "math/gemm_shape.h"
#include "math/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 20, MOST_BLOCKS = 128, REPEATS = 12, ROWS = 2048, COLUMNS = 1024, INNER = 1024 };
enum { CURVES = 1 << 16, CALLS = 99, SHARES = 64 };

/* Seconds in which another program leaves some moments free. */
static const double long_enough = 0.2;

typedef struct Job { /* to and from do not overlap */
    char *to, *from;
    int blocks; /* of a copy */
    const Lathe_gemm *product;
} Job;

/* At least one run after the first, which touches the memory; then no more than there is time for. */
static double best_within(double budget, void (*work)(const Job *), const Job *job)
{
    double best = 0, until = seconds_now() + budget;
    for (int i = 0; i < REPEATS; i++) {
        double begin = seconds_now();
        if (i > 1 && begin > until) break;
        work(job);
        double seconds = seconds_now() - begin;
        if (i == 1 || (i > 1 && seconds < best)) best = seconds;
    }
    return best;
}

static double best_of(void (*work)(const Job *), const Job *job) { return best_within(INFINITY, work, job); }

static void copy_blocks(const Job *j)
{
    PARALLEL
    for (int i = 0; i < j->blocks; i++) memcpy(j->to + (size_t)i * BLOCK, j->from + (size_t)i * BLOCK, BLOCK);
}

static void copy_half(const Job *j) { memcpy(j->to, j->from, (size_t)(j->to - j->from)); }

static const Lathe_gemm product = {
    .M = ROWS, .N = COLUMNS, .K = INNER, .a_m = INNER, .a_k = 1, .b_k = COLUMNS, .b_n = 1, .c_m = COLUMNS, .c_n = 1};

/* from: a [M][K], then b [K][N]; zeros multiply as fast as other numbers. */
static void product_f32(const Job *j)
{
    const float *a = (const float *)j->from;
    gemm_f32((float *)j->to, a, a + j->product->M * j->product->K, j->product, false);
}

static void product_f64(const Job *j)
{
    const double *a = (const double *)j->from;
    gemm_f64((double *)j->to, a, a + j->product->M * j->product->K, j->product, false);
}

double copy_rate(int64_t bytes)
{
    int64_t blocks = bytes / 2 / BLOCK;
    Job j = {.blocks = (int)(blocks < 1 ? 1 : blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks)};
    size_t half = (size_t)j.blocks * BLOCK;
    j.from = must_alloc(half), j.to = must_alloc(half);
    memset(j.from, 1, half); /* otherwise all its pages would be the same page of zeros */
    double seconds = best_of(copy_blocks, &j);
    free(j.from);
    free(j.to);
    return 2.0 * (double)half / seconds;
}

double product_rate(Lathe_dtype real, void *room, int64_t bytes)
{
    size_t size = real == LATHE_F64 ? sizeof(double) : sizeof(float), from = size * (ROWS * INNER + INNER * COLUMNS),
           to = size * ROWS * COLUMNS;
    bool fits = room && bytes >= (int64_t)(from + to);
    char *memory = fits ? room : must_alloc(from + to);
    Job j = {.from = memory, .to = memory + from, .product = &product};
    memset(j.from, 0, from);
    double seconds = best_of(real == LATHE_F64 ? product_f64 : product_f32, &j);
    if (!fits) free(memory);
    return 2.0 * ROWS * COLUMNS * INNER / seconds;
}

/* ------------------------------------------------------------------ small work */

static void take_tanh(const Job *j)
{
    float *x = (float *)j->to;
    const float *from = (const float *)j->from;
    PARALLEL
    for (int i = 0; i < CURVES; i++) x[i] = tanh_f32(from[i]);
}

double curve_rate(void)
{
    Job j = {.to = must_alloc(sizeof(float) * CURVES), .from = must_alloc(sizeof(float) * CURVES)};
    for (int i = 0; i < CURVES; i++) ((float *)j.from)[i] = 3 * (float)i / CURVES;
    double best = INFINITY;
    for (double begin = seconds_now(); seconds_now() - begin < long_enough;) best = fmin(best, best_of(take_tanh, &j));
    free(j.from);
    free(j.to);
    return CURVES / best;
}

double call_seconds(void)
{
    double seconds[CALLS], best = INFINITY;
    char *met = must_alloc(SHARES);
    for (double start = seconds_now(); seconds_now() - start < long_enough;) {
        for (int i = 0; i < CALLS; i++) {
            double begin = seconds_now();
            PARALLEL
            for (int k = 0; k < SHARES; k++) met[k] = (char)i;
            seconds[i] = seconds_now() - begin;
        }
        best = fmin(best, median_of(seconds, CALLS));
    }
    free(met);
    return best;
}

/* ------------------------------------------------------------------ in a room that there is */

double copy_rate_in(char *room, int64_t bytes, double seconds)
{
    int64_t half = bytes / 2 / 64 * 64, most = (int64_t)MOST_BLOCKS * BLOCK, blocks = half / BLOCK;
    if (half > most) half = most;
    if (half < 1 << 12) return 0;
    Job j = {.from = room, .to = room + bytes / 2 / 64 * 64, .blocks = (int)(half / BLOCK)};
    memset(j.from, 1, (size_t)half);
    if (blocks) return 2.0 * BLOCK * j.blocks / best_within(seconds, copy_blocks, &j);
    return 2.0 * (double)half / best_within(seconds, copy_half, &j);
}

/* Cubes, the last the largest that is worth its time. */
double product_rate_in(Lathe_dtype real, char *room, int64_t bytes, double seconds)
{
    enum { SMALLEST = 32, LARGEST = 1024 };
    const double slow = 2e10; /* flop a second that few machines lack */
    const int64_t size = real == LATHE_F64 ? sizeof(double) : sizeof(float);
    int64_t n = LARGEST;
    while (n > SMALLEST && (3 * size * n * n > bytes || 2.0 * (double)(n * n * n) > slow * seconds)) n /= 2;
    if (3 * size * n * n > bytes) return 0;
    Lathe_gemm cube = product;
    cube.M = cube.N = cube.K = cube.a_m = cube.b_k = cube.c_m = n;
    Job j = {.from = room, .to = room + 2 * size * n * n, .product = &cube};
    memset(room, 0, (size_t)(3 * size * n * n));
    double best = best_within(seconds, real == LATHE_F64 ? product_f64 : product_f32, &j);
    return best > 0 ? 2.0 * (double)(n * n * n) / best : 0;
}
