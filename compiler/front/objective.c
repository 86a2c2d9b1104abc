/* objective.c: makes a batch that is cut into parts give the gradients of the whole batch.
 *
 * The loss of a step is the mean of the losses of its parts.  For a mean over all rows, that equals the loss of the
 * whole batch.  For a sum divided by a count (of targets that are not ignored, of weights, lengths) it does not, since
 * all parts would weigh the same.  So such a divisor is computed over all parts before the first one (in a loop of its
 * own; over_ranks adds up those of several ranks), and sums that the mean over parts would divide by the number of
 * parts are multiplied by it.  graph/rows.h finds these values. */
#include "front/objective.h"
#include "graph/rows.h"
#include "passes/passes.h"
#include "runtime/math/double.h"

#include <math.h>

typedef struct Cut {
    Trace *trace;
    const Rows *rows;
    const Loop *parts; /* the loop over parts, before the rewrite; NULL: the batch is one part */
    Node *ranks;       /* real []: number of ranks; NULL: not needed so far */
    Table edits;       /* node: Row_pair */
    Table totals;      /* node: its total over all parts */
} Cut;

static Node *over_all_parts(Cut *c, Node *n, Node *new, bool mean);

/* ------------------------------------------------------------------ several ranks */

static Node *piece_of(Node *row, int64_t from, Shape s)
{
    int64_t extent = elements(s);
    return reshape(slice(row, &from, &extent, NULL), s);
}

/* The total of n over the ranks; the total of a 1 beside it is their number. */
static Node *over_all_ranks(Cut *c, Node *n)
{
    if (!made_for_ranks(c->trace->desc->options)) return n;
    int64_t many = elements(n->shape);
    Node *own = reshape(is_real(n->dtype) ? n : cast_op(n, F32), (Shape){.rank = 1, .dim = {many}});
    Node *row = over_ranks(concat(2, (Node *[]){own, filled(1, own->dtype, (Shape){.rank = 1, .dim = {1}})}, 0));
    give_title(row, "totals", TITLE_WORD, making().where.path ? making().where.path : "");
    if (!c->ranks) c->ranks = piece_of(row, many, (Shape){0});
    Node *total = piece_of(row, 0, n->shape);
    return is_real(n->dtype) ? total : cast_op(total, n->dtype);
}

static Node *number_of_ranks(Cut *c)
{
    if (!c->ranks) over_all_ranks(c, filled(1, F32, (Shape){0}));
    return c->ranks;
}

/* n · parts^power */
static Node *scaled_loss(Cut *c, Node *n, int power)
{
    if (power && c->parts) n = map2(OP_mul, n, filled(pow_f64((double)c->parts->trip, power), n->dtype, n->shape));
    if (!made_for_ranks(c->trace->desc->options)) return n;
    for (int k = abs(power); k > 0; k--)
        n = map2(power > 0 ? OP_mul : OP_div, n, broadcast(number_of_ranks(c), n->shape));
    return n;
}

static Node *edited(Rewrite *r, Node *old, Node *const *in)
{
    Cut *c = r->user;
    const Row_pair *p = table_get(&c->edits, old);
    if (!p) return NULL;
    Node **new = NEW_ARRAY(Node *, old->nin + 1);
    for (int k = 0; k < old->nin; k++) {
        const Row_edit *e = &p->edit[k];
        new[k] = scaled_loss(c, e->whole ? over_all_parts(c, old->in[k], in[k], e->mean) : in[k], e->power);
    }
    return remade(old, new);
}

static Node *over_micro_batches(Cut *c, Node *n)
{
    const bool exact = c->trace->desc->options->exact_rows;
    Loop *l = loop_again(c->parts, false);
    l->keeps = l->apart = exact;
    Rewrite r = {.node = edited, .user = c};
    *table_at(&r.done, c->parts->index) = l->index;
    for (int k = 0; k < c->parts->xs.n; k++)
        *table_at(&r.done, c->parts->xs.at[k].arg) = loop_x(l, c->parts->xs.at[k].outer);
    Node *value = rewritten(&r, n);
    loop_yield(l, value);
    loop_close(l);
    Node *each = loop_stack(l, value);
    return exact ? sum_in_pairs(each) : reduce(OP_sum, each, 1, &(int){0});
}

