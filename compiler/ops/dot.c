/* dot.c: contraction of two tensors over any axes, with any shared (batch) axes; and what it may end with. */
#include "ops/parts.h"
#include "runtime/math/double.h"

#include <math.h>
#include <string.h>

int free_axes(int rank, int nb, const int *batch, int nc, const int *contracted, int *out)
{
    int n = 0;
    for (int i = 0; i < rank; i++) {
        bool bound = false;
        for (int k = 0; k < nb; k++) bound |= batch[k] == i;
        for (int k = 0; k < nc; k++) bound |= contracted[k] == i;
        if (!bound) out[n++] = i;
    }
    return n;
}

/* What is wrong with the axes of a and b, all of which there are; or NULL and the result's shape. */
static const char *result_fault(const Node *a, const Node *b, const Dot_axes *x, Shape *s)
{
    int fa[MAXRANK], fb[MAXRANK], na = free_axes(a->shape.rank, x->nb, x->ab, x->nc, x->ac, fa);
    int nb = free_axes(b->shape.rank, x->nb, x->bb, x->nc, x->bc, fb);
    if (na != a->shape.rank - x->nb - x->nc || nb != b->shape.rank - x->nb - x->nc)
        return "an axis is batch and contracted at once";
    if (x->nb + na + nb > MAXRANK) return "its result has too many axes";
    for (int k = 0; k < x->nb; k++)
        if (a->shape.dim[x->ab[k]] != b->shape.dim[x->bb[k]]) return "batch axes must have equal extents";
    for (int k = 0; k < x->nc; k++)
        if (a->shape.dim[x->ac[k]] != b->shape.dim[x->bc[k]]) return "contracted axes must have equal extents";
    *s = (Shape){0};
    for (int k = 0; k < x->nb; k++) {
        bool named = a->shape.axis[x->ab[k]];
        *s = named ? with_axis(*s, a->shape, x->ab[k]) : with_axis(*s, b->shape, x->bb[k]);
    }
    for (int k = 0; k < na; k++) *s = with_axis(*s, a->shape, fa[k]);
    for (int k = 0; k < nb; k++) *s = with_axis(*s, b->shape, fb[k]);
    return NULL;
}

Node *dot_into(DType t, Node *a, Node *b, Dot_axes x)
{
    must((a->dtype == b->dtype || in_blocks(b->dtype)) && (t == a->dtype || is_stored(a->dtype)));
    Shape s;
    must(!result_fault(a, b, &x, &s));
    int64_t ints[2 + 4 * MAXRANK];
    int n = 0;
    ints[n++] = x.nb;
    ints[n++] = x.nc;
    for (int k = 0; k < x.nb; k++) ints[n++] = x.ab[k];
    for (int k = 0; k < x.nb; k++) ints[n++] = x.bb[k];
    for (int k = 0; k < x.nc; k++) ints[n++] = x.ac[k];
    for (int k = 0; k < x.nc; k++) ints[n++] = x.bc[k];
    return node_of(OP_dot, t, s, 2, (Node *[]){a, b}, n, ints);
}

Node *dot(Node *a, Node *b, Dot_axes x) { return dot_into(a->dtype, a, b, x); }

Dot_axes dot_axes(const Node *n)
{
    Dot_axes x = {.nb = (int)n->ints[0], .nc = (int)n->ints[1]};
    const int64_t *at = n->ints + 2;
    for (int k = 0; k < x.nb; k++) x.ab[k] = (int)*at++;
    for (int k = 0; k < x.nb; k++) x.bb[k] = (int)*at++;
    for (int k = 0; k < x.nc; k++) x.ac[k] = (int)*at++;
    for (int k = 0; k < x.nc; k++) x.bc[k] = (int)*at++;
    return x;
}

/* ------------------------------------------------------------------ what it ends with */

int dot_ints(const Node *n) { return 2 + 2 * (int)(n->ints[0] + n->ints[1]); }

Product_end dot_end(const Node *n)
{
    return n->nints > dot_ints(n) ? (Product_end)n->ints[dot_ints(n)] : n->nin > 2 ? END_BIAS : END_NONE;
}

