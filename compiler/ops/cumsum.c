/* cumsum.c: running sums along an axis, from its start or from its end. */
#include "ops/lines.h"

Node *cumsum(Node *x, int axis, bool backwards) { return scanned(OP_cumsum, x, axis, backwards); }

const char *cumsum_fault(const Node *n, Type *results) { return scan_fault(n, results); }

void cumsum_eval(const Node *n, const Value *in, Value *out) { scan_eval(n, in, out, 0, OP_add); }

Row_fact cumsum_rows(Rows *r, Row_pair *p)
{
    (void)r;
    return rows_along(p, row_input(p, 0), "a running sum runs along the batch axis");
}

Range cumsum_range(const Node *n, int result, const Range *in)
{
    (void)result;
    return range_product(in[0], (Range){1, n->shape.dim[n->ints[0]]});
}

void cumsum_gradient(Grad_level *lv, Node *n, Node *g)
{
    contribute(lv, n->in[0], cumsum(g, (int)n->ints[0], !n->ints[1]));
}

Node *cumsum_split(const Node *n, const Trips *in, int64_t trip)
{
    (void)trip;
    return scan_split(n, in);
}

const Kernel_part cumsum_kernel = {.kind = SCAN,
                                   .says = "{y} = running sums of {x}",
                                   .anywhere = true,
                                   .running = "total",
                                   .start = "0",
                                   .step = "total += %s;",
                                   .wraps = "total = add_i32(total, %s);"};
