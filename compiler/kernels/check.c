/* check.c: what must hold of the kernels of a program after each pass over them. */
#include "../lathe.h"

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

static void check_view(const View *v, const Kernel *k, const char *stage)
{
    const char *fault = view_fault(v);
    if (fault) die("after %s: in kernel %s %s", stage, k->name, fault);
}

static void check_operands(const Operands *o, const Kernel *k, const char *stage)
{
    for (int i = 0; i < o->n; i++) check_view(&o->at[i].view, k, stage);
}

static void check_kernel(const Kernel *k, const char *stage)
{
    check_operands(&k->loads, k, stage);
    check_operands(&k->reads, k, stage);
    check_operands(&k->writes, k, stage);
    for (int p = 0; p < k->phases.n; p++) {
        check_operands(&k->phases.at[p].stores, k, stage);
        check_operands(&k->phases.at[p].row_stores, k, stage);
        check_operands(&k->phases.at[p].column_stores, k, stage);
    }
    for (int i = 0; i < k->body.n; i++) check_kernel(k->body.at[i], stage);
}

static bool made_over(Kernel *const *kernels, int n, const Buffer *new, const Buffer *old)
{
    for (int i = 0; i < n; i++) {
        if (kernels[i]->step == new->begin && works_in_place(kernels[i], new, old)) return true;
        if (made_over(kernels[i]->body.at, kernels[i]->body.n, new, old)) return true;
    }
    return false;
}

/* Buffers may share bytes if they never live together, or if one takes over the other's and one kernel makes it over
 * the other, element by element, or after. */
static bool may_share(const Program *p, const Buffer *a, const Buffer *b)
{
    if (a->last < b->first || b->last < a->first) return true;
    const Buffer *new = a->begin < b->begin ? b : a, *old = new == a ? b : a;
    if (bytes_of(a) != bytes_of(b)) return false;
    return old->end < new->begin || (old->end == new->begin &&made_over(p->kernels.at, p->kernels.n, new, old));
}

void check_program(const Program *p, const char *stage)
{
    for (int i = 0; i < p->kernels.n; i++) check_kernel(p->kernels.at[i], stage);
    for (int i = 0; i < p->buffers.n; i++)
        for (int j = 0; j < i; j++) {
            const Buffer *a = p->buffers.at[i], *b = p->buffers.at[j];
            if (a->home != WORK || b->home != WORK || a->first < 0 || b->first < 0 || p->work_bytes == 0) continue;
            if (a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes && !may_share(p, a, b))
                die("after %s: %s and %s live together at the same bytes", stage, a->name, b->name);
        }
}
