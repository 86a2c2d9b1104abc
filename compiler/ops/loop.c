/* loop.c: loops: opening, arguments, closing, results.  See struct Loop in graph/graph.h. */
#include "desc/desc.h"

#include <string.h>

static Node *new_argument(Loop *l, DType t, Shape s, int kind, int which)
{
    return intern(
        (Node){.op = OP_loop_arg, .dtype = t, .shape = s, .loop = l, .nints = 2, .ints = (int64_t[]){kind, which}});
}

Loop *loop_open(const char *name, int64_t trip, bool reverse)
{
    must(trip > 0);
    Loop *l = NEW(Loop);
    l->id = new_loop_id();
    l->trip = trip;
    l->reverse = reverse;
    l->name = name;
    l->index = new_argument(l, I32, (Shape){0}, ARG_INDEX, 0);
    return l;
}

Loop *loop_again(const Loop *old, bool reverse)
{
    Loop *l = loop_open(old->name, old->trip, reverse);
    l->keeps = old->keeps;
    l->apart = old->apart;
    l->axis = old->axis;
    return l;
}

Node *loop_carry(Loop *l, Node *init)
{
    Shape s = init->shape;
    if (init->known) memset(s.axis, 0, sizeof s.axis); /* zeros are anybody's: its next says what they are */
    Node *arg = new_argument(l, init->dtype, s, ARG_CARRY, l->carries.n);
    push(&l->carries, ((struct Carry){.init = init, .arg = arg}));
    return arg;
}

Node *loop_x(Loop *l, Node *stacked)
{
    for (int k = 0; k < l->xs.n; k++)
        if (l->xs.at[k].outer == stacked) return l->xs.at[k].arg;
    must(stacked->shape.rank > 0 && stacked->shape.dim[0] == l->trip);
    if (!l->axis) l->axis = stacked->shape.axis[0];
    Node *arg = new_argument(l, stacked->dtype, shape_behind(stacked->shape), ARG_X, l->xs.n);
    push(&l->xs, ((struct Stacked){.outer = stacked, .arg = arg}));
    return arg;
}

Node *as_argument(Node *new, const Node *old)
{
    if (new->op == OP_loop_arg) new->where = old->where;
    hand_on_title(new, old);
    return new;
}

void loop_next(Loop *l, int carry, Node *value)
{
    must(same_shape(value->shape, l->carries.at[carry].arg->shape) && value->dtype == l->carries.at[carry].arg->dtype);
    take_axes(&l->carries.at[carry].arg->shape, value->shape);
    l->carries.at[carry].next = value;
}

/* The innermost loop around l among those that n, a node of l's body, needs from outside. */
static void outside_loop(const Loop *l, const Node *n, Loop **found)
{
    Loop *o = n->in_loop;
    if (o && o->id < l->id && (!*found || o->id > (*found)->id)) *found = o;
}

/* What the body of `inner`, which is l or lies in it, needs from around l: an inner loop may skip levels. */
static void outside_of_body(const Loop *l, const Loop *inner, Loop **found)
{
    Nodes roots = {0}, body = {0};
    loop_roots(inner, &roots);
    nodes_at((Loop *)inner, roots.at, roots.n, &body);
    for (int i = 0; i < body.n; i++) {
        const Node *n = body.at[i];
        for (int k = 0; k < n->nin; k++) outside_loop(l, n->in[k], found);
        if (n->op == OP_loop) outside_of_body(l, n->loop, found);
    }
    for (int i = 0; i < roots.n; i++) outside_loop(l, roots.at[i], found);
    for (int k = 0; k < inner->carries.n; k++) outside_loop(l, inner->carries.at[k].init, found);
    for (int k = 0; k < inner->xs.n; k++) outside_loop(l, inner->xs.at[k].outer, found);
}

static Loop *parent_of(const Loop *l)
{
    Loop *found = NULL;
    outside_of_body(l, l, &found);
    return found;
}

Node *loop_close(Loop *l)
{
    for (int k = 0; k < l->carries.n; k++) must(l->carries.at[k].next);
    if (!l->node) l->node = intern((Node){.op = OP_loop, .dtype = F32, .loop = l, .phase = making().phase});
    l->parent = parent_of(l);
    l->node->in_loop = l->parent;
    return l->node;
}

Node *loop_result(Loop *l, int carry) { return pick(l->node, PICK_CARRY, carry); }

bool loop_stacks(const Loop *l, const Node *body_value)
{
    for (int k = 0; k < l->ys.n; k++)
        if (l->ys.at[k] == body_value) return true;
    return false;
}

void loop_yield(Loop *l, Node *body_value)
{
    if (!loop_stacks(l, body_value)) push(&l->ys, body_value);
}

Node *loop_stack(Loop *l, Node *body_value)
{
    int k = 0;
    while (k < l->ys.n && l->ys.at[k] != body_value) k++;
    if (k == l->ys.n) push(&l->ys, body_value);
    return pick(l->node, PICK_STACK, k);
}

bool loop_inside(const Loop *inner, const Loop *outer)
{
    if (!outer) return true;
    for (; inner; inner = inner->parent)
        if (inner == outer) return true;
    return false;
}
