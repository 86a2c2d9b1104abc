/* view.c: views as affine maps: how moves change base, strides and guards. */
#include "kernels/view.h"
#include "graph/parts.h"

View view_dense(Shape s)
{
    View v = {.shape = s};
    dense_strides(s, v.stride);
    for (int i = 0; i < s.rank; i++) v.high[i] = s.dim[i];
    return v;
}

View view_whole(Buffer *b)
{
    View v = view_dense(b->shape);
    v.buffer = b;
    for (int i = 0; i < b->shape.rank; i++) v.stride[i] = b->stride[i];
    return v;
}

double view_bytes(const View *v)
{
    if (!v->buffer) return 0;
    double n = dtype_bytes(v->buffer->dtype);
    for (int i = 0; i < v->shape.rank; i++)
        if (v->stride[i]) n *= (double)(v->guarded ? max64(v->high[i] - v->low[i], 0) : v->shape.dim[i]);
    return n < (double)v->buffer->bytes ? n : (double)v->buffer->bytes;
}

Shape squeezed(Shape s)
{
    Shape r = {0};
    for (int i = 0; i < s.rank; i++)
        if (s.dim[i] != 1) r = with_axis(r, s, i);
    return r;
}

/* ------------------------------------------------------------------ moves */

static int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
static int64_t clamp(int64_t x, int64_t n) { return x < 0 ? 0 : x > n ? n : x; }

/* Axis k of `old` as axis p.axis of v: its index is start + step · v's. */
static void place_axis(View *v, const View *old, int k, Place p)
{
    int64_t extent = v->shape.dim[p.axis], from = old->low[k] - p.start, to = old->high[k] - p.start, low, high;
    if (p.step == 0) low = 0, high = from <= 0 && to > 0 ? extent : 0;
    else if (p.step == -1) low = 1 - to, high = 1 - from;
    else low = ceil_div(from, p.step), high = ceil_div(to, p.step);
    bool single = old->shape.dim[k] == 1 && extent > 1; /* there is one element to show, wherever it stands */
    v->base += single ? 0 : p.start * old->stride[k];
    v->stride[p.axis] = single ? 0 : p.step * old->stride[k];
    v->low[p.axis] = clamp(low, extent);
    v->high[p.axis] = clamp(high, extent);
}

static void note_guard(View *v)
{
    v->guarded = false;
    for (int i = 0; i < v->shape.rank; i++) v->guarded |= v->low[i] > 0 || v->high[i] < v->shape.dim[i];
}

bool view_move(View *v, const Node *n)
{
    if (n->op == OP_reshape) {
        View out;
        if (!view_reshape(v, n->shape, &out)) return false;
        *v = out;
        return true;
    }
    if (!op_parts[n->op].place) return false;
    View old = *v;
    v->shape = n->shape;
    for (int k = 0; k < n->shape.rank; k++) place_axis(v, &old, k, op_parts[n->op].place(n, k));
    note_guard(v);
    return true;
}

/* ------------------------------------------------------------------ reshape */

static bool axis_guarded(const View *v, int i) { return v->low[i] > 0 || v->high[i] < v->shape.dim[i]; }

/* Axes [a, b) of v as one: its stride, if they lie one inside the other and none is guarded. */
static bool merged_stride(const View *v, const int *axis, int n, int64_t *stride)
{
    for (int k = 0; k < n; k++) {
        if (n > 1 && axis_guarded(v, axis[k])) return false;
        if (k + 1 < n && v->stride[axis[k]] != v->stride[axis[k + 1]] * v->shape.dim[axis[k + 1]]) return false;
    }
    *stride = v->stride[axis[n - 1]];
    return true;
}

static bool unit_axis_guarded(const View *v)
{
    for (int i = 0; i < v->shape.rank; i++)
        if (v->shape.dim[i] == 1 && axis_guarded(v, i)) return true;
    return false;
}

/* The view as it is: unit axes have no stride. */
static bool view_unchanged(const View *v, Shape s, View *out)
{
    if (out != v) *out = *v;
    out->shape = s;
    take_axes(&out->shape, v->shape);
    for (int i = 0; i < s.rank; i++)
        if (s.dim[i] == 1) out->stride[i] = out->low[i] = 0, out->high[i] = 1;
    return true;
}

/* s laid out densely from where v begins. */
static View dense_where(const View *v, Shape s)
{
    View r = view_dense(s);
    r.buffer = v->buffer;
    r.base = v->base;
    r.nover = v->nover;
    for (int i = 0; i < v->nover; i++) r.over[i] = v->over[i];
    return r;
}

