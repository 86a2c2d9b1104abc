/* dense.c: pass dense: which products are called by their sizes alone, as in matmul_nt(c, a, b, M, N, K). Their
 * matrices must be in memory without gaps, row by row or (transposed) column by column. Other products, and those
 * with packed operands, are called with strides (gemm), and so are those whose rows are alike. */
#include "desc/passes.h"
#include "desc/target.h"
#include "kernels/nest.h"

typedef struct Matrix {
    int64_t row, column; /* from one row or column to the next, in elements */
    int64_t rows, columns;
} Matrix;

static bool lies_by_rows(Matrix m) { return (m.column == 1 || m.columns == 1) && (m.row == m.columns || m.rows == 1); }

static bool lies_by_columns(Matrix m)
{
    return lies_by_rows((Matrix){.row = m.column, .column = m.row, .rows = m.columns, .columns = m.rows});
}

static Dense density_of(const struct Gemm *g)
{
    static const Dense dense[2][2] = {{DENSE_NN, DENSE_NT}, {DENSE_TN, DENSE_TT}};
    Matrix a = {g->a_m, g->a_k, g->M, g->K}, b = {g->b_k, g->b_n, g->K, g->N}, c = {g->c_m, g->c_n, g->M, g->N};
    bool an = lies_by_rows(a), bn = lies_by_rows(b);
    bool all = !g->packed && !in_blocks(g->b.node->dtype) && !g->nbatch && lies_by_rows(c);
    if (!all || !(an || lies_by_columns(a)) || !(bn || lies_by_columns(b))) return STRIDED;
    return dense[!an][!bn];
}

static void call_by_sizes(Kernel *k, const Desc *d)
{
    if (d->options->target->loops && k->kind == GEMM) k->nest->dense = density_of(&k->gemm);
}

void pass_dense(Program *p, const Desc *d)
{
    if (!without(d, PASS_dense) && !rows_alike(p)) each_nest(p, call_by_sizes, d);
}
