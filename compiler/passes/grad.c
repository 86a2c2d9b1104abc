/* grad.c: reverse-mode differentiation: adds the gradient of the loss with respect to every parameter.
 *
 * Needs: wants_grads, outs[0] a real of rank 0 (in a layer, where the gradients of outputs are given, any);
 * Graph.micro, if any, still open.  Leaves: an OUT_GRAD for each parameter that the graph reads and trains (zeros where
 * the loss does not depend on it), Graph.micro closed and NULL.
 *
 * Invariants, which hold while it works (passes/grad_loop.c keeps those of loops):
 *
 *  1. A level has one place to build in: the base (beside the loss, in micro's body if there is one), or the reversed
 *     loop R of a forward loop L.  Nodes made at a level reach arguments of its R and of the levels around it, never of
 *     a forward loop (except micro).  Forward values enter only through value(level, v), the value of v at that level.
 *
 *  2. A level's contributions are to nodes of L's body and to nodes outside of it (L's invariants).  Nodes are taken in
 *     falling order, users before inputs, so that a node's contributions are complete when its turn comes.
 *
 *  3. Contributions are only made to active nodes: those that a parameter reaches along differentiable inputs.  A carry
 *     has an adjoint carry in R exactly if it is active, and its end value has a gradient or the loss depends on it
 *     from inside the body.
 *
 *  4. Contributions are added in the order in which they were made, which depends on the graph alone.
 *
 *  5. New nodes are of phase 1, except stacks of forward loops (phase 0); their place in Lua is the forward node's. */
#include "graph/parts.h"
#include "ops/grad.h"
#include "passes/passes.h"

#include <string.h>

/* ------------------------------------------------------------------ sets of nodes */

static bool set(Table *t, const Node *n) /* true: it was not in it */
{
    void **slot = table_at(t, n);
    bool is_new = !*slot;
    *slot = t;
    return is_new;
}

/* ------------------------------------------------------------------ what depends on what */

/* Does row `op` have a derivative with respect to input i? */
static bool row_flows(Op op, int i)
{
    static const char *const text[OPS][2] = {
#define MAP1(name, class, text, da, domain, doc)     [OP_##name] = {#da, ""},
#define MAP2(name, class, text, da, db, domain, doc) [OP_##name] = {#da, #db},
#include "graph/ops_default.h"
#include "graph/ops.def"
    };
    return text[op][0] && i < 2 && !same(text[op][i], "NONE");
}

/* Does a gradient of n give its input i one? */
bool gradient_flows(const Node *n, int i)
{
    if (!is_real(n->dtype) || !is_real(n->in[i]->dtype)) return false;
    if (op_parts[n->op].gradient) return true;
    switch (n->op) {
    case OP_where: return i > 0;
    case OP_cast:
    case OP_pick: return true;
    default: {
        OpKind kind = op_info[n->op].kind;
        return kind == REDUCE || kind == WHOLE || (kind == MAP && row_flows(n->op, i));
    }
    }
}

Nodes *body_of(Grad *all, Loop *l)
{
    void **slot = table_at(&all->order, l->index);
    if (!*slot) {
        Nodes roots = {0}, *body = NEW(Nodes);
        loop_roots(l, &roots);
        nodes_at(l, roots.at, roots.n, body);
        *slot = body;
    }
    return *slot;
}

static bool is_active(const Grad *all, const Node *n) { return table_get(&all->active, n); }
bool grad_active(const Grad_level *lv, const Node *v) { return is_active(lv->all, v); }

static bool activate_loop(Grad *all, Loop *l);

static bool is_trained(const Graph *g, const Node *n)
{
    return n->op == OP_parameter && !is_frozen_node(n) && trains(g, n->name);
}

static bool becomes_active(Grad *all, Node *n)
{
    if (n->op == OP_parameter) return is_real(n->dtype) && is_trained(all->graph, n);
    if (n->op == OP_input) return is_real(n->dtype) && entry_of(all->graph)->pulls;
    if (n->op == OP_pick && n->in[0]->op == OP_loop) {
        const Loop *l = n->in[0]->loop;
        return is_active(all, n->ints[0] == PICK_CARRY ? l->carries.at[n->ints[1]].arg : l->ys.at[n->ints[1]]);
    }
    for (int i = 0; i < n->nin; i++)
        if (gradient_flows(n, i) && is_active(all, n->in[i])) return true;
    return false;
}

