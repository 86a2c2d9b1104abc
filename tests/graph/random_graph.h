/* random_graph.h: random graphs over every op, with nested loops, whose values stay finite; header only.
 *
 *   Graph *random_graph(seed)            named outputs of every type, states, the loss first
 *   Graph *random_loss_graph(seed)       a differentiable loss over parameters; wants_grads is set
 *   random_feed                          a Feed: values by a leaf's name and &seed
 *   count_coverage(g)                    adds what g holds to `coverage` and `covered`; print_coverage() tells
 *
 * Every real value carries a bound: what grows beyond LARGE is scaled down, and ops with a domain get inputs made to
 * fit. Steps (floor, comparisons, …) are taken off the grid of simple numbers, where rounding would decide. */
#ifndef RANDOM_GRAPH_H
#define RANDOM_GRAPH_H

#include "harness.h"

#include <math.h>
#include <string.h>

static int coverage[OPS]; /* graphs' nodes by op */
static struct {
    int graphs, nodes, nested, deep, reversed, carries, stacks, invariants, random, ragged, in_place;
} covered;

enum { MOST = 300, LARGE = 1000, DEEPEST_LOOP = 3 }; /* elements of a value; bound of a value */

typedef struct Thing {
    Node *n;
    double bound; /* of |value|, reals */
    bool used;
} Thing;

typedef struct Maker {
    Rng rng;
    VEC(Thing) pool; /* what can be used here; a body's own go when its loop closes */
    int parameters, inputs, sites, depth;
    bool smooth; /* the graph is to be differentiated */
    Graph *g;
} Maker;

/* ------------------------------------------------------------------ choosing */

static int rg_below(Maker *m, int n) { return (int)below(&m->rng, n); }
static bool rg_chance(Maker *m, double p) { return uniform(&m->rng) < p; }
static int64_t rg_extent(Maker *m) { return (int64_t[]){1, 2, 3, 4, 5, 3, 2, 7, 17}[rg_below(m, 9)]; }

static Shape rg_shape(Maker *m, int most_axes, int64_t most)
{
    Shape s = {.rank = rg_below(m, most_axes + 1)};
    for (int i = 0; i < s.rank; i++) s.dim[i] = rg_extent(m);
    while (elements(s) > most) s.dim[--s.rank] = 0;
    return s;
}

static Thing *rg_push(Maker *m, Node *n, double bound)
{
    if (is_real(n->dtype) && bound > LARGE) {
        n = map2(OP_mul, n, filled(4 / bound, n->dtype, n->shape));
        bound = 4;
    }
    push(&m->pool, ((Thing){n, bound, false}));
    return &m->pool.at[m->pool.n - 1];
}

static Thing rg_leaf(Maker *m)
{
    Shape s = rg_shape(m, 3, 60);
    bool parameter = rg_chance(m, m->smooth ? 0.7 : 0.4);
    char *name = parameter ? format("p%d", m->parameters++) : format("x%d", m->inputs++);
    Node *n = parameter ? parameter_node(name, F32, s) : input_node(name, F32, s);
    return *rg_push(m, n, 6);
}

/* Something of the pool of that class; late ones are likelier, so that graphs get deep. */
static Thing rg_any(Maker *m, bool (*fits)(const Node *))
{
    for (int tries = 0; tries < 40 && m->pool.n; tries++) {
        double u = uniform(&m->rng);
        Thing *t = &m->pool.at[(int)((1 - u * u) * (m->pool.n - 1) + 0.5)];
        if (!fits(t->n)) continue;
        t->used = true;
        return *t;
    }
    Thing t = rg_leaf(m);
    m->pool.at[m->pool.n - 1].used = true;
    return t;
}

static bool rg_is_real(const Node *n) { return is_real(n->dtype); }
static bool rg_is_ranked(const Node *n) { return is_real(n->dtype) && n->shape.rank > 0; }
static bool rg_is_int(const Node *n) { return n->dtype == I32; }
static bool rg_is_bool(const Node *n) { return n->dtype == BOOL; }
static Thing rg_real(Maker *m) { return rg_any(m, rg_is_real); }
static Thing rg_ranked(Maker *m)
{
    Thing t = rg_any(m, rg_is_ranked);
    if (t.n->shape.rank == 0) t.n = reshape(t.n, (Shape){.rank = 1, .dim = {1}});
    return t;
}

