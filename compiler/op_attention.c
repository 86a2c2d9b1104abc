/* op_attention.c: attention as one operation: softmax over the keys of scale · q · k, times v, for each query and head.
 *
 *     q [batch…][T][H][D]   k [batch…][S][G][D]   v [batch…][S][G][E]      H / G heads share a key (grouped queries)
 *     o [batch…][T][H][E] = Σ_s p[s] · v[s]
 *     lse [batch…][H][T]  = log Σ_s exp(scale · q · k[s])                  over the keys that are seen
 *     p [batch…][H][T][S] = exp(scale · q · k[s] - lse)                    0 for keys that are not seen
 *
 * Query t sees key s unless a mask hides it.  With i = offset + t, its position among the keys:
 *     CAUSAL     s <= i                        offset: i32 [], position of query 0; 0 in self-attention
 *     window w   s > i - w                     w > 0 queries back, itself included; also takes the offset
 *     LENGTHS    s < lengths[batch]
 *     SEGMENTS   q_segments[t] == k_segments[s]       documents packed into one row
 * A query that sees no key gets o = 0, lse = -1e30, p = 0, and no gradient: never NaN.
 *
 * TURNS: rotary positions (Su et al. 2021).  The halves (x, y) of every head of q[t] and k[s] are turned before they
 * meet, to (x · c - y · s, y · c + x · s), where (c, s) are the halves of q_turns[t] and k_turns[s]: cosines and sines
 * of the position's angles.
 *
 * DROPOUT: in o (the result p is what it was before) element (h, t, s) of p is dropped if the random bits
 * philox(seed, step, site, row[batch], base[batch] + (h · T + t) · S + s), unsigned, are below the threshold; the
 * others grow by keep.  These are the draws of nn.dropout on probabilities [batch][H][T][S].
 *
 * The derivative is attention_back, which makes p again from lse (FlashAttention-2, Dao 2023, algorithm 2):
 *     dv = pᵀ · do    ds = p ∘ (do · vᵀ - Σ do ∘ o)    dq = scale · ds · k    dk = scale · dsᵀ · q
 * with q and k as they were turned, and dq, dk turned back.
 * If lse or p have a gradient themselves, or turns want one, the definition is differentiated instead, and p is in
 * memory. */
#include "grad.h"

static const double unseen = -1e30; /* lse of a query that sees no key */

/* ------------------------------------------------------------------ parts, shapes */

/* The inputs in order, for either op; which of them there are depends on op and ints. */
static int parts(Attention *a, bool back, Node ***slot)
{
    int n = 0;
    slot[n++] = &a->q, slot[n++] = &a->k, slot[n++] = &a->v;
    if (back) slot[n++] = &a->o, slot[n++] = &a->lse, slot[n++] = &a->d_o;
    slot[n++] = &a->scale;
    if (a->flags & CAUSAL || a->window) slot[n++] = &a->offset;
    if (a->flags & LENGTHS) slot[n++] = &a->lengths;
    if (a->flags & SEGMENTS) slot[n++] = &a->q_segments, slot[n++] = &a->k_segments;
    if (a->flags & TURNS) slot[n++] = &a->q_turns, slot[n++] = &a->k_turns;
    if (!(a->flags & DROPOUT)) return n;
    slot[n++] = &a->keep, slot[n++] = &a->seed, slot[n++] = &a->step, slot[n++] = &a->site;
    slot[n++] = &a->row, slot[n++] = &a->base;
    return n;
}

enum { MOST_PARTS = 24 };

Attention attention_of(const Node *n)
{
    Attention a = {.flags = n->ints[0], .window = n->ints[1], .threshold = n->ints[2]};
    Node **slot[MOST_PARTS];
    int count = parts(&a, n->op == OP_attention_back, slot);
    for (int i = 0; i < count; i++) *slot[i] = n->in[i];
    return a;
}

