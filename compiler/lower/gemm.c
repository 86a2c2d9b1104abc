/* gemm.c: writes a dot as a matrix product on strided views, with other axes as batches. */
#include "lower/lower.h"

/* A run of axes that can be walked with one index; strides in the operands that have it, 0 in the others. */
typedef struct Run {
    int64_t n, a, b, c;
    int axis;
} Run;
typedef struct Runs {
    Run at[MAXRANK];
    int n;
} Runs;

static void append(Runs *r, Run x)
{
    if (x.n == 1) return;
    Run *last = r->n ? &r->at[r->n - 1] : NULL;
    if (last && last->a == x.a * x.n && last->b == x.b * x.n && last->c == x.c * x.n) {
        Shape of = {2, {last->n, x.n}, {(uint16_t)last->axis, (uint16_t)x.axis}};
        x.axis = axis_merged(of, 0, 2);
        x.n *= last->n;
        *last = x;
    } else {
        r->at[r->n++] = x;
    }
}

static Runs runs_of(const View *a, const int *aa, const View *b, const int *ba, const View *c, int c0, int n)
{
    Runs r = {.n = 0};
    for (int k = 0; k < n; k++) {
        int64_t extent = a ? a->shape.dim[aa[k]] : b->shape.dim[ba[k]];
        int axis = a ? a->shape.axis[aa[k]] : 0;
        if (!axis && b) axis = b->shape.axis[ba[k]];
        append(&r, (Run){extent, a ? a->stride[aa[k]] : 0, b ? b->stride[ba[k]] : 0, c ? c->stride[c0 + k] : 0, axis});
    }
    return r;
}

static Run run_at(const Runs *r, int i) { return i < r->n ? r->at[i] : (Run){1, 1, 1, 1, 0}; }

/* All runs but number `skip` become batch axes. */
static bool batches(struct Gemm *g, const Runs *r, int skip)
{
    for (int i = 0; i < r->n; i++) {
        if (i == skip) continue;
        if (g->nbatch == MAXRANK) return false;
        g->batch[g->nbatch] = r->at[i].n;
        g->a_batch[g->nbatch] = r->at[i].a;
        g->b_batch[g->nbatch] = r->at[i].b;
        g->c_batch[g->nbatch++] = r->at[i].c;
    }
    return true;
}

/* BLAS wants stride 1 along one axis; the stride of the other must be no smaller than the extent of the first. */
static bool addressable(int64_t rows, int64_t columns, int64_t row, int64_t column)
{
    if (row < 0 || column < 0) return false;
    return (column == 1 && row >= columns) || (row == 1 && column >= rows);
}

static void strides(struct Gemm *g, Run M, Run N, Run K)
{
    g->M = M.n, g->N = N.n, g->K = K.n;
    g->axis_m = M.axis, g->axis_n = N.axis, g->axis_k = K.axis;
    g->a_m = M.a, g->a_k = K.a, g->b_k = K.b, g->b_n = N.b, g->c_m = M.c, g->c_n = N.c;
    if (K.n == 1) g->a_k = g->a_m == 1 ? g->M : 1, g->b_k = g->b_n == 1 ? g->N : 1; /* an extent of 1 has no stride */
    if (M.n == 1) g->a_m = g->a_k == 1 ? g->K : 1, g->c_m = g->c_n == 1 ? g->N : 1;
    if (N.n == 1) g->b_n = g->b_k == 1 ? g->K : 1, g->c_n = g->c_m == 1 ? g->M : 1;
}

/* Chooses one run of M and one of N as the matrix's axes, so that the matrix is the largest that BLAS can address; the
 * other runs are batches. A product with an end has no batches. */
