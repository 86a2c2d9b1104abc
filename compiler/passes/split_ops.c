/* split_ops.c: an op of a loop body done for all iterations at once, the iteration axis in front; and sums over
 * iterations. */
#include "passes/split.h"

bool has_along(const Node *n)
{
    if (n->shape.rank >= MAXRANK) return false;
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->shape.rank >= MAXRANK) return false;
    const Node *from = n->op == OP_pick ? n->in[0] : n;
    const Parts *p = &op_parts[from->op];
    if (p->rows) return p->split && (!p->splits || p->splits(from));
    return from->op != OP_loop && from->op != OP_loop_arg;
}

/* ------------------------------------------------------------------ maps, reductions */

static Node *mapped(const Node *n, const Trips *in, int64_t trip)
{
    Node **all = NEW_ARRAY(Node *, n->nin);
    for (int i = 0; i < n->nin; i++) all[i] = spread_trips(in[i], trip);
    return node_of(n->op, n->dtype, in_front(trip, n->shape), n->nin, all, 0, NULL);
}

static Node *reduced_along(const Node *n, Node *v)
{
    int axes[MAXRANK];
    for (int i = 0; i < n->nints; i++) axes[i] = (int)n->ints[i] + 1;
    return reduce(n->op, v, n->nints, axes);
}

Node *total_sum(const Node *n, Node *in)
{
    int axes[MAXRANK] = {0};
    for (int i = 0; i < n->nints; i++) axes[i + 1] = (int)n->ints[i] + 1;
    return reduce(OP_sum, in, n->nints + 1, axes);
}

/* ------------------------------------------------------------------ all of them */

Node *along(const Node *n, const Trips *in, int64_t trip)
{
    if (op_parts[n->op].split) return op_parts[n->op].split(n, in, trip);
    if (n->op == OP_pick) return pick(in[0].node, (int)n->ints[0], (int)n->ints[1]);
    must(op_info[n->op].kind == MAP || op_info[n->op].kind == REDUCE);
    return op_info[n->op].kind == MAP ? mapped(n, in, trip) : reduced_along(n, in[0].node);
}
