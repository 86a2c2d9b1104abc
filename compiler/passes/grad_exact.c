/* grad_exact.c: closes the loop over the parts of a batch so that any number of them is added up in one order
 * (--exact-sums): neighbours, then neighbouring pairs, ((0+1)+(2+3))+((4+5)+(6+7)).
 *
 * The loop becomes loops of two iterations, one in the other.  Each adds up from zero what the next inner one gives,
 * and (0 + x) + y is x + y: so there is one partial sum for each of them.  A part alone gets a loop of one iteration:
 * its kernels, and a zero without a sign, are those of many parts.  No product adds into a partial sum
 * (lower/absorb.c), since a part's gradient has its bits whatever was computed before it. */
#include "graph/parts.h"
#include "passes/passes.h"

typedef struct Nest {
    const Loop *parts; /* the open loop that it replaces */
    VEC(Loop *) loops; /* outermost first */
    Rewrite copy;      /* of the body of parts, into the innermost */
    VEC(Node *) value; /* of each output: in the loop that is being closed, what becomes of it */
    VEC(int) carry;    /* of each output: of that loop, or one of these */
} Nest;
enum { STACKED = -1, OUTSIDE = -2 };

/* ------------------------------------------------------------------ the loops */

static Shape after_axis(int64_t extent, Shape s)
{
    Shape all = {.rank = 1, .dim = {extent}};
    for (int k = 0; k < s.rank; k++) all = with_axis(all, s, k);
    return all;
}

/* Of as many values of shape s, which share their first axis. */
static Shape shape_of_many(Shape s, int64_t many)
{
    if (many == 1) return s;
    if (!s.rank) return (Shape){.rank = 1, .dim = {many}};
    s.dim[0] *= many;
    s.axis[0] = 0;
    return s;
}

/* What the innermost loop sees of outer [parts, …]. */
static Node *slice_of_part(const Nest *t, Node *outer)
{
    const Shape s = shape_behind(outer->shape);
    int64_t many = t->parts->trip;
    for (int k = 0; k < t->loops.n; k++) {
        Loop *l = t->loops.at[k];
        many /= l->trip;
        outer = loop_x(l, reshape(outer, after_axis(l->trip, shape_of_many(s, many))));
    }
    return outer;
}

static Node *number_of_part(const Nest *t)
{
    Node *n = t->loops.at[0]->index;
    for (int k = 1; k < t->loops.n; k++)
        n = map2(OP_add, map2(OP_mul, n, scalar((double)t->loops.at[k]->trip, I32)), t->loops.at[k]->index);
    return n;
}

static Node *stays_outside(Rewrite *r, Node *old)
{
    const Nest *t = r->user;
    return loop_inside(old->in_loop, t->parts) ? NULL : old;
}

static void open_nest(Nest *t, const Loop *parts)
{
    must(!parts->carries.n);
    t->parts = parts;
    for (int64_t many = parts->trip; many > 1 || !t->loops.n; many /= 2) {
        must(many == 1 || many % 2 == 0);
        Loop *l = loop_open(parts->name, min64(many, 2), false);
        l->keeps = l->apart = true;
        push(&t->loops, l);
    }
    t->copy = (Rewrite){.before = stays_outside, .user = t};
    *table_at(&t->copy.done, parts->index) = number_of_part(t);
    for (int k = 0; k < parts->xs.n; k++)
        *table_at(&t->copy.done, parts->xs.at[k].arg) =
            as_argument(slice_of_part(t, parts->xs.at[k].outer), parts->xs.at[k].arg);
}

/* ------------------------------------------------------------------ what comes out of them */

/* The outermost also makes a mean of the sum: a power of two, so nothing is rounded twice. */
static void add_to_sum(Nest *t, Loop *l, int i, const Node *titled)
{
    Node *v = t->value.at[i], *sum = loop_carry(l, filled(0, v->dtype, v->shape));
    title_instead(sum, titled);
    if (l == t->loops.at[0] && t->parts->trip > 1)
        v = map2(OP_mul, v, filled(1.0 / (double)t->parts->trip, v->dtype, v->shape));
    t->carry.at[i] = l->carries.n - 1;
    loop_next(l, t->carry.at[i], map2(OP_add, sum, v));
}

static void close_one(Nest *t, const Graph *g, int k)
{
    Loop *l = t->loops.at[k];
    for (int i = 0; i < g->outs.n; i++)
        if (g->outs.at[i].kind == OUT_GRAD) add_to_sum(t, l, i, g->outs.at[i].node);
        else if (t->carry.at[i] == STACKED) loop_yield(l, t->value.at[i]);
    Making was = make_in_phase(0);
    loop_close(l);
    for (int i = 0; i < g->outs.n; i++) {
        Node **v = &t->value.at[i];
        if (g->outs.at[i].kind == OUT_GRAD) title_instead(*v = loop_result(l, t->carry.at[i]), g->outs.at[i].node);
        else if (t->carry.at[i] == STACKED) {
            Node *stack = loop_stack(l, *v);
            *v = k ? reshape(stack, shape_of_many((*v)->shape, l->trip)) : stack;
        }
    }
    make_with(was);
}

Node *sum_in_pairs(Node *n)
{
    while (n->shape.dim[0] > 1) {
        int64_t from[MAXRANK] = {0}, extent[MAXRANK], step[MAXRANK];
        for (int k = 0; k < n->shape.rank; k++) extent[k] = n->shape.dim[k], step[k] = 1;
        extent[0] /= 2;
        step[0] = 2;
        Node *even = slice(n, from, extent, step);
        from[0] = 1;
        n = map2(OP_add, even, slice(n, from, extent, step));
    }
    return reshape(n, shape_behind(n->shape));
}

/* The value behind all loops: of a stack [parts, …] the mean, if it is one number of each part. */
static Node *value_behind_nest(const Nest *t, Node *stack, const Output *o)
{
    const int64_t parts = t->parts->trip;
    stack = reshape(stack, after_axis(parts, o->node->shape));
    if (o->kind == OUT_STATE || o->node->shape.rank || !is_real(o->node->dtype)) return stack;
    return map2(OP_mul, sum_in_pairs(stack), scalar(1.0 / (double)parts, stack->dtype));
}

void close_in_pairs(Graph *g)
{
    Nest t = {0};
    open_nest(&t, g->micro);
    for (int i = 0; i < g->outs.n; i++) {
        const Output *o = &g->outs.at[i];
        bool each = o->node->in_loop == g->micro;
        push(&t.value, each ? rewritten(&t.copy, o->node) : o->node);
        push(&t.carry, each ? STACKED : OUTSIDE);
    }
    for (int k = t.loops.n - 1; k >= 0; k--) close_one(&t, g, k);
    Making was = make_in_phase(0);
    for (int i = 0; i < g->outs.n; i++) {
        Output *o = &g->outs.at[i];
        if (o->kind == OUT_GRAD) o->node = t.value.at[i];
        else if (t.carry.at[i] == STACKED) o->node = value_behind_nest(&t, t.value.at[i], o);
        else if (o->kind == OUT_STATE) o->node = broadcast(o->node, after_axis(t.parts->trip, o->node->shape));
    }
    g->micro = NULL;
    make_with(was);
}