static bool activate(Grad *all, const Nodes *body)
{
    bool changed = false;
    for (int i = 0; i < body->n; i++) {
        Node *n = body->at[i];
        if (n->op == OP_loop) changed |= activate_loop(all, n->loop);
        else if (!is_active(all, n) && becomes_active(all, n)) changed |= set(&all->active, n);
    }
    return changed;
}

static bool activate_loop(Grad *all, Loop *l)
{
    bool changed = false, again = true;
    while (again) {
        again = false;
        for (int k = 0; k < l->carries.n; k++) {
            const struct Carry *c = &l->carries.at[k];
            bool on = is_real(c->arg->dtype) && (is_active(all, c->init) || is_active(all, c->next));
            if (on) again |= set(&all->active, c->arg);
        }
        for (int k = 0; k < l->xs.n; k++)
            if (is_active(all, l->xs.at[k].outer)) again |= set(&all->active, l->xs.at[k].arg);
        again |= activate(all, body_of(all, l));
        changed |= again;
    }
    return changed;
}

static bool reach(Grad *all, const Node *n) { return is_active(all, n) && set(&all->reached, n); }
static void reach_loop(Grad *all, Loop *l);

static void reach_body(Grad *all, const Nodes *body)
{
    for (int i = body->n - 1; i >= 0; i--) {
        Node *n = body->at[i];
        if (!table_get(&all->reached, n)) continue;
        if (n->op == OP_loop) {
            reach_loop(all, n->loop);
        } else if (n->op == OP_pick && n->in[0]->op == OP_loop) {
            const Loop *l = n->in[0]->loop;
            reach(all, n->ints[0] == PICK_CARRY ? l->carries.at[n->ints[1]].next : l->ys.at[n->ints[1]]);
            set(&all->reached, n->in[0]);
        } else {
            for (int k = 0; k < n->nin; k++)
                if (gradient_flows(n, k)) reach(all, n->in[k]);
        }
    }
}

static void reach_loop(Grad *all, Loop *l)
{
    for (bool again = true; again;) {
        again = false;
        reach_body(all, body_of(all, l));
        for (int k = 0; k < l->carries.n; k++)
            if (table_get(&all->reached, l->carries.at[k].arg)) again |= reach(all, l->carries.at[k].next);
    }
    for (int k = 0; k < l->carries.n; k++)
        if (table_get(&all->reached, l->carries.at[k].arg)) reach(all, l->carries.at[k].init);
    for (int k = 0; k < l->xs.n; k++)
        if (table_get(&all->reached, l->xs.at[k].arg)) reach(all, l->xs.at[k].outer);
}

/* ------------------------------------------------------------------ contributions */

void contribute(Grad_level *lv, Node *v, Node *part)
{
    if (!grad_active(lv, v)) return;
    must(same_shape(v->shape, part->shape) && v->dtype == part->dtype);
    void **slot = table_at(&lv->contributions, v);
    if (!*slot) {
        *slot = NEW(Nodes);
        if (v->in_loop != lv->forward) push(&lv->outside, v);
    }
    push((Nodes *)*slot, part);
}

Node *gradient(Grad_level *lv, Node *v)
{
    const Nodes *parts = table_get(&lv->contributions, v);
    Node *sum = parts ? sum_of(parts) : NULL;
    if (sum && sum->phase) title_gradient(sum, v); /* or it is a forward value, too */
    return sum;
}

/* ------------------------------------------------------------------ map ops: their rows of graph/ops.def */

#define MAP1(name, ...)                                                                                                \
    static inline Node *name##_(Node *p) { return map1(OP_##name, p); }
#define MAP2(name, ...)                                                                                                \
    static inline Node *name##_(Node *p, Node *q) { return map2(OP_##name, p, q); }