bool is_attention_number(const Node *n, int k)
{
    Attention a = {.flags = n->ints[0], .window = n->ints[1]};
    Node **slot[MOST_PARTS], **const numbers[] = {&a.scale, &a.offset, &a.keep, &a.seed, &a.step, &a.site};
    parts(&a, n->op == OP_attention_back, slot);
    for (int i = 0; i < COUNT_OF(numbers); i++)
        if (slot[k] == numbers[i]) return true;
    return false;
}

static Node *made(Op op, const Attention *given)
{
    Attention a = *given;
    Node **slot[MOST_PARTS], *in[MOST_PARTS];
    int count = parts(&a, op == OP_attention_back, slot);
    for (int i = 0; i < count; i++) in[i] = *slot[i];
    return whole_op(op, count, in, 3, (int64_t[]){a.flags, a.window, a.threshold});
}

Node *attention_op(const Attention *a) { return made(OP_attention, a); }
Node *attention_back_op(const Attention *a) { return made(OP_attention_back, a); }

/* nb batch axes of extents `batch` */
typedef struct Sizes {
    int nb;
    Shape batch;
    int64_t T, S, H, G, D, E;
} Sizes;

static Sizes sizes_of(const Attention *a)
{
    Shape q = a->q->shape, k = a->k->shape, v = a->v->shape;
    int nb = q.rank - 3;
    return (Sizes){.nb = nb,
                   .batch = shape_of(nb, q.dim),
                   .T = q.dim[nb],
                   .H = q.dim[nb + 1],
                   .D = q.dim[nb + 2],
                   .S = k.dim[nb],
                   .G = k.dim[nb + 1],
                   .E = v.dim[nb + 2]};
}

/* [batch…][n axes more] */
static Shape over_batch(const Sizes *z, int n, const int64_t *more)
{
    Shape s = z->batch;
    for (int i = 0; i < n; i++) s.dim[s.rank++] = more[i];
    return s;
}

static Shape score_shape(const Sizes *z) { return over_batch(z, 3, (int64_t[]){z->H, z->T, z->S}); }
static Shape lse_shape(const Sizes *z) { return over_batch(z, 2, (int64_t[]){z->H, z->T}); }
static Shape result_shape(const Sizes *z) { return over_batch(z, 3, (int64_t[]){z->T, z->H, z->E}); }

static Shape turns_shape(const Sizes *z, int64_t times) { return over_batch(z, 2, (int64_t[]){times, z->D}); }

/* ------------------------------------------------------------------ what is wrong with it */

/* Of what is computed with: log sum exp, scale, keep. */
static DType real_of(const Attention *a) { return is_stored(a->q->dtype) ? F32 : a->q->dtype; }

static bool is_like(const Node *n, DType t, Shape s) { return n->dtype == t && same_shape(n->shape, s); }
static bool is_i32(const Node *n, Shape s) { return is_like(n, I32, s); }

static const char *heads_fault(const Attention *a)
{
    Shape q = a->q->shape, k = a->k->shape, v = a->v->shape;
    if ((!is_real(a->q->dtype) && !is_stored(a->q->dtype)) || a->k->dtype != a->q->dtype || a->v->dtype != a->q->dtype)
        return "q, k and v must be real and of one type";
    if (q.rank < 3 || q.rank + 1 > MAXRANK || k.rank != q.rank || v.rank != q.rank)
        return "q, k and v must be [batch…, time, heads, width]";
    int nb = q.rank - 3;
    for (int i = 0; i < nb; i++)
        if (k.dim[i] != q.dim[i] || v.dim[i] != q.dim[i]) return "q, k and v must have the same batch axes";
    if (k.dim[nb] != v.dim[nb] || k.dim[nb + 1] != v.dim[nb + 1]) return "k and v must have as many keys and heads";
    if (q.dim[nb + 1] % k.dim[nb + 1]) return "the heads of q must be a multiple of those of k";
    if (q.dim[nb + 2] != k.dim[nb + 2]) return "the heads of q and k must have the same width";
    return NULL;
}

