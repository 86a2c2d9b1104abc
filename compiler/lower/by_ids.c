/* by_ids.c: products with matrices chosen by ids as kernels: which operands the runtime can read and write in place.
 *
 * The rows of x, which may have several axes, lie [outer][inner] with any strides, so the rows of one token that
 * several matrices multiply are read where they lie once.  Matrices have any strides between rows; ids have no gaps. */
#include "lower/lower.h"

bool rows_of_two(const View *v, View *over)
{
    int last = v->shape.rank - 1;
    int64_t inner = last > 1 ? v->shape.dim[last - 1] : 1;
    int64_t outer = elements(v->shape) / max64(inner * v->shape.dim[last], 1);
    Shape s = {.rank = 3, .dim = {outer, inner, v->shape.dim[last]}};
    return !v->guarded && neighbours(v) && view_reshape(v, s, over);
}

static bool readable(const Node *n, int k, const View *v)
{
    View over;
    if (k == 2) return view_is_dense(v);
    return k == 1 && !sums_by_ids(n) ? neighbours(v) : rows_of_two(v, &over);
}

void straighten_by_ids(Cut *cut, Node *n)
{
    for (int k = 0; k < n->nin; k++) {
        View v = reading(cut, n->in[k]).view;
        if (!readable(n, k, &v) || v.guarded || !has_address(cut, n->in[k])) info(cut, n->in[k])->forced = true;
    }
}

bool by_ids_fits_at(const Node *result, const View *v)
{
    View over;
    return sums_by_ids(result->in[0]) ? neighbours(v) : rows_of_two(v, &over);
}

void fill_by_ids(Cut *cut, Node *n, Kernel *k)
{
    const Shape *left = &n->in[0]->shape, *right = &n->in[1]->shape;
    k->kind = BY_IDS;
    k->flops = 2 * (double)elements(*left);
    k->flops *= (double)right->dim[sums_by_ids(n) ? right->rank - 1 : 3 - (int)n->ints[0]];
    for (int i = 0; i < n->nin; i++) push(&k->reads, ((Operand){.node = n->in[i], .view = final_view(cut, n->in[i])}));
}
