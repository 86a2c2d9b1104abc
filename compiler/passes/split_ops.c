/* split_ops.c: an op of a loop body done for all iterations at once, the iteration axis in front; and sums over
 * iterations. */
#include "passes/split.h"

/* One more batch axis: the parts that all samples share must be the same in all iterations.  (Heads are no whole ops
 * any more: pass_whole comes first.) */
static bool whole_has_along(const Node *n)
{
    if (n->op != OP_attention && n->op != OP_attention_back) return false;
    for (int k = 0; k < n->nin; k++)
        if (is_attention_number(n, k) && n->in[k]->in_loop == n->in_loop) return false;
    return n->in[0]->shape.rank + 2 <= MAXRANK; /* its scores in groups of heads */
}

bool has_along(const Node *n)
{
    if (n->shape.rank >= MAXRANK) return false;
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->shape.rank >= MAXRANK) return false;
    const Node *from = n->op == OP_pick ? n->in[0] : n;
    if (op_info[from->op].kind == WHOLE) return whole_has_along(from);
    if (op_parts[from->op].fault) return op_parts[from->op].split;
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

static Node *split_attention(const Node *n, const Trips *in, int64_t trip)
{
    Node **all = NEW_ARRAY(Node *, n->nin);
    for (int k = 0; k < n->nin; k++) all[k] = is_attention_number(n, k) ? in[k].node : spread_trips(in[k], trip);
    return whole_op(n->op, n->nin, all, n->nints, n->ints);
}

Node *along(const Node *n, const Trips *in, int64_t trip)
{
    if (op_parts[n->op].split) return op_parts[n->op].split(n, in, trip);
    switch (n->op) {
    case OP_attention:
    case OP_attention_back: return split_attention(n, in, trip);
    case OP_pick: return pick(in[0].node, (int)n->ints[0], (int)n->ints[1]);
    default: break;
    }
    must(op_info[n->op].kind == MAP || op_info[n->op].kind == REDUCE);
    return op_info[n->op].kind == MAP ? mapped(n, in, trip) : reduced_along(n, in[0].node);
}
