/* head_rows.c: a head (ops/linear_cross_entropy.c) in primitives: for some of its rows, and for all of them in
 * chunks.
 *
 * For rows x [R][C] with logits z = x · Wᵀ + b [R][V], largest z m, and s = Σ_v exp(z_v - m):
 *
 *   loss      = log s - (1 - eps) (z_id - m) - eps / V · Σ_v (z_v - m)
 *   dz        = g · (exp(z - m) / s - (1 - eps) [v = id] - eps / V)         g: upstream, a number a row
 *   dx        = dz · W        dW = dzᵀ · x        db = Σ_r dz
 *
 * (Label smoothing as PyTorch defines it.)  With soft targets of share a and temperature T, p those of the teacher's
 * logits y and q those of z, both divided by T (Hinton, Vinyals, Dean 2015, equation 2; by T², since its derivatives
 * have 1 / T²):
 *
 *   loss      = (1 - a) · the loss above + a T² · Σ_v p_v (log p_v - log q_v)
 *   dz        = (1 - a) · dz above + g · a T · (q - p)
 *
 * In chunks, logits are there for one chunk at a time: a loop over them
 * stacks what is per row and adds up dW and db in place.  Rows that are left over are a chunk of their own, the first.
 */
#include "ops/head.h"

/* ------------------------------------------------------------------ values per row and per class */

static Node *called(Node *n, const char *title, Title_rank rank)
{
    give_title(n, title, rank, "");
    return n;
}

static Node *number_like(double x, const Node *like) { return filled(x, like->dtype, like->shape); }
static Node *scaled(Node *a, double by) { return map2(OP_mul, a, number_like(by, a)); }
static Node *minus(Node *a, Node *b) { return map2(OP_sub, a, b); }

/* [R] as [R][V] */
static Node *in_row(Node *a, Shape logits)
{
    return expand(reshape(a, shape_of(2, (int64_t[]){a->shape.dim[0], 1})), logits);
}

static Node *over_classes(Op op, Node *a) { return reduce(op, a, 1, &(int){1}); }

/* The first class of the largest logit, in the sweep that adds up exp. */
static Node *first_largest(Node *below_largest)
{
    Shape s = below_largest->shape;
    Node *is_largest = map2(OP_eq, below_largest, number_like(0, below_largest));
    Node *last = filled_for((double)s.dim[1] - 1, axis_longer(s.axis[1], -1), I32, s);
    return over_classes(OP_rmin, where_op(is_largest, iota(s, 1), last));
}

/* ------------------------------------------------------------------ one chunk */

static Node *logits_of(Node *x, Node *weight, Node *bias, int across)
{
    Node *z = dot(x, weight, (Dot_axes){.nc = 1, .ac = {1}, .bc = {across}});
    return bias ? map2(OP_add, z, broadcast(bias, z->shape)) : z;
}

static Node *weight_gradient(const Head *h, Node *x, Node *dz)
{
    Dot_axes rows = {.nc = 1, .ac = {0}, .bc = {0}};
    return h->across == 1 ? dot(dz, x, rows) : dot(x, dz, rows);
}

/* A distribution over classes: e / total, e = exp(below). */
typedef struct Softened {
    Node *below, *e, *total;
} Softened;

static Softened softened(Node *below, double temperature)
{
    Softened s = {.below = temperature == 1 ? below : scaled(below, 1 / temperature)};
    s.e = map1(OP_exp, s.below);
    s.total = over_classes(OP_sum, s.e);
    return s;
}

/* Of a row of soft targets: what they come from, p and q above. */
typedef struct Imitated {
    const Soft_targets *soft;
    Softened teacher, own;
} Imitated;

static Imitated imitated(const Soft_targets *s, Node *x, Node *below)
{
    Node *y = called(logits_of(x, s->weight, s->bias, s->across), "teacher_logits", TITLE_ARGUMENT);
    Node *most = called(over_classes(OP_rmax, y), "teacher_largest", TITLE_WORD);
    return (Imitated){s, softened(minus(y, in_row(most, y->shape)), s->temperature), softened(below, s->temperature)};
}