static Node *rg_number(double x, const Node *like) { return filled(x, like->dtype, like->shape); }

/* ------------------------------------------------------------------ fitting a value to a shape, by moves */

static Node *rg_flat_fit(Node *n, Shape s)
{
    int64_t have = elements(n->shape), want = elements(s);
    n = reshape(n, (Shape){.rank = 1, .dim = {have}});
    if (have > want) n = slice(n, (int64_t[]){(have - want) / 2}, &want, NULL);
    if (have < want) n = pad(n, (int64_t[]){(want - have) / 2}, (int64_t[]){want - have - (want - have) / 2});
    return reshape(n, s);
}

static bool rg_broadcasts(Shape a, Shape s)
{
    if (a.rank > s.rank) return false;
    for (int i = 0; i < a.rank; i++)
        if (a.dim[i] != 1 && a.dim[i] != s.dim[s.rank - a.rank + i]) return false;
    return true;
}

static Node *rg_first(Node *n)
{
    int64_t start[MAXRANK] = {0}, one[MAXRANK];
    for (int i = 0; i < MAXRANK; i++) one[i] = 1;
    return reshape(slice(n, start, one, NULL), (Shape){0});
}

static Node *rg_fit(Maker *m, Node *n, Shape s)
{
    if (same_shape(n->shape, s)) return n;
    if (elements(n->shape) == elements(s)) return reshape(n, s);
    if (rg_broadcasts(n->shape, s)) return broadcast(n, s);
    if (rg_chance(m, 0.2)) return broadcast(rg_first(n), s);
    return rg_flat_fit(n, s);
}

static Thing rg_real_of(Maker *m, Shape s)
{
    Thing t = rg_real(m);
    for (int tries = 0; tries < 6 && !same_shape(t.n->shape, s); tries++) t = rg_real(m);
    t.n = rg_fit(m, t.n, s);
    return t;
}

static Node *rg_int_of(Maker *m, Shape s)
{
    Thing t = rg_any(m, rg_is_int);
    return rg_fit(m, t.n->dtype == I32 ? t.n : scalar(rg_below(m, 5), I32), s);
}

/* ids below n */
static Node *rg_ids(Maker *m, Shape s, int64_t n)
{
    Node *ids = rg_int_of(m, s);
    return map2(OP_mod, ids, rg_number((double)n, ids));
}

/* ------------------------------------------------------------------ maps */

static Thing rg_positive(Thing t)
{
    Node *square = map2(OP_mul, t.n, t.n);
    return (Thing){map2(OP_add, square, rg_number(0.5, square)), t.bound * t.bound + 0.5, false};
}

static Thing rg_small(Thing t, double most)
{
    if (t.bound <= most) return t;
    return (Thing){map2(OP_mul, t.n, rg_number(most / t.bound, t.n)), most, false};
}

/* away from the numbers at which steps usually lie */
static Node *rg_off_grid(Node *n) { return map2(OP_add, n, rg_number(0.01234567, n)); }

static void rg_map1(Maker *m)
{
    static const Op ops[] = {OP_neg,   OP_abs, OP_sign, OP_exp,  OP_expm1, OP_log,  OP_sqrt,
                             OP_rsqrt, OP_sin, OP_cos,  OP_tanh, OP_erf,   OP_floor};
    Op op = ops[rg_below(m, COUNT_OF(ops))];
    Thing t = rg_real(m);
    double bound = t.bound;
    if (op == OP_exp || op == OP_expm1) t = rg_small(t, 2), bound = 7.4;
    if (op == OP_log || op == OP_sqrt || op == OP_rsqrt) t = rg_positive(t), bound = fmax(2, sqrt(t.bound));
    if (op == OP_tanh || op == OP_erf || op == OP_sin || op == OP_cos) t = rg_small(t, 3), bound = 1;
    if (op == OP_sign || op == OP_floor || op == OP_abs) t.n = rg_off_grid(t.n), bound = t.bound + 1;
    rg_push(m, map1(op, t.n), op == OP_log ? fmax(1, log(t.bound)) : bound);
}

