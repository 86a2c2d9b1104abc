/* expand.c: axes of extent 1 repeated. */
#include "ops/moves.h"

Node *expand(Node *a, Shape s)
{
    if (same_shape(a->shape, s)) return a;
    must(a->shape.rank == s.rank);
    for (int i = 0; i < s.rank; i++) must(a->shape.dim[i] == s.dim[i] || a->shape.dim[i] == 1);
    return node_of(OP_expand, a->dtype, s, 1, &a, 0, NULL);
}

Node *broadcast(Node *a, Shape s)
{
    must(a->shape.rank <= s.rank);
    Shape aligned = {0}, one = {1, {1}, {0}};
    for (int i = 0, extra = s.rank - a->shape.rank; i < s.rank; i++)
        aligned = i < extra ? with_axis(aligned, one, 0) : with_axis(aligned, a->shape, i - extra);
    return expand(reshape(a, aligned), s);
}

const char *expand_fault(const Node *n, Type *results)
{
    Shape from = n->in[0]->shape, s = n->shape;
    if (n->nints) return "it has no ints";
    if (from.rank != s.rank) return "expand keeps the number of axes";
    for (int i = 0; i < s.rank; i++)
        if (from.dim[i] != s.dim[i] && from.dim[i] != 1) return "expand repeats axes of extent 1";
    return moved_into(n, s, results);
}

void expand_eval(const Node *n, const Value *in, Value *out) { placed_eval(n, in, out); }

Place expand_place(const Node *n, int axis) { return (Place){axis, 0, n->in[0]->shape.dim[axis] == 1 ? 0 : 1}; }

Row_fact expand_rows(Rows *r, Row_pair *p)
{
    (void)r;
    return row_input(p, 0);
}

Range expand_range(const Node *n, int result, const Range *in)
{
    (void)n, (void)result;
    return in[0];
}

void expand_gradient(Grad_level *lv, Node *n, Node *g)
{
    int axes[MAXRANK], naxes = 0;
    for (int i = 0; i < n->shape.rank; i++)
        if (n->in[0]->shape.dim[i] != n->shape.dim[i]) axes[naxes++] = i;
    contribute(lv, n->in[0], reshape(reduce(OP_sum, g, naxes, axes), n->in[0]->shape));
}

Node *expand_split(const Node *n, const Trips *in, int64_t trip)
{
    return expand(in[0].node, in_front(trip, n->shape));
}

void expand_axes(Node *n)
{
    n->weak = n->in[0]->weak;
    for (int k = 0; k < n->shape.rank; k++) n->weak |= (unsigned)(n->in[0]->shape.dim[k] != n->shape.dim[k]) << k;
    axes_of_inputs(n);
}