static const char *masks_fault(const Attention *a, const Sizes *z)
{
    Shape none = {0};
    if (a->window < 0) return "a window is at least 1, or 0 for none";
    if (a->offset && !is_i32(a->offset, none)) return "the offset must be one i32";
    if (a->lengths && !is_i32(a->lengths, z->batch)) return "lengths must be i32 [batch…]";
    if (a->q_segments &&
        (!is_i32(a->q_segments, over_batch(z, 1, &z->T)) || !is_i32(a->k_segments, over_batch(z, 1, &z->S))))
        return "segments must be i32 [batch…, time] of queries and keys";
    if (a->q_turns && z->D % 2) return "heads that are turned must have an even width";
    if (a->q_turns && (!is_like(a->q_turns, a->q->dtype, turns_shape(z, z->T)) ||
                       !is_like(a->k_turns, a->q->dtype, turns_shape(z, z->S))))
        return "turns must be [batch…, time, width of a head] of queries and keys, and of their type";
    if (!a->keep) return NULL;
    if (!is_i32(a->seed, none) || !is_i32(a->step, none) || !is_i32(a->site, none) || !is_i32(a->base, z->batch) ||
        !is_i32(a->row, z->batch))
        return "dropout takes seed, step and site as i32, rows and bases as i32 [batch…]";
    if (!is_filled(a->keep, NULL) || !is_like(a->keep, real_of(a), none)) return "keep must be a real constant";
    return a->threshold < 0 || a->threshold > UINT32_MAX ? "the threshold must be an unsigned 32-bit number" : NULL;
}

const char *attention_fault_of(const Attention *a)
{
    const char *fault = heads_fault(a);
    if (fault) return fault;
    Sizes z = sizes_of(a);
    return masks_fault(a, &z);
}

const char *attention_fault(const Node *n)
{
    if (n->nints != 3) return "its ints must be flags, window and threshold";
    Attention a = {.flags = n->ints[0], .window = n->ints[1]};
    Node **slot[MOST_PARTS];
    bool back = n->op == OP_attention_back;
    if (n->nin != parts(&a, back, slot)) return "it has not the inputs that its flags ask for";
    a = attention_of(n);
    const char *fault = attention_fault_of(&a);
    if (fault) return fault;
    Sizes z = sizes_of(&a);
    if (!is_filled(a.scale, NULL) || !is_like(a.scale, real_of(&a), (Shape){0})) return "scale must be a real constant";
    if (back && (!is_like(a.o, a.q->dtype, result_shape(&z)) || !is_like(a.d_o, a.q->dtype, result_shape(&z)) ||
                 !is_like(a.lse, real_of(&a), lse_shape(&z))))
        return "its result, log sum exp or gradient do not fit q, k and v";
    return NULL;
}

const char *attention_back_fault(const Node *n) { return attention_fault(n); }

int attention_results(const Node *n, Type *out)
{
    Attention a = attention_of(n);
    Sizes z = sizes_of(&a);
    DType t = a.q->dtype;
    out[0] = (Type){t, result_shape(&z)};
    out[1] = (Type){real_of(&a), lse_shape(&z)};
    out[2] = (Type){t, score_shape(&z)};
    return a.flags & PROBABILITIES ? 3 : 2;
}

int attention_back_results(const Node *n, Type *out)
{
    for (int k = 0; k < 3; k++) out[k] = (Type){n->in[k]->dtype, n->in[k]->shape};
    return 3;
}

/* ------------------------------------------------------------------ definition: products */

/* x [batch…][n][H][…] as [batch…][n][G][H / G][…] */
static Node *grouped(const Sizes *z, Node *x)
{
    Shape s = x->shape;
    s.dim[z->nb + 1] = z->G;
    s.dim[z->nb + 2] = z->H / z->G;
    s.dim[s.rank++] = x->shape.dim[z->nb + 2];
    return reshape(x, s);
}

/* [batch…][H][T][S] as [batch…][G][H / G][T][S] */
static Node *grouped_scores(const Sizes *z, Node *p)
{
    return reshape(p, over_batch(z, 4, (int64_t[]){z->G, z->H / z->G, z->T, z->S}));
}

