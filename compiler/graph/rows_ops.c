/* rows_ops.c: how the result of a map, reduction, leaf or loop depends on the rows of the batch, given its inputs'
 * facts; and what files of ops share.  ops/NAME.c has the other ops. */
#include "graph/rows_ops.h"
#include "graph/parts.h"
#include "runtime/math/double.h"

#include <math.h>

/* ------------------------------------------------------------------ facts */

static const Row_fault *fault_at(Where where, const char *why)
{
    Row_fault *f = NEW(Row_fault);
    *f = (Row_fault){where, why};
    return f;
}

static Row_fact meets_at(Where where, const char *why)
{
    return (Row_fact){.kind = ROWS_MEET, .fault = fault_at(where, why), .learned = true};
}

Row_fact row_meets(const Row_pair *p, const char *why) { return meets_at(p->node->where, why); }

/* One node may hold row numbers here and positions there, if the axis is as long as the batch.  So the user's line is
 * where both traces made this pair at the same time. */
static Row_fact leaf_meets(const Rows *r, const Row_pair *p, const char *why)
{
    const Made_leaves *a = &r->graph->leaves, *b = &r->wide->leaves;
    for (int i = 0; i < a->n && i < b->n; i++)
        if (a->at[i].node == p->node && b->at[i].node == p->wider) return meets_at(a->at[i].where, why);
    return row_meets(p, why);
}

static bool is_zero(const Row_pair *p)
{
    double v;
    return is_filled(p->node, &v) && v == 0;
}

Row_fact row_input(const Row_pair *p, int k) { return p->in[k] ? p->in[k]->fact : (Row_fact){.kind = ROWS_SAME}; }

/* Multiplies input k by parts^power, so that it is the value of the whole batch. */
static Row_fact settle_fact(Rows *r, Row_pair *p, int k, Row_fact f)
{
    if (f.power == 0) return f;
    if (p->node->op == OP_loop || p->node->op == OP_loop_arg)
        return row_meets(p, "a loop begins with a value that depends on the batch size");
    if (!is_real(p->in[k]->node->dtype)) return row_meets(p, "an integer or bool value depends on the batch size");
    if (r->recording) p->edit[k].power = f.power;
    f.power = 0;
    return f;
}

/* A total as a value that all parts share.  It must not depend on parameters, so that it can be computed before the
 * parts. */
static Row_fact as_whole(Rows *r, Row_pair *p, int k, Row_fact f)
{
    if (f.learned) {
        const Row_fault *fault = fault_at(p->node->where, "a sum over rows is used nonlinearly");
        if (r->recording) p->edit[k].power = f.power;
        return (Row_fact){.kind = ROWS_FUNCTION, .fault = fault, .learned = true, .counted = true};
    }
    if (p->in[k]->node->in_loop != r->graph->micro || p->node->op == OP_loop || p->node->op == OP_loop_arg)
        return row_meets(p, "rows are counted inside a loop");
    if (r->recording) p->edit[k].whole = true, p->edit[k].mean = f.affine;
    if (!f.affine && !r->single) f.power--;
    return (Row_fact){.kind = ROWS_SAME, .power = f.power, .counted = true};
}

Row_fact row_demand(Rows *r, Row_pair *p, int k)
{
    Row_fact f = row_input(p, k);
    if (f.kind == ROWS_TOTAL) f = as_whole(r, p, k, f);
    return settle_fact(r, p, k, f);
}

/* Joins two inputs that are not totals, element by element. */
Row_fact row_join(const Row_pair *p, Row_fact a, Row_fact b)
{
    if (a.kind == ROWS_MEET || b.kind == ROWS_UNSEEN) return a;
    if (b.kind == ROWS_MEET || a.kind == ROWS_UNSEEN) return b;
    bool apart = a.axis != b.axis || a.outer != b.outer || a.inner != b.inner;
    if (a.kind == ROWS_EACH && b.kind == ROWS_EACH && apart) return row_meets(p, "rows are combined with other rows");
    if (a.kind + b.kind == ROWS_EACH + ROWS_FUNCTION && a.kind != b.kind)
        return row_meets(p, "each row is combined with a sum over all rows");
    Row_fact f = a.kind >= b.kind ? a : b;
    f.learned = a.learned || b.learned;
    f.counted = a.counted || b.counted;
    return f;
}

static Row_fact plain(Rows *r, Row_pair *p)
{
    Row_fact f = {.kind = ROWS_SAME};
    for (int k = 0; k < p->nin; k++) f = row_join(p, f, row_demand(r, p, k));
    return f;
}

