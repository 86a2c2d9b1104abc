/* linear_cross_entropy.c: the head: a linear layer over classes and the cross entropy of each row, as one op, so
 * that logits need not be in memory for all rows at once.
 *
 *   inputs    x [R][C], weight, ids i32 [R], smoothing [] (a constant), then bias [V] and upstream [R] if there are
 *   ints      axis of the weight along x (1: [V][C], 0: [C][V]) · has bias · has upstream · ignores · ignored id
 *   results   losses [R] · predicted i32 [R] · with upstream: dx, dweight, and dbias if it has a bias
 *
 * The last three are the derivatives of Σ upstream · losses: loss scale, 1 / N and row weights enter there, before
 * anything of the weight's size is made.  A row whose id is the ignored one has no loss and no derivative; its id need
 * not be a class.  Differentiating the losses makes the same op once more, with upstream; pass_whole gives the losses
 * of the two from one.  ops/head_rows.c has the formulas. */
#include "ops/head.h"
#include "ops/parts.h"

enum { X, WEIGHT, IDS, SMOOTHING, MORE };
enum { ACROSS, HAS_BIAS, HAS_UPSTREAM, IGNORES, IGNORED, INTS };
enum { LOSSES, PREDICTED, DX, DWEIGHT, DBIAS };

Node *linear_cross_entropy(const Head *h)
{
    Node *in[MORE + 2] = {h->x, h->weight, h->ids, scalar(h->smoothing, h->x->dtype)};
    int nin = MORE;
    if (h->bias) in[nin++] = h->bias;
    if (h->upstream) in[nin++] = h->upstream;
    int64_t ints[INTS] = {h->across, h->bias != NULL, h->upstream != NULL, h->ignores, h->ignored};
    return whole_op(OP_linear_cross_entropy, nin, in, INTS, ints);
}

static Head head_of(const Node *n)
{
    Head h = {.x = n->in[X], .weight = n->in[WEIGHT], .ids = n->in[IDS], .across = (int)n->ints[ACROSS]};
    must(is_filled(n->in[SMOOTHING], &h.smoothing));
    h.ignores = n->ints[IGNORES];
    h.ignored = n->ints[IGNORED];
    if (n->ints[HAS_BIAS]) h.bias = n->in[MORE];
    if (n->ints[HAS_UPSTREAM]) h.upstream = n->in[n->nin - 1];
    return h;
}

/* ------------------------------------------------------------------ types */

static bool is_row(const Node *n, DType t, int64_t extent)
{
    return n->dtype == t && n->shape.rank == 1 && n->shape.dim[0] == extent;
}

const char *linear_cross_entropy_fault(const Node *n)
{
    if (n->nints != INTS) return "it needs five ints";
    bool flags = true;
    for (int k = ACROSS; k <= IGNORES; k++) flags &= n->ints[k] == 0 || n->ints[k] == 1;
    if (!flags) return "the first four ints are 0 or 1";
    if (n->nin != MORE + n->ints[HAS_BIAS] + n->ints[HAS_UPSTREAM]) return "its ints do not say how many inputs it has";
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
    return NULL;
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
        bool rows = k == X || k == IDS;
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

void linear_cross_entropy_gradient(Grad_level *lv, Node *n, Node *const *g)
{
    Head h = head_of(n);
    Node *from[] = {[DX] = h.x, [DWEIGHT] = h.weight, [DBIAS] = h.bias};
    if (h.upstream) grad_definition(lv, n, g);
    if (h.upstream || !g[LOSSES]) return;
    h.upstream = g[LOSSES];
    h.x = value(lv, h.x);
    h.weight = value(lv, h.weight);
    h.ids = value(lv, h.ids);
    if (h.bias) h.bias = value(lv, h.bias);
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