static Node *permuted(const Sizes *z, Node *x, int n, const int *order)
{
    int perm[MAXRANK];
    for (int i = 0; i < z->nb; i++) perm[i] = i;
    for (int i = 0; i < n; i++) perm[z->nb + i] = z->nb + order[i];
    return permute(x, perm);
}

/* batch axes: all of [batch…], and one more in each operand; axes are counted from there */
static Dot_axes batched(const Sizes *z, int a, int b)
{
    Dot_axes x = {.nb = z->nb + 1};
    for (int i = 0; i < z->nb; i++) x.ab[i] = x.bb[i] = i;
    x.ab[z->nb] = z->nb + a;
    x.bb[z->nb] = z->nb + b;
    return x;
}

static void contract(const Sizes *z, Dot_axes *x, int a, int b)
{
    x->ac[x->nc] = z->nb + a;
    x->bc[x->nc++] = z->nb + b;
}

/* x [batch…][T][H][W], y [batch…][S][G][W] -> Σ over W [batch…][H][T][S] */
static Node *scores_of(const Sizes *z, Node *x, Node *y)
{
    Dot_axes axes = batched(z, 1, 1);
    contract(z, &axes, 3, 2);
    Node *s = dot(grouped(z, x), y, axes); /* [batch…][G][T][H / G][S] */
    return reshape(permuted(z, s, 4, (int[]){0, 2, 1, 3}), score_shape(z));
}

/* p [batch…][H][T][S], y [batch…][S][G][W] -> Σ over S [batch…][T][H][W] */
static Node *over_keys(const Sizes *z, Node *p, Node *y)
{
    Dot_axes axes = batched(z, 0, 1);
    contract(z, &axes, 3, 0);
    Node *r = permuted(z, dot(grouped_scores(z, p), y, axes), 4, (int[]){2, 0, 1, 3}); /* from [batch…][G][H/G][T][W] */
    return reshape(r, over_batch(z, 3, (int64_t[]){z->T, z->H, y->shape.dim[z->nb + 2]}));
}