/* ------------------------------------------------------------------ sums and products of two */

/* A total plus another value is a total as well, maybe affine. */
static Row_fact total_and(Rows *r, Row_pair *p, int i, int k, Row_fact a, Row_fact b)
{
    if (b.kind != ROWS_TOTAL && b.kind != ROWS_SAME) return row_join(p, row_demand(r, p, i), row_demand(r, p, k));
    if (b.kind == ROWS_SAME && is_zero(p->in[k])) return a;
    Row_fact f = a;
    if (b.kind == ROWS_SAME || a.power != b.power || a.counted != b.counted) {
        Row_fact x = settle_fact(r, p, i, a), y = settle_fact(r, p, k, b);
        if (x.kind == ROWS_MEET || y.kind == ROWS_MEET) return row_join(p, x, y);
        f.power = 0;
    }
    f.affine |= b.affine || b.kind == ROWS_SAME;
    f.learned |= b.learned;
    f.counted |= b.counted;
    return f;
}

Row_fact row_sum_of(Rows *r, Row_pair *p, int i, int k)
{
    Row_fact a = row_input(p, i), b = row_input(p, k);
    if (a.kind == ROWS_TOTAL) return total_and(r, p, i, k, a, b);
    if (b.kind == ROWS_TOTAL) return total_and(r, p, k, i, b, a);
    if (a.power == b.power || is_zero(p->in[k]) || is_zero(p->in[i])) {
        Row_fact f = row_join(p, a, b);
        f.power = is_zero(p->in[i]) ? b.power : a.power;
        return f;
    }
    return row_join(p, settle_fact(r, p, i, a), settle_fact(r, p, k, b));
}

static bool has_batch(int axis)
{
    for (const Axis_sizes *s = axis_numbered(axis); s; s = axis_numbered(s->behind))
        for (int i = 0; i < s->n; i++)
            if (same(s->of[i].size, "batch") && s->of[i].power > 0) return true;
    return false;
}

/* Is the constant the number of rows or a multiple of it, or one over that, so that a sum over rows becomes a mean? If
 * there are two traces, it differs between them. Otherwise its axis says what it counts; if it has none, its value
 * does.
 */
static bool counts_rows(const Rows *r, const Row_pair *p, bool over)
{
    double v, wider;
    int axis = over ? axis_counted(p->node) : axis_shared(p->node);
    if (!is_filled(p->node, &v) || !is_filled(p->wider, &wider) || v == 0) return false;
    if (r->graph != r->wide) return wider != v && (fabs(wider) > fabs(v)) == over;
    if (has_batch(axis)) return true;
    double rows = (over ? fabs(v) : fabs(1 / v)) / (double)r->batch;
    return !axis && rows >= 1 && fabs(rows - round(rows)) < 1e-6 * rows;
}

/* Input 0 times input 1, or over it. */
static Row_fact product_fact(Rows *r, Row_pair *p, bool over)
{
    Row_fact a = row_input(p, 0), b = row_input(p, 1);
    bool both = a.kind == ROWS_TOTAL && b.kind == ROWS_TOTAL;
    if (b.kind == ROWS_TOTAL && (over || (both && !b.learned) || a.kind == ROWS_EACH)) b = row_demand(r, p, 1);
    else if (a.kind == ROWS_TOTAL && ((both && !a.learned) || b.kind == ROWS_EACH)) a = row_demand(r, p, 0);
    else if (both) a = row_demand(r, p, 0), b = row_demand(r, p, 1);
    if (a.kind != ROWS_TOTAL && b.kind != ROWS_TOTAL) {
        Row_fact f = row_join(p, a, b);
        f.power = over ? a.power - b.power : a.power + b.power;
        return f;
    }
    Row_fact t = a.kind == ROWS_TOTAL ? a : b, other = a.kind == ROWS_TOTAL ? b : a;
    if (other.kind != ROWS_SAME) return row_join(p, row_demand(r, p, 0), row_demand(r, p, 1));
    t.power += over ? -other.power : other.power;
    const Row_pair *by = p->in[a.kind == ROWS_TOTAL];
    if (r->single && by && counts_rows(r, by, over)) t.power = -1; /* a mean over rows */
    t.learned |= other.learned;
    t.counted |= other.counted;
    return t;
}

Row_fact row_product(Rows *r, Row_pair *p) { return product_fact(r, p, false); }

