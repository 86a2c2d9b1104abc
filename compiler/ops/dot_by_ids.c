/* dot_by_ids.c: each row times the matrix that its id chooses, as in a mixture of experts, and the derivative towards
 * the matrices.
 *
 *     y[r…][n] = Σ over k of x[r…][k] · w[ids[r…]][n][k]
 *
 *   inputs    x [rows…][K], w [E][N][K] or [E][K][N], ids i32 [rows…]
 *   ints      the axis of w along x, 2 or 1 · 0
 *   result    [rows…][N]
 *
 * The sum over the rows of each matrix, l rᵀ, is the derivative towards w:
 *
 *     s[e][i][j] = Σ over the rows whose id is e of l[r…][i] · r[r…][j]
 *
 *   inputs    l [rows…][I], r [rows…][J], ids
 *   ints      0 · E
 *   result    [E][I][J]; of a matrix that no row chooses: zeros
 *
 * The derivatives of either are the other or itself, so any order of derivatives has kernels.  Rows need not be sorted:
 * a row's result depends on that row alone, and on a CPU math/gemm_by_ids.h sorts their numbers.  Elsewhere the
 * definition takes its place: a loop over matrices, each times all rows. */
#include "desc/target.h"
#include "ops/ids.h"

enum { X, W, IDS, FACTORS };
enum { ACROSS, MATRICES, INTS };

Node *dot_by_ids(Node *x, Node *w, Node *ids, int across)
{
    Node *in[] = {x, w, ids};
    return whole_result(whole_op(OP_dot_by_ids, FACTORS, in, INTS, (int64_t[]){across, 0}), 0);
}

static Node *sum_by_ids(Node *l, Node *r, Node *ids, int64_t matrices)
{
    Node *in[] = {l, r, ids};
    return whole_result(whole_op(OP_dot_by_ids, FACTORS, in, INTS, (int64_t[]){0, matrices}), 0);
}

bool sums_by_ids(const Node *n) { return n->ints[ACROSS] == 0; }

/* ------------------------------------------------------------------ types */

/* Is x [rows…][any] for the ids [rows…]? */
static bool has_rows_of_ids(const Node *x, const Node *ids)
{
    bool fits = x->shape.rank == ids->shape.rank + 1;
    for (int i = 0; fits && i < ids->shape.rank; i++) fits = x->shape.dim[i] == ids->shape.dim[i];
    return fits;
}

const char *dot_by_ids_fault(const Node *n)
{
    if (n->nin != FACTORS || n->nints != INTS) return "it takes x, w and ids, and has two ints";
    const Node *x = n->in[X], *w = n->in[W], *ids = n->in[IDS];
    bool sums = sums_by_ids(n), of_blocks = !sums && x->dtype == F32 && in_blocks(w->dtype);
    if (!is_real(x->dtype) || (w->dtype != x->dtype && !of_blocks))
        return "it takes reals of one type, or f32 and one in blocks";
    if (ids->dtype != I32 || ids->shape.rank < 1) return "ids are i32, [rows…]";
    if (!has_rows_of_ids(x, ids)) return "x is [rows…, width] for the rows of ids";
    if (sums && n->ints[MATRICES] < 1) return "there is at least one matrix";
    if (sums) return has_rows_of_ids(w, ids) ? NULL : "both factors are [rows…, width] for the rows of ids";
    if (n->ints[ACROSS] < 0 || n->ints[ACROSS] > 2 || n->ints[MATRICES]) return "the axis of w along x is 1 or 2";
    if (w->shape.rank != 3) return "w is [matrices, out, in] or [matrices, in, out]";
    return w->shape.dim[n->ints[ACROSS]] == x->shape.dim[x->shape.rank - 1] ? NULL : "w is for another width than x's";
}

int dot_by_ids_results(const Node *n, Type *out)
{
    const Shape *x = &n->in[X]->shape, *w = &n->in[W]->shape;
    Shape s = {0};
    if (sums_by_ids(n)) {
        s.dim[s.rank++] = n->ints[MATRICES];
        s = with_axis(with_axis(s, *x, x->rank - 1), *w, w->rank - 1);
    } else {
        s = with_axis(axes_before(*x, x->rank - 1), *w, 3 - (int)n->ints[ACROSS]);
    }
    out[0] = (Type){n->in[X]->dtype, s};
    return 1;
}

/* ------------------------------------------------------------------ rows */

