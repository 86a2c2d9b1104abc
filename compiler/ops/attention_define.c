/* attention_define.c: attention and its derivative written in primitives: what the interpreter computes, and what
 * takes their place where no kernel does (pass_whole).  Shapes and masks: ops/attention.c.
 *
 * Scores [batch…][H][T][S] are in memory here. */
#include "ops/attention.h"

static const double unseen = -1e30; /* lse of a query that sees no key */

/* ------------------------------------------------------------------ definition: products */

/* x [batch…][n][H][…] as [batch…][n][G][H / G][…] */
static Node *grouped_heads(const Attention_extents *z, Node *x)
{
    Shape s = with_axis(x->shape, x->shape, z->nb + 2);
    s.dim[z->nb + 1] = z->G;
    s.dim[z->nb + 2] = z->H / z->G;
    s.axis[z->nb + 1] = s.axis[z->nb + 2] = 0;
    return reshape(x, s);
}

/* [batch…][H][T][S] as [batch…][G][H / G][T][S] */
static Node *grouped_scores(const Attention_extents *z, Node *p)
{
    return reshape(p, over_batch(z, 4, (int64_t[]){z->G, z->H / z->G, z->T, z->S}));
}

static Node *permuted(const Attention_extents *z, Node *x, int n, const int *order)
{
    int perm[MAXRANK];
    for (int i = 0; i < z->nb; i++) perm[i] = i;
    for (int i = 0; i < n; i++) perm[z->nb + i] = z->nb + order[i];
    return permute(x, perm);
}

/* batch axes: all of [batch…], and one more in each operand; axes are counted from there */
static Dot_axes batched(const Attention_extents *z, int a, int b)
{
    Dot_axes x = {.nb = z->nb + 1};
    for (int i = 0; i < z->nb; i++) x.ab[i] = x.bb[i] = i;
    x.ab[z->nb] = z->nb + a;
    x.bb[z->nb] = z->nb + b;
    return x;
}

static void contract(const Attention_extents *z, Dot_axes *x, int a, int b)
{
    x->ac[x->nc] = z->nb + a;
    x->bc[x->nc++] = z->nb + b;
}

/* x [batch…][T][H][W], y [batch…][S][G][W] -> Σ over W [batch…][H][T][S] */
static Node *scores_of(const Attention_extents *z, Node *x, Node *y)
{
    Dot_axes axes = batched(z, 1, 1);
    contract(z, &axes, 3, 2);
    Node *s = dot(grouped_heads(z, x), y, axes); /* [batch…][G][T][H / G][S] */
    return reshape(permuted(z, s, 4, (int[]){0, 2, 1, 3}), score_shape(z));
}

/* p [batch…][H][T][S], y [batch…][S][G][W] -> Σ over S [batch…][T][H][W] */
static Node *over_keys(const Attention_extents *z, Node *p, Node *y)
{
    Dot_axes axes = batched(z, 0, 1);
    contract(z, &axes, 3, 0);
    Node *r = permuted(z, dot(grouped_scores(z, p), y, axes), 4, (int[]){2, 0, 1, 3}); /* from [batch…][G][H/G][T][W] */
    return reshape(r, over_batch(z, 3, (int64_t[]){z->T, z->H, y->shape.dim[z->nb + 2]}));
}

/* p [batch…][H][T][S], x [batch…][T][H][W] -> Σ over T and the heads of a group [batch…][S][G][W] */
static Node *over_queries(const Attention_extents *z, Node *p, Node *x)
{
    Dot_axes axes = batched(z, 0, 1);
    contract(z, &axes, 1, 2);
    contract(z, &axes, 2, 0);
    return permuted(z, dot(grouped_scores(z, p), grouped_heads(z, x), axes), 3,
                    (int[]){1, 0, 2}); /* from [batch…][G][S][W] */
}

/* ------------------------------------------------------------------ definition: rotary positions */

/* Half `which` of the last axis. */
static Node *half_of(Node *x, int which)
{
    int64_t start[MAXRANK] = {0};
    Shape s = x->shape;
    s.dim[s.rank - 1] /= 2;
    start[s.rank - 1] = which * s.dim[s.rank - 1];
    return slice(x, start, s.dim, NULL);
}

/* Half `which` of turns [batch…][n][D] for each of the heads. */
static Node *turns_half(const Attention_extents *z, Node *turns, int which, Shape s)
{
    Node *x = half_of(turns, which);
    Shape one = s;
    one.dim[z->nb + 1] = 1;
    return expand(reshape(x, one), s);
}

