/* slabs.c: which elements of a buffer a row of a group of kernels touches (plan/panels.c). */
#include "plan/slabs.h"
#include "plan/plan.h"

static int64_t modulo(int64_t a, int64_t b) { return (a % b + b) % b; }

typedef struct Reach { /* of a row's elements, from where it begins */
    int64_t low, high;
} Reach;

static void add_reach(Reach *r, int64_t stride, int64_t first, int64_t last)
{
    r->low += min64(stride * first, stride * last);
    r->high += max64(stride * first, stride * last);
}

/* Are the elements of a row in its slab, whatever v's offset and its loops add? */
static bool in_slab(const View *v, int64_t S, int64_t R, Reach r)
{
    if (S <= 0) return false;
    int64_t start = modulo(v->base, S * R);
    for (int i = 0; i < v->nover; i++)
        if (v->over[i].stride % (S * R)) add_reach(&r, v->over[i].stride, 0, v->over[i].loop->trip - 1);
    return start + r.low >= 0 && start + r.high < S;
}

/* The distance in elements between neighbouring rows, which the first n axes are; 0: it is not the same everywhere. */
static int64_t row_stride(const View *v, int n)
{
    int64_t S = 0, rows = 1;
    for (int j = n - 1; j >= 0; j--) {
        if (v->shape.dim[j] == 1) continue;
        if (rows == 1) S = v->stride[j];
        else if (v->stride[j] != S * rows) return 0;
        rows *= v->shape.dim[j];
    }
    return S;
}

static void note_row(Slabs *s, Buffer *b, int64_t S, bool writes)
{
    if (!b) return;
    for (int i = 0; i < s->n; i++) {
        Slab *old = &s->at[i];
        if (old->buffer != b) continue;
        if (old->S != S) old->S = 0;
        old->writes |= writes;
        return;
    }
    push(s, ((Slab){b, S, writes}));
}

/* The first n axes of v are a kernel's rows.  If some of these are the R rows of the group, the others belong to a row;
 * else a row of the group is several of the kernel's. */
static void note_view(Slabs *s, const View *v, int n, int64_t R, bool writes)
{
    int64_t rows = 1, each = 1;
    int outer = 0;
    while (outer < n && rows < R) rows *= v->shape.dim[outer++];
    for (int i = outer; rows != R && i < n; i++) rows *= v->shape.dim[i];
    if (rows != R) each = rows / R, outer = n;
    Reach reach = {0};
    for (int i = outer; i < v->shape.rank; i++)
        if (v->low[i] < v->high[i]) add_reach(&reach, v->stride[i], v->low[i], v->high[i] - 1);
    int64_t S = row_stride(v, outer);
    note_row(s, v->buffer, in_slab(v, S, R * each, reach) ? S * each : 0, writes);
}

static void note_views(Slabs *s, const Operands *o, int64_t R, bool writes)
{
    for (int i = 0; i < o->n; i++) note_view(s, &o->at[i].view, o->at[i].view.shape.rank - 1, R, writes);
}

static void note_matrix(Slabs *s, const View *v, const struct Gemm *g, int64_t R, int64_t row, int64_t column,
                        int64_t columns, bool writes)
{
    Reach reach = {0};
    add_reach(&reach, column, 0, columns - 1);
    note_row(s, v->buffer, in_slab(v, row, g->M, reach) ? row * (g->M / R) : 0, writes);
}

void slabs_of(const Kernel *k, int64_t R, Slabs *s)
{
    const struct Gemm *g = &k->gemm;
    note_views(s, &k->loads, R, false);
    for (int p = 0; p < k->phases.n; p++) {
        note_views(s, &k->phases.at[p].stores, R, true);
        note_views(s, &k->phases.at[p].row_stores, R, true);
    }
    if (k->kind == GEMM) {
        note_matrix(s, &g->a.view, g, R, g->a_m, g->a_k, g->K, false);
        note_matrix(s, &g->c.view, g, R, g->c_m, g->c_n, g->N, true);
        note_row(s, g->b.view.buffer, 0, false);
    }
    if (k->kind == CONVOLUTION) {
        int inner = convolution_of(k->node).n + 1;
        note_view(s, &k->reads.at[0].view, k->reads.at[0].view.shape.rank - inner, R, false);
        note_view(s, &k->writes.at[0].view, k->writes.at[0].view.shape.rank - inner, R, true);
        note_row(s, k->reads.at[1].view.buffer, 0, false);
    }
    for (int i = 0; i < k->body.n; i++) slabs_of(k->body.at[i], R, s);
}

bool rows_apart(const Slabs *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->at[i].writes && !s->at[i].S) return false;
    return true;
}

/* Asked by pass_in_place: are the two buffers' bytes still touched in slabs if they become one? */
bool panels_allow(const Kernel *panels, const Buffer *a, const Buffer *b)
{
    Slabs s = {0};
    int64_t S = 0;
    slabs_of(panels, panels->rows, &s);
    for (int i = 0; i < s.n; i++) {
        if (s.at[i].buffer != a && s.at[i].buffer != b) continue;
        if (!s.at[i].S || (S && S != s.at[i].S)) return false;
        S = s.at[i].S;
    }
    return true;
}
