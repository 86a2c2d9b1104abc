/* measure.c: measures this machine's best rates of copies and products, with this program's threads. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "lathe_rt.h"
#include "math/gemm_shape.h"
#include "math/measure.h"

#include <stdlib.h>

enum { BLOCK = 1 << 20, MOST_BLOCKS = 128, REPEATS = 12, ROWS = 2048, COLUMNS = 1024, INNER = 1024 };
enum { CURVES = 1 << 16, CALLS = 999, SHARES = 64 };

typedef struct Job { /* to and from do not overlap */
    char *to, *from;
    int blocks; /* of a copy */
} Job;

static double best_of(void (*work)(const Job *), const Job *job)
{
    double best = 0;
    for (int i = 0; i < REPEATS; i++) {
        double begin = seconds_now();
        work(job);
        double seconds = seconds_now() - begin;
        if (i == 1 || (i > 1 && seconds < best)) best = seconds; /* the first touches the memory */
    }
    return best;
}

static void copy_blocks(const Job *j)
{
    PARALLEL
    for (int i = 0; i < j->blocks; i++) memcpy(j->to + (size_t)i * BLOCK, j->from + (size_t)i * BLOCK, BLOCK);
}

static const Lathe_gemm product = {
    .M = ROWS, .N = COLUMNS, .K = INNER, .a_m = INNER, .a_k = 1, .b_k = COLUMNS, .b_n = 1, .c_m = COLUMNS, .c_n = 1};

/* from: a [M][K], then b [K][N]; zeros multiply as fast as other numbers. */
static void product_f32(const Job *j)
{
    const float *a = (const float *)j->from;
    gemm_f32((float *)j->to, a, a + ROWS * INNER, &product, false);
}

static void product_f64(const Job *j)
{
    const double *a = (const double *)j->from;
    gemm_f64((double *)j->to, a, a + ROWS * INNER, &product, false);
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
    Job j = {.from = memory, .to = memory + from};
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
    double seconds = best_of(take_tanh, &j);
    free(j.from);
    free(j.to);
    return CURVES / seconds;
}

double call_seconds(void)
{
    static double seconds[CALLS];
    char *met = must_alloc(SHARES);
    for (int i = 0; i < CALLS; i++) {
        double begin = seconds_now();
        PARALLEL
        for (int k = 0; k < SHARES; k++) met[k] = (char)i;
        seconds[i] = seconds_now() - begin;
    }
    free(met);
    return median_of(seconds, CALLS);
}
