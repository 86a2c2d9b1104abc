/* argmax.c: the first index of the largest along an axis, which goes away. */
#include "ops/lines.h"

Node *argmax(Node *x, int axis)
{
    must(axis >= 0 && axis < x->shape.rank && x->dtype != BOOL);
    Shape s = {0};
    for (int i = 0; i < x->shape.rank; i++)
        if (i != axis) s = with_axis(s, x->shape, i);
    return node_of(OP_argmax, I32, s, 1, &x, 1, &(int64_t){axis});
}

const char *argmax_fault(const Node *n, Type *results)
{
    const char *fault = line_fault(n, 1);
    if (fault) return fault;
    Shape s = n->in[0]->shape;
    s.rank--;
    for (int i = (int)n->ints[0]; i < s.rank; i++) s.dim[i] = s.dim[i + 1];
    *results = (Type){I32, s};
    return NULL;
}

/* The first of the largest; a NaN counts as largest. */
static int64_t place_of_largest(const double *at, const Lines *l)
{
    int64_t best = 0;
    for (int64_t k = 1; k < l->extent; k++) {
        double x = at[k * l->inner], y = at[best * l->inner];
        if (x > y || (x != x && y == y)) best = k;
    }
    return best;
}

void argmax_eval(const Node *n, const Value *in, Value *out)
{
    Lines l = lines_along(in->shape, (int)n->ints[0]);
    for (int64_t i = 0; i < l.outer; i++)
        for (int64_t j = 0; j < l.inner; j++)
            out->at[i * l.inner + j] = (double)place_of_largest(in->at + i * l.extent * l.inner + j, &l);
}

Row_fact argmax_rows(Rows *r, Row_pair *p)
{
    Row_fact f = rows_along(p, row_demand(r, p, 0), "the largest is chosen along the batch axis");
    f.axis -= f.kind == ROWS_EACH && f.axis > p->node->ints[0];
    return f;
}

Range argmax_range(const Node *n, int result, const Range *in)
{
    (void)result, (void)in;
    return (Range){0, n->in[0]->shape.dim[n->ints[0]] - 1};
}

Node *argmax_split(const Node *n, const Trips *in, int64_t trip)
{
    (void)trip;
    return argmax(in[0].node, (int)n->ints[0] + 1);
}

/* Of one element it is that. */
Node *argmax_normal(const Node *n, Node *const *in)
{
    return in[0]->shape.dim[n->ints[0]] == 1 ? filled(0, I32, n->shape) : NULL;
}

const Kernel_part argmax_kernel = {.kind = ARGMAX, .says = "{y} = where {x} is largest", .anywhere = true};