static void rg_map2(Maker *m)
{
    static const Op ops[] = {OP_add, OP_sub, OP_mul, OP_div, OP_max, OP_min, OP_pow, OP_mul, OP_add};
    Op op = ops[rg_below(m, COUNT_OF(ops))];
    Thing a = rg_real(m), b = rg_real_of(m, a.n->shape);
    double bound = op == OP_mul ? a.bound * b.bound : a.bound + b.bound;
    if (op == OP_div) b = rg_positive(b), bound = a.bound * 2;
    if (op == OP_max || op == OP_min) b.n = rg_off_grid(b.n), bound = fmax(a.bound, b.bound + 1);
    if (op == OP_pow) a = rg_positive(rg_small(a, 3)), b = rg_small(b, 1.5), bound = 30;
    rg_push(m, map2(op, a.n, b.n), bound);
}

static void rg_int_map(Maker *m)
{
    static const Op ops[] = {OP_add, OP_sub, OP_mul, OP_max,    OP_min,    OP_idiv,
                             OP_mod, OP_neg, OP_abs, OP_bitand, OP_bitxor, OP_sign};
    Op op = ops[rg_below(m, COUNT_OF(ops))];
    Thing t = rg_any(m, rg_is_int);
    if (t.n->dtype != I32) return;
    Node *b = op == OP_idiv ? rg_number(rg_chance(m, 0.5) ? 3 : -2, t.n) : rg_int_of(m, t.n->shape);
    rg_push(m, op_info[op].arity == 1 ? map1(op, t.n) : map2(op, t.n, b), 0);
}

static Node *rg_condition(Maker *m, Shape s)
{
    static const Op ops[] = {OP_lt, OP_le, OP_eq, OP_ne, OP_ult};
    int k = rg_below(m, 8);
    if (k < 5) return map2(ops[k], rg_ids(m, s, 4), rg_int_of(m, s));
    Node *a = rg_real_of(m, s).n;
    return map2(k == 5 ? OP_lt : k == 6 ? OP_le : OP_ne, a, rg_off_grid(rg_real_of(m, s).n));
}

static void rg_compare(Maker *m)
{
    Shape s = rg_real(m).n->shape;
    Node *c = rg_condition(m, s);
    if (rg_chance(m, 0.5)) c = map2(rg_chance(m, 0.5) ? OP_land : OP_lor, c, rg_condition(m, s));
    if (rg_chance(m, 0.5)) c = map1(OP_lnot, c);
    rg_push(m, c, 1);
}

static void rg_where(Maker *m)
{
    Thing a = rg_real(m), b = rg_real_of(m, a.n->shape), c = rg_any(m, rg_is_bool);
    Node *condition = c.n->dtype == BOOL && same_shape(c.n->shape, a.n->shape) ? c.n : rg_condition(m, a.n->shape);
    rg_push(m, where_op(condition, a.n, b.n), fmax(a.bound, b.bound));
}

static void rg_cast(Maker *m)
{
    int k = rg_below(m, 3);
    Thing t = rg_any(m, k == 0 ? rg_is_real : k == 1 ? rg_is_int : rg_is_bool);
    if (t.n->dtype == I32) {
        rg_push(m, cast_op(map2(OP_mod, t.n, rg_number(7, t.n)), F32), 7);
    } else if (t.n->dtype == BOOL) {
        rg_push(m, cast_op(t.n, rg_chance(m, 0.5) ? F32 : I32), 1);
    } else if (rg_chance(m, 0.8)) {
        rg_push(m, cast_op(rg_off_grid(map2(OP_mul, t.n, rg_number(1.7, t.n))), I32), 0);
    } else {
        rg_push(m, cast_op(rg_off_grid(t.n), BOOL), 1);
    }
}

/* ------------------------------------------------------------------ random draws */

static Node *rg_bits(Maker *m, Shape s)
{
    Node *seed = broadcast(input_node("seed", I32, (Shape){0}), s),
         *step = broadcast(input_node("step", I32, (Shape){0}), s);
    Node *row = s.rank ? iota(s, 0) : scalar(3, I32), *index = s.rank ? iota(s, s.rank - 1) : scalar(5, I32);
    if (m->depth) index = map2(OP_add, index, rg_int_of(m, s));
    return philox(seed, step, filled(m->sites++, I32, s), row, index);
}

