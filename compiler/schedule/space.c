/* space.c: the axes that a nest walks. Neighbours become one if memory allows it. */
#include "kernels/nest.h"

View view_axes(View v, int n, const int *from)
{
    View r = v;
    r.shape.rank = n;
    for (int k = 0; k < n; k++) {
        bool used = from[k] >= 0;
        r.shape.dim[k] = used ? v.shape.dim[from[k]] : 1;
        r.stride[k] = used ? v.stride[from[k]] : 0;
        r.low[k] = used ? v.low[from[k]] : 0;
        r.high[k] = used ? v.high[from[k]] : (int64_t)1 << 62;
    }
    return r;
}

bool guarded_on(const View *v, int j, int64_t extent) { return v->guarded && (v->low[j] > 0 || v->high[j] < extent); }

int64_t extent_of(const Space *s, int from, int to)
{
    int64_t n = 1;
    for (int j = from; j < to; j++) n *= s->shape.dim[j];
    return n;
}

bool may_merge(const Space *s, int j)
{
    int64_t outer = s->shape.dim[j], extent = s->shape.dim[j + 1];
    if (outer * extent > INT32_MAX) return false; /* indices are int */
    for (int i = 0; i < s->views.n; i++) {
        const View *v = s->views.at[i];
        if (guarded_on(v, j, outer) || guarded_on(v, j + 1, extent)) return false;
        if (outer > 1 && extent > 1 && v->stride[j] != v->stride[j + 1] * extent) return false;
    }
    return true;
}

static void take_out(View *v, int j, int n)
{
    for (int i = j; i + 1 < n; i++) {
        v->stride[i] = v->stride[i + 1];
        v->low[i] = v->low[i + 1];
        v->high[i] = v->high[i + 1];
    }
}

static void take_axis_out(Space *s, int j)
{
    Shape *x = &s->shape;
    for (int i = j; i + 1 < x->rank; i++) {
        x->dim[i] = x->dim[i + 1];
        x->axis[i] = x->axis[i + 1];
        s->of[i] = s->of[i + 1];
    }
    x->rank--;
}

/* If one of the two has extent 1, the other remains. */
void merge_axis(Space *s, int j)
{
    Shape *x = &s->shape;
    int keep = x->dim[j + 1] == 1 ? j : j + 1;
    bool both = x->dim[j] != 1 && x->dim[j + 1] != 1;
    int64_t extent = x->dim[j] * x->dim[j + 1];
    int axis = both ? axis_merged(*x, j, j + 2) : x->axis[x->dim[j] == 1 ? j + 1 : j];
    unsigned of = s->of[j] | s->of[j + 1];
    for (int i = 0; i < s->views.n; i++) {
        View *v = s->views.at[i];
        int64_t stride = v->stride[keep];
        take_out(v, j, x->rank);
        v->stride[j] = v->buffer == NULL && extent == 1 ? 0 : stride;
        v->low[j] = 0;
        v->high[j] = extent;
    }
    take_axis_out(s, j);
    x->dim[j] = extent;
    x->axis[j] = (uint16_t)axis;
    s->of[j] = of;
}

bool may_drop(const Space *s, int j)
{
    if (s->shape.dim[j] != 1 || s->shape.rank == 1) return false;
    for (int i = 0; i < s->views.n; i++)
        if (guarded_on(s->views.at[i], j, 1)) return false;
    return true;
}

void drop_axis(Space *s, int j)
{
    for (int i = 0; i < s->views.n; i++) take_out(s->views.at[i], j, s->shape.rank);
    take_axis_out(s, j);
}

bool is_made_of(const Space *s, int j, int own)
{
    bool only = s->of[j] >> own & 1;
    for (int k = 0; k < s->own.rank; k++) only &= k == own || !(s->of[j] >> k & 1) || s->own.dim[k] == 1;
    return only;
}