Row_fact row_total_of(const Rows *r, Row_fact a, Row_fact b)
{
    bool counted = a.counted || b.counted;
    int power = r->single ? 0 : a.power + b.power + 1;
    return (Row_fact){.kind = ROWS_TOTAL, .power = power, .learned = a.learned || b.learned, .counted = counted};
}

/* Whether a count of the whole batch stands in for another value, as in where(count == 0, 1, count): it is no mean. */
static bool is_count_or_other(const Row_pair *p)
{
    Row_fact a = row_input(p, 1), b = row_input(p, 2);
    int other = a.kind == ROWS_TOTAL ? 2 : 1;
    if ((a.kind == ROWS_TOTAL) == (b.kind == ROWS_TOTAL)) return false;
    return row_input(p, other).kind == ROWS_SAME && !row_input(p, 3 - other).learned && p->in[other] &&
           !is_zero(p->in[other]);
}

static Row_fact choice(Rows *r, Row_pair *p)
{
    if (is_count_or_other(p)) return plain(r, p);
    Row_fact c = row_demand(r, p, 0), f = row_sum_of(r, p, 1, 2);
    if (f.kind == ROWS_TOTAL && c.kind == ROWS_SAME) {
        f.counted |= c.counted;
        f.learned |= c.learned;
        return f;
    }
    if (f.kind == ROWS_TOTAL) return row_join(p, c, row_join(p, row_demand(r, p, 1), row_demand(r, p, 2)));
    int power = f.power;
    f = row_join(p, f, c);
    f.power = power;
    return f;
}

/* ------------------------------------------------------------------ reshape */

static int64_t extents_from(Shape s, int axis)
{
    int64_t n = 1;
    for (int i = axis; i < s.rank; i++) n *= s.dim[i];
    return n;
}

Row_fact row_reshaped(const Rows *r, const Row_pair *p, Row_fact f, Shape old, Shape new)
{
    int64_t stride = extents_from(old, f.axis + 1) * f.inner, count = r->batch;
    for (int k = 0; k < new.rank; k++) {
        int64_t behind = extents_from(new, k + 1), whole = behind * new.dim[k];
        bool holds = stride % behind == 0 && whole % (stride * count) == 0;
        if (!holds) continue;
        f.axis = k;
        f.outer = whole / (stride * count);
        f.inner = stride / behind;
        return f;
    }
    return row_meets(p, "a reshape splits the batch axis");
}

/* ------------------------------------------------------------------ reductions */

/* The power with x = 2^power, or 99. */
static int doublings(double x)
{
    double power = log2_f64(fabs(x));
    return x > 0 && fabs(power - round(power)) < 1e-9 ? (int)lround(power) : 99;
}

static Row_fact over_axes(const Row_pair *p, Row_fact f)
{
    const Node *n = p->node;
    int gone = 0;
    for (int i = 0; i < n->nints; i++) gone += n->ints[i] < f.axis;
    f.axis -= gone;
    return f;
}

/* The factor, as a power of 2, by which a sum in the wider trace has more terms on axes that are not rows. */
static int repeated(const Rows *r, const Row_pair *p, Row_fact f)
{
    const Node *a = p->in[0]->node, *b = p->in[0]->wider;
    double ratio = 1;
    if (r->single) return 0;
    for (int i = 0; i < p->node->nints; i++) {
        int64_t axis = p->node->ints[i];
        if (f.kind != ROWS_EACH || axis != f.axis) ratio *= (double)b->shape.dim[axis] / (double)a->shape.dim[axis];
    }
    return doublings(ratio);
}

/* Is one of the axes made of the batch, by its name? */
static bool sums_over_batch(const Row_pair *p)
{
    const Shape *s = &p->in[0]->wider->shape;
    for (int i = 0; i < p->node->nints; i++)
        if (has_batch(s->axis[p->node->ints[i]])) return true;
    return false;
}

static Row_fact sum(Rows *r, Row_pair *p)
{
    Row_fact f = row_input(p, 0);
    int more = repeated(r, p, f);
    if (more == 99) return row_meets(p, "the length of a sum depends on the batch size in an unknown way");
    f.power += more;
    if (f.kind == ROWS_SAME && r->single && sums_over_batch(p))
        return row_meets(p, "rows are counted by a sum of what is the same for all");
    if (f.kind != ROWS_EACH) return f;
    bool rows = false;
    for (int i = 0; i < p->node->nints; i++) rows |= p->node->ints[i] == f.axis;
    if (!rows) return over_axes(p, f);
    int power = r->single ? 0 : f.power + 1;
    return (Row_fact){.kind = ROWS_TOTAL, .power = power, .learned = f.learned, .counted = f.counted};
}

