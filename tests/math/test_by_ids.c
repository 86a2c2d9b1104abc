/* test_by_ids.c: math/gemm_by_ids.h on random shapes against plain loops in doubles: rows of many matrices, of few, of
 * one alone and of none, matrices [out][in] and [in][out], rows that are read for several matrices, operands with gaps
 * that stay as they were, more rows than are sorted at a time, weights in blocks; the same bits for 1, 2, 3 and 8
 * threads. */
#include "harness.h"
#include "lathe_rt.h"
#include "math/engine.h"
#include "math/blocks.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const double untouched = 12345.25;

typedef struct Case {
    Lathe_by_ids g;
    bool is_f64, sums;
    unsigned char *blocks; /* of w; NULL: it has none */
    Lathe_dtype type;      /* theirs */
    int64_t rows, x_span, y_span, w_span;
    void *x, *y, *w;
    int *ids;
} Case;

static double get(const Case *c, const void *data, int64_t i)
{
    return c->is_f64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static void put(const Case *c, void *data, int64_t i, double v)
{
    if (c->is_f64) ((double *)data)[i] = v;
    else ((float *)data)[i] = (float)v;
}

static int64_t x_at(const Case *c, int64_t r) { return r / c->g.inner * c->g.x_outer + r % c->g.inner * c->g.x_inner; }

static int64_t y_at(const Case *c, int64_t r) { return r / c->g.inner * c->g.y_outer + r % c->g.inner * c->g.y_inner; }

static void *drawn(const Case *c, int64_t n, Rng *r)
{
    void *data = calloc((size_t)n + 1, sizeof(double));
    for (int64_t i = 0; i < n; i++) put(c, data, i, normal(r));
    return data;
}

static void *emptied(const Case *c, int64_t n)
{
    void *data = calloc((size_t)n + 1, sizeof(double));
    for (int64_t i = 0; i < n; i++) put(c, data, i, untouched);
    return data;
}

static void lay_out(Case *c, bool turned, bool shared, Rng *r)
{
    Lathe_by_ids *g = &c->g;
    int64_t gap = c->blocks ? 0 : below(r, 3);
    g->w_k = turned ? g->N + gap : 1, g->w_n = turned ? 1 : g->K + gap;
    g->w_e = (turned ? g->K * g->w_k : g->N * g->w_n) + (c->blocks ? 0 : below(r, 2) * 5);
    g->x_inner = shared ? 0 : g->K + below(r, 3), g->x_outer = (shared ? g->K : g->inner * g->x_inner) + below(r, 3);
    g->y_inner = g->N + below(r, 3), g->y_outer = g->inner * g->y_inner + below(r, 3);
    c->x_span = g->outer * g->x_outer, c->y_span = g->outer * g->y_outer, c->w_span = g->E * g->w_e;
}

static void call(const Case *c, void *result)
{
    const Lathe_by_ids *g = &c->g;
    if (c->sums) {
        if (c->is_f64) sum_by_ids_f64(result, c->y, c->x, c->ids, g);
        else sum_by_ids_f32(result, c->y, c->x, c->ids, g);
    } else if (c->type == LATHE_Q8_0) dot_by_ids_q8_0(result, c->x, (Lathe_q8_0 *)(void *)c->blocks, c->ids, g);
    else if (c->blocks) dot_by_ids_q4_0(result, c->x, (Lathe_q4_0 *)(void *)c->blocks, c->ids, g);
    else if (c->is_f64) dot_by_ids_f64(result, c->x, c->w, c->ids, g);
    else dot_by_ids_f32(result, c->x, c->w, c->ids, g);
}

static void check_one(const Case *c, const void *result, int64_t at, double exact, double size, double terms)
{
    double eps = c->is_f64 ? DBL_EPSILON : FLT_EPSILON, found = get(c, result, at);
    const Lathe_by_ids *g = &c->g;
    expect(fabs(found - exact) <= 4 * (2 + sqrt(terms)) * eps * size + 1e-300,
           "%s of %lld rows, %lld matrices of %lld x %lld: found %g, expected %g", c->sums ? "sums" : "products",
           (long long)c->rows, (long long)g->E, (long long)g->N, (long long)g->K, found, exact);
}

static void check_products(const Case *c, const void *result)
{
    const Lathe_by_ids *g = &c->g;
    for (int64_t r = 0; r < c->rows; r++)
        for (int64_t n = 0; n < g->N; n++) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k < g->K; k++) {
                int64_t at = c->ids[r] * g->w_e + n * g->w_n + k * g->w_k;
                double product = get(c, c->x, x_at(c, r) + k) * get(c, c->w, at);
                sum += product, size += fabs(product);
            }
            check_one(c, result, y_at(c, r) + n, sum, size, (double)g->K);
        }
}