/* The sum (or mean) of n over all parts, outside the loop over parts; new: its rewritten value for one part. */
static Node *over_all_parts(Cut *c, Node *n, Node *new, bool mean)
{
    Node *total = table_get(&c->totals, n);
    if (total) return total;
    if ((op_info[n->op].facts & (REARRANGES | REPEATS)) &&
        new->op == n->op) { /* few numbers, to be repeated after it */
        Node *in = over_all_parts(c, n->in[0], new->in[0], mean);
        return *table_at(&c->totals, n) = remade(n, &in);
    }
    total = over_all_ranks(c, c->parts ? over_micro_batches(c, n) : new);
    if (mean) total = scaled_loss(c, total, -1);
    return *table_at(&c->totals, n) = total;
}

/* ------------------------------------------------------------------ refusing */

static const char cannot_cut[] =
    "%s, so %lld micro-batches (accumulate) do not give the gradients of the whole batch\n"
    "  leave accumulate at 1, or make the loss a sum or a mean over rows that do not depend on each other";

static bool cuttable(const Row_fact *f) { return f->kind != ROWS_MEET && f->kind != ROWS_FUNCTION; }

static const char *fault_text(const Desc *d, const Row_fault *f)
{
    return format("%s:%d: %s", f->where.file ? f->where.file : d->file, f->where.line, f->why);
}

/* The loss cannot be computed from parts. If the description accumulates, that is an error; else the reason is kept for
 * --memory and several ranks. */
static void note_uncut(Desc *d, const Row_fault *f, const Graph *g)
{
    if (g->micro && d->recipe.accumulate > 1) err(f->where, cannot_cut, f->why, (long long)g->micro->trip);
    d->uncut = d->one_rank = fault_text(d, f);
}

/* Can the loss and the states be computed from parts? */
static bool check_outputs(Desc *d, const Rows *r, const Graph *g)
{
    for (int k = 0; k < g->outs.n; k++) {
        const Row_fact *f = &row_output(r, k)->fact;
        bool metric = k > 0 && g->outs.at[k].kind == OUT_VALUE;
        if (cuttable(f) || metric) continue;
        note_uncut(d, f->fault, g);
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ rewriting */

static bool same_edits(const Row_pair *a, const Row_pair *b)
{
    for (int k = 0; k < a->nin; k++)
        if (a->edit[k].whole != b->edit[k].whole || a->edit[k].power != b->edit[k].power) return false;
    return true;
}

/* Collects the edits of all nodes; false: refused, since one node has two roles that need different edits. */
static bool collect_edits(Cut *c, const Graph *g)
{
    for (int i = 0; i < c->rows->pairs.n; i++) {
        Row_pair *p = c->rows->pairs.at[i];
        if (p->elided || p->misfit) continue;
        void **slot = table_at(&c->edits, p->node);
        if (*slot && !same_edits(*slot, p)) {
            Row_fault f = {p->node->where, "one value depends on the batch size in two ways"};
            note_uncut(c->trace->desc, &f, g);
            return false;
        }
        *slot = p;
    }
    return true;
}

static bool changes(const Rows *r, const Graph *g)
{
    bool any = false;
    for (int i = 0; i < r->pairs.n; i++) any |= has_edits(r->pairs.at[i]);
    for (int k = 0; k < g->outs.n; k++) any |= cuttable(&row_output(r, k)->fact) && row_output(r, k)->fact.power != 0;
    return any;
}

/* Micro-batches of the description have statistics of their own, as it says; no others may be made. */
static bool may_be_cut(Desc *d, const Graph *g)
{
    if (!g->statistics.n) return true;
    Row_fault f = {g->statistics.at[0]->where, "all rows of a batch share the statistics of nn.batchnorm"};
    d->uncut = d->one_rank = fault_text(d, &f);
    return g->micro && d->recipe.accumulate > 1;
}

void keep_objective(Trace *trace, Graph *g, const Graph *wide, int64_t batch)
{
    if (!may_be_cut(trace->desc, g)) return;
    if (!wide) {
        Row_fault f = {g->outs.at[0].node->where, "forward works for one batch size only"};
        return note_uncut(trace->desc, &f, g);
    }
    Rows *r = rows_of(g, wide, batch, false);
    Cut c = {.trace = trace, .rows = r, .parts = g->micro};
    if (!check_outputs(trace->desc, r, g) || !changes(r, g)) return;
    if (!collect_edits(&c, g)) return;
    Rewrite rewrite = {.node = edited, .user = &c};
    int *power = NEW_ARRAY(int, g->outs.n);
    for (int k = 0; k < g->outs.n; k++) {
        const Row_fact *f = &row_output(r, k)->fact;
        power[k] = g->outs.at[k].kind == OUT_VALUE && cuttable(f) ? f->power : 0;
    }
    rewrite_graph(&rewrite, g);
    for (int k = 0; k < g->outs.n; k++) g->outs.at[k].node = scaled_loss(&c, g->outs.at[k].node, power[k]);
}