bool fill_gemm(const Node *dot, const View *a, const View *b, const View *c, struct Gemm *g)
{
    Dot_axes x = dot_axes(dot);
    bool ended = dot_end(dot) != END_NONE;
    int fa[MAXRANK], fb[MAXRANK];
    int na = free_axes(a->shape.rank, x.nb, x.ab, x.nc, x.ac, fa);
    int nb = free_axes(b->shape.rank, x.nb, x.bb, x.nc, x.bc, fb);
    Runs batch = runs_of(a, x.ab, b, x.bb, c, 0, x.nb);
    Runs m = runs_of(a, fa, NULL, NULL, c, x.nb, na);
    Runs n = runs_of(NULL, NULL, b, fb, c, x.nb + na, nb);
    Runs k = runs_of(a, x.ac, b, x.bc, NULL, 0, x.nc);
    if (a->guarded || b->guarded || k.n > 1) return false;
    int64_t best = 0;
    for (int i = 0; i < (m.n ? m.n : 1); i++)
        for (int j = 0; j < (n.n ? n.n : 1); j++) {
            struct Gemm try = *g;
            strides(&try, run_at(&m, i), run_at(&n, j), run_at(&k, 0));
            try.nbatch = 0;
            if (ended && try.c_n != 1) continue; /* the row is added along it */
            if (try.M * try.N <= best || !batches(&try, &batch, -1) || !batches(&try, &m, i) || !batches(&try, &n, j) ||
                !addressable(try.M, try.K, try.a_m, try.a_k) || !addressable(try.K, try.N, try.b_k, try.b_n) ||
                !addressable(try.M, try.N, try.c_m, try.c_n) || (ended && try.nbatch))
                continue;
            best = try.M * try.N;
            *g = try;
        }
    return best > 0;
}

bool is_plain(Cut *cut, const Node *dot)
{
    struct Gemm g = {0};
    View a = reading(cut, dot->in[0]).view, b = reading(cut, dot->in[1]).view, c = view_dense(dot->shape);
    return dot->dtype != F64 && dot_axes(dot).nb == 0 && !info(cut, dot)->layout && fill_gemm(dot, &a, &b, &c, &g) &&
           g.nbatch == 0 && g.c_n == 1;
}

/* Rows one behind another, the elements of each side by side. */
bool is_matrix(const View *v, int64_t rows, int64_t columns)
{
    View over;
    return !v->guarded && view_reshape(v, (Shape){.rank = 2, .dim = {rows, columns}}, &over) &&
           (columns == 1 || over.stride[1] == 1) && (rows == 1 || over.stride[0] >= columns);
}

/* A product reads the third input of its end (the row, or gelu's operand) in place, so it needs a plain layout. */
static void straighten_end(Cut *cut, const Node *dot)
{
    if (dot->nin < 3) return;
    int64_t columns = dot_columns(dot), rows = elements(dot->in[2]->shape) / columns;
    View v = reading(cut, dot->in[2]).view;
    if (!has_address(cut, dot->in[2]) || !is_matrix(&v, rows, columns)) info(cut, dot->in[2])->forced = true;
}

static void force_unless_plain(Cut *cut, Node *n)
{
    View v = reading(cut, n).view;
    if (!view_is_dense(&v)) info(cut, n)->forced = true;
}

bool gemm_fits(Cut *cut, Node *dot)
{
    struct Gemm g = {0};
    straighten_end(cut, dot);
    for (int i = 0; i < 2; i++)
        if (is_filled(dot->in[i], NULL)) info(cut, dot->in[i])->forced = true;
    View a = reading(cut, dot->in[0]).view, b = reading(cut, dot->in[1]).view, c = reading(cut, dot).view;
    if (fill_gemm(dot, &a, &b, &c, &g)) return true;
    force_unless_plain(cut, dot->in[0]);
    force_unless_plain(cut, dot->in[1]);
    a = reading(cut, dot->in[0]).view, b = reading(cut, dot->in[1]).view;
    if (!fill_gemm(dot, &a, &b, &c, &g))
        die("a dot of %s and %s fits no product", shape_text(a.shape), shape_text(b.shape));
    return true;
}

bool gemm_fits_at(Cut *cut, Node *dot, const View *c)
{
    struct Gemm g = {0};
    View a = reading(cut, dot->in[0]).view, b = reading(cut, dot->in[1]).view;
    int64_t columns = dot_columns(dot);
    bool beside = info(cut, dot)->product; /* a second result of that one's kernel */
    return fill_gemm(dot, &a, &b, c, &g) && (!beside || is_matrix(c, elements(dot->shape) / columns, columns));
}

