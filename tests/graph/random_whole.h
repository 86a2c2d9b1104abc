/* random_whole.h: whole ops for random graphs; see random_graph.h. */
#ifndef RANDOM_WHOLE_H
#define RANDOM_WHOLE_H

#include "ops/head.h"
#include "random_ops.h"

static Shape rg_shape_of(const Shape *batch, int n, const int64_t *more)
{
    Shape s = *batch;
    for (int i = 0; i < n; i++) s.dim[s.rank++] = more[i];
    return s;
}

static Node *rg_int_number(Maker *m, int64_t low, int64_t below_)
{
    Node *n = rg_int_of(m, (Shape){0});
    return map2(OP_add, map2(OP_mod, n, rg_number((double)(below_ - low), n)), rg_number((double)low, n));
}

/* Every mask and their mixtures; rows that see nothing among them. */
static void rg_masks(Maker *m, Attention *a, const Shape *batch, int64_t T, int64_t S)
{
    for (int64_t flag = CAUSAL; flag <= DROPOUT; flag *= 2)
        if (rg_chance(m, 0.3)) a->flags |= flag;
    if (rg_chance(m, 0.2)) a->window = 1 + rg_below(m, 4);
    if (a->flags & CAUSAL || a->window) a->offset = rg_chance(m, 0.5) ? scalar(0, I32) : rg_int_number(m, -1, S);
    if (a->flags & LENGTHS) a->lengths = rg_ids(m, *batch, S + 2);
    if (a->flags & SEGMENTS) {
        a->q_segments = rg_ids(m, rg_shape_of(batch, 1, &T), 3);
        a->k_segments = rg_ids(m, rg_shape_of(batch, 1, &S), 2);
    }
    if (a->q->shape.dim[a->q->shape.rank - 1] % 2 == 0 && rg_chance(m, 0.4)) {
        int64_t D = a->q->shape.dim[a->q->shape.rank - 1];
        a->flags |= TURNS;
        a->q_turns = rg_small(rg_real_of(m, rg_shape_of(batch, 2, (int64_t[]){T, D})), 1).n;
        a->k_turns = rg_small(rg_real_of(m, rg_shape_of(batch, 2, (int64_t[]){S, D})), 1).n;
    }
    if (!(a->flags & DROPOUT)) return;
    a->keep = scalar(1.25, F32);
    a->threshold = 858993459;
    a->seed = input_node("seed", I32, (Shape){0}), a->step = rg_int_of(m, (Shape){0});
    a->site = scalar(m->sites++, I32);
    a->row = rg_int_of(m, *batch), a->base = rg_int_of(m, *batch);
}

static Node *rg_total(Node *n)
{
    int axes[MAXRANK];
    for (int i = 0; i < n->shape.rank; i++) axes[i] = i;
    return reduce(OP_sum, n, n->shape.rank, axes);
}

/* Times nearly 1, by way of all queries and keys: where each query sees one key, or equal ones, their gradients through
 * the weights are nothing but rounding. */
static Node *rg_with_both(Node *o, const Attention *a)
{
    Node *both = map1(OP_cos, map2(OP_add, rg_total(a->q), rg_total(a->k)));
    Node *factor = map2(OP_add, map2(OP_mul, both, scalar(0.1, F32)), scalar(1, F32));
    Shape unit = {.rank = o->shape.rank};
    for (int i = 0; i < unit.rank; i++) unit.dim[i] = 1;
    return map2(OP_mul, o, expand(reshape(factor, unit), o->shape));
}

static void rg_attention(Maker *m)
{
    Shape batch = {.rank = rg_below(m, 3)};
    for (int i = 0; i < batch.rank; i++) batch.dim[i] = 1 + rg_below(m, 2);
    int64_t T = rg_chance(m, 0.2) ? 1 : 1 + rg_below(m, 5), S = rg_chance(m, 0.5) ? T : 1 + rg_below(m, 6);
    int64_t G = 1 + rg_below(m, 2), H = G * (1 + rg_below(m, 2)), D = 1 + rg_below(m, 4), E = 1 + rg_below(m, 4);
    Thing v = rg_real_of(m, rg_shape_of(&batch, 3, (int64_t[]){S, G, E}));
    Attention a = {.v = v.n, .scale = scalar(0.6, F32)};
    a.q = rg_small(rg_real_of(m, rg_shape_of(&batch, 3, (int64_t[]){T, H, D})), 2).n;
    a.k = rg_small(rg_real_of(m, rg_shape_of(&batch, 3, (int64_t[]){S, G, D})), 2).n;
    rg_masks(m, &a, &batch, T, S);
    bool plain = !a.flags && !a.window; /* or lse may be -1e30 */
    if (rg_chance(m, 0.15)) a.flags |= PROBABILITIES;
    Node *n = attention_op(&a);
    rg_push(m, rg_with_both(pick(n, 0, 0), &a), v.bound * 1.4);
    if (plain && rg_chance(m, 0.3)) rg_push(m, pick(n, 1, 0), 20);
    if (a.flags & PROBABILITIES) rg_push(m, pick(n, 2, 0), 1);
}