int64_t dot_columns(const Node *n)
{
    int64_t columns = 1;
    for (int i = n->in[0]->shape.rank - (int)n->ints[1]; i < n->shape.rank; i++) columns *= n->shape.dim[i];
    return columns;
}

Node *ended_dot(const Node *old, int nin, Node *const *in, Product_end end)
{
    int axes = dot_ints(old);
    int64_t *ints = NEW_ARRAY(int64_t, axes + 1);
    Node key = *old;
    memcpy(ints, old->ints, sizeof *ints * (size_t)axes);
    ints[axes] = end;
    key.in = (Node **)in;
    key.nin = nin;
    key.ints = ints;
    key.nints = axes + (end != END_BIAS);
    Making was = make_beside(old);
    Node *n = intern(key);
    make_with(was);
    return n;
}

/* ------------------------------------------------------------------ its type */

/* What is wrong with what it ends with, its axes being right; NULL: nothing, or it ends in nothing. */
static const char *end_fault(const Node *n, Shape s)
{
    Product_end end = dot_end(n);
    int64_t said = n->nints > dot_ints(n) ? n->ints[dot_ints(n)] : END_GELU;
    if (said != END_GELU && said != END_GELU_BACK) return "what it ends in must be 2, gelu, or 3, its derivative";
    if (end == END_GELU_BACK && n->nin == 2) return "gelu's derivative needs a third input: what gelu is of";
    if (end == END_NONE) return NULL;
    if (n->ints[0]) return "with batch axes it ends in nothing";
    if (n->dtype == F64) return "of f64 it ends in nothing";
    if (n->nin == 3 && n->in[2]->dtype != n->dtype) return "its third input must be of its type";
    if (end == END_GELU_BACK && !same_shape(n->in[2]->shape, s)) return "what gelu is of must be of its shape";
    if (end != END_GELU_BACK && n->nin == 3 && elements(n->in[2]->shape) != dot_columns(n))
        return "the row that it adds must have an element for each of the free axes of b";
    return NULL;
}

/* What is wrong with the types of its inputs, or with what its ints say of their axes. */
static const char *factors_fault(const Node *n)
{
    if (n->nin != 2 && n->nin != 3) return "dot takes two inputs, and a third where it ends in something";
    const Node *a = n->in[0], *b = n->in[1];
    bool of_blocks = a->dtype == F32 && in_blocks(b->dtype);
    if (in_blocks(a->dtype) || (!is_real(a->dtype) && !is_stored(a->dtype)) || (a->dtype != b->dtype && !of_blocks))
        return "dot takes two reals of one type, or f32 and one in blocks";
    if (n->dtype != a->dtype && !(is_stored(a->dtype) && n->dtype == F32))
        return "dot makes what it takes, or f32 of what is stored";
    if (n->nints < 2 || n->ints[0] < 0 || n->ints[0] > MAXRANK || n->ints[1] < 0 || n->ints[1] > MAXRANK ||
        (n->nints != dot_ints(n) && n->nints != dot_ints(n) + 1))
        return "its ints must be nb, nc, as many axes and perhaps what it ends in";
    int nb = (int)n->ints[0], nc = (int)n->ints[1];
    bool axes = valid_axes(n, 2, nb, a->shape.rank, false) && valid_axes(n, 2 + nb, nb, b->shape.rank, false) &&
                valid_axes(n, 2 + 2 * nb, nc, a->shape.rank, false) &&
                valid_axes(n, 2 + 2 * nb + nc, nc, b->shape.rank, false);
    return axes ? NULL : "its ints must be axes of its inputs";
}

const char *dot_fault(const Node *n, Type *results)
{
    const char *fault = factors_fault(n);
    if (fault) return fault;
    Dot_axes x = dot_axes(n);
    Shape s;
    if ((fault = result_fault(n->in[0], n->in[1], &x, &s))) return fault;
    if (!valid_shape(s)) return "it is too large";
    *results = (Type){n->dtype, s};
    return same_shape(s, n->shape) ? end_fault(n, s) : NULL;
}