static char *view_words(const View *v)
{
    Text t = {0};
    say(&t, " %s%s x (", v->guarded ? "guarded " : "", shape_text(v->shape));
    for (int i = 0; i < v->shape.rank; i++) say(&t, " %lld", (long long)v->stride[i]);
    say(&t, ")");
    return t.at;
}

/* The sum over the rows of an operand becomes this kernel's second result, where both are set or both are added. */
bool sum_up(Cut *cut, Kernel *k)
{
    Node *sum = info(cut, k->node)->sums_up;
    Sum *parts = info(cut, sum)->sum;
    View row;
    Shape columns = {.rank = 1, .dim = {elements(sum->shape)}};
    if (k->gemm.afresh || k->gemm.nbatch || k->gemm.c_n != 1 || k->gemm.c.add != (parts && parts->begun)) return false;
    if (!view_reshape(&info(cut, sum)->place, columns, &row) || (columns.dim[0] > 1 && row.stride[0] != 1))
        return false;
    k->gemm.end = info(cut, k->node)->summed ? END_SUM_B : END_SUM_A;
    k->gemm.vector = (Operand){.node = sum, .view = row, .add = adds_to(parts)};
    return true;
}

/* aux over the rows and columns of c. */
static void fill_aux(struct Gemm *g, Node *aux, const View *at)
{
    View v;
    if (!is_matrix(at, g->M, g->N) || !view_reshape(at, (Shape){.rank = 2, .dim = {g->M, g->N}}, &v))
        die("the end of a product is no matrix where it lies: %s", view_words(at));
    g->aux = (Operand){.node = aux, .view = *at};
    g->aux_m = g->M > 1 ? v.stride[0] : g->N;
}

static void fill_end(Cut *cut, Node *dot, struct Gemm *g)
{
    g->end = dot_end(dot);
    Node *before = info(cut, dot)->before_gelu;
    if (dot->nin > 2 && g->end != END_GELU_BACK)
        g->vector = (Operand){.node = dot->in[2], .view = final_view(cut, dot->in[2])};
    if (g->end == END_GELU_BACK) {
        View at = final_view(cut, dot->in[2]);
        fill_aux(g, dot->in[2], &at);
    }
    if (before) fill_aux(g, before, &info(cut, before)->place);
}

void fill_gemm_kernel(Cut *cut, Node *dot, Kernel *k)
{
    k->kind = GEMM;
    k->node = dot;
    k->gemm.a = (Operand){.node = dot->in[0], .view = final_view(cut, dot->in[0])};
    k->gemm.b = (Operand){.node = dot->in[1], .view = final_view(cut, dot->in[1])};
    Sum *sum = info(cut, dot)->sum;
    k->gemm.afresh = sum && !sum->begun ? info(cut, dot)->afresh : NULL;
    k->gemm.c = (Operand){.node = dot, .view = info(cut, dot)->place, .add = adds_to(sum) || info(cut, dot)->afresh};
    if (!fill_gemm(dot, &k->gemm.a.view, &k->gemm.b.view, &k->gemm.c.view, &k->gemm))
        die("a dot of %s and %s fitted a product, but fits none where its operands lie: %s%s%s",
            shape_text(dot->in[0]->shape), shape_text(dot->in[1]->shape), view_words(&k->gemm.a.view),
            view_words(&k->gemm.b.view), view_words(&k->gemm.c.view));
    fill_end(cut, dot, &k->gemm);
    double batch = 1;
    for (int i = 0; i < k->gemm.nbatch; i++) batch *= (double)k->gemm.batch[i];
    double m = (double)k->gemm.M, n = (double)k->gemm.N, kk = (double)k->gemm.K;
    k->flops = 2 * batch * m * n * kk;
    double in = (double)dtype_bytes(dot->in[0]->dtype), out = (double)dtype_bytes(dot->dtype);
    k->bytes = batch * (in * (m * kk + kk * n) + out * m * n * (k->gemm.aux.node ? 2 : 1));
}
