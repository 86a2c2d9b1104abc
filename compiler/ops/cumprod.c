/* cumprod.c: running products along an axis, from its start or from its end. */
#include "ops/lines.h"

const char *cumprod_fault(const Node *n, Type *results) { return scan_fault(n, results); }

void cumprod_eval(const Node *n, const Value *in, Value *out) { scan_eval(n, in, out, 1, OP_mul); }

Row_fact cumprod_rows(Rows *r, Row_pair *p)
{
    (void)r;
    return rows_along(p, row_input(p, 0), "a running product runs along the batch axis");
}

static Node *numbers(double v, const Node *like) { return filled(v, like->dtype, like->shape); }

/* With y = cumprod(x), dx_j = Σ_{k >= j} g_k y_k / x_j before the first zero of a line.  At that zero y_k / x_j is the
 * product with 1 in its place; behind it the gradient is 0. */
void cumprod_gradient(Grad_level *lv, Node *n, Node *g)
{
    Node *x = value(lv, n->in[0]), *y = value(lv, n), *none = numbers(0, x), *one = numbers(1, x);
    int axis = (int)n->ints[0];
    bool back = n->ints[1];
    Node *is_zero = map2(OP_eq, x, none), *zeros = cumsum(where_op(is_zero, one, none), axis, back);
    Node *first = map2(OP_land, is_zero, map2(OP_eq, zeros, one));
    Node *without = scanned(OP_cumprod, where_op(first, one, x), axis, back);
    Node *before = map2(OP_div, cumsum(map2(OP_mul, g, y), axis, !back), where_op(is_zero, one, x));
    Node *at_zero = cumsum(map2(OP_mul, g, without), axis, !back);
    Node *is_before = map2(OP_eq, zeros, none);
    contribute(lv, n->in[0], where_op(is_before, before, where_op(first, at_zero, none)));
}

Node *cumprod_split(const Node *n, const Trips *in, int64_t trip)
{
    (void)trip;
    return scan_split(n, in);
}

const Kernel_part cumprod_kernel = {.kind = SCAN,
                                    .says = "{y} = running products of {x}",
                                    .anywhere = true,
                                    .running = "product",
                                    .start = "1",
                                    .step = "product *= %s;",
                                    .wraps = "product = mul_i32(product, %s);"};
