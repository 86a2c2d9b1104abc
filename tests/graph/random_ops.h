/* random_ops.h: makers of random operations: each adds one to the pool, over what is there; see random_graph.h. */
#ifndef RANDOM_OPS_H
#define RANDOM_OPS_H

#include "random_values.h"

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

/* Any map of one real in the op table, a new one too. */
static Op rg_any_map1(Maker *m)
{
    Op ops[OPS];
    int n = 0;
    for (Op op = 0; op < OPS; op++) {
        const OpInfo *o = &op_info[op];
        if (o->kind == MAP && o->arity == 1 && (same(o->class, "REAL") || same(o->class, "NUM"))) ops[n++] = op;
    }
    return ops[rg_below(m, n)];
}

static void rg_map1(Maker *m)
{
    Op op = rg_any_map1(m);
    Thing t = rg_real(m);
    const char *domain = op_info[op].domain;
    double bound = t.bound + 1;
    if (same(domain, "SMALL")) t = rg_small(t, 2), bound = 7.4;
    else if (same(domain, "POSITIVE")) t = rg_positive(t), bound = fmax(2, sqrt(t.bound));
    else t.n = rg_off_grid(t.n);
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
    if (k == 0) return map2(ops[k], class_id(rg_ids(m, s, 4), 4, -7), rg_int_of(m, s));
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
    double kind = uniform(&m->rng);
    Node *r = reduce(kind < 0.65 ? OP_sum : kind < 0.88 ? OP_rmax : OP_rmin, t.n, n, axes);
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

/* Dots of one value with parameters, some of them side by side in memory (a multiple of 16 elements each), some of
 * which are read by others too. */
static void rg_siblings(Maker *m)
{
    Rng rest = m->rng; /* what is drawn after these stays as it is without them */
    Thing x = rg_ranked(m);
    int last = x.n->shape.rank - 1, n = 2 + rg_below(m, 2);
    int64_t extent = x.n->shape.dim[last], rows = 16;
    while (rows > 1 && rows / 2 * extent % 16 == 0) rows /= 2;
    if (x.n->shape.rank > 3 || elements(x.n->shape) / extent * rows > MOST) n = 0;
    for (int k = 0; k < n; k++) {
        Shape s = {.rank = 2, .dim = {rows * (1 + rg_below(m, 2)), extent}};
        Node *w = parameter_node(format("side%d", m->parameters++), F32, s);
        Node *y = dot(x.n, w, (Dot_axes){.nc = 1, .ac = {last}, .bc = {1}});
        if (elements(y->shape) <= 2 * MOST) rg_push(m, y, x.bound * 1.5 * (double)extent);
        if (rg_chance(m, 0.2)) rg_push(m, w, 1.5);
    }
    m->rng = rest;
}

/* As nn.gelu makes it of "tanh". */
static Node *rg_gelu(Node *x)
{
    Node *cube = map2(OP_mul, map2(OP_mul, map2(OP_mul, rg_number(0.044715, x), x), x), x);
    Node *inside = map2(OP_mul, rg_number(0.7978845608028654, x), map2(OP_add, x, cube));
    return map2(OP_mul, map2(OP_mul, rg_number(0.5, x), x), map2(OP_add, rg_number(1, x), map1(OP_tanh, inside)));
}

static Node *rg_linear(Maker *m, Node *x, int64_t rows, bool biased)
{
    int last = x->shape.rank - 1;
    Shape s = {.rank = 2, .dim = {rows, x->shape.dim[last]}};
    Node *w = parameter_node(format("layer%d", m->parameters++), F32, s);
    Node *y = dot(x, w, (Dot_axes){.nc = 1, .ac = {last}, .bc = {1}});
    Node *row = biased ? parameter_node(format("row%d", m->parameters++), F32, shape_of(1, &rows)) : NULL;
    return biased ? map2(OP_add, y, broadcast(row, y->shape)) : y;
}

/* Two layers, with rows that are added or without, and a gelu between them. */
static void rg_layers(Maker *m)
{
    Rng rest = m->rng; /* as above */
    Thing x = rg_ranked(m);
    int64_t extent = x.n->shape.dim[x.n->shape.rank - 1], rows = 2 + rg_below(m, 9), most = MOST / 11;
    if (elements(x.n->shape) / extent <= most) {
        x = rg_small(x, 4);
        Node *up = rg_linear(m, x.n, rows, rg_chance(m, 0.8)), *down = rg_linear(m, rg_gelu(up), 3, rg_chance(m, 0.8));
        rg_push(m, down, (6 * (double)extent + 2) * 1.5 * (double)rows + 2);
    }
    m->rng = rest;
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

/* Steps with ties among them, for ops that order values: rounding moves none, where it would decide which of two nearly
 * equal ones is larger. */
static Node *rg_steps(Thing t)
{
    return map1(OP_floor, rg_off_grid(map2(OP_mul, t.n, rg_number(STEPS / t.bound, t.n))));
}

/* Steps that can be differentiated: those at one height are told apart by their place, and a little of t rides on top,
 * too little to change the order. */
static Node *rg_smooth_steps(Thing t)
{
    int64_t n = elements(t.n->shape), flat[] = {n};
    Node *place = cast_op(reshape(iota(shape_of(1, flat), 0), t.n->shape), F32);
    place = map2(OP_mul, place, rg_number(0.5 / (double)n, t.n));
    Node *little = map2(OP_mul, t.n, rg_number(0.2 / ((double)n * t.bound), t.n));
    return map2(OP_add, rg_steps(t), map2(OP_add, place, little));
}

/* As counts are: numbers of a step, outside of its loops, through which no gradient flows; where slopes are measured, of
 * nothing that moves. */
static void rg_over_ranks(Maker *m, Thing x)
{
    Node *still = m->smooth ? filled(0.5 * x.bound, F32, x.n->shape) : stop_gradient(x.n);
    Node *row = reshape(still, (Shape){.rank = 1, .dim = {elements(x.n->shape)}});
    if (!x.n->in_loop) rg_push(m, reshape(over_ranks(row), x.n->shape), x.bound);
}

static void rg_along(Maker *m)
{
    Thing x = rg_ranked(m);
    int axis = rg_below(m, x.n->shape.rank);
    int64_t extent = x.n->shape.dim[axis];
    switch (rg_below(m, 7)) {
    case 6: rg_push(m, argsort(stop_gradient(rg_steps(x)), axis, rg_chance(m, 0.5)), 0); break;
    case 5: rg_push(m, scanned(OP_cumargmax, stop_gradient(rg_steps(x)), axis, rg_chance(m, 0.5)), 0); break;
    case 4: {
        Node *below_1 = map2(OP_mul, x.n, rg_number(1 / x.bound, x.n));
        rg_push(m, scanned(OP_cumprod, below_1, axis, rg_chance(m, 0.5)), 1);
        break;
    }
    case 3: rg_over_ranks(m, x); break;
    case 0: rg_push(m, argmax(stop_gradient(rg_steps(x)), axis), 0); break;
    case 1: rg_push(m, cumsum(x.n, axis, rg_chance(m, 0.5)), x.bound * (double)extent); break;
    case 2: {
        Node *top = topk(m->smooth ? rg_smooth_steps(x) : rg_steps(x), axis, 1 + below(&m->rng, extent));
        rg_push(m, pick(top, 0, 0), STEPS + 2);
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

#endif
