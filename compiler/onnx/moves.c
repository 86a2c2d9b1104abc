/* moves.c: views, joins and reductions as operators. */
#include "onnx/onnx.h"

#include <string.h>

/* Its value in the file, which may repeat. */
static Val *named_input(Onnx *o)
{
    Val *v = val_of(o, o->node->in[0]);
    if (!v->name) whole_value(o, v);
    return v;
}

void onnx_reshape(Onnx *o)
{
    const Node *n = o->node;
    if (same_shape(n->shape, n->in[0]->shape)) set_val(o, n, val_of(o, n->in[0]));
    else set_name(o, n, reshape_in_file(o, whole_input(o, 0), n->shape));
}

void onnx_permute(Onnx *o)
{
    const Node *n = o->node;
    const Val *from = named_input(o);
    Val *v = new_val(n->dtype, n->shape, from->name);
    int perm[MAXRANK];
    v->there = from->there;
    for (int k = 0; k < n->shape.rank; k++) perm[k] = (int)n->ints[k];
    for (int k = 0; k < from->there.rank; k++) v->there.dim[k] = from->there.dim[perm[k]];
    if (from->there.rank) v->name = transposed(o, from->name, n->shape.rank, perm);
    set_val(o, n, v);
}

void onnx_expand(Onnx *o)
{
    const Val *from = named_input(o);
    Val *v = new_val(from->dtype, o->node->shape, from->name);
    v->there = from->there;
    set_val(o, o->node, v);
}

static const char *cut(Onnx *o, const char *a, int n, const int64_t *start, const int64_t *end, const int64_t *axis,
                       const int64_t *by)
{
    const char *in[] = {a, longs_in_file(o, n, start), longs_in_file(o, n, end), longs_in_file(o, n, axis),
                        longs_in_file(o, n, by)};
    return operator_n(o, "Slice", 5, in, NULL);
}

void onnx_slice(Onnx *o)
{
    const Node *n = o->node;
    int rank = n->shape.rank, count = 0;
    int64_t start[MAXRANK], end[MAXRANK], axis[MAXRANK], by[MAXRANK];
    for (int k = 0; k < rank; k++) {
        int64_t step = n->ints[rank + k];
        if (n->shape.dim[k] == n->in[0]->shape.dim[k]) continue;
        axis[count] = k, start[count] = n->ints[k], by[count] = step;
        end[count++] = n->ints[k] + (n->shape.dim[k] - 1) * step + 1;
    }
    if (count) set_name(o, n, cut(o, whole_input(o, 0), count, start, end, axis, by));
    else set_val(o, n, val_of(o, n->in[0]));
}

void onnx_pad(Onnx *o)
{
    const Node *n = o->node;
    const char *zero = number_in_file(o, n->dtype, 0), *around = longs_in_file(o, n->nints, n->ints);
    set_name(o, n, operator_3(o, "Pad", whole_input(o, 0), around, zero));
}

void onnx_flip(Onnx *o)
{
    const Node *n = o->node;
    int64_t last[MAXRANK], before_first[MAXRANK], back[MAXRANK];
    for (int k = 0; k < n->nints; k++) last[k] = -1, before_first[k] = INT64_MIN, back[k] = -1;
    set_name(o, n, cut(o, whole_input(o, 0), n->nints, last, before_first, n->ints, back));
}

void onnx_concat(Onnx *o)
{
    const Node *n = o->node;
    const char **in = NEW_ARRAY(const char *, n->nin);
    Text axis = {0};
    attribute_int(&axis, "axis", n->ints[0]);
    for (int k = 0; k < n->nin; k++) in[k] = whole_input(o, k);
    set_name(o, n, operator_n(o, "Concat", n->nin, in, &axis));
}

/* With one GPU, x itself. */
void onnx_over_ranks(Onnx *o) { set_val(o, o->node, val_of(o, o->node->in[0])); }

void onnx_reduce(Onnx *o)
{
    const Node *n = o->node;
    const char *type = n->op == OP_sum ? "ReduceSum" : n->op == OP_rmax ? "ReduceMax" : "ReduceMin";
    Text keep = {0};
    attribute_int(&keep, "keepdims", 0);
    const char *in[] = {whole_input(o, 0), longs_in_file(o, n->nints, n->ints)};
    set_name(o, n, operator_n(o, type, 2, in, &keep));
}
