/* eval.c: the interpreter, the definition of what nodes mean: slow and simple, in double precision.
 *
 * Nodes of one level (the top, or a loop's body) are evaluated in the order of nodes_at; a loop node runs its
 * iterations.  The slot of a node's id holds its value; values of a body live for one iteration. */
#include "graph/eval.h"
#include "graph/parts.h"

#include <string.h>

/* ------------------------------------------------------------------ memory */

/* Blocks of 2^k words; free ones are chained, one list per k. */
typedef union Block {
    struct {
        union Block *next;
        int64_t size;
    } head;
    double align[2];
} Block;
static Block *spare[64];

void *take(int64_t n)
{
    int k = 0;
    while (((int64_t)1 << k) < n) k++;
    Block *b = spare[k];
    if (b) spare[k] = b->head.next;
    else b = alloc(sizeof *b + sizeof(double) * ((size_t)1 << k));
    b->head.size = k;
    return b + 1;
}

void give(void *words)
{
    Block *b = (Block *)words - 1;
    b->head.next = spare[b->head.size];
    spare[b->head.size] = b;
}

/* ------------------------------------------------------------------ whole tensors */

static void eval_map(const Node *n, const Value *in, Value *out)
{
    int64_t count = elements(n->shape);
    for (int64_t i = 0; i < count; i++) {
        double x[5];
        for (int k = 0; k < n->nin; k++) x[k] = in[k].at[i];
        out->at[i] = eval_element(n->op, n->in[0]->dtype, n->dtype, x);
    }
}

/* Elements in their order in memory. */
static void eval_reduce(const Node *n, const Value *in, Value *out)
{
    int64_t count = elements(n->shape);
    for (int64_t i = 0; i < count; i++) out->at[i] = reduce_start(n->op);
    for (Walk w = walk(in->shape); w.i < w.n; step(&w)) {
        int64_t to[MAXRANK];
        int rank = 0;
        for (int k = 0, gone = 0; k < in->shape.rank; k++)
            if (gone < n->nints && n->ints[gone] == k) gone++;
            else to[rank++] = w.at[k];
        double *r = &out->at[offset_at(n->shape, to)];
        *r = reduce_step(n->op, n->dtype, *r, in->at[w.i]);
    }
}

static void eval_leaf(const Node *n, Value *out)
{
    if (n->op == OP_iota) {
        for (Walk w = walk(n->shape); w.i < w.n; step(&w)) out->at[w.i] = (double)w.at[n->ints[0]];
        return;
    }
    must(n->op == OP_constant);
    if (n->data) memcpy(out->at, n->data, sizeof(double) * (size_t)elements(n->shape));
    else out->at[0] = n->value;
}

/* ------------------------------------------------------------------ values of nodes */

enum { VALUE_WORDS = sizeof(Value) / sizeof(double) };

typedef struct Slot {
    Value v;
    Value *several; /* loop: final carries, then stacks; other ops: their several results */
    int nseveral;
    bool owned; /* v.at is returned to take()'s blocks */
} Slot;

typedef struct Eval {
    Slot *slot;  /* by id; NULL: `found` is used, for a graph with a small part of all nodes */
    Table found; /* of Slot * */
    VEC(struct Body {
        const Loop *loop;
        Nodes order;
    }) bodies; /* the nodes of each loop, found once */
    Feed feed;
    void *user;
    double off; /* relative error added to results that round */
    uint32_t draws;
} Eval;

static Value fresh(Shape s) { return (Value){.shape = s, .at = take(elements(s))}; }

static Value copied_value(Value v)
{
    Value c = fresh(v.shape);
    memcpy(c.at, v.at, sizeof(double) * (size_t)elements(v.shape));
    return c;
}

static void forget(Slot *s)
{
    if (s->owned) give(s->v.at);
    for (int i = 0; i < s->nseveral; i++) give(s->several[i].at);
    if (s->several) give(s->several);
    *s = (Slot){0};
}

static void eval_several(Slot *s, int n)
{
    s->several = take(n * VALUE_WORDS);
    s->nseveral = n;
}

static Slot *slot_of(Eval *e, const Node *n)
{
    if (e->slot) return &e->slot[n->id];
    void **slot = table_at(&e->found, n);
    if (!*slot) *slot = NEW(Slot);
    return *slot;
}

static Value eval_value_of(Eval *e, const Node *n)
{
    Slot *s = slot_of(e, n);
    if (!s->v.at) die("%s (node %d) has no value where it is used", op_info[n->op].name, n->id);
    return s->v;
}

static void run_loop(Eval *e, const Node *n);

static Value *values_of_inputs(Eval *e, const Node *n)
{
    Value *in = take(n->nin * VALUE_WORDS);
    for (int i = 0; i < n->nin; i++) in[i] = eval_value_of(e, n->in[i]);
    return in;
}