#define CMP2(name, ...)                                                                                                \
    static inline Node *name##_(Node *p, Node *q) { return map2(OP_##name, p, q); }
#include "graph/ops_default.h"
#include "graph/ops.def"
static inline Node *where_(Node *c, Node *p, Node *q) { return where_op(c, p, q); }

/* In the rows a, b and y are forward values, fetched only where a derivative mentions them: fetching may save a stack.
 */
#define a      value(lv, n->in[0])
#define b      value(lv, n->in[1])
#define y      value(lv, n)
#define num(k) filled(k, n->dtype, n->shape)
#define NONE   NULL

static bool grad_map(Grad_level *lv, Node *n, Node *g)
{
    bool to[2] = {false};
    for (int i = 0; i < n->nin && i < 2; i++) to[i] = gradient_flows(n, i) && grad_active(lv, n->in[i]);
    switch (n->op) {
#define MAP1(name, class, text, da, domain, doc)                                                                       \
    case OP_##name:                                                                                                    \
        if (to[0]) contribute(lv, n->in[0], da);                                                                       \
        return true;
#define MAP2(name, class, text, da, db, domain, doc)                                                                   \
    case OP_##name:                                                                                                    \
        if (to[0]) contribute(lv, n->in[0], da);                                                                       \
        if (to[1]) contribute(lv, n->in[1], db);                                                                       \
        return true;
#include "graph/ops_default.h"
#include "graph/ops.def"
    default: return false;
    }
}

#undef a
#undef b
#undef y
#undef num
#undef NONE

void differentiate_node(Grad_level *lv, Node *n, Node *g)
{
    if (n->op == OP_pick && op_info[n->in[0]->op].kind == WHOLE) return; /* its op asks for it */
    if (n->op == OP_pick && n->in[0]->op == OP_loop) push(&lv->picks, n);
    else if (!grad_map(lv, n, g) && !grad_op(lv, n, g))
        must(n->op == OP_loop_arg || n->op == OP_parameter || n->op == OP_input); /* theirs is taken when all is done */
}

static void grad_whole(Grad_level *lv, Node *n)
{
    Type results[MOST_RESULTS];
    Node *g[MOST_RESULTS];
    bool any = false;
    int count = whole_info[n->op].results(n, results);
    for (int k = 0; k < count; k++) any |= (g[k] = gradient(lv, whole_result(n, k))) != NULL;
    if (any) whole_info[n->op].gradient(lv, n, g);
}

/* The nodes that `root` is made of, inputs first, down to the inputs of n. */
static void nodes_above(const Node *n, Node *root, Table *seen, Nodes *out)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] == root) return;
    if (!set(seen, root)) return;
    for (int i = 0; i < root->nin; i++) nodes_above(n, root->in[i], seen, out);
    push(out, root);
}

/* What the definition has outside the body is differentiated with the rest: its level is done when it is its turn. */
static void forget_outside(Grad_level *lv, const Table *body)
{
    int kept = 0;
    for (int i = 0; i < lv->outside.n; i++)
        if (!table_get(body, lv->outside.at[i])) lv->outside.at[kept++] = lv->outside.at[i];
    lv->outside.n = kept;
}

void grad_definition(Grad_level *lv, Node *n, Node *const *g)
{
    Type results[MOST_RESULTS];
    Nodes roots = {0}, body = {0};
    Table seen = {0};
    int count = whole_info[n->op].results(n, results);
    Making was = make_in_phase(n->phase);
    for (int k = 0; k < count; k++)
        if (g[k]) push(&roots, whole_info[n->op].define(n, k));
    make_with(was);
    for (int i = 0; i < roots.n; i++) nodes_above(n, roots.at[i], &seen, &body);
    activate(lv->all, &body);
    for (int k = 0, i = 0; k < count; k++)
        if (g[k]) contribute(lv, roots.at[i++], g[k]);
    differentiate(lv, &body);
    forget_outside(lv, &seen);
}

