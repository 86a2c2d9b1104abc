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

/* Adam (Kingma, Ba 2015, algorithm 1), with decay coupled (λ = coupled: L2, as torch.optim.Adam's weight_decay) or not
 * (AdamW; Loshchilov, Hutter 2019, algorithm 2):
 *     g += λ p;  m += (g - m)(1 - β1);  v = β2 v + (1 - β2) g²;  p = keep p - lr/c1 m / (√v / √c2 + eps) */
static void NAME(adam)(const Optimizer *o, REAL *__restrict__ p, const REAL *__restrict__ g, int64_t begin, int64_t end,
                       const Rates *r)
{
    REAL *__restrict__ m = o->moment[0], *__restrict__ v = o->moment[1];
    const REAL scale = (REAL)r->scale, most = (REAL)r->most, keep = (REAL)r->keep, coupled = (REAL)r->coupled,
               rate = (REAL)(r->lr / r->correction1), root = (REAL)sqrt(r->correction2);
    const REAL new1 = (REAL)(1 - r->momentum), old2 = (REAL)o->beta2, new2 = (REAL)(1 - o->beta2), eps = (REAL)o->eps;
    for (int64_t i = begin; i < end; i++) {
        REAL d = CLIPPED(g[i]) + coupled * p[i];
        REAL mean = m[i] + new1 * (d - m[i]);
        REAL square = old2 * v[i] + new2 * d * d;
        m[i] = mean;
        v[i] = square;
        p[i] = keep * p[i] - rate * mean / (NAME(sqrt)(square) / root + eps);
    }
}

/* Lion (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2):
 *     c = β1 m + (1 - β1) g;  p = keep p - lr sign(c);  m = β2 m + (1 - β2) g */
static void NAME(lion)(const Optimizer *o, REAL *__restrict__ p, const REAL *__restrict__ g, int64_t begin, int64_t end,
                       const Rates *r)
{
    REAL *__restrict__ m = o->moment[0];
    const REAL scale = (REAL)r->scale, most = (REAL)r->most, keep = (REAL)r->keep, rate = (REAL)r->lr;
    const REAL old1 = (REAL)r->momentum, new1 = (REAL)(1 - r->momentum), old2 = (REAL)o->beta2,
               new2 = (REAL)(1 - o->beta2);
    for (int64_t i = begin; i < end; i++) {
        REAL d = CLIPPED(g[i]);
        p[i] = keep * p[i] - rate * NAME(sign)(old1 * m[i] + new1 * d);
        m[i] = old2 * m[i] + new2 * d;
    }
}

/* SGD, with momentum µ, with Nesterov's (Sutskever et al. 2013; as torch.optim.SGD has both):
 *     u = µ u + g;  p = keep p - lr u, or keep p - lr (g + µ u) */
static void NAME(sgd)(const Optimizer *o, REAL *__restrict__ p, const REAL *__restrict__ g, int64_t begin, int64_t end,
                      const Rates *r)
{
    REAL *__restrict__ u = o->moment[0];
    const REAL scale = (REAL)r->scale, most = (REAL)r->most, keep = (REAL)r->keep, rate = (REAL)r->lr,
               momentum = (REAL)r->momentum;
    if (!u)
        for (int64_t i = begin; i < end; i++) p[i] = keep * p[i] - rate * CLIPPED(g[i]);
    else
        for (int64_t i = begin; i < end; i++) {
            REAL d = CLIPPED(g[i]), next = momentum * u[i] + d;
            u[i] = next;
            p[i] = keep * p[i] - rate * (o->nesterov ? d + momentum * next : next);
        }
}