static void rg_random(Maker *m)
{
    Thing t = rg_real(m);
    Node *bits = rg_bits(m, t.n->shape);
    if (rg_chance(m, 0.3)) {
        rg_push(m, bits, 0);
    } else if (rg_chance(m, 0.5)) {
        rg_push(m, map2(OP_mul, t.n, u01(bits, F32)), t.bound);
    } else { /* dropout, 3/4 kept */
        Node *kept = map2(OP_ult, bits, rg_number(-1073741824, bits));
        rg_push(m, where_op(kept, map2(OP_mul, t.n, rg_number(4.0 / 3, t.n)), rg_number(0, t.n)), t.bound * 4 / 3);
    }
}

/* ------------------------------------------------------------------ reductions and moves */

static void rg_reduce(Maker *m)
{
    Thing t = rg_chance(m, 0.85) ? rg_ranked(m) : rg_any(m, rg_is_int);
    int axes[MAXRANK], n = 0;
    for (int i = 0; i < t.n->shape.rank; i++)
        if (rg_chance(m, 0.5)) axes[n++] = i;
    Node *r = reduce(rg_chance(m, 0.65) ? OP_sum : OP_rmax, t.n, n, axes);
    if (r == t.n) return;
    rg_push(m, r, r->op == OP_sum ? t.bound * (double)(elements(t.n->shape) / elements(r->shape)) : t.bound);
}

static Shape rg_regrouped(Maker *m, Shape from)
{
    Shape s = {0};
    for (int i = 0; i < from.rank && s.rank < 5; i++) {
        bool split = from.dim[i] == 4 && rg_chance(m, 0.5), join = s.rank && rg_chance(m, 0.4);
        if (rg_chance(m, 0.2) && s.rank < 4) s.dim[s.rank++] = 1;
        if (join) s.dim[s.rank - 1] *= from.dim[i];
        else s.dim[s.rank++] = split ? 2 : from.dim[i];
        if (split && !join) s.dim[s.rank++] = 2;
    }
    return elements(s) == elements(from) ? s : (Shape){.rank = 1, .dim = {elements(from)}};
}

static void rg_slice(Maker *m, Thing t)
{
    int64_t start[MAXRANK], extent[MAXRANK], by[MAXRANK];
    for (int i = 0; i < t.n->shape.rank; i++) {
        start[i] = below(&m->rng, t.n->shape.dim[i]);
        by[i] = 1 + below(&m->rng, 3);
        extent[i] = 1 + below(&m->rng, (t.n->shape.dim[i] - start[i] - 1) / by[i] + 1);
    }
    rg_push(m, slice(t.n, start, extent, by), t.bound);
}

static void rg_pad(Maker *m, Thing t)
{
    int64_t before[MAXRANK], after[MAXRANK];
    Shape s = t.n->shape;
    for (int i = 0; i < s.rank; i++) {
        before[i] = rg_chance(m, 0.4) ? below(&m->rng, 3) : 0;
        after[i] = rg_chance(m, 0.4) ? below(&m->rng, 3) : 0;
        s.dim[i] += before[i] + after[i];
    }
    if (elements(s) <= 2 * MOST) rg_push(m, pad(t.n, before, after), t.bound);
}

static void rg_expand(Maker *m, Thing t)
{
    Shape unit = t.n->shape, s;
    if (unit.rank > 4) return;
    int at = rg_below(m, unit.rank + 1);
    memmove(unit.dim + at + 1, unit.dim + at, sizeof *unit.dim * (size_t)(unit.rank - at));
    unit.dim[at] = 1;
    unit.rank++;
    s = unit;
    for (int i = 0; i < s.rank; i++)
        if (s.dim[i] == 1 && (i == at || rg_chance(m, 0.3))) s.dim[i] = rg_extent(m);
    if (elements(s) <= MOST) rg_push(m, expand(reshape(t.n, unit), s), t.bound);
}

static void rg_permute(Maker *m, Thing t)
{
    int perm[MAXRANK];
    for (int i = 0; i < t.n->shape.rank; i++) {
        int j = rg_below(m, i + 1);
        perm[i] = perm[j];
        perm[j] = i;
    }
    rg_push(m, permute(t.n, perm), t.bound);
}

static void rg_flip(Maker *m, Thing t)
{
    int axes[MAXRANK], n = 0;
    for (int i = 0; i < t.n->shape.rank; i++)
        if (rg_chance(m, 0.6)) axes[n++] = i;
    rg_push(m, flip(t.n, n, axes), t.bound);
}

