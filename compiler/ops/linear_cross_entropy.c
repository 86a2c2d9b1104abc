/* linear_cross_entropy.c: the head: a linear layer over classes and the cross entropy of each row, as one op, so
 * that logits need not be in memory for all rows at once.
 *
 *   inputs    x [R][C], weight, ids i32 [R], smoothing [] (a constant), then if there are: bias [V]; x [R][D], weight,
 *             share [], temperature [] (constants) and bias [V] of soft targets; upstream [R]
 *   ints      axis of the weight along x (1: [V][C], 0: [C][V]) · has bias · has upstream · ignores · ignored id, and
 *             with soft targets · axis of their weight · has their bias
 *   results   losses [R] · predicted i32 [R] · with upstream: dx, dweight, and dbias if it has a bias
 *
 * The last three are the derivatives of Σ upstream · losses: loss scale, 1 / N and row weights enter there, before
 * anything of the weight's size is made.  A row whose id is the ignored one has no loss and no derivative; its id need
 * not be a class.  Soft targets are those of a teacher (Hinton, Vinyals, Dean 2015): share of the loss is how far the
 * row's distribution is from the teacher's.  Differentiating the losses makes the same op once more, with upstream;
 * pass_whole gives the losses of the two from one.  ops/head_rows.c has the formulas. */
#include "ops/head.h"
#include "ops/parts.h"

enum { X, WEIGHT, IDS, SMOOTHING, MORE };
enum { ACROSS, HAS_BIAS, HAS_UPSTREAM, IGNORES, IGNORED, INTS };
enum { SOFT_ACROSS = INTS, SOFT_BIAS, SOFT_INTS };             /* with soft targets */
enum { SOFT_X, SOFT_WEIGHT, SHARE, TEMPERATURE, SOFT_INPUTS }; /* behind the bias; then their bias */
enum { LOSSES, PREDICTED, DX, DWEIGHT, DBIAS };

Node *linear_cross_entropy(const Head *h)
{
    Node *in[MORE + 2 + SOFT_INPUTS + 1] = {h->x, h->weight, h->ids, scalar(h->smoothing, h->x->dtype)};
    const Soft_targets *s = &h->soft;
    int nin = MORE;
    if (h->bias) in[nin++] = h->bias;
    if (s->x) {
        Node *const soft[] = {s->x, s->weight, scalar(s->share, h->x->dtype), scalar(s->temperature, h->x->dtype)};
        for (int k = 0; k < SOFT_INPUTS; k++) in[nin++] = soft[k];
        if (s->bias) in[nin++] = s->bias;
    }
    if (h->upstream) in[nin++] = h->upstream;
    int64_t ints[] = {h->across,  h->bias != NULL, h->upstream != NULL, h->ignores,
                      h->ignored, s->across,       s->bias != NULL};
    return whole_op(OP_linear_cross_entropy, nin, in, s->x ? SOFT_INTS : INTS, ints);
}

static bool has_soft(const Node *n) { return n->nints == SOFT_INTS; }
static int first_soft(const Node *n) { return MORE + (int)n->ints[HAS_BIAS]; }

static Soft_targets soft_of(const Node *n)
{
    Node *const *in = n->in + first_soft(n);
    Soft_targets s = {.x = in[SOFT_X], .weight = in[SOFT_WEIGHT], .across = (int)n->ints[SOFT_ACROSS]};
    must(is_filled(in[SHARE], &s.share) && is_filled(in[TEMPERATURE], &s.temperature));
    if (n->ints[SOFT_BIAS]) s.bias = in[SOFT_INPUTS];
    return s;
}

static Head head_of(const Node *n)
{
    Head h = {.x = n->in[X], .weight = n->in[WEIGHT], .ids = n->in[IDS], .across = (int)n->ints[ACROSS]};
    must(is_filled(n->in[SMOOTHING], &h.smoothing));
    h.ignores = n->ints[IGNORES];
    h.ignored = n->ints[IGNORED];
    if (n->ints[HAS_BIAS]) h.bias = n->in[MORE];
    if (n->ints[HAS_UPSTREAM]) h.upstream = n->in[n->nin - 1];
    if (has_soft(n)) h.soft = soft_of(n);
    return h;
}

