/* lower_ends.c: what stands beside a product and comes with it, where the target's products have such ends
 * (Target.ends).
 *
 * The sum over all rows of an operand, over which a product contracts: a gradient of weights makes that of the bias
 * beside it.  Only where the sum would be a kernel of its own: in others it costs nothing.
 *
 * What a gelu is of: a product that ends in gelu makes it, too, for whoever reads the same product without that end.
 *
 * Both are found by who reads what, no layer is known by name. */
#include "kernels/order.h"

/* ------------------------------------------------------------------ who reads a node */

static Table table;

Readers *readers(const Node *n)
{
    void **at = table_at(&table, n);
    if (!*at) *at = NEW(Readers);
    return *at;
}

static void note_loop(Loop *l)
{
    for (int k = 0; k < l->carries.n; k++)
        readers(l->carries.at[k].init)->else_too = readers(l->carries.at[k].next)->else_too = true;
    for (int k = 0; k < l->xs.n; k++) push(&readers(l->xs.at[k].outer)->xs, ((In_loop){l, k}));
    for (int k = 0; k < l->ys.n; k++) push(&readers(l->ys.at[k])->ys, ((In_loop){l, k}));
}

static void note_level(const Level *level)
{
    for (int i = 0; i < level->nodes.n; i++) {
        Node *n = level->nodes.at[i];
        for (int k = 0; k < n->nin; k++) push(&readers(n->in[k])->nodes, n);
        if (n->op == OP_loop) note_loop(n->loop);
    }
    for (int i = 0; i < level->inside.n; i++) note_level(level->inside.at[i]);
}

void note_readers(const Level *top, const Graph *g)
{
    table = (Table){0};
    note_level(top);
    for (int i = 0; i < g->outs.n; i++) readers(g->outs.at[i].node)->else_too = true;
}

bool is_plain(const Node *dot)
{
    struct Gemm g = {0};
    View a = reading(dot->in[0]).view, b = reading(dot->in[1]).view, c = view_dense(dot->shape);
    return dot->dtype != F64 && dot_axes(dot).nb == 0 && !info(dot)->layout && fill_gemm(dot, &a, &b, &c, &g) &&
           g.nbatch == 0 && g.c_n == 1;
}

/* ------------------------------------------------------------------ sums over rows */

/* What a sum adds up, below the cast that widens it for that alone. */
static Reading summed(const Node *sum)
{
    Reading r = reading(sum->in[0]);
    bool widens = r.source->op == OP_cast && is_stored(r.source->in[0]->dtype) && info(r.source)->uses == 1;
    return widens && view_is_dense(&r.view) ? reading(r.source->in[0]) : r;
}

/* Is it the sum of all rows of what a product's operand k shows, over which the product contracts? */
static bool sums_operand(const Node *sum, const Node *dot, int k)
{
    Dot_axes x = dot_axes(dot);
    const int *contracted = k ? x.bc : x.ac;
    Reading a = summed(sum), b = reading(dot->in[k]);
    if (a.source != b.source || x.nb || !view_is_dense(&a.view) || !view_is_dense(&b.view)) return false;
    for (int i = 0; i < x.nc; i++)
        if (contracted[i] != i) return false;
    int64_t columns = 1;
    for (int i = x.nc; i < dot->in[k]->shape.rank; i++) columns *= dot->in[k]->shape.dim[i];
    return columns == elements(sum->shape);
}

/* A group that is nothing but one sum over rows, and a cast that widens what it adds up. */
static bool is_lone_sum(Node *n)
{
    const Group *g = info(n)->group;
    if (!g || n->op != OP_sum || n->dtype != F32 || info(n)->forced) return false;
    bool lone = g->nodes.at[g->nodes.n - 1] == n && g->role[g->nodes.n - 1] == COLUMN_SUM;
    return lone && (g->nodes.n == 1 || (g->nodes.n == 2 && summed(n).source != reading(n->in[0]).source));
}

/* By what an operand shows: the plain dots of a level that have it, in the level's order. */
static Table dots_by_operand(const Level *level)
{
    Table found = {0};
    for (int i = 0; i < level->nodes.n; i++) {
        Node *dot = level->nodes.at[i], *source[2];
        if (dot->op != OP_dot || dot_end(dot) != END_NONE) continue;
        for (int k = 0; k < 2; k++) {
            source[k] = reading(dot->in[k]).source;
            if (k && source[1] == source[0]) continue;
            void **slot = table_at(&found, source[k]);
            if (!*slot) *slot = NEW(Nodes);
            push((Nodes *)*slot, dot);
        }
    }
    return found;
}

static void give_sum(const Level *level, const Table *by_operand, Node *sum)
{
    const Nodes *of = table_get(by_operand, summed(sum).source);
    for (int i = 0; of && i < of->n; i++) {
        Node *dot = of->at[i];
        if (info(dot)->sums_up || dot->dtype != sum->dtype) continue;
        for (int k = 0; k < 2; k++)
            if (sums_operand(sum, dot, k) && come_before(level->loop, dot, info(sum)->group)) {
                info(dot)->sums_up = sum;
                info(dot)->summed = k;
                info(sum)->product = dot;
                return;
            }
    }
}

void give_sums(const Level *level)
{
    if (!(options.target->ends & ENDS_SUM)) return;
    Table by_operand = dots_by_operand(level);
    for (int i = 0; i < level->nodes.n; i++)
        if (is_lone_sum(level->nodes.at[i])) give_sum(level, &by_operand, level->nodes.at[i]);
    for (int i = 0; i < level->inside.n; i++) give_sums(level->inside.at[i]);
}

/* ------------------------------------------------------------------ two dots, one product */

static bool same_product(const Node *a, const Node *b)
{
    if (a->op != OP_dot || a->nin != b->nin || a->dtype != b->dtype || a->phase != b->phase) return false;
    for (int i = 0; i < a->nin; i++)
        if (a->in[i] != b->in[i]) return false;
    for (int i = 0; i < dot_ints(a); i++)
        if (a->ints[i] != b->ints[i]) return false;
    return true;
}

/* Products of a level, by operand, and those that a sum takes in. */
typedef struct Products {
    Table by_input; /* the first operand -> the Nodes that multiply it */
    Table added;    /* those that are made by being added to what is there */
} Products;

static Products products_of(const Level *level)
{
    Products p = {0};
    for (int i = 0; i < level->nodes.n; i++) {
        Node *n = level->nodes.at[i];
        for (int k = 0; info(n)->absorbed && k < n->nin; k++) *table_at(&p.added, beneath(n->in[k])) = n;
        if (n->op != OP_dot) continue;
        void **slot = table_at(&p.by_input, n->in[0]);
        if (!*slot) *slot = NEW(Nodes);
        push((Nodes *)*slot, n);
    }
    return p;
}

void pair_gelus(const Level *level)
{
    Products p = products_of(level);
    for (int i = 0; i < level->nodes.n; i++) {
        Node *ended = level->nodes.at[i];
        if (ended->op != OP_dot || dot_end(ended) != END_GELU) continue;
        const Nodes *same = table_get(&p.by_input, ended->in[0]);
        for (int k = 0; k < same->n; k++) {
            Node *dot = same->at[k];
            if (dot == ended || !same_product(dot, ended) || !can_be_added(dot) || table_get(&p.added, dot)) continue;
            info(ended)->before_gelu = dot;
            info(dot)->product = ended;
        }
    }
    for (int i = 0; i < level->inside.n; i++) pair_gelus(level->inside.at[i]);
}
