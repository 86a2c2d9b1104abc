/* grad_ops.c: derivatives of the ops that have no row of their own: mixed maps, reductions. */
#include "graph/parts.h"
#include "ops/grad.h"

#include <string.h>

static Node *zeros_like(const Node *n) { return filled(0, n->dtype, n->shape); }

/* ------------------------------------------------------------------ sums of contributions */

/* The only axis along which pad n pads, or -1. */
static int padded_axis(const Node *n)
{
    int axis = -1, rank = n->shape.rank;
    if (n->op != OP_pad) return -1;
    for (int i = 0; i < rank; i++) {
        if (n->ints[i] + n->ints[rank + i] == 0) continue;
        if (axis >= 0) return -1;
        axis = i;
    }
    return axis;
}

/* Parts that are pads along `axis` and tile it, as one concat; else NULL.  Slices of one tensor (q, k, v of one
 * projection) contribute such parts.  taken[i]: parts[i] is in it. */
static Node *tiled(const Nodes *parts, int axis, bool *taken)
{
    Nodes tiles = {0};
    int64_t end = 0, extent = parts->at[0]->shape.dim[axis];
    for (bool found = true; found && end < extent;) {
        found = false;
        for (int i = 0; i < parts->n && !found; i++) {
            const Node *p = parts->at[i];
            if (taken[i] || padded_axis(p) != axis || p->ints[axis] != end) continue;
            push(&tiles, p->in[0]);
            end += p->in[0]->shape.dim[axis];
            found = taken[i] = true;
        }
    }
    return end == extent && tiles.n > 1 ? concat(tiles.n, tiles.at, axis) : NULL;
}

Node *sum_of(const Nodes *parts)
{
    Node *sum = NULL;
    bool *taken = NEW_ARRAY(bool, parts->n);
    for (int axis = 0; axis < parts->at[0]->shape.rank && !sum; axis++) {
        memset(taken, 0, sizeof *taken * (size_t)parts->n);
        sum = tiled(parts, axis, taken);
    }
    if (!sum) memset(taken, 0, sizeof *taken * (size_t)parts->n);
    for (int i = 0; i < parts->n; i++) {
        if (taken[i]) continue;
        sum = sum ? map2(OP_add, sum, parts->at[i]) : parts->at[i];
    }
    return sum;
}

/* ------------------------------------------------------------------ mixed maps, reductions */

static void grad_where(Grad_level *lv, Node *n, Node *g)
{
    Node *c = value(lv, n->in[0]);
    if (grad_active(lv, n->in[1])) contribute(lv, n->in[1], where_op(c, g, zeros_like(g)));
    if (grad_active(lv, n->in[2])) contribute(lv, n->in[2], where_op(c, zeros_like(g), g));
}

/* v, of the shape of reduction n, repeated along the axes that n reduces. */
static Node *spread(const Node *n, Node *v)
{
    Shape ones = n->in[0]->shape;
    for (int k = 0; k < n->nints; k++) ones.dim[n->ints[k]] = 1;
    return expand(reshape(v, ones), n->in[0]->shape);
}

/* Of a largest or smallest. */
static void grad_extreme(Grad_level *lv, Node *n, Node *g)
{
    Node *x = value(lv, n->in[0]);
    Node *is_it = map2(OP_eq, x, spread(n, value(lv, n)));
    int axes[MAXRANK];
    for (int k = 0; k < n->nints; k++) axes[k] = (int)n->ints[k];
    Node *ties = reduce(OP_sum, cast_op(is_it, x->dtype), n->nints, axes);
    Node *share = spread(n, map2(OP_div, g, ties));
    contribute(lv, n->in[0], where_op(is_it, share, zeros_like(x)));
}

/* ------------------------------------------------------------------ all of them */

bool grad_op(Grad_level *lv, Node *n, Node *g)
{
    Node *x = n->nin ? n->in[0] : NULL;
    switch (n->op) {
    case OP_where: return grad_where(lv, n, g), true;
    case OP_cast: return contribute(lv, x, cast_op(g, x->dtype)), true;
    case OP_sum: return contribute(lv, x, spread(n, g)), true;
    case OP_rmax:
    case OP_rmin: return grad_extreme(lv, n, g), true;
    default: break;
    }
    const Node *of = n->op == OP_pick ? x : n;
    if (op_parts[of->op].gradient) op_parts[of->op].gradient(lv, n, g);
    return op_parts[of->op].gradient;
}
