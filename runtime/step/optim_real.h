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

static void NAME(clip)(REAL *g, int64_t n, REAL most)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) g[i] = NAME(min)(NAME(max)(g[i], -most), most);
}

typedef struct NAME(Moments) {
    REAL *at[LATHE_MOMENTS]; /* of the optimizer; NULL beyond its own, and where a direction is given */
    REAL *average;           /* NULL: none */
} NAME(Moments);

/* From element `at` on. */
static NAME(Moments) NAME(moments)(const Optimizer *o, int64_t at, const NAME(Update) *u)
{
    NAME(Moments) m = {{0}, o->average ? (REAL *)o->average + at : NULL};
    if (!u->directed)
        for (int k = 0; k < o->moments; k++) m.at[k] = (REAL *)o->moment[k] + at;
    return m;
}

static void NAME(update_rmsprop)(const Optimizer *o, REAL *__restrict__ p, const REAL *__restrict__ g, NAME(Moments) m,
                                 int64_t n, const NAME(Update) *of)
{
    const NAME(Update) u = *of;
    REAL *v = m.at[0], *velocity = u.moving ? m.at[1] : v, *mean = u.centered ? m.at[o->moments - 1] : v; /* or unread */
    for (int64_t i = 0; i < n; i++) NAME(rmsprop)(p + i, g[i], v + i, velocity + i, mean + i, &u);
}

static inline bool NAME(updates_as)(const Optimizer *o, Lathe_optimizer kind)
{
    return LATHE_USES_OPTIMIZER(kind) && o->kind == kind;
}

static void NAME(update)(const Optimizer *o, REAL *__restrict__ p, const REAL *__restrict__ g, NAME(Moments) moments,
                         int64_t n, const NAME(Update) *of)
{
    const NAME(Update) u = *of;
    REAL *__restrict__ m = moments.at[0], *__restrict__ v = moments.at[1];
    if (u.directed)
        for (int64_t i = 0; i < n; i++) NAME(sgd)(p + i, g[i], &u);
    else if (NAME(updates_as)(o, LATHE_SCHEDULE_FREE))
        for (int64_t i = 0; i < n; i++) NAME(schedule_free)(p + i, g[i], m + i, v + i, moments.average + i, &u);
    else if (NAME(updates_as)(o, LATHE_RMSPROP)) NAME(update_rmsprop)(o, p, g, moments, n, of);
    else if (NAME(updates_as)(o, LATHE_LION))
        for (int64_t i = 0; i < n; i++) NAME(lion)(p + i, g[i], m + i, &u);
    else if (NAME(updates_as)(o, LATHE_ADAM) || NAME(updates_as)(o, LATHE_ADAMW))
        for (int64_t i = 0; i < n; i++) NAME(adam)(p + i, g[i], m + i, v + i, &u);
    else if (m)
        for (int64_t i = 0; i < n; i++) NAME(sgd_momentum)(p + i, g[i], m + i, &u);
    else
        for (int64_t i = 0; i < n; i++) NAME(sgd)(p + i, g[i], &u);
    for (int64_t i = 0; u.bound > 0 && i < n; i++) NAME(bounded)(p + i, &u);
    for (int64_t i = 0; o->ema > 0 && i < n; i++) moments.average[i] += u.averaged * (p[i] - moments.average[i]);
}
