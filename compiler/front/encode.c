/* encode.c: moves what depends only on the source out of decode, into the entry encode.
 *
 * A value is ENCODED if it depends on the source but on nothing that changes from step to step (token, position,
 * state). ENCODED values that decode reads become states, which encode writes.  In a loop (the layers of a decoder,
 * each with its own keys and values) the values of all iterations are stacked into one state, and decode's loop reads
 * its slices; pass_clean then removes from each entry's copy of the loop what it does not need.
 *
 * The cut is at a value before the views that repeat or rearrange it, if its batch axis is known.  Otherwise decode
 * computes the value again from its inputs. */
#include "front/front.h"

#include <string.h>

typedef enum Class { CONSTANT, ENCODED, STEP } Class;

typedef struct Cutting {
    Trace *trace;
    Table class;     /* Class + 1, of all nodes */
    Table seen;      /* what decode computes */
    Table instead;   /* per value that encode writes: the state that decode reads */
    Nodes cut, todo; /* todo: STEP, or to be computed in decode */
} Cutting;

/* ------------------------------------------------------------------ what depends on what */

static Class known_class(const Cutting *c, const Node *n)
{
    intptr_t class = (intptr_t)table_get(&c->class, n);
    return class ? (Class)(class - 1) : CONSTANT;
}

static Class later(Class a, Class b) { return a > b ? a : b; }

static Class class_of_argument(const Cutting *c, const Node *n)
{
    if (n->ints[0] == ARG_INDEX) return CONSTANT;
    if (n->ints[0] == ARG_X) return known_class(c, n->loop->xs.at[n->ints[1]].outer);
    const struct Carry *carry = &n->loop->carries.at[n->ints[1]];
    return later(known_class(c, carry->init), known_class(c, carry->next));
}

static Class class_of_input(const char *name)
{
    if (same(name, "source") || same(name, "source_lengths")) return ENCODED;
    return same(name, "seed") || same(name, "step") ? CONSTANT : STEP;
}

static bool is_result(const Node *n) { return n->op == OP_pick && n->in[0]->op == OP_loop; }

static Class class_of(const Cutting *c, const Node *n)
{
    if (n->op == OP_state) return is_statistic(c->trace->desc, n->name) ? CONSTANT : STEP;
    if (n->op == OP_input) return class_of_input(n->name);
    if (n->op == OP_loop_arg) return class_of_argument(c, n);
    if (is_result(n)) {
        const Loop *l = n->in[0]->loop;
        return known_class(c, n->ints[0] == PICK_CARRY ? l->carries.at[n->ints[1]].arg : l->ys.at[n->ints[1]]);
    }
    Class class = CONSTANT;
    for (int i = 0; i < n->nin; i++) class = later(class, known_class(c, n->in[i]));
    return class;
}

/* Carries start as CONSTANT and are raised until nothing changes. */
static void fill_classes(Cutting *c, const Graph *g)
{
    Nodes all = {0};
    all_nodes(g, &all);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < all.n; i++) {
            const Node *n = all.at[i];
            Class class = class_of(c, n);
            changed |= class != known_class(c, n);
            *table_at(&c->class, n) = (void *)(intptr_t)(class + 1);
        }
    }
}

/* ------------------------------------------------------------------ where to cut */

static const Factor *rows_of_state(const Cutting *c, const Node *n) { return table_get(&c->trace->rows, n); }

/* The state has an axis per loop around n, and an axis for the batch factor alone. */
static bool fits_a_state(const Cutting *c, const Node *n)
{
    const Factor *f = rows_of_state(c, n);
    int loops = 0;
    for (const Loop *l = n->in_loop; l; l = l->parent) loops++;
    return f && n->shape.rank + loops + (f->outer > 1) + (f->inner > 1) <= MAXRANK;
}

/* The value that n is a view of, if n has all of its elements; else NULL. */
static Node *seen_through_moves(const Node *n)
{
    if (n->op == OP_loop_arg && n->ints[0] == ARG_X) return n->loop->xs.at[n->ints[1]].outer;
    return is_view(n) && elements(n->in[0]->shape) <= elements(n->shape) ? n->in[0] : NULL;
}

static Node *place_to_cut(const Cutting *c, Node *n)
{
    Node *found = NULL;
    for (; n; n = seen_through_moves(n))
        if (fits_a_state(c, n)) found = n;
    return found;
}

static void compute(Cutting *c, Node *n)
{
    void **seen = table_at(&c->seen, n);
    if (*seen) return;
    *seen = n;
    push(&c->todo, n);
}

/* decode reads n. */
static void reads(Cutting *c, Node *n)
{
    if (known_class(c, n) == STEP) return compute(c, n);
    if (known_class(c, n) == CONSTANT) return;
    Node *at = place_to_cut(c, n);
    if (!at) return compute(c, n);
    void **seen = table_at(&c->seen, at);
    if (!*seen) push(&c->cut, at);
    *seen = at;
}