static void check_sums(const Case *c, const void *result)
{
    const Lathe_by_ids *g = &c->g;
    double *sum = calloc((size_t)c->w_span, sizeof *sum), *size = calloc((size_t)c->w_span, sizeof *size);
    for (int64_t r = 0; r < c->rows; r++)
        for (int64_t n = 0; n < g->N; n++)
            for (int64_t k = 0; k < g->K; k++) {
                double product = get(c, c->y, y_at(c, r) + n) * get(c, c->x, x_at(c, r) + k);
                int64_t at = c->ids[r] * g->w_e + n * g->w_n + k;
                sum[at] += product, size[at] += fabs(product);
            }
    for (int64_t e = 0; e < g->E; e++)
        for (int64_t n = 0; n < g->N; n++)
            for (int64_t k = 0; k < g->K; k++) {
                int64_t at = e * g->w_e + n * g->w_n + k;
                check_one(c, result, at, sum[at], size[at], (double)c->rows);
            }
    free(sum);
    free(size);
}

static void check_gaps(const Case *c, const void *result, int64_t span)
{
    int64_t gaps = span - (c->sums ? c->g.E * c->g.K : c->rows) * c->g.N, found = 0;
    for (int64_t i = 0; i < span; i++) found += get(c, result, i) == untouched;
    expect(found == gaps, "%lld of %lld numbers in gaps as they were", (long long)found, (long long)gaps);
}

static void run(Case *c, Rng *r)
{
    static const int threads[] = {1, 2, 3, 8};
    c->x = drawn(c, c->x_span, r), c->y = drawn(c, c->y_span, r), c->w = drawn(c, c->w_span, r);
    for (int64_t i = 0, n = lathe_bytes_of_block(c->type); c->blocks && i < c->w_span / LATHE_BLOCK; i++) {
        uint16_t scale = to_f16_f32((float)(0.01 * (1 + (double)below(r, 9))));
        for (int64_t k = 2; k < n; k++) c->blocks[i * n + k] = (unsigned char)below(r, 255);
        memcpy(c->blocks + i * n, &scale, sizeof scale);
    }
    for (int64_t i = 0; c->blocks && i < c->w_span; i++) put(c, c->w, i, block_element(c->type, c->blocks, i));
    int64_t span = c->sums ? c->w_span : c->y_span;
    void *first = emptied(c, span);
    for (int i = 0; i < 4; i++) {
        omp_set_num_threads(threads[i]);
        void *again = i ? emptied(c, span) : first;
        call(c, again);
        bool same = memcmp(first, again, (size_t)span * (c->is_f64 ? sizeof(double) : sizeof(float))) == 0;
        expect(same, "%s: other bits with %d threads", c->sums ? "sums" : "products", threads[i]);
        if (i) free(again);
    }
    (c->sums ? check_sums : check_products)(c, first);
    check_gaps(c, first, span);
    void *all[] = {first, c->x, c->y, c->w, c->ids, c->blocks};
    for (int i = 0; i < 6; i++) free(all[i]);
}

/* one: the matrix that all rows choose; -1: any, the first ones more often */
static void draw_ids(Case *c, int64_t one, Rng *r)
{
    c->rows = c->g.outer * c->g.inner;
    c->ids = malloc(sizeof *c->ids * (size_t)c->rows);
    for (int64_t i = 0; i < c->rows; i++) {
        int64_t most = 1 + below(r, (int)c->g.E);
        c->ids[i] = (int)(one >= 0 ? one : below(r, (int)most));
    }
}

static void run_random(int number, Rng *r)
{
    Case c = {.is_f64 = number % 3 == 0, .sums = number % 2};
    bool large = number % 8 < 2, blocks = !c.is_f64 && !c.sums && number % 5 == 0;
    Lathe_by_ids *g = &c.g;
    g->outer = 1 + below(r, large ? 300 : 20), g->inner = 1 + below(r, 4), g->E = 1 + below(r, 9);
    g->N = 1 + below(r, large ? 200 : 40), g->K = 1 + below(r, large ? 500 : 70);
    if (number % 12 == 5) g->N = 1 + 42 * below(r, 2); /* sums with one row beyond whole tiles of 6 or 14 */
    if (blocks) g->N = (1 + g->N / 32) * 32, g->K = (1 + g->K / 32) * 32;
    if (blocks) c.type = number % 4 ? LATHE_Q4_0 : LATHE_Q8_0;
    if (blocks) c.blocks = calloc((size_t)(g->E * g->N * g->K / LATHE_BLOCK), (size_t)lathe_bytes_of_block(c.type));
    draw_ids(&c, number % 7 == 0 ? below(r, (int)g->E) : -1, r);
    lay_out(&c, !c.sums && below(r, 2), below(r, 2), r);
    run(&c, r);
}

/* More rows than are sorted at a time. */
static void run_long(bool sums, Rng *r)
{
    Case c = {.sums = sums, .g = {.outer = 150000, .inner = 1, .E = 3, .N = 3, .K = 2}};
    draw_ids(&c, -1, r);
    lay_out(&c, false, false, r);
    run(&c, r);
}

int main(void)
{
    Rng r = rng_of(7);
    rt_init_gemm(8);
    for (int i = 0; i < 120; i++) run_random(i, &r);
    run_long(false, &r);
    run_long(true, &r);
    return finish();
}
