/* check.c: what must hold of the kernels of a program after each pass over them: its views lie in their buffers, values
 * are written before they are read (check_order.c), last as long as they are needed (check_lives.c), and are not
 * overwritten until they have been read (check_bytes.c). */
#include "check.h"

const char *view_fault(const View *v)
{
    __int128 low = v->base, high = v->base, last = 0;
    if (!v->buffer) return NULL;
    for (int i = 0; i < v->nover; i++) {
        __int128 far = (__int128)v->over[i].stride * (v->over[i].loop->trip - 1);
        low += far < 0 ? far : 0;
        high += far > 0 ? far : 0;
    }
    for (int i = 0; i < v->shape.rank; i++) {
        if (v->high[i] <= v->low[i]) return NULL; /* shows nothing */
        __int128 one = (__int128)v->low[i] * v->stride[i], other = (__int128)(v->high[i] - 1) * v->stride[i];
        low += one < other ? one : other;
        high += one < other ? other : one;
    }
    for (int i = 0; i < v->buffer->shape.rank; i++)
        last += (__int128)(v->buffer->shape.dim[i] - 1) * v->buffer->stride[i];
    if (low >= 0 && high <= last) return NULL;
    return format("a view of %s [%lld] reaches %lld … %lld", v->buffer->name, (long long)last + 1, (long long)low,
                  (long long)high);
}

static void check_view(const Access *a, const Run *r)
{
    const char *fault = view_fault(a->view);
    if (fault) unsound(r, "in kernel %s %s", a->kernel->name, fault);
}

void check_program(const Program *p, const char *stage)
{
    Run r = run_of(p, stage);
    for (int i = 0; i < r.all.n; i++) check_view(&r.all.at[i], &r);
    check_order(&r);
    check_lives(&r);
    check_bytes(&r);
}