/* ------------------------------------------------------------------ its elements */

/* Offsets into x of every element of the box spanned by some of its axes, in order. */
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

/* Of what gelu in its tanh form takes the tanh, and the slope of that. */
static double inside_gelu(double x) { return 0.7978845608028654 * (x + 0.044715 * x * x * x); }
static double slope_inside(double x) { return 0.7978845608028654 * (1 + 3 * 0.044715 * x * x); }

static double gelu(double x) { return 0.5 * x * (1 + tanh_f64(inside_gelu(x))); }

static double gelu_slope(double x)
{
    double t = tanh_f64(inside_gelu(x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope_inside(x);
}

/* What the products of a and b end in. */
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

void dot_eval(const Node *n, const Value *in, Value *out)
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
    if (is_stored(n->dtype)) eval_stored(n->dtype, out);
}

/* ------------------------------------------------------------------ rows */

static int place_in(const int *list, int n, int axis)
{
    for (int i = 0; i < n; i++)
        if (list[i] == axis) return i;
    return -1;
}

/* Axis of the result for a free axis of an operand. */
static int free_axis(const Row_pair *p, int operand, int axis)
{
    Dot_axes x = dot_axes(p->node);
    int fa[MAXRANK], fb[MAXRANK];
    int na = free_axes(p->node->in[0]->shape.rank, x.nb, x.ab, x.nc, x.ac, fa);
    int nb = free_axes(p->node->in[1]->shape.rank, x.nb, x.bb, x.nc, x.bc, fb);
    return operand == 0 ? x.nb + place_in(fa, na, axis) : x.nb + na + place_in(fb, nb, axis);
}

/* Of one operand with rows; the other is the same for all. */
static Row_fact rows_times(const Rows *r, const Row_pair *p, int operand, Row_fact f, Row_fact other)
{
    Dot_axes x = dot_axes(p->node);
    const int *batch = operand ? x.bb : x.ab, *contracted = operand ? x.bc : x.ac;
    if (place_in(contracted, x.nc, f.axis) >= 0) return row_total_of(r, f, other);
    int at = place_in(batch, x.nb, f.axis);
    f.axis = at >= 0 ? at : free_axis(p, operand, f.axis);
    f.power += other.power;
    f.learned |= other.learned;
    f.counted |= other.counted;
    return f;
}

static Row_fact rows_times_rows(const Rows *r, const Row_pair *p, Row_fact a, Row_fact b)
{
    Dot_axes x = dot_axes(p->node);
    int batch = place_in(x.ab, x.nb, a.axis), contracted = place_in(x.ac, x.nc, a.axis);
    bool alike = a.outer == b.outer && a.inner == b.inner;
    if (alike && batch >= 0 && batch == place_in(x.bb, x.nb, b.axis)) {
        a.axis = batch;
        a.power += b.power;
        a.learned |= b.learned;
        a.counted |= b.counted;
        return a;
    }
    if (alike && contracted >= 0 && contracted == place_in(x.bc, x.nc, b.axis)) return row_total_of(r, a, b);
    return row_meets(p, "rows are multiplied with other rows");
}

Row_fact dot_rows(Rows *r, Row_pair *p)
{
    Row_fact a = row_input(p, 0), b = row_input(p, 1);
    if (a.kind != ROWS_EACH && b.kind != ROWS_EACH) return row_product(r, p);
    if (a.kind == ROWS_TOTAL) a = row_demand(r, p, 0);
    if (b.kind == ROWS_TOTAL) b = row_demand(r, p, 1);
    if (a.kind == ROWS_EACH && b.kind == ROWS_EACH) return rows_times_rows(r, p, a, b);
    if (a.kind > ROWS_EACH || b.kind > ROWS_EACH || !a.kind || !b.kind) return row_join(p, a, b);
    return a.kind == ROWS_EACH ? rows_times(r, p, 0, a, b) : rows_times(r, p, 1, b, a);
}
