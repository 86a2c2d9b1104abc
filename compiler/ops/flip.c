/* flip.c: axes reversed. */
#include "ops/moves.h"

Node *flip(Node *a, int naxes, const int *axes)
{
    bool flipped[MAXRANK] = {false};
    for (int i = 0; i < naxes; i++) {
        must(axes[i] >= 0 && axes[i] < a->shape.rank && !flipped[axes[i]]);
        flipped[axes[i]] = true;
    }
    int64_t ints[MAXRANK];
    int n = 0;
    for (int i = 0; i < a->shape.rank; i++)
        if (flipped[i] && a->shape.dim[i] > 1) ints[n++] = i;
    return n ? node_of(OP_flip, a->dtype, a->shape, 1, &a, n, ints) : a;
}

const char *flip_fault(const Node *n, Type *results)
{
    Shape s = n->in[0]->shape;
    if (n->nints < 1 || !valid_axes(n, 0, n->nints, s.rank, true)) return "flip needs axes, ascending";
    return moved_into(n, s, results);
}

void flip_eval(const Node *n, const Value *in, Value *out) { placed_eval(n, in, out); }

static bool reverses(const Node *n, int axis)
{
    for (int i = 0; i < n->nints; i++)
        if (n->ints[i] == axis) return true;
    return false;
}

Place flip_place(const Node *n, int axis)
{
    return reverses(n, axis) ? (Place){axis, n->shape.dim[axis] - 1, -1} : (Place){axis, 0, 1};
}

Row_fact flip_rows(Rows *r, Row_pair *p)
{
    (void)r;
    Row_fact f = row_input(p, 0);
    bool reversed = f.kind == ROWS_EACH && reverses(p->node, f.axis);
    return reversed ? row_meets(p, "the batch axis is reversed") : f;
}

Range flip_range(const Node *n, int result, const Range *in)
{
    (void)n, (void)result;
    return in[0];
}

/* The same flip of v, which has `before` more axes in front. */
static Node *flipped_as(const Node *n, Node *v, int before)
{
    int axes[MAXRANK];
    for (int i = 0; i < n->nints; i++) axes[i] = (int)n->ints[i] + before;
    return flip(v, n->nints, axes);
}

void flip_gradient(Grad_level *lv, Node *n, Node *g) { contribute(lv, n->in[0], flipped_as(n, g, 0)); }

Node *flip_split(const Node *n, const Trips *in, int64_t trip)
{
    (void)trip;
    return flipped_as(n, in[0].node, 1);
}

void flip_axes(Node *n) { n->weak = n->in[0]->weak; }