/* Old axes from old[*at] on and new ones from *i on, as few as have equal size; both are then the first after them. */
static bool reshape_run(const View *v, const int *old, int *at, View *r, int *i)
{
    const int64_t *dim = r->shape.dim;
    int first = *i, from = old[*at], n = 1, end = first + 1;
    int64_t have = v->shape.dim[from], want = dim[first], stride;
    while (have != want) {
        if (have < want) have *= v->shape.dim[old[*at + n++]];
        else want *= dim[end++];
    }
    if (!merged_stride(v, old + *at, n, &stride)) return false;
    bool one_to_one = n == 1 && end == first + 1;
    if (!one_to_one && axis_guarded(v, from)) return false;
    for (int k = end; k-- > first; stride *= dim[k]) r->stride[k] = dim[k] == 1 ? 0 : stride;
    if (one_to_one) r->low[first] = v->low[from], r->high[first] = v->high[from];
    *at += n;
    *i = end;
    return true;
}

/* Old axes (without unit ones) and new ones are walked in runs of equal size. */
bool view_reshape(const View *v, Shape s, View *out)
{
    if (same_shape(v->shape, s) && !unit_axis_guarded(v)) return view_unchanged(v, s, out);
    axes_of_reshape(v->shape, &s);
    View r = dense_where(v, s);
    int old[MAXRANK], nold = 0;
    bool nothing = false; /* a guard leaves out a unit axis's only element */
    for (int i = 0; i < v->shape.rank; i++) {
        if (v->shape.dim[i] != 1) old[nold++] = i;
        else nothing |= axis_guarded(v, i);
    }
    if (nothing && s.rank == 0) return false;
    for (int i = 0, at = 0; i < s.rank;) {
        bool unit = s.dim[i] == 1;
        must(unit || at < nold);
        if (unit) r.stride[i++] = 0;
        else if (!reshape_run(v, old, &at, &r, &i)) return false;
    }
    if (nothing) r.low[0] = r.high[0] = 0;
    note_guard(&r);
    *out = r;
    return true;
}

bool refine(Shape a, Shape b, Shape *out)
{
    a = squeezed(a);
    b = squeezed(b);
    if (same_shape(a, b)) {
        take_axes(&a, b);
        *out = a;
        return true;
    }
    Shape r = {0};
    int i = a.rank, j = b.rank;
    int64_t x = 1, y = 1, back[4 * MAXRANK];
    int n = 0;
    while (i > 0 || j > 0 || x != 1 || y != 1) { /* from the innermost: what is left of each axis */
        if (x == 1) x = i > 0 ? a.dim[--i] : 1;
        if (y == 1) y = j > 0 ? b.dim[--j] : 1;
        int64_t step = min64(x, y);
        if (step <= 1 || x % step || y % step || n == MAXRANK) return false;
        back[n++] = step;
        x /= step;
        y /= step;
    }
    while (n-- > 0) r.dim[r.rank++] = back[n];
    axes_of_reshape(a, &r);
    axes_of_reshape(b, &r);
    *out = r;
    return true;
}

/* ------------------------------------------------------------------ questions, loops */

static bool dense_over(const View *v, int rank)
{
    int64_t want = 1;
    for (int i = rank; i-- > 0;) {
        if (v->shape.dim[i] == 1) continue;
        if (v->stride[i] != want) return false;
        want *= v->shape.dim[i];
    }
    return true;
}

bool view_is_dense(const View *v) { return v->base == 0 && !v->guarded && dense_over(v, v->shape.rank); }

bool view_rows_dense(const View *v, int64_t inner)
{
    int last = v->shape.rank - 1;
    if (inner == 1) return view_is_dense(v);
    return last >= 0 && v->shape.dim[last] == inner && v->stride[last] == 0 && v->base == 0 && !v->guarded &&
           dense_over(v, last);
}

View view_without_first(const View *v, Loop *l, int64_t ahead)
{
    must(v->shape.rank > 0 && !axis_guarded(v, 0) && v->nover < MAXRANK);
    View r = *v;
    r.shape = shape_behind(v->shape);
    for (int i = 0; i < r.shape.rank; i++) {
        r.stride[i] = v->stride[i + 1];
        r.low[i] = v->low[i + 1];
        r.high[i] = v->high[i + 1];
    }
    r.base += ahead * v->stride[0];
    r.over[r.nover].loop = l;
    r.over[r.nover++].stride = v->stride[0];
    note_guard(&r);
    return r;
}
