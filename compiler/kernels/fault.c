/* fault.c: faults of a kernel in itself, whatever its place in a program, in words for the person who wrote it. */
#include "desc/target.h"
#include "graph/parts.h"
#include "kernels/kernels.h"
#include "kernels/text.h"

/* ------------------------------------------------------------------ views and matrices */

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

/* ------------------------------------------------------------------ kernels */

static const char *operands_fault(const Operands *o, const Shape *seen)
{
    for (int i = 0; i < o->n; i++)
        if (!same_shape(o->at[i].view.shape, *seen)) return "its views have the shape that it runs over";
    return NULL;
}

static const char *phase_fault(const Kernel *k, const Phase *f)
{
    const Shape inner = {.rank = 1, .dim = {k->space.dim[k->space.rank - 1]}};
    const char *fault = operands_fault(&f->stores, &k->space);
    if (!fault) fault = operands_fault(&f->row_stores, &k->space);
    if (!fault && operands_fault(&f->column_stores, &inner))
        fault = "what it stores of columns has the inner axis alone";
    return fault ? fault : f->column_stores.n > f->columns.n ? "it stores more columns than it sums" : NULL;
}

static bool is_among_operands(const Nodes *nodes, const Node *n)
{
    for (int i = 0; i < nodes->n; i++)
        if (nodes->at[i] == n) return true;
    return false;
}

/* Is n there in a phase: loaded, a constant, or made? */
static bool is_there(const Kernel *k, int phase, const Node *n)
{
    bool found =
        is_filled(n, NULL) || is_among_operands(&k->kept, n) || is_among_operands(&k->phases.at[phase].each, n);
    for (int i = 0; i < k->loads.n; i++) found |= k->loads.at[i].node == n;
    for (int p = 0; p <= phase; p++)
        found |= is_among_operands(&k->phases.at[p].row, n) || is_among_operands(&k->phases.at[p].sums, n);
    return found;
}

/* Or does it show what is? */
static bool comes_from_somewhere(const Kernel *k, int phase, const Node *n)
{
    while (!is_there(k, phase, n)) {
        if (!is_view(n)) return false;
        n = n->in[0];
    }
    return true;
}

static const char *values_fault(const Kernel *k, int phase)
{
    const Phase *p = &k->phases.at[phase];
    const Nodes *readers[] = {&p->row, &p->each, &p->sums, &p->columns};
    const Operands *stores[] = {&p->stores, &p->row_stores};
    bool all = true;
    for (int l = 0; l < COUNT_OF(readers); l++)
        for (int i = 0; i < readers[l]->n; i++)
            for (int j = 0; j < readers[l]->at[i]->nin; j++)
                all &= comes_from_somewhere(k, phase, readers[l]->at[i]->in[j]);
    for (int l = 0; l < COUNT_OF(stores); l++)
        for (int i = 0; i < stores[l]->n; i++) all &= comes_from_somewhere(k, phase, stores[l]->at[i].node);
    return all ? NULL : "it reads a value that it neither loads nor makes";
}

static const char *rows_fault(const Kernel *k)
{
    int columns = 0;
    if (!k->space.rank || !k->phases.n) return "a kernel of rows has a shape and a phase";
    const char *fault = operands_fault(&k->loads, &k->space);
    for (int i = 0; i < k->phases.n && !fault; i++) {
        columns += k->phases.at[i].columns.n;
        fault = phase_fault(k, &k->phases.at[i]);
        if (!fault) fault = values_fault(k, i);
    }
    if (fault) return fault;
    return columns == k->partials.n ? NULL : "each sum over columns has partials, and nothing else has";
}

static bool ends_here(const Target *t, Product_end end)
{
#define NEEDS(member, word, needs) [member] = needs,
    static const int needs[] = {PRODUCT_ENDS(NEEDS)};
    return end == END_NONE || t->ends & needs[end];
}

static const char *product_fault(const Kernel *k, const Target *t)
{
    const struct Gemm *g = &k->gemm;
    bool row = g->end == END_BIAS || sums_up(g->end);
    if (!g->M || !g->a.node || !g->b.node || !g->c.node) return "a product has sizes, and operands a, b and c";
    if (!k->node || k->node->op != OP_dot) return "a product is of a dot";
    if (!g->a.view.buffer || !g->b.view.buffer) return "operands of a product lie in buffers";
    if (!ends_here(t, g->end)) return format("products of %s do not end so", t->name);
    if (row != (g->vector.node != NULL) && g->end != END_GELU)
        return "a vector goes with ends bias, gelu, sum_a, sum_b";
    if (g->end == END_GELU_BACK && !g->aux.node) return "that end has an aux";
    if (g->aux.node && g->end < END_GELU) return "aux goes with ends gelu, gelu_back";
    if (k->kind == PACK && (k->reads.n != 1 || k->writes.n != 1)) return "packing reads and writes one matrix";
    return gemm_fault(k);
}

static bool in_buffers(const Operands *o)
{
    for (int i = 0; i < o->n; i++)
        if (!o->at[i].view.buffer) return false;
    return true;
}

static bool runs_as(Op op, KernelKind kind) { return op_parts[op].kernel && op_parts[op].kernel->kind == kind; }

/* The first that runs as such a kernel. */
static const char *operation_of(KernelKind kind)
{
    int op = 0;
    while (op + 1 < OPS && !runs_as((Op)op, kind)) op++;
    return op_info[op].name;
}

static const char *index_fault(const Kernel *k)
{
    bool whole = k->kind == ATTENTION || k->kind == CONVOLUTION || k->kind == BY_IDS;
    if (!k->node) return "it is of a node";
    if (whole ? op_info[k->node->op].kind != WHOLE || (k->node->op == OP_convolution) != (k->kind == CONVOLUTION) ||
                    (k->node->op == OP_dot_by_ids) != (k->kind == BY_IDS)
              : !runs_as(k->node->op, k->kind))
        return format("it is of %s, and not of %s", whole ? "a whole operation" : operation_of(k->kind),
                      op_info[k->node->op].name);
    if (k->reads.n != k->node->nin)
        return format("it reads %d inputs, and its operation has %d", k->reads.n, k->node->nin);
    if (!whole && !in_buffers(&k->reads)) return "what it reads lies in buffers";
    return !k->writes.n || (!whole && k->kind != TOPK && k->writes.n != 1) ? "it writes each result" : NULL;
}

const char *kernel_fault(const Kernel *k, const Target *t)
{
    const Kernel *loop = k->persistent;
    if (k->sliced && !(loop && loop->period && loop->wide && loop->period % loop->wide == 0))
        return "it runs by slices, and its loop has none";
    switch (k->kind) {
    case ROWS: return rows_fault(k);
    case GEMM:
    case PACK: return product_fault(k, t);
    case REPEAT:
        if (k->barrier && !t->persists) return format("%s has no loops in one launch", t->name);
        return k->barrier && !k->body.n ? "its body is empty" : NULL;
    case PANELS:
        if (!t->panels) return format("%s has no panels", t->name);
        return k->rows && k->unit && k->highest && k->body.n ? NULL : "panels have rows, unit, highest and kernels";
    default: return index_fault(k);
    }
}