/* A convolution, a transposed one, or the derivative towards the weight; some places read nothing but zeros. */
static void rg_convolution(Maker *m)
{
    Convolution v = {.side = (Side_of)rg_below(m, 3), .n = 1 + rg_below(m, 2), .groups = rg_chance(m, 0.3) ? 2 : 1};
    Shape x = {.rank = rg_below(m, 3)}, y, w = {.rank = 2};
    for (int i = 0; i < x.rank; i++) x.dim[i] = 1 + rg_below(m, 3);
    int64_t C = 1 + rg_below(m, 3), O = 1 + rg_below(m, 4);
    w.dim[0] = O * v.groups, w.dim[1] = C;
    y = x;
    for (int i = 0; i < v.n; i++) {
        Convolved *a = &v.axis[i];
        *a = (Convolved){1 + rg_below(m, 3), 1 + rg_below(m, 2), 1 + rg_below(m, 2), rg_below(m, 3), 0};
        int64_t X = 1 + rg_below(m, 6), places = X + a->before + rg_below(m, 3) - (a->kernel - 1) * a->dilation - 1;
        int64_t Y = places < 0 ? 1 : places / a->stride + 1;
        a->extent = v.side == TOWARDS_X ? X : Y;
        x.dim[x.rank++] = X, y.dim[y.rank++] = Y, w.dim[w.rank++] = a->kernel;
    }
    x.dim[x.rank++] = C * v.groups, y.dim[y.rank++] = O * v.groups;
    Thing a = rg_real_of(m, v.side == TOWARDS_X ? y : x), b = rg_real_of(m, v.side == TOWARDS_W ? y : w);
    *(v.side == TOWARDS_X ? &v.y : &v.x) = a.n;
    *(v.side == TOWARDS_W ? &v.y : &v.w) = b.n;
    double terms = (double)(v.side == TOWARDS_W ? elements(y) / O : elements(w) / (v.side == TOWARDS_X ? C : O));
    rg_push(m, convolution_op(&v), a.bound * b.bound * terms);
}

/* Rows times matrices that ids choose, of which some choose none. */
static void rg_by_ids(Maker *m)
{
    Shape ids = {.rank = 1 + rg_below(m, 3)}, x;
    for (int i = 0; i < ids.rank; i++) ids.dim[i] = 1 + rg_below(m, 5);
    int64_t K = 1 + rg_below(m, 20), N = 1 + rg_below(m, 20), E = 1 + rg_below(m, 5);
    int across = 1 + rg_below(m, 2);
    x = ids;
    x.dim[x.rank++] = K;
    Thing a = rg_real_of(m, x), w = rg_real_of(m, shape_of(3, across == 2 ? (int64_t[]){E, N, K} : (int64_t[]){E, K, N}));
    rg_push(m, dot_by_ids(a.n, w.n, rg_ids(m, ids, E), across), a.bound * w.bound * (double)K);
}

/* Other for each class: what all logits have in common has no gradient but rounding. */
static Node *rg_by_class(Thing t, int axis)
{
    Node *class = cast_op(iota(t.n->shape, axis), F32);
    return map2(OP_mul, rg_small(t, 0.7).n, map1(OP_cos, class));
}

/* Losses only: predicted ids jump where logits tie, as those of clamped values do.  Logits are near each other: where
 * one p is all but 1, 1 - p has no digits left. */
static void rg_head(Maker *m)
{
    int64_t R = rg_chance(m, 0.2) ? 1 : 1 + rg_below(m, 9), C = 1 + rg_below(m, 4), V = 2 + rg_below(m, 20);
    Head h = {.across = rg_below(m, 2), .smoothing = rg_chance(m, 0.3) ? 0.1 : 0, .ignores = rg_chance(m, 0.3)};
    h.x = rg_small(rg_real_of(m, shape_of(2, (int64_t[]){R, C})), 0.7).n;
    Thing w = rg_real_of(m, shape_of(2, h.across ? (int64_t[]){V, C} : (int64_t[]){C, V}));
    h.weight = rg_by_class(w, 1 - h.across);
    if (rg_chance(m, 0.4)) h.bias = rg_by_class(rg_real_of(m, shape_of(1, &V)), 0);
    h.ids = rg_ids(m, shape_of(1, &R), V);
    h.ignored = rg_below(m, 2) ? 0 : -100;
    rg_push(m, pick(linear_cross_entropy(&h), 0, 0), 10);
}

#endif
