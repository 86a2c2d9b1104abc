/* sums.c: a product makes the sum over all rows of an operand, over which it contracts, where the target's products
 * have such an end (Target.ends): a gradient of weights makes that of the bias beside it.
 *
 * Only where the sum would be a kernel of its own: in others it costs nothing.  Found by who reads what, no layer is
 * known by name. */
#include "desc/target.h"
#include "lower/order.h"

/* The operand of a sum, below a cast that widens it for the sum alone. */
static Reading summed(Cut *cut, const Node *sum)
{
    Reading r = reading(cut, sum->in[0]);
    bool widens = r.source->op == OP_cast && is_stored(r.source->in[0]->dtype) && info(cut, r.source)->uses == 1;
    return widens && view_is_dense(&r.view) ? reading(cut, r.source->in[0]) : r;
}

/* Is it the sum of all rows of what a product's operand k shows, over which the product contracts? */
static bool sums_operand(Cut *cut, const Node *sum, const Node *dot, int k)
{
    Dot_axes x = dot_axes(dot);
    const int *contracted = k ? x.bc : x.ac;
    Reading a = summed(cut, sum), b = reading(cut, dot->in[k]);
    if (a.source != b.source || x.nb || !view_is_dense(&a.view) || !view_is_dense(&b.view)) return false;
    for (int i = 0; i < x.nc; i++)
        if (contracted[i] != i) return false;
    int64_t columns = 1;
    for (int i = x.nc; i < dot->in[k]->shape.rank; i++) columns *= dot->in[k]->shape.dim[i];
    return columns == elements(sum->shape);
}

/* A group that is nothing but one sum over rows, and a cast that widens what it adds up. */
static bool is_lone_sum(Cut *cut, Node *n)
{
    const Group *g = info(cut, n)->group;
    if (!g || n->op != OP_sum || n->dtype != F32 || info(cut, n)->forced) return false;
    bool lone = g->nodes.at[g->nodes.n - 1] == n && g->role[g->nodes.n - 1] == COLUMN_SUM;
    return lone && (g->nodes.n == 1 || (g->nodes.n == 2 && summed(cut, n).source != source_of(cut, n->in[0])));
}

/* Maps each operand, views looked through, to the plain dots of a level that read it, in the level's order. */
static Table dots_by_operand(Cut *cut, const Level *level)
{
    Table found = {0};
    for (int i = 0; i < level->nodes.n; i++) {
        Node *dot = level->nodes.at[i], *source[2];
        if (dot->op != OP_dot || dot_end(dot) != END_NONE) continue;
        for (int k = 0; k < 2; k++) {
            source[k] = source_of(cut, dot->in[k]);
            if (k && source[1] == source[0]) continue;
            void **slot = table_at(&found, source[k]);
            if (!*slot) *slot = NEW(Nodes);
            push((Nodes *)*slot, dot);
        }
    }
    return found;
}

static void give_sum(Cut *cut, const Level *level, const Table *by_operand, Node *sum)
{
    const Nodes *of = table_get(by_operand, summed(cut, sum).source);
    for (int i = 0; of && i < of->n; i++) {
        Node *dot = of->at[i];
        if (info(cut, dot)->sums_up || dot->dtype != sum->dtype) continue;
        for (int k = 0; k < 2; k++)
            if (sums_operand(cut, sum, dot, k) && come_before(cut, level->loop, dot, info(cut, sum)->group)) {
                info(cut, dot)->sums_up = sum;
                info(cut, dot)->summed = k;
                info(cut, sum)->product = dot;
                return;
            }
    }
}

static void give_sums(Cut *cut, const Level *level)
{
    Table by_operand = dots_by_operand(cut, level);
    for (int i = 0; i < level->nodes.n; i++)
        if (is_lone_sum(cut, level->nodes.at[i])) give_sum(cut, level, &by_operand, level->nodes.at[i]);
    for (int i = 0; i < level->inside.n; i++) give_sums(cut, level->inside.at[i]);
}

void pass_sums(Cut *c)
{
    bool none =
        without(c->desc, PASS_sums) || without(c->desc, PASS_fuse) || !(c->desc->options->target->ends & ENDS_SUM);
    if (!none) give_sums(c, c->top);
}