static void rg_concat(Maker *m, Thing t)
{
    int axis = rg_below(m, t.n->shape.rank), n = 2 + rg_below(m, 2);
    Node *parts[3] = {t.n};
    double bound = t.bound;
    for (int k = 1; k < n; k++) {
        Shape s = t.n->shape;
        s.dim[axis] = rg_extent(m);
        Thing part = rg_real_of(m, s);
        parts[k] = part.n;
        bound = fmax(bound, part.bound);
    }
    Node *c = concat(n, parts, axis);
    if (elements(c->shape) <= 2 * MOST) rg_push(m, c, bound);
}

static void rg_move(Maker *m)
{
    Thing t = rg_ranked(m);
    switch (rg_below(m, 7)) {
    case 0: rg_push(m, reshape(t.n, rg_regrouped(m, t.n->shape)), t.bound); break;
    case 1: rg_permute(m, t); break;
    case 2: rg_expand(m, t); break;
    case 3: rg_slice(m, t); break;
    case 4: rg_pad(m, t); break;
    case 5: rg_flip(m, t); break;
    case 6: rg_concat(m, t); break;
    }
}

/* ------------------------------------------------------------------ dot, index */

/* a's axes are batch, contracted or free; b has the first two in some order and up to one free axis of its own */
static void rg_dot(Maker *m)
{
    Thing a = rg_ranked(m);
    Dot_axes x = {0};
    Shape s = {0};
    int left = a.n->shape.rank;
    double count = 1;
    if (rg_chance(m, 0.6)) s.dim[s.rank++] = rg_extent(m);
    for (int i = 0; i < left; i++) {
        double u = uniform(&m->rng);
        if (u < 0.3) continue;
        if (u < 0.5) x.ab[x.nb] = i, x.bb[x.nb++] = s.rank;
        else x.ac[x.nc] = i, x.bc[x.nc++] = s.rank, count *= (double)a.n->shape.dim[i];
        s.dim[s.rank++] = a.n->shape.dim[i];
    }
    Thing b = rg_real_of(m, s);
    if (s.rank > 1 && rg_chance(m, 0.4)) { /* b's last axis to the front */
        int perm[MAXRANK];
        for (int i = 0; i < s.rank; i++) perm[i] = (i + s.rank - 1) % s.rank;
        b.n = permute(b.n, perm);
        for (int k = 0; k < x.nb; k++) x.bb[k] = (x.bb[k] + 1) % s.rank;
        for (int k = 0; k < x.nc; k++) x.bc[k] = (x.bc[k] + 1) % s.rank;
    }
    if (left + s.rank > 6 || elements(a.n->shape) * elements(s) > 4000) return;
    Node *y = rg_chance(m, 0.5) || x.nb ? dot(a.n, b.n, x)
                                        : dot(b.n, a.n,
                                              (Dot_axes){.nc = x.nc,
                                                         .ac = {x.bc[0], x.bc[1], x.bc[2], x.bc[3], x.bc[4], x.bc[5]},
                                                         .bc = {x.ac[0], x.ac[1], x.ac[2], x.ac[3], x.ac[4], x.ac[5]}});
    if (elements(y->shape) <= 2 * MOST) rg_push(m, y, a.bound * b.bound * count);
}

/* ids for rows of s along axis, nbatch axes shared; fills the shape of what is gathered */
static Node *rg_row_ids(Maker *m, Shape s, int axis, int nbatch, Shape *gathered)
{
    Shape ids = shape_of(nbatch, s.dim);
    for (int extra = rg_below(m, 3); extra-- > 0;) ids.dim[ids.rank++] = rg_extent(m);
    *gathered = shape_of(axis, s.dim);
    for (int i = nbatch; i < ids.rank; i++) gathered->dim[gathered->rank++] = ids.dim[i];
    for (int i = axis + 1; i < s.rank; i++) gathered->dim[gathered->rank++] = s.dim[i];
    if (elements(*gathered) > MOST) return NULL;
    return rg_ids(m, ids, s.dim[axis]);
}

