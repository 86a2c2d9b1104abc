/* check.c: the invariants of graphs, checked between passes.
 *
 *   1. Every node's type follows from its op, inputs and ints (graph/fault.c).
 *   2. There is no cycle.  A loop depends on its initial values, its stacks and what its body computes.
 *   3. A node belongs to the innermost loop that its inputs reach; the loops of all its inputs enclose it.  So values
 *      leave a loop only through picks.
 *   4. A loop is inside its parent, ids increase inwards, a next has the type of its carry.  Initial values and
 *      stacks are outside the loop.
 *   5. Outputs are at the top, or in the open loop `micro`.  A loss is a real scalar, a gradient is like its parameter.
 *   6. Leaves of the same name are the same tensor. */
#include "graph/graph.h"

#include <string.h>

typedef struct Check {
    const Graph *g;
    char *color; /* by id; 0: new, 1: being visited, 2: done */
    int ids;
    Nodes leaves; /* that have names */
} Check;

static const char *at_node(const Node *n, const char *what) { return format("%s\n    %s", what, node_text(n)); }

/* ------------------------------------------------------------------ loops */

static bool same_type(const Node *a, const Node *b) { return a->dtype == b->dtype && same_shape(a->shape, b->shape); }

/* Inputs of a loop must be computed at its parent's level or further out. */
static bool outside(const Loop *l, const Node *n) { return loop_inside(l->parent, n->in_loop); }

/* open: nexts may still be missing */
static const char *loop_fault(const Loop *l, bool open)
{
    if (l->trip < 1) return format("loop %d runs %lld times", l->id, (long long)l->trip);
    if (l->parent && l->parent->id >= l->id) return format("loop %d lies in a loop of larger id", l->id);
    if (!l->index || l->index->loop != l) return format("loop %d has no index", l->id);
    for (int k = 0; k < l->carries.n; k++) {
        const struct Carry *c = &l->carries.at[k];
        if (!c->init || !c->arg || (!c->next && !open)) return format("carry %d of loop %d is not complete", k, l->id);
        if (!outside(l, c->init)) return at_node(c->init, format("carry %d of loop %d starts from inside", k, l->id));
        if (!same_type(c->init, c->arg))
            return at_node(c->arg, format("it differs in type from what carry %d starts from", k));
        if (c->next && !same_type(c->next, c->arg))
            return at_node(c->next, format("the next value of carry %d of loop %d has another type", k, l->id));
        if (c->next && !loop_inside(l, c->next->in_loop))
            return at_node(c->next, format("the next value of carry %d is of a loop inside", k));
    }
    for (int k = 0; k < l->xs.n; k++) {
        if (!outside(l, l->xs.at[k].outer)) return at_node(l->xs.at[k].outer, "a stack read by a loop lies inside it");
        if (l->xs.at[k].arg->loop != l) return at_node(l->xs.at[k].arg, "it is not of the loop that has it");
    }
    for (int k = 0; k < l->ys.n; k++)
        if (!loop_inside(l, l->ys.at[k]->in_loop)) return at_node(l->ys.at[k], "a stacked value is of a loop inside");
    return NULL;
}

/* ------------------------------------------------------------------ nodes */

static Node *need(const Node *n, int i)
{
    if (n->op != OP_loop) return i < n->nin ? n->in[i] : NULL;
    const Loop *l = n->loop;
    if (!l) return NULL;
    if (i < l->carries.n) return l->carries.at[i].init;
    if ((i -= l->carries.n) < l->xs.n) return l->xs.at[i].outer;
    if ((i -= l->xs.n) < l->carries.n) return l->carries.at[i].next;
    if ((i -= l->carries.n) < l->ys.n) return l->ys.at[i];
    return NULL;
}

static const char *level_fault(const Node *n)
{
    const Loop *innermost = NULL;
    if (n->op == OP_loop_arg) innermost = n->loop;
    else if (n->op == OP_loop) innermost = n->loop->parent;
    for (int i = 0; i < n->nin; i++) {
        const Loop *l = n->in[i]->in_loop;
        if (l && (!innermost || l->id > innermost->id)) innermost = l;
        if (!loop_inside(n->in_loop, l))
            return format("input %d is of loop %d, which the node does not lie in", i, l->id);
    }
    if (n->in_loop != innermost) return "it is not in the innermost loop that its inputs reach";
    return NULL;
}

static const char *leaf_fault(Check *c, Node *n)
{
    if (!is_named_leaf(n->op)) return NULL;
    for (int i = 0; i < c->leaves.n; i++) {
        const Node *other = c->leaves.at[i];
        if (same(other->name, n->name) && other->op == n->op)
            return format("there is another leaf of that name: %s", node_text(other));
    }
    push(&c->leaves, n);
    return NULL;
}

