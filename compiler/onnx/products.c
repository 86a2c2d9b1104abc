/* products.c: products and convolutions as operators. */
#include "onnx/onnx.h"
#include "ops/convolution.h"

#include <string.h>

/* ------------------------------------------------------------------ dot */

typedef struct Factor { /* an operand as MatMul takes it */
    int nfree, free[MAXRANK], perm[MAXRANK], rank;
    Shape shape; /* [batch…][free][contracted], or of the second [batch…][contracted][free] */
} Factor;

static void add_axes(Factor *f, int n, const int *axes)
{
    for (int k = 0; k < n; k++) f->perm[f->rank++] = axes[k];
}

static int64_t extent_of_axes(Shape s, int n, const int *axes)
{
    int64_t all = 1;
    for (int k = 0; k < n; k++) all *= s.dim[axes[k]];
    return all;
}

static void add_extent(Factor *f, int64_t extent) { f->shape.dim[f->shape.rank++] = extent; }

/* Without batch axes those of the first operand that are free stay apart. */
static Factor factor_of(const Node *x, int nb, const int *batch, int nc, const int *contracted, bool second)
{
    Factor f = {0};
    f.nfree = free_axes(x->shape.rank, nb, batch, nc, contracted, f.free);
    int64_t bound = extent_of_axes(x->shape, nc, contracted);
    add_axes(&f, nb, batch);
    for (int k = 0; k < nb; k++) add_extent(&f, x->shape.dim[batch[k]]);
    if (second) add_axes(&f, nc, contracted), add_extent(&f, bound);
    add_axes(&f, f.nfree, f.free);
    if (nb || second) add_extent(&f, extent_of_axes(x->shape, f.nfree, f.free));
    else
        for (int k = 0; k < f.nfree; k++) add_extent(&f, x->shape.dim[f.free[k]]);
    if (!second) add_axes(&f, nc, contracted), add_extent(&f, bound);
    return f;
}

static const char *factor_in_file(Onnx *o, int k, const Factor *f, Shape *s)
{
    const Node *x = o->node->in[k];
    const char *a = transposed(o, whole_input(o, k), x->shape.rank, f->perm);
    Shape now = {.rank = x->shape.rank};
    for (int i = 0; i < now.rank; i++) now.dim[i] = x->shape.dim[f->perm[i]];
    *s = f->shape;
    return same_shape(now, f->shape) ? a : reshape_in_file(o, a, f->shape);
}

void onnx_dot(Onnx *o)
{
    const Node *n = o->node;
    const Dot_axes x = dot_axes(n);
    must(dot_end(n) == END_NONE);
    const Factor a = factor_of(n->in[0], x.nb, x.ab, x.nc, x.ac, false),
                 b = factor_of(n->in[1], x.nb, x.bb, x.nc, x.bc, true);
    Shape left, right;
    const char *first = factor_in_file(o, 0, &a, &left), *second = factor_in_file(o, 1, &b, &right);
    const char *y = operator_2(o, "MatMul", first, second);
    Shape made = left;
    made.dim[made.rank - 1] = right.dim[right.rank - 1];
    if (left.rank == 1) made.rank = 1; /* a vector by a matrix is a vector */
    set_name(o, n, same_shape(made, n->shape) ? y : reshape_in_file(o, y, n->shape));
}

/* ------------------------------------------------------------------ convolution */

/* Where channels are, of [N][X…][C] and of [N][C][X…]. */
static void channels_second(int n, int *perm)
{
    perm[0] = 0, perm[1] = n + 1;
    for (int i = 0; i < n; i++) perm[2 + i] = 1 + i;
}

static void channels_last(int n, int *perm)
{
    perm[0] = 0, perm[n + 1] = 1;
    for (int i = 0; i < n; i++) perm[1 + i] = 2 + i;
}

/* Zeros behind x along axis i, so that y has its extent; fewer than none: y is cut. */
static int64_t zeros_behind(const Convolution *v, int i)
{
    const Convolved *a = &v->axis[i];
    return (a->extent - 1) * a->stride + (a->kernel - 1) * a->dilation + 1 - a->before - extent_of_x(v, i);
}

static Text attributes_of_convolution(const Convolution *v)
{
    int64_t kernel[CONVOLVED], stride[CONVOLVED], dilation[CONVOLVED], around[2 * CONVOLVED];
    Text t = {0};
    for (int i = 0; i < v->n; i++) {
        kernel[i] = v->axis[i].kernel, stride[i] = v->axis[i].stride, dilation[i] = v->axis[i].dilation;
        around[i] = v->axis[i].before, around[v->n + i] = max64(zeros_behind(v, i), 0);
    }
    attribute_ints(&t, "kernel_shape", v->n, kernel);
    attribute_ints(&t, "strides", v->n, stride);
    attribute_ints(&t, "dilations", v->n, dilation);
    attribute_ints(&t, "pads", 2 * v->n, around);
    attribute_int(&t, "group", v->groups);
    return t;
}

/* [N][O][Y…] of at least the extents of y. */
static const char *cut_to_extents(Onnx *o, const Convolution *v, const char *y)
{
    int64_t start[CONVOLVED] = {0}, end[CONVOLVED], axis[CONVOLVED];
    bool larger = false;
    for (int i = 0; i < v->n; i++) axis[i] = 2 + i, end[i] = v->axis[i].extent, larger |= zeros_behind(v, i) < 0;
    const char *in[] = {y, longs_in_file(o, v->n, start), longs_in_file(o, v->n, end), longs_in_file(o, v->n, axis)};
    return larger ? operator_n(o, "Slice", 4, in, NULL) : y;
}

void onnx_convolved(Onnx *o)
{
    const Node *n = o->node;
    const Convolution v = convolution_of(n);
    int perm[MAXRANK], nb = batch_axes(&v), rank = v.n + 2;
    Shape x = {.rank = rank, .dim = {1}}, y = {0};
    for (int i = 0; i < nb; i++) x.dim[0] *= v.x->shape.dim[i], y.dim[y.rank++] = v.x->shape.dim[i];
    for (int i = 0; i <= v.n; i++) x.dim[1 + i] = v.x->shape.dim[nb + i];
    for (int i = 0; i < v.n; i++) y.dim[y.rank++] = v.axis[i].extent;
    y.dim[y.rank++] = channels_of_y(&v);
    const char *image = whole_input(o, 0), *weight = whole_input(o, 1);
    if (nb != 1) image = reshape_in_file(o, image, x);
    channels_second(v.n, perm);
    const Text t = attributes_of_convolution(&v);
    const char *made = operator_n(o, "Conv", 2, (const char *[]){transposed(o, image, rank, perm), weight}, &t);
    channels_last(v.n, perm);
    made = transposed(o, cut_to_extents(o, &v, made), rank, perm);
    if (nb != 1) made = reshape_in_file(o, made, y);
    Val *several = NEW(Val);
    push(&several->part, new_val(n->dtype, y, made));
    set_val(o, n, several);
}