/* ------------------------------------------------------------------ types */

static bool is_row(const Node *n, DType t, int64_t extent)
{
    return n->dtype == t && n->shape.rank == 1 && n->shape.dim[0] == extent;
}

static const char *soft_fault(const Node *n)
{
    Node *const *in = n->in + first_soft(n);
    const Node *x = in[SOFT_X], *w = in[SOFT_WEIGHT];
    const int across = (int)n->ints[SOFT_ACROSS];
    const int64_t classes = n->in[WEIGHT]->shape.dim[1 - n->ints[ACROSS]];
    double share, temperature;
    if (x->dtype != n->in[X]->dtype || x->shape.rank != 2 || x->shape.dim[0] != n->in[X]->shape.dim[0])
        return "the x of soft targets is real, with the rows of x";
    if (w->dtype != x->dtype || w->shape.rank != 2 || w->shape.dim[across] != x->shape.dim[1])
        return "the weight of soft targets does not fit their x";
    if (w->shape.dim[1 - across] != classes) return "soft targets are of other classes";
    if (!is_filled(in[SHARE], &share) || !(share >= 0 && share <= 1)) return "the share is a constant from 0 to 1";
    if (!is_filled(in[TEMPERATURE], &temperature) || !(temperature > 0)) return "the temperature is a constant above 0";
    if (n->ints[SOFT_BIAS] && !is_row(in[SOFT_INPUTS], x->dtype, classes))
        return "the bias of soft targets does not fit";
    return NULL;
}

const char *linear_cross_entropy_fault(const Node *n)
{
    if (n->nints != INTS && !has_soft(n)) return "it needs five ints, or seven";
    bool flags = true;
    for (int k = ACROSS; k < n->nints; k++) flags &= k == IGNORED || n->ints[k] == 0 || n->ints[k] == 1;
    if (!flags) return "all ints but the ignored id are 0 or 1";
    int64_t more = has_soft(n) ? SOFT_INPUTS + n->ints[SOFT_BIAS] : 0;
    if (n->nin != MORE + n->ints[HAS_BIAS] + n->ints[HAS_UPSTREAM] + more)
        return "its ints do not say how many inputs it has";
    const Node *x = n->in[X], *w = n->in[WEIGHT];
    int across = (int)n->ints[ACROSS];
    if (!is_real(x->dtype) || x->shape.rank != 2) return "x is real, [rows, width]";
    if (w->dtype != x->dtype || w->shape.rank != 2 || w->shape.dim[across] != x->shape.dim[1])
        return "the weight does not fit x";
    if (!is_row(n->in[IDS], I32, x->shape.dim[0])) return "ids are i32, one for each row";
    if (!is_filled(n->in[SMOOTHING], NULL) || n->in[SMOOTHING]->shape.rank) return "smoothing is a constant number";
    if (n->ints[HAS_BIAS] && !is_row(n->in[MORE], x->dtype, w->shape.dim[1 - across])) return "the bias does not fit";
    if (n->ints[HAS_UPSTREAM] && !is_row(n->in[n->nin - 1], x->dtype, x->shape.dim[0]))
        return "upstream is real, one for each row";
    return has_soft(n) ? soft_fault(n) : NULL;
}

int linear_cross_entropy_results(const Node *n, Type *out)
{
    const Node *x = n->in[X], *w = n->in[WEIGHT];
    Shape rows = with_axis((Shape){0}, x->shape, 0);
    out[LOSSES] = (Type){x->dtype, rows};
    out[PREDICTED] = (Type){I32, rows};
    if (!n->ints[HAS_UPSTREAM]) return DX;
    out[DX] = (Type){x->dtype, x->shape};
    out[DWEIGHT] = (Type){x->dtype, w->shape};
    if (!n->ints[HAS_BIAS]) return DBIAS;
    out[DBIAS] = (Type){x->dtype, n->in[MORE]->shape};
    return DBIAS + 1;
}

