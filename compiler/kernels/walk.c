/* walk.c: what a kernel reads and writes, whatever its kind: the one list of its operands. */
#include "kernels/kernels.h"

static void visit_all(Operands *o, bool writes, Visit_operand visit, void *user)
{
    for (int i = 0; i < o->n; i++) visit(&o->at[i], writes, user);
}

static void visit_phase(Phase *p, Share share, Visit_operand visit, void *user)
{
    if (share != COLUMN_SUMS) {
        visit_all(&p->stores, true, visit, user);
        visit_all(&p->row_stores, true, visit, user);
    }
    if (share != SOME_ROWS) visit_all(&p->column_stores, true, visit, user);
}

bool sums_up(Product_end end) { return end == END_SUM_A || end == END_SUM_B; }

void each_operand(Kernel *k, Visit_operand visit, void *user)
{
    if (k->share != COLUMN_SUMS) visit_all(&k->loads, false, visit, user);
    visit_all(&k->reads, false, visit, user);
    visit_all(&k->writes, true, visit, user);
    if (k->kind == GEMM) {
        visit(&k->gemm.a, false, user);
        visit(&k->gemm.b, false, user);
        visit(&k->gemm.c, true, user);
        if (k->gemm.vector.node) visit(&k->gemm.vector, sums_up(k->gemm.end), user);
        if (k->gemm.aux.node) visit(&k->gemm.aux, k->gemm.end == END_GELU, user);
    }
    for (int p = 0; p < k->phases.n; p++) visit_phase(&k->phases.at[p], k->share, visit, user);
}

/* ------------------------------------------------------------------ rows */

/* Samples of a convolution whose result has a place for each. */
static int64_t samples_of_kernel(const Kernel *k)
{
    Convolution v = convolution_of(k->node);
    const Shape *image = &k->reads.at[0].view.shape;
    int64_t n = 1;
    for (int i = 0; i < image->rank - v.n - 1; i++) n *= image->dim[i];
    return v.side == TOWARDS_W ? 0 : n;
}

int64_t kernel_rows(const Kernel *k)
{
    switch (k->kind) {
    case ROWS: return k->space.rank > 1 ? elements(k->space) / max64(k->space.dim[k->space.rank - 1], 1) : 0;
    case GEMM: return k->gemm.M;
    case CONVOLUTION: return samples_of_kernel(k);
    case REPEAT: return k->body.n ? kernel_rows(k->body.at[0]) : 0;
    default: return 0;
    }
}

bool are_of_samples(const Kernel *const *k, int n)
{
    bool found = false;
    for (int i = 0; i < n; i++) found |= k[i]->kind == CONVOLUTION;
    return found;
}

int64_t rows_each(const Kernel *k) { return max64(kernel_rows(k) / k->panels->rows, 1); }

/* ------------------------------------------------------------------ buffers */

/* The next time the way is half as long. */
Buffer *bytes_of(const Buffer *b)
{
    while (b->in_place_of) {
        const Buffer *next = b->nearer ? b->nearer : b->in_place_of;
        if (next->in_place_of) ((Buffer *)b)->nearer = next->nearer ? next->nearer : next->in_place_of;
        b = next;
    }
    return (Buffer *)b;
}

static void note(Touches *t, Buffer *b, bool writes)
{
    if (!b) return;
    if (b->noted_in == t && b->noted_at < t->n && t->at[b->noted_at].buffer == b) { /* lists are made one by one */
        t->at[b->noted_at].writes |= writes;
        return;
    }
    b->noted_in = t;
    b->noted_at = t->n;
    push(t, ((Touch){b, writes}));
}

static void note_operand(Operand *o, bool writes, void *touches) { note(touches, o->view.buffer, writes); }

void own_touches(const Kernel *k, Touches *t)
{
    each_operand((Kernel *)k, note_operand, t);
    for (int i = 0; i < k->partials.n; i++) note(t, k->partials.at[i], true);
    note(t, k->barrier, true);
}

void touches_of(const Kernel *k, Touches *t)
{
    own_touches(k, t);
    for (int i = 0; i < k->body.n; i++) touches_of(k->body.at[i], t);
}

bool conflict(const Touches *a, const Touches *b)
{
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++)
            if (a->at[i].buffer == b->at[j].buffer && (a->at[i].writes || b->at[j].writes)) return true;
    return false;
}