/* x [batch…][n][heads][D] turned by turns [batch…][n][D], or back; as it is where there are none. */
static Node *turned(const Attention_extents *z, Node *x, Node *turns, bool back)
{
    if (!turns) return x;
    Node *a = half_of(x, 0), *b = half_of(x, 1);
    Node *c = turns_half(z, turns, 0, a->shape), *s = turns_half(z, turns, 1, a->shape);
    Node *first = map2(back ? OP_add : OP_sub, map2(OP_mul, a, c), map2(OP_mul, b, s));
    Node *second = map2(back ? OP_sub : OP_add, map2(OP_mul, b, c), map2(OP_mul, a, s));
    return concat(2, (Node *[]){first, second}, x->shape.rank - 1);
}

/* q and k as they meet. */
static void turn_both(Attention *a, const Attention_extents *z)
{
    a->q = turned(z, a->q, a->q_turns, false);
    a->k = turned(z, a->k, a->k_turns, false);
}

/* ------------------------------------------------------------------ definition: masks, dropout */

/* x, whose axes after the first nb are the scores' axes from `axis` on, repeated to their shape. */
static Node *spread_over(const Attention_extents *z, Node *x, int axis)
{
    Shape s = score_shape(z), ones = s;
    for (int i = z->nb; i < s.rank; i++) ones.dim[i] = 1;
    for (int i = z->nb; i < x->shape.rank; i++) ones.dim[axis + i] = x->shape.dim[i];
    return expand(reshape(x, ones), s);
}

static Node *both_masks(Node *a, Node *b) { return a ? map2(OP_land, a, b) : b; }

/* bool [batch…][H][T][S]; NULL: every key is seen */
static Node *seen_of(const Attention *a, const Attention_extents *z)
{
    Shape s = score_shape(z);
    Node *key = iota(s, z->nb + 2), *seen = NULL;
    if (a->offset) {
        Node *first = a->offset->shape.rank ? spread_over(z, a->offset, 0) : broadcast(a->offset, s);
        Node *at = map2(OP_add, iota(s, z->nb + 1), first);
        if (a->flags & CAUSAL) seen = map2(OP_le, key, at);
        if (a->window) seen = both_masks(seen, map2(OP_lt, map2(OP_sub, at, filled((double)a->window, I32, s)), key));
    }
    if (a->lengths) seen = both_masks(seen, map2(OP_lt, key, spread_over(z, a->lengths, 0)));
    if (a->q_segments)
        seen = both_masks(seen, map2(OP_eq, spread_over(z, a->q_segments, 1), spread_over(z, a->k_segments, 2)));
    return seen;
}

static Node *chosen(Node *seen, Node *yes, double no)
{
    return seen ? where_op(seen, yes, filled(no, yes->dtype, yes->shape)) : yes;
}

/* x [batch…][H][T][S] with elements dropped, the others grown */
static Node *thinned(const Attention *a, const Attention_extents *z, Node *x)
{
    if (!a->keep) return x;
    Shape s = score_shape(z);
    Node *index = spread_over(z, a->base, 0);
    for (int i = 0; i < 3; i++) {
        int64_t stride = (i < 2 ? z->S : 1) * (i < 1 ? z->T : 1);
        Node *at = map2(OP_mul, iota(s, z->nb + i), filled((double)stride, I32, s));
        index = map2(OP_add, index, at);
    }
    Node *bits =
        philox(broadcast(a->seed, s), broadcast(a->step, s), broadcast(a->site, s), spread_over(z, a->row, 0), index);
    double t = (double)a->threshold;
    Node *dropped = map2(OP_ult, bits, filled(t < 2147483648.0 ? t : t - 4294967296.0, I32, s));
    return where_op(dropped, filled(0, x->dtype, s), map2(OP_mul, x, broadcast(a->keep, s)));
}

Node *attention_dropped(const Attention *a, Node *p)
{
    Attention_extents z = attention_extents(a);
    return thinned(a, &z, p);
}

/* ------------------------------------------------------------------ definition: 16 bits */

static Node *widened_heads(Node *n) { return n && is_stored(n->dtype) ? cast_op(n, F32) : n; }

/* What is stored in 16 bits is computed with in fp32; the definition's result is rounded to t. */
static Attention widened_parts(const Node *n)
{
    Attention a = attention_of(n);
    Node **reals[] = {&a.q, &a.k, &a.v, &a.o, &a.d_o, &a.q_turns, &a.k_turns};
    for (int i = 0; i < COUNT_OF(reals); i++) *reals[i] = widened_heads(*reals[i]);
    return a;
}

