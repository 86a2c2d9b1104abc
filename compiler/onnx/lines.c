/* lines.c: operations along an axis as operators: running values, the largest, orders. */
#include "onnx/onnx.h"

#include <math.h>

void onnx_argmax(Onnx *o)
{
    const Node *n = o->node;
    Text t = {0};
    attribute_int(&t, "axis", n->ints[0]);
    attribute_int(&t, "keepdims", 0);
    set_name(o, n, cast_in_file(o, operator_n(o, "ArgMax", 1, (const char *[]){whole_input(o, 0)}, &t), ONNX_I32));
}

void onnx_cumsum(Onnx *o)
{
    const Node *n = o->node;
    Text t = {0};
    attribute_int(&t, "reverse", n->ints[1]);
    set_name(o, n, operator_n(o, "CumSum", 2, (const char *[]){whole_input(o, 0), long_in_file(o, n->ints[0])}, &t));
}

/* ------------------------------------------------------------------ running values that ONNX lacks
 *
 * By doubling: after k turns each element has the result over itself and the 2^k - 1 before it. */

/* The elements `by` places before each along the node's axis, in its direction; where there are none, `none`. */
static const char *places_before(Onnx *o, const char *a, int64_t by, const char *none)
{
    const Node *n = o->node;
    bool backwards = n->ints[1];
    int64_t axis = n->ints[0], extent = n->shape.dim[axis], around[2 * MAXRANK] = {0};
    int64_t start = backwards ? by : 0, end = backwards ? extent : extent - by;
    around[backwards ? n->shape.rank + axis : axis] = by;
    const char *in[] = {a, longs_in_file(o, 1, &start), longs_in_file(o, 1, &end), longs_in_file(o, 1, &axis)};
    return operator_3(o, "Pad", operator_n(o, "Slice", 4, in, NULL), longs_in_file(o, 2 * n->shape.rank, around), none);
}

void onnx_cumprod(Onnx *o)
{
    const Node *n = o->node;
    const char *y = whole_input(o, 0), *one = number_in_file(o, n->dtype, 1);
    for (int64_t by = 1; by < n->shape.dim[n->ints[0]]; by *= 2)
        y = operator_2(o, "Mul", places_before(o, y, by, one), y);
    set_name(o, n, y);
}

/* Of equal ones the later in its direction, which is the element itself. */
void onnx_cumargmax(Onnx *o)
{
    const Node *n = o->node;
    DType type = n->in[0]->dtype;
    const char *best = whole_input(o, 0), *place = whole_value(o, indices_along(o, n->shape, n->ints[0]));
    const char *least = number_in_file(o, type, is_real(type) ? -INFINITY : INT32_MIN),
               *zero = number_in_file(o, I32, 0);
    for (int64_t by = 1; by < n->shape.dim[n->ints[0]]; by *= 2) {
        const char *before = places_before(o, best, by, least), *above = operator_2(o, "Greater", before, best);
        place = operator_3(o, "Where", above, places_before(o, place, by, zero), place);
        best = operator_3(o, "Where", above, before, best);
    }
    set_name(o, n, place);
}

/* ------------------------------------------------------------------ orders */

/* TopK, too, has the first of equal elements first. */
static void order_in_file(Onnx *o, int64_t k, bool falling, const char **out)
{
    Text t = {0};
    attribute_int(&t, "axis", o->node->ints[0]);
    attribute_int(&t, "largest", falling);
    operator_two(o, "TopK", 2, (const char *[]){whole_input(o, 0), longs_in_file(o, 1, &k)}, &t, out);
    out[1] = cast_in_file(o, out[1], ONNX_I32);
}

void onnx_argsort(Onnx *o)
{
    const Node *n = o->node;
    const char *out[2];
    order_in_file(o, n->shape.dim[n->ints[0]], n->ints[1], out);
    set_name(o, n, out[1]);
}

void onnx_topk(Onnx *o)
{
    const Node *n = o->node;
    const char *out[2];
    Val *v = NEW(Val);
    Shape s = n->in[0]->shape;
    s.dim[n->ints[0]] = n->ints[1];
    order_in_file(o, n->ints[1], true, out);
    push(&v->part, new_val(n->dtype, s, out[0]));
    push(&v->part, new_val(I32, s, out[1]));
    set_val(o, n, v);
}
