/* eval_move.c: the interpreter's moves and dot. */
#include "graph/eval.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ walking */

Walk walk(Shape s) { return (Walk){.shape = s, .n = elements(s)}; }

void step(Walk *w)
{
    w->i++;
    for (int k = w->shape.rank; k-- > 0;) {
        if (++w->at[k] < w->shape.dim[k]) return;
        w->at[k] = 0;
    }
}

void strides_of(Shape s, int64_t *stride)
{
    int64_t n = 1;
    for (int k = s.rank; k-- > 0; n *= s.dim[k]) stride[k] = n;
}

int64_t offset_at(Shape s, const int64_t *at)
{
    int64_t offset = 0;
    for (int k = 0; k < s.rank; k++) offset = offset * s.dim[k] + at[k];
    return offset;
}

/* ------------------------------------------------------------------ moves */

/* The source of the result's element `at`; false: it is padding. */
static bool source(const Node *n, Shape from, const int64_t *at, int64_t *to)
{
    int rank = n->shape.rank;
    for (int k = 0; k < rank; k++) {
        switch (n->op) {
        case OP_permute: to[n->ints[k]] = at[k]; break;
        case OP_expand: to[k] = from.dim[k] == 1 ? 0 : at[k]; break;
        case OP_slice: to[k] = n->ints[k] + at[k] * n->ints[rank + k]; break;
        case OP_pad: to[k] = at[k] - n->ints[k]; break;
        case OP_flip: to[k] = at[k]; break;
        default: die("%s is no move of one input", op_info[n->op].name);
        }
    }
    if (n->op == OP_flip)
        for (int i = 0; i < n->nints; i++) to[n->ints[i]] = from.dim[n->ints[i]] - 1 - at[n->ints[i]];
    for (int k = 0; k < rank; k++)
        if (to[k] < 0 || to[k] >= from.dim[k]) return false;
    return true;
}

static void eval_concat(const Node *n, const Value *in, Value *out)
{
    int axis = (int)n->ints[0];
    int64_t start = 0;
    for (int p = 0; p < n->nin; start += in[p].shape.dim[axis], p++) {
        for (Walk w = walk(in[p].shape); w.i < w.n; step(&w)) {
            int64_t to[MAXRANK];
            memcpy(to, w.at, sizeof to);
            to[axis] += start;
            out->at[offset_at(n->shape, to)] = in[p].at[w.i];
        }
    }
}

void eval_move(const Node *n, const Value *in, Value *out)
{
    if (n->op == OP_concat) {
        eval_concat(n, in, out);
        return;
    }
    for (Walk w = walk(n->shape); w.i < w.n; step(&w)) {
        int64_t from[MAXRANK];
        if (n->op == OP_reshape) out->at[w.i] = in->at[w.i];
        else if (source(n, in->shape, w.at, from)) out->at[w.i] = in->at[offset_at(in->shape, from)];
        else out->at[w.i] = 0;
    }
}

/* ------------------------------------------------------------------ dot */

/* Offsets in x of all elements of the box that the given axes span, in order. */
static int64_t *box_offsets(Shape x, const int *axes, int n, int64_t *count)
{
    int64_t stride[MAXRANK];
    strides_of(x, stride);
    Shape box = {.rank = n};
    for (int k = 0; k < n; k++) box.dim[k] = x.dim[axes[k]];
    *count = elements(box);
    int64_t *offset = take(*count);
    for (Walk w = walk(box); w.i < w.n; step(&w)) {
        offset[w.i] = 0;
        for (int k = 0; k < n; k++) offset[w.i] += w.at[k] * stride[axes[k]];
    }
    return offset;
}

/* The argument of tanh in gelu's tanh form, and its slope. */
static double inside_gelu(double x) { return 0.7978845608028654 * (x + 0.044715 * x * x * x); }
static double slope_inside(double x) { return 0.7978845608028654 * (1 + 3 * 0.044715 * x * x); }

static double gelu(double x) { return 0.5 * x * (1 + tanh(inside_gelu(x))); }

static double gelu_slope(double x)
{
    double t = tanh(inside_gelu(x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope_inside(x);
}

/* Applies the end of a product. */
static void eval_end(const Node *n, const Value *in, Value *out)
{
    Product_end end = dot_end(n);
    int64_t columns = dot_columns(n), count = elements(n->shape);
    for (int64_t i = 0; end != END_NONE && i < count; i++) {
        double *y = &out->at[i];
        if (end == END_GELU_BACK) *y *= gelu_slope(in[2].at[i]);
        else if (n->nin > 2) *y += in[2].at[i % columns];
        if (end == END_GELU) *y = gelu(*y);
    }
}

void eval_dot(const Node *n, const Value *in, Value *out)
{
    Dot_axes x = dot_axes(n);
    Shape a = in[0].shape, b = in[1].shape;
    int fa[MAXRANK], fb[MAXRANK];
    int nfa = free_axes(a.rank, x.nb, x.ab, x.nc, x.ac, fa), nfb = free_axes(b.rank, x.nb, x.bb, x.nc, x.bc, fb);
    int64_t B, M, N, K;
    int64_t *a_batch = box_offsets(a, x.ab, x.nb, &B), *b_batch = box_offsets(b, x.bb, x.nb, &B);
    int64_t *a_row = box_offsets(a, fa, nfa, &M), *b_column = box_offsets(b, fb, nfb, &N);
    int64_t *a_k = box_offsets(a, x.ac, x.nc, &K), *b_k = box_offsets(b, x.bc, x.nc, &K);
    double *y = out->at;
    for (int64_t batch = 0; batch < B; batch++)
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < N; j++) {
                const double *p = in[0].at + a_batch[batch] + a_row[i], *q = in[1].at + b_batch[batch] + b_column[j];
                double sum = 0;
                for (int64_t k = 0; k < K; k++) sum += p[a_k[k]] * q[b_k[k]];
                *y++ = sum;
            }
    int64_t *all[] = {a_batch, b_batch, a_row, b_column, a_k, b_k};
    for (int i = 0; i < COUNT_OF(all); i++) give(all[i]);
    eval_end(n, in, out);
}