static bool not_each(Row_fact f) { return f.kind > ROWS_EACH || !f.kind; }

Row_fact dot_by_ids_rows(Rows *r, Row_pair *p)
{
    Row_fact x = row_demand(r, p, X), w = row_demand(r, p, W), ids = row_demand(r, p, IDS);
    if (sums_by_ids(p->node)) return row_meets(p, "the matrices are made of rows"); /* of gradients alone */
    if (w.kind == ROWS_EACH) return row_meets(p, "the matrices depend on rows");
    if (not_each(x) || not_each(w) || not_each(ids)) return row_join(p, row_join(p, x, w), ids);
    if (x.kind == ROWS_EACH && x.axis >= p->node->in[IDS]->shape.rank)
        return row_meets(p, "a product sums over the batch axis");
    Row_fact f = row_join(p, x, ids);
    f.power = x.power + w.power;
    f.learned |= w.learned;
    f.counted |= w.counted;
    return f;
}

/* ------------------------------------------------------------------ meaning */

/* Rows of x whose id is that of the loop's matrix; zeros for the others. */
static Node *of_matrix(const Loop *l, Node *x, Node *otherwise, Node *ids)
{
    Shape s = ids->shape;
    s.dim[s.rank] = 1;
    s.axis[s.rank++] = 0;
    Node *chosen = map2(OP_eq, ids, broadcast(l->index, ids->shape));
    return where_op(expand(reshape(chosen, s), x->shape), x, otherwise);
}

static Node *rows_defined(const Node *n)
{
    Node *x = n->in[X], *w = n->in[W];
    Type t;
    dot_by_ids_results(n, &t);
    Loop *l = loop_open("matrix", w->shape.dim[0], false);
    Node *sum = loop_carry(l, filled(0, t.dtype, t.shape));
    Dot_axes axes = {.nc = 1, .ac = {x->shape.rank - 1}, .bc = {(int)n->ints[ACROSS] - 1}};
    loop_next(l, 0, of_matrix(l, dot(x, loop_x(l, w), axes), sum, n->in[IDS]));
    loop_close(l);
    return loop_result(l, 0);
}

static Node *sums_defined(const Node *n)
{
    Node *x = n->in[X];
    Loop *l = loop_open("matrix", n->ints[MATRICES], false);
    Dot_axes axes = {.nc = x->shape.rank - 1};
    for (int i = 0; i < axes.nc; i++) axes.ac[i] = axes.bc[i] = i;
    Node *part = dot(of_matrix(l, x, filled(0, x->dtype, x->shape), n->in[IDS]), n->in[W], axes);
    loop_yield(l, part);
    loop_close(l);
    return loop_stack(l, part);
}

Node *dot_by_ids_define(Node *n, int k)
{
    (void)k;
    return sums_by_ids(n) ? sums_defined(n) : rows_defined(n);
}

/* ------------------------------------------------------------------ derivative, form */

void dot_by_ids_gradient(Grad_level *lv, Node *n, Node *const *g)
{
    Node *x = n->in[X], *w = n->in[W];
    int across = (int)n->ints[ACROSS];
    if (!g[0]) return;
    Node *ids = value(lv, n->in[IDS]);
    bool sums = sums_by_ids(n), towards_x = grad_active(lv, x), towards_w = grad_active(lv, w);
    if (sums) {
        if (towards_x) contribute(lv, x, dot_by_ids(value(lv, w), g[0], ids, 2));
        if (towards_w) contribute(lv, w, dot_by_ids(value(lv, x), g[0], ids, 1));
        return;
    }
    if (towards_x) contribute(lv, x, dot_by_ids(g[0], value(lv, w), ids, 3 - across));
    if (!towards_w) return;
    Node *at = value(lv, x), *l = across == 2 ? g[0] : at, *r = across == 2 ? at : g[0];
    contribute(lv, w, sum_by_ids(l, r, ids, w->shape.dim[0]));
}

Node *dot_by_ids_part(Node *n) { return (void)n, NULL; }

bool dot_by_ids_expand(Node *n, const bool *wanted, Node **results, const Desc *d)
{
    int64_t matrices = sums_by_ids(n) ? n->ints[MATRICES] : n->in[W]->shape.dim[0];
    if (d->options->target->loops && matrices <= LATHE_MATRICES_BY_IDS) return false;
    if (wanted[0]) results[0] = dot_by_ids_define(n, 0);
    return true;
}
