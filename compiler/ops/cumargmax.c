/* cumargmax.c: where the largest so far is, along an axis from its start or from its end: the last of equal ones. */
#include "ops/lines.h"

const char *cumargmax_fault(const Node *n, Type *results) { return scan_fault(n, results); }

/* A NaN counts as largest. */
void cumargmax_eval(const Node *n, const Value *in, Value *out)
{
    Lines l = lines_along(in->shape, (int)n->ints[0]);
    for (int64_t i = 0; i < l.outer; i++)
        for (int64_t j = 0; j < l.inner; j++) {
            int64_t from = i * l.extent * l.inner + j, best = n->ints[1] ? l.extent - 1 : 0;
            for (int64_t k = 0; k < l.extent; k++) {
                int64_t here = n->ints[1] ? l.extent - 1 - k : k;
                double x = in->at[from + here * l.inner];
                if (x >= in->at[from + best * l.inner] || x != x) best = here;
                out->at[from + here * l.inner] = (double)best;
            }
        }
}

Row_fact cumargmax_rows(Rows *r, Row_pair *p)
{
    return rows_along(p, row_demand(r, p, 0), "the largest so far is chosen along the batch axis");
}

Range cumargmax_range(const Node *n, int result, const Range *in)
{
    (void)result, (void)in;
    return (Range){0, n->shape.dim[n->ints[0]] - 1};
}

Node *cumargmax_split(const Node *n, const Trips *in, int64_t trip)
{
    (void)trip;
    return scan_split(n, in);
}

/* The only index of an axis with one element is 0. */
Node *cumargmax_normal(const Node *n, Node *const *in)
{
    return in[0]->shape.dim[n->ints[0]] == 1 ? filled(0, I32, n->shape) : NULL;
}

const Kernel_part cumargmax_kernel = {
    .kind = SCAN, .says = "{y} = where {x} is largest so far", .anywhere = true, .running = "best", .places = true};
