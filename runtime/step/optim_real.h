/* optim_real.h: the loops of step/optim.c, compiled for float and for double: REAL, NAME(x). */
#include "step/optim_element.h"

/* Sum of squares in double, in 16 lanes. */
static double NAME(squares)(const REAL *x, int64_t n)
{
    double sum[16] = {0};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
#pragma omp simd
        for (int l = 0; l < 16; l++) sum[l] += (double)x[i + l] * (double)x[i + l];
    }
    for (; i < n; i++) sum[i % 16] += (double)x[i] * (double)x[i];
    return sum_lanes_f64(sum);
}

static void NAME(update)(const Optimizer *o, REAL *__restrict__ p, const REAL *__restrict__ g, REAL *__restrict__ m,
                         REAL *__restrict__ v, int64_t n, const NAME(Update) *of)
{
    const NAME(Update) u = *of;
    if (o->kind == LATHE_LION)
        for (int64_t i = 0; i < n; i++) NAME(lion)(p + i, g[i], m + i, &u);
    else if (o->kind != LATHE_SGD)
        for (int64_t i = 0; i < n; i++) NAME(adam)(p + i, g[i], m + i, v + i, &u);
    else if (m)
        for (int64_t i = 0; i < n; i++) NAME(sgd_momentum)(p + i, g[i], m + i, &u);
    else
        for (int64_t i = 0; i < n; i++) NAME(sgd)(p + i, g[i], &u);
}

/* From element `at` on; NULL if the optimizer has no such moment. */
static REAL *NAME(moment)(const Optimizer *o, int k, int64_t at)
{
    return o->moment[k] ? (REAL *)o->moment[k] + at : NULL;
}

static void NAME(update_segment)(const Optimizer *o, REAL *p, const REAL *g, int64_t begin, int64_t end,
                                 const NAME(Update) *u)
{
    NAME(update)(o, p + begin, g + begin, NAME(moment)(o, 0, begin), NAME(moment)(o, 1, begin), end - begin, u);
}