void differentiate(Grad_level *lv, const Nodes *body)
{
    for (int i = body->n - 1; i >= 0; i--) {
        Node *n = body->at[i], *g = NULL;
        Making was = make_on_line_of(n);
        if (is_another_form(n)) title_alike(n->in[0], n); /* d_mean, though it is [R][1] that is called mean */
        if (n->op == OP_loop) grad_loop(lv, n);
        else if (op_info[n->op].kind == WHOLE) grad_whole(lv, n);
        else if ((g = gradient(lv, n))) differentiate_node(lv, n, g);
        make_with(was);
    }
}

/* ------------------------------------------------------------------ the pass */

/* The parameters that the graph reads and trains, in the order of the description; those it does not know (tests) last.
 */
static void trained_parameters(const Graph *g, const Desc *d, Nodes *out)
{
    Nodes roots = {0}, all = {0};
    graph_roots(g, &roots);
    nodes_at(NULL, roots.at, roots.n, &all);
    Strings number = {0}; /* of a name's first node, from 1 */
    Table listed = {0};
    for (int i = 0; i < all.n; i++) {
        bool taken = is_trained(g, all.at[i]);
        int *first = taken ? strings_at(&number, all.at[i]->name) : NULL;
        if (first && !*first) *first = i + 1;
    }
    for (int k = 0; d && k < d->params.n; k++) {
        int first = strings_get(&number, d->params.at[k]->name);
        if (first && set(&listed, all.at[first - 1])) push(out, all.at[first - 1]);
    }
    for (int i = 0; i < all.n; i++)
        if (is_trained(g, all.at[i]) && set(&listed, all.at[i])) push(out, all.at[i]);
}

/* The same for all micro-batches: [trip, …] all the same. */
static Node *for_each(const Loop *m, Node *n)
{
    Shape s = {1, {m->trip}, {(uint16_t)m->axis}};
    for (int i = 0; i < n->shape.rank; i++) s = with_axis(s, n->shape, i);
    return broadcast(n, s);
}

/* The carry of micro that begins with the state; -1: each micro-batch has its own. */
static int carry_of_state(const Loop *m, const char *name)
{
    for (int k = 0; k < m->carries.n; k++)
        if (m->carries.at[k].init->op == OP_state && same(m->carries.at[k].init->name, name)) return k;
    return -1;
}

static void carry_out(Loop *m, const Output *o)
{
    if (o->kind == OUT_STATE) {
        int own = carry_of_state(m, o->name);
        if (own >= 0) loop_next(m, own, o->node);
    } else if (o->kind == OUT_GRAD) {
        Node *arg = loop_carry(m, filled(0, o->node->dtype, o->node->shape));
        title_instead(arg, o->node);
        loop_next(m, m->carries.n - 1, map2(OP_add, arg, o->node));
    }
}

static Node *state_behind(Loop *m, const Output *o)
{
    int own = carry_of_state(m, o->name);
    if (own >= 0) return loop_result(m, own);
    return o->node->in_loop == m ? loop_stack(m, o->node) : for_each(m, o->node);
}

/* Gradients become carries of micro, scalar values their mean over its iterations, other values and states stacks, but
 * for states that one micro-batch hands to the next. */
static void close_micro(Graph *g)
{
    Loop *m = g->micro;
    int grads = m->carries.n;
    m->keeps = true;
    for (int i = 0; i < g->outs.n; i++) carry_out(m, &g->outs.at[i]);
    for (int k = 0; k < m->carries.n; k++) /* a statistic of another turn's layers stays */
        if (!m->carries.at[k].next) loop_next(m, k, m->carries.at[k].arg);
    Making was = make_in_phase(0);
    loop_close(m);
    for (int i = 0; i < g->outs.n; i++) {
        Output *o = &g->outs.at[i];
        if (o->kind == OUT_GRAD) {
            o->node = loop_result(m, grads++);
            title_instead(o->node, m->carries.at[grads - 1].arg);
        } else if (o->kind == OUT_STATE) {
            o->node = state_behind(m, o);
        } else if (o->node->in_loop == m) {
            o->node = loop_stack(m, o->node);
            if (o->node->shape.rank == 1 && is_real(o->node->dtype))
                o->node =
                    map2(OP_mul, reduce(OP_sum, o->node, 1, &(int){0}), scalar(1.0 / (double)m->trip, o->node->dtype));
        }
    }
    g->micro = NULL;
    make_with(was);
}

