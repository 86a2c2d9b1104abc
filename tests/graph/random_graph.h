/* random_graph.h: random graphs over every op, with nested loops, whose values stay finite; header only.
 *
 *   Graph *random_graph(seed)            named outputs of every type, states, the loss first
 *   Graph *random_loss_graph(seed)       a differentiable loss over parameters; wants_grads is set
 *   Graph *random_direction_graph(seed)  outputs that take the place of gradients, as of the entry direction
 *   Graph *random_graph_apart(seed, count)   one of these, its leaves and itself named by its seed
 *   random_feed                          a Feed: values by a leaf's name and &seed
 *   count_coverage(g)                    adds what g holds to `coverage` and `covered`; print_coverage() tells
 *
 * Every real value carries a bound: what grows beyond LARGE is scaled down, and ops with a domain get inputs made to
 * fit. Steps (floor, comparisons, …) are taken off the grid of simple numbers, where rounding would decide; values
 * whose order matters (argmax, top-k) lie on steps. */
#ifndef RANDOM_GRAPH_H
#define RANDOM_GRAPH_H

#include "random_whole.h"

static int coverage[OPS]; /* graphs' nodes by op */
static struct {
    int graphs, nodes, nested, deep, reversed, carries, stacks, invariants, random, ragged, in_place, merged;
} covered;

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
        rg_loop,  rg_loop, rg_attention, rg_convolution, rg_head, rg_by_ids};
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
    m.g->entry = smooth ? ENTRY_grad : ENTRY_eval;
    m.g->name = entry_of(m.g)->name;
    m.g->wants_grads = smooth;
    rg_out(&m, OUT_VALUE, "loss", NULL);
    rg_leaf(&m);
    rg_push(&m, parameter_node("w", F32, rg_shape(&m, 2, 40)), 6);
    rg_push(&m, input_node("ids", I32, rg_shape(&m, 2, 20)), 0);
    if (!smooth && rg_chance(&m, 0.3)) rg_state(&m);
    rg_some(&m, 8 + rg_below(&m, 20));
    if (seed % 3 == 0) rg_siblings(&m);
    if (seed % 4 < 2) rg_layers(&m);
    for (int i = 0; i < m.pool.n; i++)
        if (!m.pool.at[i].used && (!smooth || !is_real(m.pool.at[i].n->dtype)))
            rg_out(&m, OUT_VALUE, format("out%d", i), m.pool.at[i].n);
    m.g->outs.at[0].node = rg_loss(&m);
    return m.g;
}

/* ------------------------------------------------------------------ graphs of the entry direction */

static Node *rg_of_copy(Loop *l, Node *n) { return l ? loop_x(l, n) : n; }

/* What comes in the place of a gradient, and a state beside it: of each copy in a loop, or of all at once.  The leaves
 * outside stay in the pool, so that others read a gradient that is replaced. */
static void rg_direct(Maker *m, int k)
{
    char *name = format("d%d", k), *moment = format("moment%d", k);
    Shape own = rg_shape(m, 2, 40), whole = {.rank = own.rank + 1, .dim = {1 + rg_below(m, 4)}};
    bool copies = rg_chance(m, 0.5), states = rg_chance(m, 0.5);
    memcpy(whole.dim + 1, own.dim, sizeof *own.dim * (size_t)own.rank);
    if (!copies) whole = own;
    Node *gradient = gradient_node(name, F32, whole), *old = state_node(moment, F32, whole);
    rg_push(m, gradient, 6);
    Loop *l = copies ? loop_open("copy", whole.dim[0], false) : NULL;
    m->depth += copies;
    const int first = m->pool.n;
    rg_push(m, rg_of_copy(l, gradient), 6);
    if (rg_chance(m, 0.5)) rg_push(m, rg_of_copy(l, parameter_node(name, F32, whole)), 6);
    if (states) rg_push(m, rg_of_copy(l, old), 6);
    rg_some(m, 2 + rg_below(m, 6));
    Node *new = map2(OP_add, rg_small(rg_real_of(m, own), 3).n, rg_of_copy(l, gradient)), *kept = NULL;
    if (states)
        kept = map2(OP_add, map2(OP_mul, rg_of_copy(l, old), rg_number(0.5, new)), rg_small(rg_real_of(m, own), 3).n);
    if (states && rg_chance(m, 0.3)) { /* each takes what the other was, or the state what the gradient was */
        kept = rg_of_copy(l, gradient);
        if (rg_chance(m, 0.5)) new = rg_of_copy(l, old);
    }
    m->depth -= copies;
    if (copies) {
        rg_yield(l, new);
        if (states) rg_yield(l, kept);
        loop_close(l);
        new = loop_stack(l, new);
        if (states) kept = loop_stack(l, kept);
        m->pool.n = first;
    }
    rg_out(m, OUT_GRAD, name, new);
    if (states) rg_out(m, OUT_STATE, moment, kept);
}