Row_fact linear_cross_entropy_rows(Rows *r, Row_pair *p)
{
    Row_fact f = {.kind = ROWS_SAME};
    for (int k = 0; k < p->nin; k++) {
        Row_fact in = row_demand(r, p, k);
        bool rows = k == X || k == IDS || (has_soft(p->node) && k == first_soft(p->node) + SOFT_X);
        if (in.kind == ROWS_EACH && (!rows || in.axis != 0)) return row_meets(p, "the head's weight depends on rows");
        f = row_join(p, f, in);
    }
    return f;
}

/* ------------------------------------------------------------------ meaning, derivative, form */

static Node *result_of(const Head_results *r, int k)
{
    Node *const all[] = {r->losses, r->predicted, r->dx, r->dweight, r->dbias};
    return all[k];
}

Node *linear_cross_entropy_define(Node *n, int k)
{
    Head h = head_of(n);
    Head_results r = head_in_chunks(&h, 0);
    return result_of(&r, k);
}

/* Does something train what the soft targets come from? A teacher is frozen. */
static bool is_taught(Grad_level *lv, const Soft_targets *s)
{
    return s->x && (grad_active(lv, s->x) || grad_active(lv, s->weight) || (s->bias && grad_active(lv, s->bias)));
}

static void take_soft_values(Grad_level *lv, Soft_targets *s)
{
    if (!s->x) return;
    s->x = value(lv, s->x);
    s->weight = value(lv, s->weight);
    if (s->bias) s->bias = value(lv, s->bias);
}

void linear_cross_entropy_gradient(Grad_level *lv, Node *n, Node *const *g)
{
    Head h = head_of(n);
    Node *from[] = {[DX] = h.x, [DWEIGHT] = h.weight, [DBIAS] = h.bias};
    bool defined = h.upstream || is_taught(lv, &h.soft);
    if (defined) grad_definition(lv, n, g);
    if (defined || !g[LOSSES]) return;
    h.upstream = g[LOSSES];
    h.x = value(lv, h.x);
    h.weight = value(lv, h.weight);
    h.ids = value(lv, h.ids);
    if (h.bias) h.bias = value(lv, h.bias);
    take_soft_values(lv, &h.soft);
    Making was = make_in_phase(lv->up ? making().phase : n->phase); /* the two will be one */
    Node *with = linear_cross_entropy(&h);
    make_with(was);
    for (int k = DX; k <= (h.bias ? DBIAS : DWEIGHT); k++)
        if (grad_active(lv, from[k])) contribute(lv, from[k], whole_result(with, k));
}

/* The op without upstream has the same losses. */
Node *linear_cross_entropy_part(Node *n)
{
    Head h = head_of(n);
    if (!h.upstream) return NULL;
    h.upstream = NULL;
    Making was = make_in_phase(n->phase);
    Node *part = linear_cross_entropy(&h);
    make_with(was);
    return part;
}

bool linear_cross_entropy_expand(Node *n, const bool *wanted, Node **results, const Desc *d)
{
    (void)d;
    Head h = head_of(n);
    Head_results r = head_in_chunks(&h, d->options->head_rows);
    for (int k = LOSSES; k <= DBIAS; k++)
        if (wanted[k]) results[k] = result_of(&r, k);
    return true;
}

int64_t most_head_rows(const Desc *d)
{
    int64_t most = 0;
    for (int i = 0; i < d->graphs.n; i++) {
        Nodes all = {0};
        all_nodes(d->graphs.at[i], &all);
        for (int k = 0; k < all.n; k++)
            if (all.at[k]->op == OP_linear_cross_entropy) most = max64(most, all.at[k]->in[X]->shape.dim[0]);
    }
    return most;
}