/* p [batch…][H][T][S], x [batch…][T][H][W] -> Σ over T and the heads of a group [batch…][S][G][W] */
static Node *over_queries(const Sizes *z, Node *p, Node *x)
{
    Dot_axes axes = batched(z, 0, 1);
    contract(z, &axes, 1, 2);
    contract(z, &axes, 2, 0);
    return permuted(z, dot(grouped_scores(z, p), grouped(z, x), axes), 3,
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
static Node *turns_half(const Sizes *z, Node *turns, int which, Shape s)
{
    Node *x = half_of(turns, which);
    Shape one = s;
    one.dim[z->nb + 1] = 1;
    return expand(reshape(x, one), s);
}

/* x [batch…][n][heads][D] turned by turns [batch…][n][D], or back; as it is where there are none. */
static Node *turned(const Sizes *z, Node *x, Node *turns, bool back)
{
    if (!turns) return x;
    Node *a = half_of(x, 0), *b = half_of(x, 1);
    Node *c = turns_half(z, turns, 0, a->shape), *s = turns_half(z, turns, 1, a->shape);
    Node *first = map2(back ? OP_add : OP_sub, map2(OP_mul, a, c), map2(OP_mul, b, s));
    Node *second = map2(back ? OP_sub : OP_add, map2(OP_mul, b, c), map2(OP_mul, a, s));
    return concat(2, (Node *[]){first, second}, x->shape.rank - 1);
}

/* q and k as they meet. */
static void turn_both(Attention *a, const Sizes *z)
{
    a->q = turned(z, a->q, a->q_turns, false);
    a->k = turned(z, a->k, a->k_turns, false);
}

/* ------------------------------------------------------------------ definition: masks, dropout */

/* x, whose axes after the first nb are the scores' axes from `axis` on, repeated to their shape. */
static Node *spread(const Sizes *z, Node *x, int axis)
{
    Shape s = score_shape(z), ones = s;
    for (int i = z->nb; i < s.rank; i++) ones.dim[i] = 1;
    for (int i = z->nb; i < x->shape.rank; i++) ones.dim[axis + i] = x->shape.dim[i];
    return expand(reshape(x, ones), s);
}

static Node *both(Node *a, Node *b) { return a ? map2(OP_land, a, b) : b; }

/* bool [batch…][H][T][S]; NULL: every key is seen */
static Node *seen_of(const Attention *a, const Sizes *z)
{
    Shape s = score_shape(z);
    Node *key = iota(s, z->nb + 2), *seen = NULL;
    if (a->offset) {
        Node *at = map2(OP_add, iota(s, z->nb + 1), broadcast(a->offset, s));
        if (a->flags & CAUSAL) seen = map2(OP_le, key, at);
        if (a->window) seen = both(seen, map2(OP_lt, map2(OP_sub, at, filled((double)a->window, I32, s)), key));
    }
    if (a->lengths) seen = both(seen, map2(OP_lt, key, spread(z, a->lengths, 0)));
    if (a->q_segments) seen = both(seen, map2(OP_eq, spread(z, a->q_segments, 1), spread(z, a->k_segments, 2)));
    return seen;
}

static Node *chosen(Node *seen, Node *yes, double no)
{
    return seen ? where_op(seen, yes, filled(no, yes->dtype, yes->shape)) : yes;
}

/* x [batch…][H][T][S] with elements dropped, the others grown */
static Node *thinned(const Attention *a, const Sizes *z, Node *x)
{
    if (!a->keep) return x;
    Shape s = score_shape(z);
    Node *index = spread(z, a->base, 0);
    for (int i = 0; i < 3; i++) {
        int64_t stride = (i < 2 ? z->S : 1) * (i < 1 ? z->T : 1);
        Node *at = map2(OP_mul, iota(s, z->nb + i), filled((double)stride, I32, s));
        index = map2(OP_add, index, at);
    }
    Node *bits =
        philox(broadcast(a->seed, s), broadcast(a->step, s), broadcast(a->site, s), spread(z, a->row, 0), index);
    double t = (double)a->threshold;
    Node *dropped = map2(OP_ult, bits, filled(t < 2147483648.0 ? t : t - 4294967296.0, I32, s));
    return where_op(dropped, filled(0, x->dtype, s), map2(OP_mul, x, broadcast(a->keep, s)));
}

Node *attention_dropped(const Attention *a, Node *p)
{
    Sizes z = sizes_of(a);
    return thinned(a, &z, p);
}

/* ------------------------------------------------------------------ definition: 16 bits */

static Node *widened(Node *n) { return n && is_stored(n->dtype) ? cast_op(n, F32) : n; }

/* What is stored in 16 bits is computed with in fp32; the definition's result is rounded to t. */
static Attention widened_parts(const Node *n)
{
    Attention a = attention_of(n);
    Node **reals[] = {&a.q, &a.k, &a.v, &a.o, &a.d_o, &a.q_turns, &a.k_turns};
    for (int i = 0; i < COUNT_OF(reals); i++) *reals[i] = widened(*reals[i]);
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

static Node *scaled_scores(const Attention *a, const Sizes *z)
{
    return map2(OP_mul, scores_of(z, a->q, a->k), broadcast(a->scale, score_shape(z)));
}

/* e [batch…][H][T][S] = exp(score - shift), 0 where not seen.  The shift is the largest score rounded down: floor has
 * no derivative, and none is needed, since any shift gives the same p. */
static Node *exponentials(const Attention *a, const Sizes *z, Node **shift)
{
    Node *seen = seen_of(a, z), *s = scaled_scores(a, z);
    *shift = map1(OP_floor, over_last(OP_rmax, chosen(seen, s, unseen)));
    Node *above = chosen(seen, map2(OP_sub, s, spread(z, *shift, 0)), 0);
    return chosen(seen, map1(OP_exp, above), 0);
}

static Node *defined_result(const Node *n, int k)
{
    Attention a = widened_parts(n);
    Sizes z = sizes_of(&a);
    turn_both(&a, &z);
    Node *shift, *e = exponentials(&a, &z, &shift), *sum = over_last(OP_sum, e);
    sum = map2(OP_max, sum, filled(0.5, sum->dtype, sum->shape)); /* it is at least 1 where any key is seen */
    if (k == 1) {
        Node *lse = map2(OP_add, map1(OP_log, sum), shift);
        return map2(OP_max, lse, filled(unseen, lse->dtype, lse->shape));
    }
    Node *p = map2(OP_div, e, spread(&z, sum, 0));
    return k == 2 ? p : over_keys(&z, thinned(&a, &z, p), a.v);
}

Node *attention_define(Node *n, int k) { return result_of(n, k, defined_result(n, k)); }

/* ------------------------------------------------------------------ definition: backward */

static Node *defined_back_result(const Node *n, int k)
{
    Attention a = widened_parts(n);
    Sizes z = sizes_of(&a);
    turn_both(&a, &z);
    Node *seen = seen_of(&a, &z);
    Node *above = chosen(seen, map2(OP_sub, scaled_scores(&a, &z), spread(&z, a.lse, 0)), 0);
    Node *p = chosen(seen, map1(OP_exp, above), 0);
    if (k == 2) return over_queries(&z, thinned(&a, &z, p), a.d_o);
    Node *dp = thinned(&a, &z, scores_of(&z, a.d_o, a.v));
    Node *delta = permuted(&z, over_last(OP_sum, map2(OP_mul, a.d_o, a.o)), 2, (int[]){1, 0}); /* [batch…][H][T] */
    Node *ds = map2(OP_mul, map2(OP_mul, p, map2(OP_sub, dp, spread(&z, delta, 0))), broadcast(a.scale, p->shape));
    return k == 0 ? turned(&z, over_keys(&z, ds, a.k), a.q_turns, true)
                  : turned(&z, over_queries(&z, ds, a.q), a.k_turns, true);
}

Node *attention_back_define(Node *n, int k) { return result_of(n, k, defined_back_result(n, k)); }

/* ------------------------------------------------------------------ gradient, expansion */

void attention_gradient(Grad_level *lv, Node *n, Node *const *g)
{
    Attention a = attention_of(n);
    bool turns = a.q_turns && (grad_active(lv, a.q_turns) || grad_active(lv, a.k_turns));
    if (g[1] || (n->ints[0] & PROBABILITIES && g[2]) || turns) {
        grad_definition(lv, n, g);
        return;
    }
    Node **slot[MOST_PARTS];
    int count = parts(&a, false, slot);
    for (int i = 0; i < count; i++) *slot[i] = value(lv, n->in[i]);
    a.o = value(lv, whole_result(n, 0));
    a.lse = value(lv, whole_result(n, 1));
    a.d_o = g[0];
    a.flags &= ~PROBABILITIES;
    Node *back = attention_back_op(&a);
    for (int k = 0; k < 3; k++) contribute(lv, n->in[k], pick(back, k, 0));
}

void attention_back_gradient(Grad_level *lv, Node *n, Node *const *g) { grad_definition(lv, n, g); }

/* Kernels have heads of bounded width. */
static bool by_definition(Node *n, const bool *wanted, Node **results)
{
    Attention a = attention_of(n);
    Sizes z = sizes_of(&a);
    if (z.D <= LATHE_MAX_HEAD && z.E <= LATHE_MAX_HEAD) return false;
    for (int k = 0; k < 3; k++)
        if (wanted[k]) results[k] = whole_info[n->op].define(n, k);
    return true;
}

Node *attention_part(Node *n) { return (void)n, NULL; }
Node *attention_back_part(Node *n) { return (void)n, NULL; }

bool attention_expand(Node *n, const bool *wanted, Node **results, const Desc *d)
{
    (void)d;
    return by_definition(n, wanted, results);
}

bool attention_back_expand(Node *n, const bool *wanted, Node **results, const Desc *d)
{
    (void)d;
    return by_definition(n, wanted, results);
}
