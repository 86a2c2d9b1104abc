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

/* The matrices that strides and sizes make of an operand. */
static const char *matrix_fault(const Operand *o, int64_t rows, int64_t columns, int64_t row, int64_t column,
                                const struct Gemm *g, const int64_t *batch)
{
    View v = o->view;
    v.guarded = false;
    v.shape = (Shape){.rank = 2, .dim = {rows, columns}};
    v.stride[0] = row, v.stride[1] = column;
    for (int i = 0; batch && i < g->nbatch && v.shape.rank < MAXRANK; i++) {
        v.stride[v.shape.rank] = batch[i];
        v.shape.dim[v.shape.rank++] = g->batch[i];
    }
    for (int i = 0; i < v.shape.rank; i++) v.low[i] = 0, v.high[i] = v.shape.dim[i];
    return view_fault(&v);
}

const char *gemm_fault(const Kernel *k)
{
    const struct Gemm *g = &k->gemm;
    const Operand *b = k->kind == PACK ? &k->reads.at[0] : &g->b;
    const char *fault = k->kind == PACK ? NULL : matrix_fault(&g->a, g->M, g->K, g->a_m, g->a_k, g, g->a_batch);
    if (!fault && !g->packed) fault = matrix_fault(b, g->K, g->N, g->b_k, g->b_n, g, g->b_batch);
    if (!fault && k->kind != PACK) fault = matrix_fault(&g->c, g->M, g->N, g->c_m, g->c_n, g, g->c_batch);
    if (!fault && g->aux.node && k->kind != PACK) fault = matrix_fault(&g->aux, g->M, g->N, g->aux_m, 1, g, NULL);
    return fault;
}

static void check_products(const Run *r, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        const Kernel *k = kernels[i];
        const char *fault = k->kind == GEMM || k->kind == PACK ? gemm_fault(k) : NULL;
        if (fault) unsound(r, "product %s: %s", k->name, fault);
        check_products(r, (Kernel *const *)k->body.at, k->body.n);
    }
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
    check_products(&r, (Kernel *const *)p->kernels.at, p->kernels.n);
    check_order(&r);
    check_lives(&r);
    check_bytes(&r);
}
