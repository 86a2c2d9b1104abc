/* optim_element.h: the update of one element, shared by a CPU (step/optim_real.h) and a GPU (cuda/optim.cu), for float
 * and for double: REAL, NAME(x).  The arithmetic follows torch.optim. */

typedef struct NAME(Update) {       /* factors of a segment's elements */
    REAL scale, most;               /* the gradient is multiplied by scale, then kept within ±most */
    REAL rate, root;                /* lr; of Adam lr / c1, and √c2: c = 1 - β^(step + 1) */
    REAL keep, coupled;             /* of p: factor by decoupled decay; part that coupled decay adds to g */
    REAL old1, new1, old2, new2;    /* β1 (momentum), 1 - β1, β2, 1 - β2 */
    REAL eps, bound;                /* bound: of |p| after the update; 0: none */
    REAL averaged;                  /* share of the new p in its mean */
    bool nesterov, frozen, directed;
    bool moving, centered;          /* of RMSprop: whether it has momentum; a mean of g */
} NAME(Update);

MATH NAME(Update) NAME(update_of)(const Optimizer *o, const Rule *rule, const Rates *r)
{
    NAME(Update) u;
    double decay = rule->decay < 0 ? o->decay : rule->decay, lr = r->lr * rule->lr_scale;
    bool adam = !rule->directed && (o->kind == LATHE_ADAM || o->kind == LATHE_ADAMW);
    bool coupled = !rule->directed && (o->kind == LATHE_ADAM || o->kind == LATHE_RMSPROP || o->kind == LATHE_SCHEDULE_FREE);
    u.scale = (REAL)(rule->directed ? 1 : r->scale);
    u.most = (REAL)(rule->directed ? INFINITY : r->most);
    u.rate = (REAL)(adam ? lr / r->correction1 : lr);
    u.root = (REAL)sqrt(r->correction2);
    u.keep = (REAL)(coupled ? 1 : 1 - lr * decay);
    u.coupled = (REAL)(coupled ? decay : 0);
    u.old1 = (REAL)r->momentum;
    u.new1 = (REAL)(1 - r->momentum);
    u.old2 = (REAL)o->beta2;
    u.new2 = (REAL)(1 - o->beta2);
    u.eps = (REAL)o->eps;
    u.bound = (REAL)o->bound;
    u.averaged = (REAL)r->averaged;
    u.nesterov = o->nesterov;
    u.frozen = rule->frozen;
    u.directed = rule->directed;
    u.centered = o->centered;
    u.moving = o->moments - o->centered == 2;
    return u;
}

MATH REAL NAME(clipped)(REAL g, const NAME(Update) *u)
{
    return NAME(min)(NAME(max)(g * u->scale, -u->most), u->most);
}

/* Adam (Kingma, Ba 2015, algorithm 1), with decay coupled (λ = coupled: L2, as torch.optim.Adam's weight_decay) or not
 * (AdamW; Loshchilov, Hutter 2019, algorithm 2):
 *     g += λ p;  m += (g - m)(1 - β1);  v = β2 v + (1 - β2) g²;  p = keep p - lr/c1 m / (√v / √c2 + eps) */
MATH void NAME(adam)(REAL *p, REAL g, REAL *m, REAL *v, const NAME(Update) *u)
{
    REAL d = NAME(clipped)(g, u) + u->coupled * *p;
    REAL mean = *m + u->new1 * (d - *m);
    REAL square = u->old2 * *v + u->new2 * d * d;
    *m = mean;
    *v = square;
    *p = u->keep * *p - u->rate * mean / (NAME(sqrt)(square) / u->root + u->eps);
}

/* Lion (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2):
 *     c = β1 m + (1 - β1) g;  p = keep p - lr sign(c);  m = β2 m + (1 - β2) g */
MATH void NAME(lion)(REAL *p, REAL g, REAL *m, const NAME(Update) *u)
{
    REAL d = NAME(clipped)(g, u);
    *p = u->keep * *p - u->rate * NAME(sign)(u->old1 * *m + u->new1 * d);
    *m = u->old2 * *m + u->new2 * d;
}

/* SGD, with momentum µ, with Nesterov's (Sutskever et al. 2013; as torch.optim.SGD has both):
 *     p = keep p - lr g;  or u = µ u + g;  p = keep p - lr u, or keep p - lr (g + µ u) */
MATH void NAME(sgd)(REAL *p, REAL g, const NAME(Update) *u)
{
    *p = u->keep * *p - u->rate * NAME(clipped)(g, u);
}

MATH void NAME(sgd_momentum)(REAL *p, REAL g, REAL *m, const NAME(Update) *u)
{
    REAL d = NAME(clipped)(g, u), next = u->old1 * *m + d;
    *m = next;
    *p = u->keep * *p - u->rate * (u->nesterov ? d + u->old1 * next : next);
}

/* RMSprop (Hinton 2012; as torch.optim.RMSprop), with coupled decay; m: velocity, if it is moving; a: mean of g, if it is
 * centered.
 *     g += λ p;  v = β2 v + (1 - β2) g²;  a += (g - a)(1 - β2);  d = g / (√(v - a²) + eps);  u = µ u + d;  p -= lr u
 * v - a² is a variance, which rounding may make negative. */
MATH void NAME(rmsprop)(REAL *p, REAL g, REAL *v, REAL *m, REAL *a, const NAME(Update) *u)
{
    REAL d = NAME(clipped)(g, u) + u->coupled * *p;
    REAL square = u->old2 * *v + u->new2 * d * d;
    *v = square;
    if (u->centered) {
        REAL mean = *a + u->new2 * (d - *a);
        *a = mean;
        square = NAME(max)(square - mean * mean, (REAL)0);
    }
    d = d / (NAME(sqrt)(square) + u->eps);
    if (u->moving) d = *m = u->old1 * *m + d;
    *p -= u->rate * d;
}

/* Schedule-free AdamW (Defazio et al. 2024, "The Road Less Scheduled", algorithm 1): p is y, x the mean that is evaluated.
 *     v = β2 v + (1 - β2) g²;  z -= lr (g / (√v / √c2 + eps) + λ y);  x += c (z - x);  y = z + β1 (x - z) */
MATH void NAME(schedule_free)(REAL *p, REAL g, REAL *v, REAL *z, REAL *x, const NAME(Update) *u)
{
    REAL d = NAME(clipped)(g, u);
    REAL square = u->old2 * *v + u->new2 * d * d;
    REAL next = *z - u->rate * (d / (NAME(sqrt)(square) / u->root + u->eps) + u->coupled * *p);
    REAL mean = *x + u->averaged * (next - *x);
    *v = square;
    *z = next;
    *x = mean;
    *p = next + u->old1 * (mean - next);
}

/* The parameter after its update (Arjovsky et al. 2017 clip a critic's). */
MATH void NAME(bounded)(REAL *p, const NAME(Update) *u)
{
    if (u->bound > 0) *p = NAME(min)(NAME(max)(*p, -u->bound), u->bound);
}