/* 1, or a micro-batch's share of it; under fp16 times the loss scale. */
static Node *gradient_of_loss(const Graph *g, const Desc *d)
{
    DType t = g->outs.at[0].node->dtype;
    Node *one = scalar(g->micro && !d->options->exact_rows ? 1.0 / (double)g->micro->trip : 1.0, t);
    if (!precision_of(d->options).scaled) return one;
    return map2(OP_mul, one, cast_op(input_node("loss_scale", F32, (Shape){0}), t));
}

/* The loss; of a layer, its real outputs. */
static void ends_of_gradients(const Graph *g, Nodes *out)
{
    const bool pulls = entry_of(g)->pulls;
    for (int i = 0; i < (pulls ? g->outs.n : 1); i++)
        if (is_real(g->outs.at[i].node->dtype)) push(out, g->outs.at[i].node);
}

static void contribute_ends(Grad_level *base, const Graph *g, const Desc *d)
{
    if (!entry_of(g)->pulls) contribute(base, g->outs.at[0].node, gradient_of_loss(g, d));
    for (int i = 0; entry_of(g)->pulls && i < g->outs.n; i++) {
        Node *y = g->outs.at[i].node;
        if (is_real(y->dtype)) contribute(base, y, input_node(format("d_%s", g->outs.at[i].name), y->dtype, y->shape));
    }
}

/* Of a layer's real inputs; zeros where no output depends on one. */
static void add_gradients_of_inputs(Grad_level *base, Graph *g, const Nodes *nodes)
{
    for (int i = 0; i < nodes->n; i++) {
        Node *n = nodes->at[i];
        if (n->op != OP_input || !is_real(n->dtype)) continue;
        make_at(n->where);
        Node *grad = gradient(base, n);
        if (!grad) grad = filled(0, n->dtype, n->shape);
        push(&g->outs, ((Output){OUT_VALUE, format("d_%s", n->name), grad}));
    }
}

static void add_gradients(Graph *g, const Desc *d)
{
    Grad all = {.desc = d, .graph = g};
    Nodes ends = {0}, outer = {0}, inner = {0}, params = {0};
    ends_of_gradients(g, &ends);
    nodes_at(NULL, ends.at, ends.n, &outer);
    if (g->micro) nodes_at(g->micro, ends.at, ends.n, &inner);
    activate(&all, &outer);
    activate(&all, &inner);
    for (int i = 0; i < ends.n; i++) reach(&all, ends.at[i]);
    reach_body(&all, &inner);
    reach_body(&all, &outer);

    Grad_level base = {.all = &all};
    contribute_ends(&base, g, d);
    differentiate(&base, &inner);
    differentiate(&base, &outer);

    trained_parameters(g, d, &params);
    for (int i = 0; i < params.n; i++) {
        Node *p = params.at[i];
        make_at(p->where);
        Node *grad = gradient(&base, p);
        if (!grad) grad = filled(0, p->dtype, p->shape);
        push(&g->outs, ((Output){OUT_GRAD, p->name, grad}));
    }
    if (entry_of(g)->pulls) add_gradients_of_inputs(&base, g, &outer);
}

void pass_grad(Graph *g, const Desc *d)
{
    if (!g->wants_grads) return;
    must(g->outs.n && g->outs.at[0].kind == OUT_VALUE);
    must(entry_of(g)->pulls || (g->outs.at[0].node->shape.rank == 0 && is_real(g->outs.at[0].node->dtype)));
    Making was = making();
    make_with((Making){.where = was.where, .phase = 1});
    add_gradients(g, d);
    if (g->micro && d->recipe.noise_scale) add_part_squares(g);
    if (g->micro && d->options->exact_rows) close_in_pairs(g);
    else if (g->micro) close_micro(g);
    make_with(was);
}