static const char *fault_of(Check *c, Node *n)
{
    const char *fault = NULL;
    if (n->id < 0 || n->id >= c->ids) return format("a node has the id %d", n->id);
    for (int i = 0; i < n->nin && !fault; i++)
        if (!n->in[i]) return format("input %d of %s (node %d) is missing", i, op_info[n->op].name, n->id);
    if (n->phase != 0 && n->phase != 1) fault = "its phase is neither 0 nor 1";
    if (!fault) fault = node_fault(n);
    if (!fault && n->op == OP_loop && n->loop->node != n) fault = "it is not its loop's node";
    if (!fault && n->op == OP_loop) fault = loop_fault(n->loop, false);
    if (!fault) fault = level_fault(n);
    if (!fault) fault = leaf_fault(c, n);
    return fault ? at_node(n, fault) : NULL;
}

/* Depth first, without recursion; reaching a node that is being visited means a cycle. */
static const char *visit(Check *c, Node *root)
{
    VEC(struct Frame {
        Node *n;
        int next;
    }) stack = {0};
    if (c->color[root->id] == 2) return NULL;
    push(&stack, ((struct Frame){root, 0}));
    c->color[root->id] = 1;
    while (stack.n) {
        struct Frame *f = &stack.at[stack.n - 1];
        Node *child = need(f->n, f->next++);
        if (!child) {
            const char *fault = fault_of(c, f->n);
            if (fault) return fault;
            c->color[f->n->id] = 2;
            stack.n--;
        } else if (c->color[child->id] == 1) {
            return at_node(child, "it needs itself");
        } else if (c->color[child->id] == 0) {
            c->color[child->id] = 1;
            push(&stack, ((struct Frame){child, 0}));
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ outputs, graphs */

/* Does a state's next value (inside micro, of one micro-batch) or a gradient (of a stored parameter, real) fit its
 * leaf? */
static bool fits_leaf(const Graph *g, const Output *o, const Node *leaf)
{
    Shape s = leaf->shape;
    bool slice = false;
    for (int k = 0; g->micro && k < g->micro->xs.n; k++) slice |= g->micro->xs.at[k].outer == leaf;
    if (slice) memmove(s.dim, s.dim + 1, sizeof *s.dim * (size_t)--s.rank);
    bool gradient = o->kind == OUT_GRAD && is_stored(leaf->dtype) && is_real(o->node->dtype);
    return same_shape(s, o->node->shape) && (leaf->dtype == o->node->dtype || gradient);
}

static const char *out_fault(const Check *c, const Output *o, bool first)
{
    const Node *n = o->node;
    if (!o->name || !*o->name) return at_node(n, "an output has no name");
    if (has_several(n)) return at_node(n, "an output has several values");
    if (n->in_loop && n->in_loop != c->g->micro) return at_node(n, format("output %s lies in a loop", o->name));
    if (first && o->kind == OUT_VALUE && ((c->g->wants_grads && !entry_of(c->g)->pulls) || same(o->name, "loss")) &&
        (n->shape.rank || !is_real(n->dtype)))
        return at_node(n, "the loss is not one real number");
    if (o->kind == OUT_VALUE) return NULL;
    Op op = o->kind == OUT_GRAD ? OP_parameter : OP_state;
    for (int i = 0; i < c->leaves.n; i++)
        if (c->leaves.at[i]->op == op && same(c->leaves.at[i]->name, o->name) && !fits_leaf(c->g, o, c->leaves.at[i]))
            return at_node(n, format("the output towards %s has another type than that", node_text(c->leaves.at[i])));
    return NULL;
}

static const char *micro_fault(Check *c, const Loop *l)
{
    if (l->node) return "the loop over micro-batches is closed and still said to be open";
    const char *fault = NULL;
    for (int k = 0; k < l->carries.n && !fault; k++) {
        fault = visit(c, l->carries.at[k].init);
        if (!fault && l->carries.at[k].next) fault = visit(c, l->carries.at[k].next);
    }
    for (int k = 0; k < l->xs.n && !fault; k++) fault = visit(c, l->xs.at[k].outer);
    for (int k = 0; k < l->ys.n && !fault; k++) fault = visit(c, l->ys.at[k]);
    return fault ? fault : loop_fault(l, true);
}

const char *graph_fault(const Graph *g)
{
    Check c = {.g = g, .ids = node_count()};
    c.color = NEW_ARRAY(char, c.ids);
    const char *fault = NULL;
    for (int i = 0; i < g->outs.n; i++)
        if (!g->outs.at[i].node) return format("output %s is missing", g->outs.at[i].name);
    bool turn = g->turn && same(g->name, name_of_entry(g->entry, g->turn));
    bool grown = g->grown && g->entry == ENTRY_train && same(g->name, name_of_grown(g->grown));
    if (g->name && !turn && !grown && (g->turn || g->entry != entry_named(g->name)))
        return format("it is called %s and is another entry", g->name);
    if (g->wants_grads && g->outs.n && g->outs.at[0].kind != OUT_VALUE)
        return "grads are of a loss: the first output is a value";
    if (g->micro) fault = micro_fault(&c, g->micro);
    for (int i = 0; i < g->outs.n && !fault; i++) fault = visit(&c, g->outs.at[i].node);
    for (int i = 0; i < g->outs.n && !fault; i++) fault = out_fault(&c, &g->outs.at[i], i == 0);
    return fault;
}

void check_graph(const Graph *g, const char *stage)
{
    const char *fault = graph_fault(g);
    if (fault) die("graph %s after %s: %s", g->name ? g->name : "?", stage, fault);
}
