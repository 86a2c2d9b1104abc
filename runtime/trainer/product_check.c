/* product_check.c: compares matrix products of this processor (math/gemm.c) with plain loops in double, while an entry
 * runs: every product, with its own numbers and shapes.  A wrong element is reported with the kernel whose LAP comes
 * next. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "math/gemm.h"
#include "math/gemm_shape.h"
#include "model/tables.h"
#include "trainer/selftest.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>

enum { MOST_MULTIPLIED = 1 << 26, MOST_ELEMENTS = 1 << 20, PACKS = 512 }; /* of a product; all of a smaller one */

static struct Watched {
    Product_report *report;
    const Lathe_entry *entry;
    int multiplied; /* products since the last lap */
    Product_off worst;
    struct Pack {
        const void *packed, *b;
        Lathe_dtype blocks;
        int64_t b_k, b_n;
    } pack[PACKS];
    int packs;
} watched;

static double number(const void *x, int64_t i, bool is_double)
{
    return is_double ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* Elements to check, in C order over batch, M and N: element i · step modulo their number.  step and that number have
 * no common factor, so the sample covers rows, columns and tiles evenly. */
typedef struct Some {
    int64_t all, n, step;
    double *old; /* of a product that is added: the values before */
} Some;

static int64_t common_factor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

static Some elements_of(const Product *p)
{
    const Lathe_gemm *g = p->g;
    Some s = {.all = batch_of(g) * g->M * g->N};
    s.n = at_most(at_most(s.all, MOST_ELEMENTS), at_least(MOST_MULTIPLIED / at_least(g->K, 1), 1));
    s.step = at_least((int64_t)(0.618 * (double)s.all), 1);
    while (s.all && common_factor(s.all, s.step) > 1) s.step++;
    return s;
}

typedef struct Spot { /* position of an element of c, and of its row and column */
    int64_t a, b, c;
} Spot;

static Spot spot_of(const Product *p, const struct Pack *b, const Some *s, int64_t i)
{
    const Lathe_gemm *g = p->g;
    int64_t at = i * s->step % s->all, m = at / g->N % g->M, n = at % g->N;
    Begin from = begin_of(g, at / g->N / g->M);
    return (Spot){from.a + m * g->a_m, from.b + n * b->b_n, from.c + m * g->c_m + n * g->c_n};
}

/* The distance of an element of c from a plain sum, in units of the possible rounding error. */
static double off_by(const Product *p, const struct Pack *b, Spot at, double old, double *plain)
{
    double sum = old, size = fabs(old), c = number(p->c, at.c, p->is_double);
    for (int64_t k = 0; k < p->g->K; k++) {
        double right = b->blocks ? read_element(b->blocks, b->b, at.b + k * b->b_k)
                                 : number(b->b, at.b + k * b->b_k, p->is_double);
        double x = number(p->a, at.a + k * p->g->a_k, p->is_double) * right;
        sum += x;
        size += fabs(x);
    }
    double unit = p->is_double ? DBL_EPSILON : FLT_EPSILON, least = p->is_double ? DBL_MIN : FLT_MIN;
    double off = fabs(c - sum) / (size * unit * (8 + 4 * sqrt((double)p->g->K)) + least);
    *plain = sum;
    return off >= 0 ? off : INFINITY;
}

/* The unpacked source of a packed operand. */
static struct Pack operand_of(const Product *p)
{
    struct Pack own = {NULL, p->b, p->blocks, p->g->b_k, p->g->b_n};
#pragma omp critical(lathe_watched)
    for (int i = 0; p->packed && i < watched.packs; i++)
        if (watched.pack[i].packed == p->b) own = watched.pack[i];
    bug_if(p->packed && !own.packed);
    return own;
}

static void *before(const Product *p)
{
    Some s = elements_of(p), *kept = must_alloc(sizeof *kept);
    struct Pack b = operand_of(p);
    if (p->add) s.old = must_alloc((size_t)at_least(s.n, 1) * sizeof *s.old);
    for (int64_t i = 0; p->add && i < s.n; i++) s.old[i] = number(p->c, spot_of(p, &b, &s, i).c, p->is_double);
    *kept = s;
    return kept;
}

static void after(const Product *p, void *kept)
{
    Some *s = kept;
    struct Pack b = operand_of(p);
    Product_off worst = {0};
#pragma omp parallel for if (!omp_in_parallel())
    for (int64_t i = 0; i < s->n; i++) {
        double plain;
        Spot at = spot_of(p, &b, s, i);
        double off = off_by(p, &b, at, s->old ? s->old[i] : 0, &plain);
        if (off <= 1) continue;
#pragma omp critical(lathe_worst)
        if (off > worst.off) worst = (Product_off){NULL, off, number(p->c, at.c, p->is_double), plain};
    }
#pragma omp critical(lathe_watched)
    {
        watched.multiplied++;
        if (worst.off > watched.worst.off) watched.worst = worst;
    }
    free(s->old);
    free(s);
}

static void packs(const void *packed, const void *b, Lathe_dtype blocks, int64_t b_k, int64_t b_n)
{
#pragma omp critical(lathe_watched)
    {
        int i = 0;
        while (i < watched.packs && watched.pack[i].packed != packed) i++;
        bug_if(i == PACKS);
        watched.pack[i] = (struct Pack){packed, b, blocks, b_k, b_n};
        if (i == watched.packs) watched.packs++;
    }
}

static void count_lap(int lap)
{
    Product_report *r = watched.report;
    Product_off worst = watched.worst;
    r->products += watched.multiplied;
    watched.multiplied = 0;
    watched.worst = (Product_off){0};
    for (int i = 0; i < watched.entry->kernels; i++)
        if (watched.entry->kernel[i].lap == lap) worst.kernel = &watched.entry->kernel[i];
    if (!worst.off || !worst.kernel) return;
    for (int i = 0; i < r->n; i++)
        if (r->off[i].kernel == worst.kernel) return;
    if (r->n < (int)(sizeof r->off / sizeof r->off[0])) r->off[r->n++] = worst;
}

void watch_products(const Lathe_entry *entry, Product_report *report)
{
    static const Gemm_watch watch = {before, after, packs};
    watched = (struct Watched){.report = report, .entry = entry};
    gemm_watch = report ? &watch : NULL;
    rt_lap = report ? count_lap : NULL;
}