static void rg_index(Maker *m)
{
    Thing x = rg_ranked(m);
    Shape s = x.n->shape, gathered;
    int axis = rg_below(m, s.rank), nbatch = rg_below(m, axis + 1), which = rg_below(m, 3);
    if (s.rank > 4) return;
    Node *ids = rg_row_ids(m, s, axis, nbatch, &gathered);
    if (!ids) return;
    if (which == 0) {
        rg_push(m, gather(x.n, ids, axis, nbatch), x.bound);
        return;
    }
    Thing updates = rg_real_of(m, gathered);
    if (which == 1) rg_push(m, overwrite(x.n, ids, updates.n, axis, nbatch), fmax(x.bound, updates.bound));
    else rg_push(m, scatter_add(updates.n, ids, s, axis, nbatch), updates.bound * (double)elements(ids->shape));
}

static void rg_along(Maker *m)
{
    Thing x = rg_ranked(m);
    int axis = rg_below(m, x.n->shape.rank);
    int64_t extent = x.n->shape.dim[axis];
    switch (rg_below(m, 3)) {
    case 0: rg_push(m, argmax(x.n, axis), 0); break;
    case 1: rg_push(m, cumsum(x.n, axis, rg_chance(m, 0.5)), x.bound * (double)extent); break;
    case 2: {
        Node *top = topk(x.n, axis, 1 + below(&m->rng, extent));
        rg_push(m, pick(top, 0, 0), x.bound);
        if (rg_chance(m, 0.5)) rg_push(m, pick(top, 1, 0), 0);
        break;
    }
    }
}

static void rg_leaf_or_constant(Maker *m)
{
    Shape s = rg_shape(m, 3, 60);
    switch (rg_below(m, 5)) {
    case 0: rg_push(m, filled(normal(&m->rng), F32, s), 6); break;
    case 1:
        if (s.rank) rg_push(m, iota(s, rg_below(m, s.rank)), 0);
        break;
    case 2: {
        double *data = NEW_ARRAY(double, elements(s));
        for (int64_t i = 0; i < elements(s); i++) data[i] = (float)uniform(&m->rng);
        rg_push(m, intern((Node){.op = OP_constant, .dtype = F32, .shape = s, .data = data}), 1);
        break;
    }
    case 3: rg_push(m, input_node(format("i%d", m->inputs++), I32, s), 0); break;
    default: rg_leaf(m); break;
    }
}

/* ------------------------------------------------------------------ loops */

static void rg_some(Maker *m, int count);

/* A value for the carry: bounded whatever the number of iterations. */
static Node *rg_next(Maker *m, Loop *l, int k)
{
    Node *old = l->carries.at[k].arg;
    if (old->dtype == I32) {
        Node *sum = map2(OP_add, old, rg_int_of(m, old->shape));
        return rg_chance(m, 0.5) ? map2(OP_mod, sum, rg_number(13, sum))
                                 : map2(OP_add, sum, broadcast(l->index, sum->shape));
    }
    Thing body = rg_small(rg_real_of(m, old->shape), 3);
    Node *new = map1(OP_tanh, body.n);
    if (rg_chance(m, 0.6)) new = map2(OP_add, new, map2(OP_mul, old, rg_number(0.5, old)));
    if (!rg_chance(m, 0.35)) return new;
    Shape s = old->shape; /* ragged: rows that have ended keep their value */
    Node *length = map2(OP_mod, input_node("length", I32, (Shape){.rank = 1, .dim = {17}}),
                        filled((double)l->trip + 1, I32, (Shape){.rank = 1, .dim = {17}}));
    Node *lengths = rg_fit(m, length, s);
    return where_op(map2(OP_lt, broadcast(l->index, s), lengths), new, old);
}

typedef VEC(Thing) Things;

/* What a loop starts from is chosen before its arguments can be used. */
static void rg_arguments(Maker *m, Loop *l, Things *out)
{
    push(out, ((Thing){l->index, 0, false}));
    for (int n = rg_below(m, 4); n-- > 0;) {
        if (rg_chance(m, 0.15)) {
            push(out, ((Thing){loop_carry(l, rg_int_of(m, rg_shape(m, 1, 20))), 0, false}));
            continue;
        }
        Thing init = rg_small(rg_real(m), 10);
        if (elements(init.n->shape) > 60) init.n = rg_fit(m, init.n, rg_shape(m, 2, 20));
        push(out, ((Thing){loop_carry(l, init.n), fmax(init.bound, 2), false}));
    }
    for (int n = rg_below(m, 3); n-- > 0;) {
        Shape s = rg_shape(m, 2, 20), stacked = {.rank = s.rank + 1, .dim = {l->trip}};
        memcpy(stacked.dim + 1, s.dim, sizeof *s.dim * (size_t)s.rank);
        Thing x = rg_real_of(m, stacked);
        push(out, ((Thing){loop_x(l, x.n), x.bound, false}));
    }
}

