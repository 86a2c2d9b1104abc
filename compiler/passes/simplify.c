/* simplify.c: rewrites a graph, inputs first, until nothing applies: constants are computed, then
 * passes/rules.def, then the algebra of views.  Changes no result but for the sign of zeros and the rounding of
 * computed constants. Needs nothing.  Leaves stacks that hold one value in every slot as expansions of it. */
#include "graph/eval.h"
#include "passes/simplify.h"

#include <math.h>

/* ------------------------------------------------------------------ constants */

/* 1 / (BATCH * SEQ) still says so. */
static int axis_of_quotient(const Node *n, const double *in)
{
    if (n->op == OP_neg) return axis_shared(n->in[0]);
    return n->op == OP_div && fabs(in[0]) == 1 ? axis_counted(n->in[1]) : 0;
}

static Node *by_computing(Node *n)
{
    double in[5];
    if (op_info[n->op].kind != MAP) return NULL;
    for (int i = 0; i < n->nin; i++)
        if (!is_filled(n->in[i], &in[i])) return NULL;
    double value = eval_element(n->op, n->in[0]->dtype, n->dtype, in);
    return isfinite(value) ? filled_for(value, axis_of_quotient(n, in), n->dtype, n->shape) : NULL;
}

static Node *step_of_node(const Rules *rules, Node *n)
{
    Node *m = by_computing(n);
    if (!m) m = by_rules(rules, n);
    return m ? m : by_views(rules, n);
}

Node *simplified(const Rules *rules, Node *n)
{
    for (Node *m = step_of_node(rules, n); m && m != n; m = step_of_node(rules, n)) n = m;
    return n;
}

/* ------------------------------------------------------------------ loops */

typedef struct Simplify {
    bool changed;
    const Desc *desc;
    const Rules *rules;
} Simplify;

/* A slice of a stack that is the same everywhere is that, outside the loop. */
static Node *seen_through(const Rules *rules, Node *n)
{
    if (n->op != OP_loop_arg || n->ints[0] != ARG_X) return n;
    Node *stack = n->loop->xs.at[n->ints[1]].outer;
    if (is_filled(stack, NULL)) return refilled(stack, n->shape);
    if (stack->op != OP_expand || stack->in[0]->shape.dim[0] != 1) return n;
    Shape s = stack->in[0]->shape; /* [1, …] */
    Node *slot = simplified(rules, reshape(stack->in[0], shape_behind(s)));
    return simplified(rules, expand(slot, n->shape));
}

/* A stack of what does not change is an expansion. */
static Node *stacked_from_outside(const Node *old)
{
    if (old->op != OP_pick || old->in[0]->op != OP_loop || old->ints[0] != PICK_STACK) return NULL;
    const Loop *l = old->in[0]->loop;
    Node *y = l->ys.at[old->ints[1]];
    return loop_inside(y->in_loop, l) ? NULL : y;
}

static void needs(Rewrite *r, const Node *old, Nodes *out)
{
    (void)r;
    Node *y = stacked_from_outside(old);
    if (y) push(out, y);
}

static Node *simplify_stack(Rewrite *r, Node *old)
{
    Node *y = stacked_from_outside(old);
    if (!y) return NULL;
    Node *slot = rewritten(r, y);
    Simplify *s = r->user;
    Making was = make_beside(old);
    Node *n = simplified(s->rules, broadcast(slot, old->shape));
    make_with(was);
    s->changed = true;
    return n;
}

static bool is_class(const Node *n, Node *ids, const Desc *d)
{
    double below, ignored;
    return n->op == OP_class_id && is_filled(n->in[1], &below) && is_filled(n->in[2], &ignored) &&
           classes_below(ids, (int64_t)below, (int64_t)ignored, d);
}

static Node *simplify_node(Rewrite *r, Node *old, Node *const *in)
{
    Simplify *s = r->user;
    if (old->nin && is_class(old, in[0], s->desc)) {
        s->changed = true;
        return in[0];
    }
    Node **seen = NEW_ARRAY(Node *, old->nin + 1), *as_is = remade(old, in);
    for (int i = 0; i < old->nin; i++) seen[i] = seen_through(s->rules, in[i]);
    Node *n = simplified(s->rules, remade(old, seen));
    if (n != as_is) s->changed = true;
    return n;
}

/* Again while something changes: what a loop's body has become may show more outside, and the other way round. */
void pass_simplify(Graph *g, const Desc *d)
{
    Simplify s = {.changed = !without(d, PASS_simplify), .desc = d, .rules = read_rules()};
    while (s.changed) {
        s.changed = false;
        Rewrite r = {.node = simplify_node, .needs = needs, .before = simplify_stack, .user = &s};
        rewrite_graph(&r, g);
    }
}