static Row_fact largest(Rows *r, Row_pair *p)
{
    Row_fact f = row_demand(r, p, 0);
    if (f.kind != ROWS_EACH) return f;
    for (int i = 0; i < p->node->nints; i++)
        if (p->node->ints[i] == f.axis) return row_meets(p, "a maximum or minimum over all rows is taken");
    return over_axes(p, f);
}

/* ------------------------------------------------------------------ leaves */

static Row_fact rows_at(int axis) { return (Row_fact){.kind = ROWS_EACH, .axis = axis, .outer = 1, .inner = 1}; }

/* The batch axis is the first of an input, which may have several rows for each item; of a state the one that is longer
 * in the wider trace, or has the extent of the batch. */
static Row_fact leaf(const Rows *r, const Row_pair *p, const Node *origin)
{
    if (origin->op == OP_input) {
        Row_fact f = p->node->shape.rank ? rows_at(0) : (Row_fact){.kind = ROWS_SAME};
        if (f.kind == ROWS_EACH) f.inner = max64(1, p->wider->shape.dim[0] / r->batch);
        return f;
    }
    for (int i = 0; i < p->node->shape.rank; i++) {
        int64_t a = p->node->shape.dim[i], b = p->wider->shape.dim[i];
        if (r->graph == r->wide ? b == r->batch : b != a) return rows_at(i);
    }
    return (Row_fact){.kind = ROWS_SAME};
}

static Row_fact constant(const Rows *r, const Row_pair *p)
{
    const Node *a = p->node, *b = p->wider;
    Row_fact f = {.kind = ROWS_SAME};
    if (a == b || r->single) return f;
    if (!same_shape(a->shape, b->shape)) return leaf_meets(r, p, "rows differ by their index in the batch");
    int64_t n = a->data ? elements(a->shape) : 1;
    for (int64_t i = 0; i < n; i++) {
        double x = a->data ? a->data[i] : a->value, y = b->data ? b->data[i] : b->value;
        int power = x == y ? 0 : doublings(y / x);
        bool fits = power != 99 && (i == 0 || x == 0 || power == f.power);
        if (!fits) return leaf_meets(r, p, "a constant depends on the batch size in an unknown way");
        if (x != 0) f.power = power;
    }
    return f;
}

static Row_fact fixed_leaf(const Rows *r, const Row_pair *p)
{
    const Node *n = p->node;
    int64_t a = n->shape.rank && n->op == OP_iota ? n->shape.dim[n->ints[0]] : 0;
    int64_t b = n->shape.rank && n->op == OP_iota ? p->wider->shape.dim[n->ints[0]] : 0;
    if (a != b && !r->single) return leaf_meets(r, p, "rows differ by their index in the batch");
    return (Row_fact){.kind = ROWS_SAME, .learned = n->op == OP_parameter};
}

/* The axis along which the row numbers of a draw run; they are iota / inner mod batch, and more (front/time.c). */
static Row_fact numbered_rows(const Rows *r, const Row_pair *p, const Node *n)
{
    double by;
    if (n->op == OP_iota) {
        Row_fact f = rows_at((int)n->ints[0]);
        f.outer = n->shape.dim[f.axis] / r->batch;
        return f;
    }
    if (!n->nin) return (Row_fact){.kind = ROWS_SAME};
    Row_fact f = numbered_rows(r, p, n->in[0]);
    if (f.kind != ROWS_EACH) return f;
    if (n->op == OP_reshape) return row_reshaped(r, p, f, n->in[0]->shape, n->shape);
    if (n->op != OP_idiv || !is_filled(n->in[1], &by)) return f;
    f.inner *= (int64_t)by;
    f.outer = max64(1, f.outer / (int64_t)by);
    return f;
}

static Row_fact drawn(const Rows *r, const Row_pair *p)
{
    Row_fact f = numbered_rows(r, p, p->wider->in[3]);
    if (r->single || f.kind != ROWS_SAME || same_shape(p->node->shape, p->wider->shape)) return f;
    return row_meets(p,
                     "random numbers shaped like a tensor that depends on no input differ by their index in the batch");
}

/* ------------------------------------------------------------------ loops */

