/* train_optim_real.h: the loops of train_optim.c, compiled for float and for double: REAL, NAME(x). */

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

/* m += (g - m)(1 - beta1);  v = beta2 v + (1 - beta2) g²;  p = keep p - lr/c1 m / (sqrt(v) / sqrt(c2) + eps) */
static void NAME(adamw)(const Optimizer *o, REAL *__restrict__ p, const REAL *__restrict__ g, int64_t begin,
                        int64_t end, const Rates *r)
{
    REAL *__restrict__ m = o->moment[0], *__restrict__ v = o->moment[1];
    const REAL scale = (REAL)r->scale, keep = (REAL)r->keep, rate = (REAL)(r->lr / r->correction1),
               root = (REAL)sqrt(r->correction2);
    const REAL new1 = (REAL)(1 - o->beta1), old2 = (REAL)o->beta2, new2 = (REAL)(1 - o->beta2), eps = (REAL)o->eps;
    for (int64_t i = begin; i < end; i++) {
        REAL d = g[i] * scale;
        REAL mean = m[i] + new1 * (d - m[i]);
        REAL square = old2 * v[i] + new2 * d * d;
        m[i] = mean;
        v[i] = square;
        p[i] = keep * p[i] - rate * mean / (NAME(sqrt)(square) / root + eps);
    }
}

/* u = momentum u + g;  p = keep p - lr u */
static void NAME(sgd)(const Optimizer *o, REAL *__restrict__ p, const REAL *__restrict__ g, int64_t begin, int64_t end,
                      const Rates *r)
{
    REAL *__restrict__ u = o->moment[0];
    const REAL scale = (REAL)r->scale, keep = (REAL)r->keep, rate = (REAL)r->lr, momentum = (REAL)o->momentum;
    if (!u)
        for (int64_t i = begin; i < end; i++) p[i] = keep * p[i] - rate * (g[i] * scale);
    else
        for (int64_t i = begin; i < end; i++) {
            REAL d = momentum * u[i] + g[i] * scale;
            u[i] = d;
            p[i] = keep * p[i] - rate * d;
        }
}