static void eval_results(Eval *e, const Node *n)
{
    Slot *s = slot_of(e, n);
    Type results[MOST_RESULTS];
    const char *fault = op_parts[n->op].fault(n, results);
    if (fault) die("%s: %s", op_info[n->op].name, fault);
    eval_several(s, op_info[n->op].results);
    for (int i = 0; i < s->nseveral; i++) s->several[i] = fresh(results[i].shape);
    Value *in = values_of_inputs(e, n);
    op_parts[n->op].eval(n, in, s->several);
    give(in);
}

static Value picked(Eval *e, const Node *n)
{
    const Node *from = n->in[0];
    int which = (int)n->ints[1];
    if (from->op != OP_loop) which = (int)n->ints[0];
    else if (n->ints[0] == PICK_STACK) which += from->loop->carries.n;
    return slot_of(e, from)->several[which];
}

static void eval_op(const Node *n, const Value *in, Value *out)
{
    if (op_parts[n->op].eval) {
        op_parts[n->op].eval(n, in, out);
        return;
    }
    switch (op_info[n->op].kind) {
    case MAP: eval_map(n, in, out); break;
    case REDUCE: eval_reduce(n, in, out); break;
    case LEAF: eval_leaf(n, out); break;
    case MOVE:
    case JOIN:
    case DOT:
    case INDEX:
    case LOOP:
    case WHOLE: die("%s is evaluated elsewhere", op_info[n->op].name);
    }
}

/* Does computing an element round to the nearest number of its type? */
static bool rounds(const Node *n)
{
    switch (n->op) {
    case OP_neg:
    case OP_abs:
    case OP_sign:
    case OP_floor:
    case OP_max:
    case OP_min:
    case OP_where:
    case OP_cast:
    case OP_u01:
    case OP_stop_gradient:
    case OP_rmax:
    case OP_rmin: return false;
    default: break;
    }
    OpKind kind = op_info[n->op].kind;
    bool counts = kind == MAP || kind == REDUCE || (op_info[n->op].facts & ROUNDS);
    return is_real(n->dtype) && counts;
}

/* A running number as bits without a pattern: shares that lie evenly would cancel in sums (MurmurHash3, fmix32). */
static uint32_t mixed_bits(uint32_t bits)
{
    bits = (bits ^ bits >> 16) * 0x85ebca6bu;
    bits = (bits ^ bits >> 13) * 0xc2b2ae35u;
    return bits ^ bits >> 16;
}

/* Adds to each element its own share in [-1, 1) of e->off. */
static void put_off(Eval *e, Value v)
{
    for (int64_t i = 0; i < elements(v.shape); i++)
        v.at[i] *= 1 + e->off * ((double)mixed_bits(++e->draws) * 0x1p-31 - 1);
}

static void eval_node(Eval *e, const Node *n)
{
    Slot *s = slot_of(e, n);
    switch (n->op) {
    case OP_loop_arg: return; /* set by run_loop */
    case OP_loop: run_loop(e, n); return;
    case OP_pick: s->v = picked(e, n); return;
    case OP_input:
    case OP_parameter:
    case OP_state:
    case OP_gradient:
        s->v = e->feed(e->user, n);
        if (!s->v.at || !same_shape(s->v.shape, n->shape)) die("%s was fed with another shape or nothing", n->name);
        return;
    default: break;
    }
    if (has_several(n)) {
        eval_results(e, n);
        return;
    }
    Value *in = values_of_inputs(e, n);
    s->v = fresh(n->shape);
    s->owned = true;
    eval_op(n, in, &s->v);
    if (e->off > 0 && rounds(n)) put_off(e, s->v);
    give(in);
}

/* ------------------------------------------------------------------ loops */

static const Nodes *body_order(Eval *e, const Loop *l)
{
    for (int i = 0; i < e->bodies.n; i++)
        if (e->bodies.at[i].loop == l) return &e->bodies.at[i].order;
    Nodes roots = {0}, order = {0};
    loop_roots(l, &roots);
    nodes_at((Loop *)l, roots.at, roots.n, &order);
    push(&e->bodies, ((struct Body){l, order}));
    return &e->bodies.at[e->bodies.n - 1].order;
}

static void set(Eval *e, const Node *arg, Value v, bool owned)
{
    forget(slot_of(e, arg));
    slot_of(e, arg)->v = v;
    slot_of(e, arg)->owned = owned;
}

static Value row(Value stack, int64_t i, Shape s) { return (Value){.shape = s, .at = stack.at + i * elements(s)}; }

static void start_iteration(Eval *e, const Loop *l, int64_t i)
{
    set(e, l->index, fresh((Shape){0}), true);
    slot_of(e, l->index)->v.at[0] = (double)i;
    for (int k = 0; k < l->xs.n; k++) {
        Node *arg = l->xs.at[k].arg;
        set(e, arg, row(eval_value_of(e, l->xs.at[k].outer), i, arg->shape), false);
    }
}

