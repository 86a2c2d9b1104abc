/* over_ranks.c: the sum of a row of reals over the ranks that take a step together. */
#include "ops/parts.h"

#include <string.h>

Node *over_ranks(Node *x)
{
    must(x->shape.rank == 1 && is_real(x->dtype));
    return node_of(OP_over_ranks, x->dtype, x->shape, 1, &x, 0, NULL);
}

const char *over_ranks_fault(const Node *n, Type *results)
{
    const Node *x = n->in[0];
    *results = (Type){x->dtype, x->shape};
    return n->nints || !is_real(x->dtype) || x->shape.rank != 1 ? "it takes reals in a row" : NULL;
}

/* Of one alone: itself. */
void over_ranks_eval(const Node *n, const Value *in, Value *out)
{
    memcpy(out->at, in->at, (size_t)elements(n->shape) * sizeof *out->at);
}

Row_fact over_ranks_rows(Rows *r, Row_pair *p)
{
    (void)r;
    return row_input(p, 0);
}

const Kernel_part over_ranks_kernel = {.kind = OVER_RANKS, .says = "{y} = {x}, summed over the ranks", .dense = true};
