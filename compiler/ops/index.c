/* index.c: ops that address by integer tensors, and those that walk along an axis in order. */
#include "desc/desc.h"

/* x[:axis] + ids[nbatch:] + x[axis+1:] */
static Shape gathered(Shape x, Shape ids, int axis, int nbatch)
{
    must(axis >= nbatch && axis < x.rank && nbatch <= ids.rank);
    for (int i = 0; i < nbatch; i++) must(x.dim[i] == ids.dim[i]);
    must(x.rank - 1 + ids.rank - nbatch <= MAXRANK);
    Shape s = {0};
    for (int i = 0; i < axis; i++) s = with_axis(s, x, i);
    for (int i = nbatch; i < ids.rank; i++) s = with_axis(s, ids, i);
    for (int i = axis + 1; i < x.rank; i++) s = with_axis(s, x, i);
    return s;
}

Node *gather(Node *x, Node *ids, int axis, int nbatch)
{
    must(ids->dtype == I32);
    Shape s = gathered(x->shape, ids->shape, axis, nbatch);
    return node_of(OP_gather, x->dtype, s, 2, (Node *[]){x, ids}, 2, (int64_t[]){axis, nbatch});
}

Node *scatter_add(Node *updates, Node *ids, Shape s, int axis, int nbatch)
{
    must(ids->dtype == I32 && updates->dtype != BOOL);
    must(same_shape(updates->shape, gathered(s, ids->shape, axis, nbatch)));
    return node_of(OP_scatter_add, updates->dtype, s, 2, (Node *[]){updates, ids}, 2, (int64_t[]){axis, nbatch});
}

Node *overwrite(Node *x, Node *ids, Node *updates, int axis, int nbatch)
{
    must(ids->dtype == I32 && updates->dtype == x->dtype);
    must(same_shape(updates->shape, gathered(x->shape, ids->shape, axis, nbatch)));
    return node_of(OP_overwrite, x->dtype, x->shape, 3, (Node *[]){x, ids, updates}, 2, (int64_t[]){axis, nbatch});
}

Node *argmax(Node *x, int axis)
{
    must(axis >= 0 && axis < x->shape.rank && x->dtype != BOOL);
    Shape s = {0};
    for (int i = 0; i < x->shape.rank; i++)
        if (i != axis) s = with_axis(s, x->shape, i);
    return node_of(OP_argmax, I32, s, 1, &x, 1, &(int64_t){axis});
}

Node *cumsum(Node *x, int axis, bool backwards)
{
    must(axis >= 0 && axis < x->shape.rank && x->dtype != BOOL);
    return node_of(OP_cumsum, x->dtype, x->shape, 1, &x, 2, (int64_t[]){axis, backwards});
}

Node *over_ranks(Node *x)
{
    must(x->shape.rank == 1 && is_real(x->dtype));
    return node_of(OP_over_ranks, x->dtype, x->shape, 1, &x, 0, NULL);
}

Node *topk(Node *x, int axis, int64_t k)
{
    must(axis >= 0 && axis < x->shape.rank && k > 0 && k <= x->shape.dim[axis] && is_real(x->dtype));
    return node_of(OP_topk, x->dtype, (Shape){0}, 1, &x, 2, (int64_t[]){axis, k});
}