/* share of T² · Σ p (log p - log q), the rest of `losses` */
static Node *with_imitation(const Imitated *m, Node *losses)
{
    const Softened *p = &m->teacher, *q = &m->own;
    double share = m->soft->share, t = m->soft->temperature;
    Node *apart = over_classes(OP_sum, map2(OP_mul, p->e, minus(p->below, q->below)));
    Node *sums = minus(map1(OP_log, q->total), map1(OP_log, p->total));
    Node *divergence = map2(OP_add, map2(OP_div, apart, p->total), sums);
    return map2(OP_add, scaled(losses, 1 - share), scaled(divergence, share * t * t));
}

/* g · a T · (q - p) */
static Node *pull_of_imitation(const Imitated *m, Node *g)
{
    const Softened *p = &m->teacher, *q = &m->own;
    Node *by = scaled(g, m->soft->share * m->soft->temperature);
    Node *own = map2(OP_mul, q->e, in_row(map2(OP_div, by, q->total), q->e->shape));
    return minus(own, map2(OP_mul, p->e, in_row(map2(OP_div, by, p->total), p->e->shape)));
}

Head_results head_rows(const Head *h, Node *x, Node *ids, Node *upstream, Node *soft_x)
{
    Head_results r = {0};
    Imitated m;
    Node *z = called(logits_of(x, h->weight, h->bias, h->across), "head_logits", TITLE_ARGUMENT),
         *largest = called(over_classes(OP_rmax, z), "largest", TITLE_WORD);
    Node *below = called(minus(z, in_row(largest, z->shape)), "below_largest", TITLE_ARGUMENT);
    Node *e = called(map1(OP_exp, below), "e", TITLE_ARGUMENT),
         *sum = called(over_classes(OP_sum, e), "total", TITLE_WORD);
    Node *hit = called(map2(OP_eq, iota(z->shape, 1), in_row(ids, z->shape)), "is_target", TITLE_ARGUMENT);
    Node *right = over_classes(OP_sum, where_op(hit, below, number_like(0, below)));
    double share = h->smoothing / (double)z->shape.dim[1]; /* of the smoothed target that any class has */
    Node *counts = h->ignores ? map2(OP_ne, ids, number_like((double)h->ignored, ids)) : NULL;
    r.losses = map1(OP_log, sum);
    if (share > 0) {
        right = map2(OP_add, scaled(right, 1 - h->smoothing), scaled(over_classes(OP_sum, below), share));
    }
    r.losses = minus(r.losses, right);
    if (soft_x) m = imitated(&h->soft, soft_x, below);
    if (soft_x) r.losses = with_imitation(&m, r.losses);
    if (counts) r.losses = where_op(counts, r.losses, number_like(0, r.losses));
    r.losses = called(r.losses, "losses", TITLE_WORD);
    r.predicted = called(first_largest(below), "predicted", TITLE_WORD);
    if (!upstream) return r;
    Node *g = counts ? where_op(counts, upstream, number_like(0, upstream)) : upstream;
    Node *pull = soft_x ? pull_of_imitation(&m, g) : NULL;
    if (soft_x) g = scaled(g, 1 - h->soft.share);
    Node *target = in_row(share > 0 ? scaled(g, 1 - h->smoothing + share) : g, z->shape);
    Node *others = share > 0 ? in_row(scaled(g, share), z->shape) : number_like(0, z);
    Node *dz = minus(map2(OP_mul, e, in_row(map2(OP_div, g, sum), z->shape)), where_op(hit, target, others));
    if (pull) dz = map2(OP_add, dz, pull);
    title_gradient(dz, z);
    r.dx = dot(dz, h->weight, (Dot_axes){.nc = 1, .ac = {1}, .bc = {1 - h->across}});
    r.dweight = weight_gradient(h, x, dz);
    if (h->bias) r.dbias = reduce(OP_sum, dz, 1, &(int){0});
    return r;
}

/* ------------------------------------------------------------------ all rows, in chunks */

