/* argsort.c: the indices along an axis in the order of the elements.  ints: axis, 1 for falling order. */
#include "ops/lines.h"

#include <stdlib.h>

Node *argsort(Node *x, int axis, bool falling)
{
    must(axis >= 0 && axis < x->shape.rank && x->dtype != BOOL);
    return node_of(OP_argsort, I32, x->shape, 1, &x, 2, (int64_t[]){axis, falling});
}

const char *argsort_fault(const Node *n, Type *results)
{
    const char *fault = line_fault(n, 2);
    if (fault) return fault;
    *results = (Type){I32, n->in[0]->shape};
    return n->ints[1] != 0 && n->ints[1] != 1 ? "its order must be 0 or 1" : NULL;
}

typedef struct Placed {
    double x;
    int64_t at;
    bool falling;
} Placed;

/* A NaN counts as largest; of equal elements the first comes first. */
static int order_of_placed(const void *a, const void *b)
{
    const Placed *p = a, *q = b;
    bool p_nan = p->x != p->x, q_nan = q->x != q->x;
    if (p->x == q->x || (p_nan && q_nan)) return p->at < q->at ? -1 : 1;
    return (p->x > q->x || p_nan) != p->falling ? 1 : -1;
}

void argsort_eval(const Node *n, const Value *in, Value *out)
{
    Lines l = lines_along(in->shape, (int)n->ints[0]);
    Placed *line = take(l.extent * (int64_t)(sizeof *line / sizeof(double)));
    for (int64_t i = 0; i < l.outer; i++)
        for (int64_t j = 0; j < l.inner; j++) {
            int64_t from = i * l.extent * l.inner + j;
            for (int64_t k = 0; k < l.extent; k++) line[k] = (Placed){in->at[from + k * l.inner], k, n->ints[1]};
            qsort(line, (size_t)l.extent, sizeof *line, order_of_placed);
            for (int64_t k = 0; k < l.extent; k++) out->at[from + k * l.inner] = (double)line[k].at;
        }
    give(line);
}

Row_fact argsort_rows(Rows *r, Row_pair *p)
{
    return rows_along(p, row_demand(r, p, 0), "elements are sorted along the batch axis");
}

Range argsort_range(const Node *n, int result, const Range *in)
{
    (void)result, (void)in;
    return (Range){0, n->shape.dim[n->ints[0]] - 1};
}

Node *argsort_split(const Node *n, const Trips *in, int64_t trip)
{
    (void)trip;
    return argsort(in[0].node, (int)n->ints[0] + 1, n->ints[1]);
}

/* The only index of an axis with one element is 0. */
Node *argsort_normal(const Node *n, Node *const *in)
{
    return in[0]->shape.dim[n->ints[0]] == 1 ? filled(0, I32, n->shape) : NULL;
}

const Kernel_part argsort_kernel = {.kind = ARGSORT, .says = "{y} = the order of {x}", .anywhere = true};
