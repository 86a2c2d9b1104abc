/* reshape.c: the same elements in the same order, another shape. */
#include "ops/moves.h"

#include <string.h>

Node *reshape(Node *a, Shape s)
{
    if (same_shape(a->shape, s)) return a;
    must(elements(a->shape) == elements(s));
    return node_of(OP_reshape, a->dtype, s, 1, &a, 0, NULL);
}

const char *reshape_fault(const Node *n, Type *results)
{
    if (n->nints) return "it has no ints";
    if (elements(n->in[0]->shape) != elements(n->shape)) return "a reshape keeps the number of elements";
    return moved_into(n, n->shape, results);
}

void reshape_eval(const Node *n, const Value *in, Value *out)
{
    memcpy(out->at, in->at, sizeof *in->at * (size_t)elements(n->shape));
}

Row_fact reshape_rows(Rows *r, Row_pair *p)
{
    Row_fact f = row_input(p, 0);
    return f.kind == ROWS_EACH ? row_reshaped(r, p, f, p->in[0]->wider->shape, p->wider->shape) : f;
}

Range reshape_range(const Node *n, int result, const Range *in)
{
    (void)n, (void)result;
    return in[0];
}

void reshape_gradient(Grad_level *lv, Node *n, Node *g) { contribute(lv, n->in[0], reshape(g, n->in[0]->shape)); }

Node *reshape_split(const Node *n, const Trips *in, int64_t trip)
{
    return reshape(in[0].node, in_front(trip, n->shape));
}

/* Unit axes apart, does it keep every axis?  Then to[i] is the result's axis of the input's axis i. */
static bool keeps_axes(Shape from, Shape into, int *to)
{
    int k = 0;
    for (int i = 0; i < from.rank; i++) {
        if (from.dim[i] == 1) continue;
        while (k < into.rank && into.dim[k] == 1) k++;
        if (k == into.rank || into.dim[k] != from.dim[i]) return false;
        to[i] = k;
        k++;
    }
    while (k < into.rank && into.dim[k] == 1) k++;
    return k == into.rank;
}

Place reshape_place(const Node *n, int axis)
{
    int to[MAXRANK];
    bool found = n->in[0]->shape.dim[axis] != 1 && keeps_axes(n->in[0]->shape, n->shape, to);
    return found ? (Place){to[axis], 0, 1} : (Place){.axis = -1};
}

void reshape_axes(Node *n)
{
    n->weak = n->in[0]->weak ? ~0u : 0;
    axes_of_reshape(n->in[0]->shape, &n->shape);
}