/* Rows first … first + n of a; NULL of NULL. */
static Node *rows_in_chunk(Node *a, int64_t first, int64_t n)
{
    double x;
    if (!a) return NULL;
    if (is_filled(a, &x)) return filled(x, a->dtype, shape_of(1, &n));
    int64_t start[2] = {first}, extent[2] = {n, a->shape.rank > 1 ? a->shape.dim[1] : 0};
    return n == a->shape.dim[0] ? a : slice(a, start, extent, NULL);
}

/* Inside the loop: this chunk's rows of a, of which the first ones are left out; numbers that are all equal stay so. */
static Node *chunk_of(Loop *l, Node *a, int64_t first, int64_t rows)
{
    if (!a || is_filled(a, NULL)) return rows_in_chunk(a, 0, rows);
    Node *part = rows_in_chunk(a, first, l->trip * rows);
    Shape s = {.rank = a->shape.rank + 1, .dim = {l->trip, rows, a->shape.rank > 1 ? a->shape.dim[1] : 0}};
    return loop_x(l, reshape(part, s));
}

/* What the loop over chunks stacks of `value`, after what the first rows gave. */
static Node *stacked_chunks(Loop *l, Node *value, Node *first)
{
    if (!value) return NULL;
    Node *stack = loop_stack(l, value);
    Shape s = value->shape;
    s.dim[0] *= l->trip;
    Node *rows = reshape(stack, s);
    return first ? concat(2, (Node *[]){first, rows}, 0) : rows;
}

/* A sum over the chunks: the number of its carry. */
static int sum_of_chunk(Loop *l, Node *first, Shape s, DType t)
{
    loop_carry(l, first ? first : filled(0, t, s));
    return l->carries.n - 1;
}

static void add_to(Loop *l, int carry, Node *part)
{
    loop_next(l, carry, map2(OP_add, l->carries.at[carry].arg, part));
}

/* The stacks are there before the loop is closed: they decide what it lies in. */
static void close_with(Loop *l, const Head_results *one)
{
    push(&l->ys, one->losses);
    push(&l->ys, one->predicted);
    if (one->dx) push(&l->ys, one->dx);
    loop_close(l);
}

static Head_results in_chunks(const Head *h, int64_t rows)
{
    int64_t all = h->x->shape.dim[0], chunks = all / rows, rest = all % rows;
    Head_results first = {0}, r = {0};
    if (rest)
        first = head_rows(h, rows_in_chunk(h->x, 0, rest), rows_in_chunk(h->ids, 0, rest),
                          rows_in_chunk(h->upstream, 0, rest), rows_in_chunk(h->soft.x, 0, rest));
    Loop *l = loop_open("chunk", chunks, false);
    l->keeps = true;
    int dw = h->upstream ? sum_of_chunk(l, first.dweight, h->weight->shape, h->weight->dtype) : -1;
    int db = h->upstream && h->bias ? sum_of_chunk(l, first.dbias, h->bias->shape, h->bias->dtype) : -1;
    Head_results one = head_rows(h, chunk_of(l, h->x, rest, rows), chunk_of(l, h->ids, rest, rows),
                                 chunk_of(l, h->upstream, rest, rows), chunk_of(l, h->soft.x, rest, rows));
    if (dw >= 0) add_to(l, dw, one.dweight);
    if (db >= 0) add_to(l, db, one.dbias);
    close_with(l, &one);
    r.losses = stacked_chunks(l, one.losses, first.losses);
    r.predicted = stacked_chunks(l, one.predicted, first.predicted);
    r.dx = stacked_chunks(l, one.dx, first.dx);
    if (dw >= 0) r.dweight = loop_result(l, dw);
    if (db >= 0) r.dbias = loop_result(l, db);
    return r;
}

/* The largest divisor of `all` in rows / 2 … rows, so that no rows are left over; else rows. */
static int64_t even_rows(int64_t all, int64_t rows)
{
    for (int64_t r = rows; r > rows / 2; r--)
        if (all % r == 0) return r;
    return rows;
}

Head_results head_in_chunks(const Head *h, int64_t rows)
{
    int64_t all = h->x->shape.dim[0];
    if (rows <= 0 || rows >= all) return head_rows(h, h->x, h->ids, h->upstream, h->soft.x);
    return in_chunks(h, even_rows(all, rows));
}