/* Copies all new carries before it frees an old one. */
static void end_eval_iteration(Eval *e, const Loop *l, const Nodes *order, int64_t i, Value *carry, const Value *stack)
{
    for (int k = 0; k < l->ys.n; k++) {
        Value v = eval_value_of(e, l->ys.at[k]);
        memcpy(row(stack[k], i, v.shape).at, v.at, sizeof(double) * (size_t)elements(v.shape));
    }
    for (int k = 0; k < l->carries.n; k++) carry[k] = copied_value(eval_value_of(e, l->carries.at[k].next));
    for (int k = 0; k < l->carries.n; k++) set(e, l->carries.at[k].arg, carry[k], true);
    for (int k = 0; k < order->n; k++)
        if (order->at[k]->op != OP_loop_arg) forget(slot_of(e, order->at[k]));
}

static void run_loop(Eval *e, const Node *n)
{
    const Loop *l = n->loop;
    const Nodes order = *body_order(e, l);
    int ncarries = l->carries.n;
    Slot *s = slot_of(e, n);
    eval_several(s, ncarries + l->ys.n);
    for (int k = 0; k < ncarries; k++)
        set(e, l->carries.at[k].arg, copied_value(eval_value_of(e, l->carries.at[k].init)), true);
    for (int k = 0; k < l->ys.n; k++) {
        Shape shape = l->ys.at[k]->shape, whole = {.rank = shape.rank + 1, .dim = {l->trip}};
        memcpy(whole.dim + 1, shape.dim, sizeof *shape.dim * (size_t)shape.rank);
        s->several[ncarries + k] = fresh(whole);
    }
    for (int64_t t = 0; t < l->trip; t++) {
        int64_t i = l->reverse ? l->trip - 1 - t : t;
        start_iteration(e, l, i);
        for (int k = 0; k < order.n; k++) eval_node(e, order.at[k]);
        end_eval_iteration(e, l, &order, i, s->several, s->several + ncarries);
    }
    for (int k = 0; k < ncarries; k++) { /* the results take over the carries' memory */
        slot_of(e, l->carries.at[k].arg)->owned = false;
        forget(slot_of(e, l->carries.at[k].arg));
    }
    forget(slot_of(e, l->index));
}

/* ------------------------------------------------------------------ graphs */

static void eval_level(Eval *e, Loop *level, const Nodes *roots, Nodes *order)
{
    order->n = 0;
    nodes_at(level, roots->at, roots->n, order);
    for (int i = 0; i < order->n; i++) eval_node(e, order->at[i]);
}

/* An output inside the open loop over micro-batches is the mean over its iterations. */
static void eval_micro(Eval *e, const Graph *g, const Nodes *roots, Value *outs)
{
    Nodes order = {0};
    for (int64_t i = 0; i < g->micro->trip; i++) {
        start_iteration(e, g->micro, i);
        eval_level(e, g->micro, roots, &order);
        for (int k = 0; k < g->outs.n; k++) {
            Value v = eval_value_of(e, g->outs.at[k].node);
            if (g->outs.at[k].node->in_loop != g->micro) continue;
            for (int64_t j = 0; j < elements(v.shape); j++) outs[k].at[j] += v.at[j] / (double)g->micro->trip;
        }
        for (int k = 0; k < order.n; k++)
            if (order.at[k]->op != OP_loop_arg) forget(slot_of(e, order.at[k]));
    }
}

void eval_graph_off(const Graph *whole, Feed feed, void *user, double off, Value *outs)
{
    enum { SMALL = 16 }; /* below 1 / SMALL of all nodes */
    const Graph *g = defined(whole);
    int64_t all = node_count(), nslots = count_nodes(g) >= all / SMALL ? all : 0;
    Eval e = {.feed = feed, .user = user, .off = off};
    if (nslots) e.slot = take(nslots * (int64_t)(sizeof(Slot) / sizeof(double)));
    if (nslots) memset(e.slot, 0, sizeof(Slot) * (size_t)nslots);
    Nodes roots = {0}, order = {0};
    graph_roots(g, &roots);
    for (int k = 0; g->micro && k < g->micro->xs.n; k++) push(&roots, g->micro->xs.at[k].outer);
    eval_level(&e, NULL, &roots, &order);
    for (int k = 0; k < g->outs.n; k++) {
        const Node *n = g->outs.at[k].node;
        outs[k] = (Value){.shape = n->shape, .at = NEW_ARRAY(double, elements(n->shape))};
        if (!n->in_loop) memcpy(outs[k].at, eval_value_of(&e, n).at, sizeof(double) * (size_t)elements(n->shape));
    }
    if (g->micro) eval_micro(&e, g, &roots, outs);
    for (int64_t i = 0; i < nslots; i++) forget(&e.slot[i]);
    for (int i = 0; i < e.found.cap; i++)
        if (e.found.value[i]) forget(e.found.value[i]);
    if (e.slot) give(e.slot);
}

void eval_graph(const Graph *g, Feed feed, void *user, Value *outs) { eval_graph_off(g, feed, user, 0, outs); }