static void rg_yield(Loop *l, Node *n)
{
    for (int k = 0; k < l->ys.n; k++)
        if (l->ys.at[k] == n) return;
    push(&l->ys, n);
}

/* Closes the loop.  What the body leaves unused is stacked; histories of carries, now and then.  All stacks are there
 * before the first result is picked, since they decide what the loop lies in. */
static void rg_close(Maker *m, Loop *l, int first)
{
    Things out = {0};
    for (int i = first + 1; i < m->pool.n; i++) {
        Thing t = m->pool.at[i];
        bool carry = i <= first + l->carries.n, fits = t.n->shape.rank < 5 && elements(t.n->shape) * l->trip <= MOST;
        if (!fits || !rg_chance(m, carry ? 0.25 : t.used ? 0.1 : 1)) continue;
        rg_yield(l, t.n);
        push(&out, t);
    }
    loop_close(l);
    for (int i = 0; i < out.n; i++) out.at[i].n = loop_stack(l, out.at[i].n);
    for (int k = 0; k < l->carries.n; k++)
        if (rg_chance(m, 0.8)) push(&out, ((Thing){loop_result(l, k), m->pool.at[first + 1 + k].bound, false}));
    m->pool.n = first;
    for (int i = 0; i < out.n; i++) rg_push(m, out.at[i].n, out.at[i].bound);
}

static void rg_loop(Maker *m)
{
    if (m->depth == DEEPEST_LOOP) return;
    m->depth++;
    Loop *l =
        loop_open((const char *[]){"time", "layer", "copy"}[rg_below(m, 3)], 1 + rg_below(m, 4), rg_chance(m, 0.4));
    Things args = {0};
    rg_arguments(m, l, &args);
    int first = m->pool.n;
    for (int i = 0; i < args.n; i++) push(&m->pool, args.at[i]);
    rg_some(m, 3 + rg_below(m, 6));
    for (int k = 0; k < l->carries.n; k++) loop_next(l, k, rg_next(m, l, k));
    rg_close(m, l, first);
    m->depth--;
}

/* ------------------------------------------------------------------ graphs */

static void rg_one(Maker *m)
{
    static void (*const makers[])(Maker *) = {
        rg_map1,  rg_map1, rg_map2,   rg_map2,   rg_map2,   rg_int_map, rg_compare,
        rg_where, rg_cast, rg_random, rg_reduce, rg_reduce, rg_move,    rg_move,
        rg_move,  rg_dot,  rg_dot,    rg_index,  rg_index,  rg_along,   rg_leaf_or_constant,
        rg_loop,  rg_loop};
    makers[rg_below(m, COUNT_OF(makers))](m);
}

static void rg_some(Maker *m, int count)
{
    while (count-- > 0) rg_one(m);
}

/* A number made of all that nobody uses yet. */
static Node *rg_loss(Maker *m)
{
    Node *loss = scalar(0.25, F32);
    for (int i = 0; i < m->pool.n; i++) {
        Thing *t = &m->pool.at[i];
        if (t->used || !is_real(t->n->dtype)) continue;
        int axes[MAXRANK] = {0, 1, 2, 3, 4, 5, 6, 7};
        Node *x = reduce(OP_sum, t->n, t->n->shape.rank, axes);
        double scale = (0.5 + uniform(&m->rng)) / (t->bound * (double)elements(t->n->shape) + 1);
        loss = map2(OP_add, loss, map2(OP_mul, x, scalar(scale, F32)));
    }
    return loss;
}

static void rg_out(Maker *m, OutKind kind, char *name, Node *n) { push(&m->g->outs, ((Output){kind, name, n})); }