static Node *result_of(const Node *n, int k, Node *x)
{
    Type results[MOST_RESULTS];
    whole_info[n->op].results(n, results);
    return cast_op(x, results[k].dtype);
}

/* ------------------------------------------------------------------ definition: forward */

static Node *over_last(Op op, Node *x) { return reduce(op, x, 1, &(int){x->shape.rank - 1}); }

static Node *scaled_scores(const Attention *a, const Attention_extents *z)
{
    return map2(OP_mul, scores_of(z, a->q, a->k), broadcast(a->scale, score_shape(z)));
}

static Node *capped(const Attention *a, Node *s)
{
    if (!a->cap) return s;
    Node *cap = broadcast(a->cap, s->shape);
    return map2(OP_mul, cap, map1(OP_tanh, map2(OP_div, s, cap)));
}

/* What softmax is of; *slope: the derivative of what is capped, NULL where nothing is. */
static Node *scores(const Attention *a, const Attention_extents *z, Node **slope)
{
    Node *s = capped(a, scaled_scores(a, z));
    *slope = NULL;
    if (a->cap) {
        Node *x = map2(OP_div, s, broadcast(a->cap, s->shape));
        *slope = map2(OP_sub, filled(1, s->dtype, s->shape), map2(OP_mul, x, x));
    }
    return a->bias ? map2(OP_add, s, a->bias) : s;
}

/* e [batch…][H][T][S] = exp(score - shift), 0 where not seen.  The shift is the largest score rounded down: floor has
 * no derivative, and none is needed, since any shift gives the same p. */
static Node *exponentials(const Attention *a, const Attention_extents *z, Node **shift)
{
    Node *slope, *seen = seen_of(a, z), *s = scores(a, z, &slope),
                 *highest = over_last(OP_rmax, chosen(seen, s, unseen));
    if (a->bias) highest = map2(OP_max, highest, filled(unseen, highest->dtype, highest->shape)); /* not -infinity */
    *shift = map1(OP_floor, highest);
    Node *above = chosen(seen, map2(OP_sub, s, spread_over(z, *shift, 0)), 0);
    return chosen(seen, map1(OP_exp, above), 0);
}

static Node *defined_result(const Node *n, int k)
{
    Attention a = widened_parts(n);
    Attention_extents z = attention_extents(&a);
    turn_both(&a, &z);
    Node *shift, *e = exponentials(&a, &z, &shift), *sum = over_last(OP_sum, e);
    sum = map2(OP_max, sum, filled(0.5, sum->dtype, sum->shape)); /* it is at least 1 where any key is seen */
    if (k == 1) {
        Node *lse = map2(OP_add, map1(OP_log, sum), shift);
        return map2(OP_max, lse, filled(unseen, lse->dtype, lse->shape));
    }
    Node *p = map2(OP_div, e, spread_over(&z, sum, 0));
    return k == 2 ? p : over_keys(&z, thinned(&a, &z, p), a.v);
}

Node *attention_define(Node *n, int k) { return result_of(n, k, defined_result(n, k)); }

/* ------------------------------------------------------------------ definition: backward */

static Node *defined_back_result(const Node *n, int k)
{
    Attention a = widened_parts(n);
    Attention_extents z = attention_extents(&a);
    turn_both(&a, &z);
    Node *seen = seen_of(&a, &z), *slope, *s = scores(&a, &z, &slope);
    Node *above = chosen(seen, map2(OP_sub, s, spread_over(&z, a.lse, 0)), 0);
    Node *p = chosen(seen, map1(OP_exp, above), 0);
    if (k == 2) return over_queries(&z, thinned(&a, &z, p), a.d_o);
    Node *dp = thinned(&a, &z, scores_of(&z, a.d_o, a.v));
    Node *delta = permuted(&z, over_last(OP_sum, map2(OP_mul, a.d_o, a.o)), 2, (int[]){1, 0}); /* [batch…][H][T] */
    Node *ds = map2(OP_mul, map2(OP_mul, p, map2(OP_sub, dp, spread_over(&z, delta, 0))), broadcast(a.scale, p->shape));
    if (slope) ds = map2(OP_mul, ds, slope);
    return k == 0 ? turned(&z, over_keys(&z, ds, a.k), a.q_turns, true)
                  : turned(&z, over_queries(&z, ds, a.q), a.k_turns, true);
}

Node *attention_back_define(Node *n, int k) { return result_of(n, k, defined_back_result(n, k)); }