static inline Graph *random_direction_graph(uint64_t seed)
{
    Maker m = {.rng = rng_of(seed), .g = NEW(Graph)};
    m.g->entry = ENTRY_direction;
    m.g->name = entry_of(m.g)->name;
    rg_out(&m, OUT_VALUE, "loss", NULL);
    rg_leaf(&m);
    rg_push(&m, input_node("ids", I32, rg_shape(&m, 2, 20)), 0);
    rg_some(&m, 4 + rg_below(&m, 10));
    for (int k = 1 + rg_below(&m, 4); k-- > 0;) rg_direct(&m, k);
    for (int i = 0; i < m.pool.n; i++) {
        const Thing *t = &m.pool.at[i];
        bool read = t->n->op == OP_gradient && rg_chance(&m, 0.5); /* as it was */
        if (!t->used || read) rg_out(&m, OUT_VALUE, format("out%d", i), t->n);
    }
    m.g->outs.at[0].node = rg_loss(&m);
    return m.g;
}

static inline Graph *random_graph(uint64_t seed) { return rg_graph(seed, false); }
static inline Graph *random_loss_graph(uint64_t seed) { return rg_graph(seed, true); }

/* Values by name and *(uint64_t *)user; reals between -1.5 and 1.5, integers below 50.  A gradient has others than its
 * parameter. */
static inline Value random_feed(void *user, const Node *leaf)
{
    Value v = {.shape = leaf->shape, .at = NEW_ARRAY(double, elements(leaf->shape))};
    Rng r = rng_of(hash_bytes(leaf->name, strlen(leaf->name), *(uint64_t *)user + (leaf->op == OP_gradient)));
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

/* ------------------------------------------------------------------ graphs, each with leaves of its own */

static Node *rg_renamed(Rewrite *r, Node *old)
{
    const char *prefix = r->user;
    switch (old->op) {
    case OP_input: return input_node(format("%s.%s", prefix, old->name), old->dtype, old->shape);
    case OP_parameter: return parameter_node(format("%s.%s", prefix, old->name), old->dtype, old->shape);
    case OP_state: return state_node(format("%s.%s", prefix, old->name), old->dtype, old->shape);
    case OP_gradient: return gradient_node(format("%s.%s", prefix, old->name), old->dtype, old->shape);
    default: return NULL;
    }
}

/* Of 20 seeds in a row one has directions, so that the description's entries have names of their own; the other odd ones
 * have a loss to differentiate, even ones outputs of every kind. */
static inline Graph *random_graph_apart(uint64_t seed, bool count)
{
    const bool directs = seed % 20 == 19;
    Graph *g = directs ? random_direction_graph(seed) : seed % 2 ? random_loss_graph(seed) : random_graph(seed);
    if (count) count_coverage(g);
    const char *own = format("g%llu", (unsigned long long)seed);
    if (!directs) g->name = own, g->entry = NO_ENTRY;
    Rewrite r = {.before = rg_renamed, .user = (void *)own};
    rewrite_graph(&r, g);
    for (int i = 0; i < g->outs.n; i++)
        if (g->outs.at[i].kind == OUT_STATE || (directs && g->outs.at[i].kind == OUT_GRAD))
            g->outs.at[i].name = format("%s.%s", own, g->outs.at[i].name);
    return g;
}

#endif