static Row_fact carried(Rows *r, Row_pair *p)
{
    const Loop *a = p->node->loop, *b = p->wider->loop;
    int k = (int)p->node->ints[1];
    const Row_pair *next = find_pair(r, a->carries.at[k].next, b->carries.at[k].next);
    Row_fact f = row_input(p, 0), n = next ? next->fact : (Row_fact){0};
    if (n.kind == ROWS_UNSEEN || is_zero(p->in[0])) return n.kind == ROWS_UNSEEN ? f : n;
    if (f.power != n.power) return row_meets(p, "a loop carries a value that depends on the batch size");
    if (f.kind != ROWS_TOTAL && n.kind != ROWS_TOTAL) return row_join(p, f, n);
    if (f.kind > ROWS_TOTAL || n.kind > ROWS_TOTAL) return row_join(p, f, n);
    if (f.kind == ROWS_EACH || n.kind == ROWS_EACH)
        return row_meets(p, "each row is combined with a sum over all rows");
    n.affine |= f.affine || f.kind == ROWS_SAME;
    n.kind = ROWS_TOTAL;
    return n;
}

static Row_fact slice_of_loop(Rows *r, Row_pair *p)
{
    const Loop *l = p->node->loop;
    if (l == r->graph->micro) {
        const Node *outer = l->xs.at[p->node->ints[1]].outer;
        return leaf(r, p, outer);
    }
    Row_fact f = row_input(p, 0);
    if (f.kind != ROWS_EACH) return f;
    if (f.axis == 0) return row_meets(p, "a loop runs over the rows of the batch");
    f.axis--;
    return f;
}

static Row_fact loop_argument(Rows *r, Row_pair *p)
{
    if (p->node->ints[0] == ARG_INDEX) return (Row_fact){.kind = ROWS_SAME};
    return p->node->ints[0] == ARG_X ? slice_of_loop(r, p) : carried(r, p);
}

static Row_fact result_of_loop(const Row_pair *p)
{
    const Row_pair *loop = p->in[0];
    const Loop *l = loop->node->loop;
    int which = (int)p->node->ints[1], nexts = l->carries.n + l->xs.n;
    bool stack = p->node->ints[0] == PICK_STACK;
    if (loop->misfit) return loop->fact;
    Row_fact f = row_input(loop, stack ? nexts + l->carries.n + which : nexts + which);
    f.axis += stack && f.kind == ROWS_EACH;
    return f;
}

/* ------------------------------------------------------------------ all */

static Row_fact map_fact(Rows *r, Row_pair *p)
{
    Row_fact f;
    switch (p->node->op) {
    case OP_add:
    case OP_sub: return row_sum_of(r, p, 0, 1);
    case OP_mul:
    case OP_div: return product_fact(r, p, p->node->op == OP_div);
    case OP_neg:
    case OP_stop_gradient: return row_input(p, 0);
    case OP_where: return choice(r, p);
    case OP_philox: return drawn(r, p);
    case OP_cast:
        f = row_input(p, 0);
        if (is_real(p->node->dtype) && (f.kind == ROWS_TOTAL || is_real(p->in[0]->node->dtype))) return f;
        return plain(r, p);
    default: return plain(r, p);
    }
}

static Row_fact leaf_fact(const Rows *r, const Row_pair *p)
{
    switch (p->node->op) {
    case OP_input:
    case OP_state: return leaf(r, p, p->node);
    case OP_constant: return constant(r, p);
    default: return fixed_leaf(r, p);
    }
}

Row_fact row_fact(Rows *r, Row_pair *p)
{
    const Node *n = p->node;
    if (table_get(&r->statistics, n)) return (Row_fact){.kind = ROWS_SAME, .learned = true};
    if (p->elided) return row_input(p, 0);
    if (p->misfit) return row_meets(p, "what is computed here depends on the batch size");
    if (op_parts[n->op].rows) return op_parts[n->op].rows(r, p);
    switch (op_info[n->op].kind) {
    case LEAF: return leaf_fact(r, p);
    case MAP: return map_fact(r, p);
    case REDUCE: return n->op == OP_sum ? sum(r, p) : largest(r, p);
    case LOOP: break;
    default: die("%s has no rows() of its own", op_info[n->op].name);
    }
    if (n->op == OP_loop) return (Row_fact){.kind = ROWS_SAME}; /* the picks have the facts */
    if (n->op == OP_loop_arg) return loop_argument(r, p);
    if (n->in[0]->op == OP_loop) return result_of_loop(p);
    return row_input(p, 0); /* pick, of ops with several results */
}