static void read_inputs(Cutting *c, const Node *n)
{
    if (n->op == OP_loop_arg && n->ints[0] == ARG_X) reads(c, n->loop->xs.at[n->ints[1]].outer);
    if (n->op == OP_loop_arg && n->ints[0] == ARG_CARRY) {
        reads(c, n->loop->carries.at[n->ints[1]].init);
        reads(c, n->loop->carries.at[n->ints[1]].next);
    }
    if (is_result(n)) {
        const Loop *l = n->in[0]->loop;
        reads(c, n->ints[0] == PICK_CARRY ? l->carries.at[n->ints[1]].arg : l->ys.at[n->ints[1]]);
        return;
    }
    for (int i = 0; i < n->nin; i++) reads(c, n->in[i]);
}

static void find_cuts(Cutting *c, const Graph *g)
{
    for (int i = 0; i < g->outs.n; i++) reads(c, g->outs.at[i].node);
    while (c->todo.n) read_inputs(c, c->todo.at[--c->todo.n]);
}

/* ------------------------------------------------------------------ the two entries */

static const char *state_name(const Desc *d, const Node *n)
{
    bool pathless = !n->where.path || !*n->where.path;
    return new_state_name(d, n->name ? n->name : pathless ? op_info[n->op].name : n->where.path);
}

/* n's shape with its batch factor as the separate axis *axis. */
static Shape encoded_apart(const Cutting *c, const Node *n, int *axis)
{
    const Factor *f = rows_of_state(c, n);
    Shape s = {0};
    for (int i = 0; i < n->shape.rank; i++) {
        bool rows = i == f->axis;
        if (rows && f->outer > 1) s.dim[s.rank++] = f->outer;
        if (rows) *axis = s.rank;
        s.dim[s.rank++] = rows ? n->shape.dim[i] / (f->outer * f->inner) : n->shape.dim[i];
        if (rows && f->inner > 1) s.dim[s.rank++] = f->inner;
    }
    return s;
}

static Node *stacked_states(Node *value)
{
    while (value->in_loop) value = loop_stack(value->in_loop, value);
    return value;
}

/* The slice for this iteration of a state stacked over l and the loops around it. */
static Node *slice_in(const Loop *l, Node *state)
{
    if (!l) return state;
    return loop_x((Loop *)l, slice_in(l->parent, state));
}

static void cut_at(Cutting *c, Graph *encode, Node *n)
{
    int axis = 0;
    make_at(n->where);
    Node *value = stacked_states(reshape(n, encoded_apart(c, n, &axis)));
    Tensor_spec s = {state_name(c->trace->desc, n), n->dtype, value->shape, LATHE_STATE, n->where, .fixed = true};
    for (const Loop *l = n->in_loop; l; l = l->parent) axis++;
    s.rows_axis = axis;
    push(&c->trace->desc->states, s);
    push(&encode->outs, ((Output){OUT_STATE, s.name, value}));
    Node *state = slice_in(n->in_loop, state_node(s.name, s.dtype, s.shape));
    *table_at(&c->instead, n) = reshape(state, n->shape);
}

static Node *read_instead(Rewrite *r, Node *old)
{
    const Cutting *c = r->user;
    Node *state = table_get(&c->instead, old);
    return state ? rewritten(r, state) : NULL;
}

/* decode does not give outputs that no token changes. */
static void drop_constant_outputs(const Cutting *c, Graph *g)
{
    int n = 0;
    for (int i = 0; i < g->outs.n; i++)
        if (known_class(c, g->outs.at[i].node) == STEP) g->outs.at[n++] = g->outs.at[i];
    g->outs.n = n;
}

static void copied_entry(Graph *g, Cutting *c)
{
    Rewrite r = {.before = read_instead, .user = c};
    rewrite_graph(&r, g);
    pass_clean(g, c->trace->desc);
}

static void must_not_read(const Graph *g, Class class)
{
    Nodes all = {0};
    all_nodes(g, &all);
    for (int i = 0; i < all.n; i++) must(all.at[i]->op != OP_input || class_of_input(all.at[i]->name) != class);
}

Graph *take_encode(Trace *trace, Graph *decode)
{
    Graph *encode = graph_of(ENTRY_encode);
    Cutting c = {.trace = trace}, none = c;
    fill_classes(&c, decode);
    drop_constant_outputs(&c, decode);
    find_cuts(&c, decode);
    for (int i = 0; i < c.cut.n; i++) cut_at(&c, encode, c.cut.at[i]);
    copied_entry(encode, &none);
    copied_entry(decode, &c);
    must_not_read(encode, STEP);
    must_not_read(decode, ENCODED);
    return encode;
}