static void rg_state(Maker *m)
{
    Node *old = state_node("cache", F32, (Shape){.rank = 2, .dim = {5, 3}});
    rg_push(m, old, 6);
    Node *new = rg_small(rg_real_of(m, (Shape){.rank = 2, .dim = {1, 3}}), 4).n;
    Node *at = map2(OP_mod, input_node("position", I32, (Shape){0}), scalar(5, I32));
    Node *updated = overwrite(old, reshape(at, (Shape){.rank = 1, .dim = {1}}), new, 0, 0);
    rg_push(m, updated, 6)->used = true;
    rg_out(m, OUT_STATE, "cache", updated);
}

static Graph *rg_graph(uint64_t seed, bool smooth)
{
    Maker m = {.rng = rng_of(seed), .smooth = smooth, .g = NEW(Graph)};
    m.g->name = smooth ? "grad" : "eval";
    m.g->wants_grads = smooth;
    rg_out(&m, OUT_VALUE, "loss", NULL);
    rg_leaf(&m);
    rg_push(&m, parameter_node("w", F32, rg_shape(&m, 2, 40)), 6);
    rg_push(&m, input_node("ids", I32, rg_shape(&m, 2, 20)), 0);
    if (!smooth && rg_chance(&m, 0.3)) rg_state(&m);
    rg_some(&m, 8 + rg_below(&m, 20));
    for (int i = 0; i < m.pool.n; i++)
        if (!m.pool.at[i].used && (!smooth || !is_real(m.pool.at[i].n->dtype)))
            rg_out(&m, OUT_VALUE, format("out%d", i), m.pool.at[i].n);
    m.g->outs.at[0].node = rg_loss(&m);
    return m.g;
}

static inline Graph *random_graph(uint64_t seed) { return rg_graph(seed, false); }
static inline Graph *random_loss_graph(uint64_t seed) { return rg_graph(seed, true); }

/* Values by name and *(uint64_t *)user; reals between -1.5 and 1.5, integers below 50. */
static inline Value random_feed(void *user, const Node *leaf)
{
    Value v = {.shape = leaf->shape, .at = NEW_ARRAY(double, elements(leaf->shape))};
    Rng r = rng_of(hash_bytes(leaf->name, strlen(leaf->name), *(uint64_t *)user));
    for (int64_t i = 0; i < elements(v.shape); i++)
        v.at[i] =
            is_real(leaf->dtype) ? (float)(3 * uniform(&r) - 1.5) : (double)below(&r, leaf->dtype == BOOL ? 2 : 50);
    return v;
}

/* ------------------------------------------------------------------ coverage */

static void rg_count_level(Loop *level, const Nodes *roots, int depth)
{
    Nodes order = {0};
    nodes_at(level, roots->at, roots->n, &order);
    for (int i = 0; i < order.n; i++) {
        const Node *n = order.at[i];
        coverage[n->op]++;
        covered.nodes++;
        covered.random += n->op == OP_philox;
        covered.in_place += n->op == OP_overwrite;
        covered.ragged += n->op == OP_where && n->in[2]->op == OP_loop_arg && n->in[0]->op == OP_lt;
        for (int k = 0; level && k < n->nin; k++)
            covered.invariants += n->in[k]->in_loop != level && op_info[n->in[k]->op].kind != LEAF;
        if (n->op != OP_loop) continue;
        Nodes body = {0};
        loop_roots(n->loop, &body);
        covered.nested += depth == 1;
        covered.deep += depth == 2;
        covered.reversed += n->loop->reverse;
        covered.carries += n->loop->carries.n > 1;
        covered.stacks += n->loop->ys.n;
        rg_count_level(n->loop, &body, depth + 1);
    }
}

static inline void count_coverage(const Graph *g)
{
    Nodes roots = {0};
    graph_roots(g, &roots);
    covered.graphs++;
    rg_count_level(NULL, &roots, 0);
}

static inline void print_coverage(void)
{
    printf("%d graphs, %d nodes: loops in loops %d, three deep %d, reversed %d, several carries %d, stacks %d, "
           "invariants %d, "
           "random %d, ragged %d, in place %d\n   ",
           covered.graphs, covered.nodes, covered.nested, covered.deep, covered.reversed, covered.carries,
           covered.stacks, covered.invariants, covered.random, covered.ragged, covered.in_place);
    for (int i = 0; i < OPS; i++) printf(" %s %d", op_info[i].name, coverage[i]);
    printf("\n");
}

#endif
