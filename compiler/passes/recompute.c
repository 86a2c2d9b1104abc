/* recompute.c: marks values that the backward part computes again instead of keeping, as nn.checkpoint does. It is one
 * means of a plan that fits a memory budget (budget.c).
 *
 * It looks at bodies of loops over layers: loops with a carry whose products have many rows.  Differentiation would
 * save results of products, sums of two, results of whole and of index ops there; maps are remade anyway.  Those that
 * cost least to compute per byte are given up, of about equal ones the largest that fit, within the share
 * Options.recompute of the bytes: 0 none, 1 all, so that a body starts again from its carry.  2: all except the values
 * through which every path from the carry to the result goes, such as the residual stream between two branches. A body
 * is then remade in parts, each smaller than the whole, as by nn.checkpoint around each branch.  No value changes.
 * Needs: the graph as traced. Leaves: Node.recompute. */
#include "passes/passes.h"

#include <stdlib.h>

enum {
    MANY_ROWS = 256,
    FLOPS_A_BYTE = 10 /* on two cores that share their memory */
};

typedef struct Saved { /* a node whose results backward may want */
    Node *node;
    double bytes, cost; /* of an iteration; of making it again */
    int order;
} Saved;
typedef VEC(Saved) Saveds;

/* ------------------------------------------------------------------ what a value costs */

static double moved_bytes(const Node *n) { return (double)(elements(n->shape) * dtype_bytes(n->dtype)); }

/* The time of a product, in multiplications and additions: those of its own, or those that could be done while its
 * operands and its result are moved, added.  So a product of few columns, as of an adapter, is dear for its size. */
static double dot_cost(const Node *dot)
{
    Dot_axes x = dot_axes(dot);
    double k = 1;
    for (int i = 0; i < x.nc; i++) k *= (double)dot->in[0]->shape.dim[x.ac[i]];
    return 2 * k * (double)elements(dot->shape) +
           FLOPS_A_BYTE * (moved_bytes(dot->in[0]) + moved_bytes(dot->in[1]) + moved_bytes(dot));
}

static double remaking_cost(Nodes nodes)
{
    double sum = 0;
    for (int i = 0; i < nodes.n; i++)
        if (nodes.at[i]->op == OP_dot) sum += dot_cost(nodes.at[i]);
    return sum;
}

/* A whole op costs what the products of its definition cost. */
static double whole_cost(Node *n)
{
    Node *meaning = whole_info[n->op].define(n, 0);
    Nodes all = {0}, before = {0};
    nodes_at(n->in_loop, &meaning, 1, &all);
    nodes_at(n->in_loop, n->in, n->nin, &before);
    return remaking_cost(all) - remaking_cost(before);
}

static Node *product_shown(Node *n)
{
    while (n->op != OP_dot) n = n->in[0];
    return n;
}

static double making_cost(Node *n)
{
    if (adds_products(n)) return dot_cost(product_shown(n->in[0])) + dot_cost(product_shown(n->in[1]));
    return n->op == OP_dot ? dot_cost(n) : op_info[n->op].kind == WHOLE ? whole_cost(n) : 0;
}

static Saved cost_of(Node *n, int order)
{
    OpKind kind = op_info[n->op].kind;
    Type results[MOST_RESULTS] = {{n->dtype, n->shape}};
    Saved s = {.node = n, .order = order};
    int count = kind == WHOLE ? whole_info[n->op].results(n, results) : 1;
    for (int i = 0; i < count; i++) s.bytes += (double)(elements(results[i].shape) * dtype_bytes(results[i].dtype));
    s.cost = making_cost(n);
    return s;
}

/* ------------------------------------------------------------------ which loops */

static void body_nodes(const Loop *l, Nodes *out)
{
    Nodes roots = {0};
    loop_roots(l, &roots);
    nodes_at((Loop *)l, roots.at, roots.n, out);
}

static bool over_layers(const Loop *l, const Nodes *body)
{
    if (l->keeps || l->trip < 2 || !l->carries.n) return false;
    for (int i = 0; i < body->n; i++) {
        const Shape *s = &body->at[i]->shape;
        if (body->at[i]->op == OP_dot && s->rank && elements(*s) / s->dim[s->rank - 1] >= MANY_ROWS) return true;
    }
    return false;
}

/* ------------------------------------------------------------------ marking */

static void mark_all(const Loop *l)
{
    Nodes body = {0};
    body_nodes(l, &body);
    for (int i = 0; i < body.n; i++) {
        body.at[i]->recompute = true;
        if (body.at[i]->op == OP_loop) mark_all(body.at[i]->loop);
    }
}

/* Keeps where branches meet again and no other way goes past: nothing that depends on a carry and is made before is
 * read behind it.  `last` has, in the order of the body, the place where each such value is read last. */
static void keep_meetings(const Loop *l, const Nodes *body)
{
    Table places = {0};
    int args = l->carries.n, *last = NEW_ARRAY(int, args + body->n), reach = 0;
    for (int k = 0; k < args; k++) *table_at(&places, l->carries.at[k].arg) = &last[k];
    for (int i = 0; i < body->n; i++)
        for (int k = 0; k < body->at[i]->nin; k++) {
            int *place = table_get(&places, body->at[i]->in[k]);
            if (!place) continue;
            *place = i;
            if (!table_get(&places, body->at[i])) *table_at(&places, body->at[i]) = &last[args + i];
        }
    for (int k = 0; k < args; k++) reach = last[k] > reach ? last[k] : reach;
    for (int i = 0; i < body->n; i++) {
        Node *n = body->at[i];
        int ways = 0;
        for (int k = 0; k < n->nin; k++) ways += table_get(&places, n->in[k]) != NULL;
        if (ways > 1 && reach <= i && last[args + i] > i) n->recompute = false;
        if (last[args + i] > reach) reach = last[args + i];
    }
}

static bool costs_more(const Saved *x, const Saved *y) { return x->cost * y->bytes > y->cost * x->bytes; }

static bool costs_much_more(const Saved *x, const Saved *y) { return x->cost * y->bytes > 1.2 * y->cost * x->bytes; }

static int cheapest_first(const void *a, const void *b)
{
    const Saved *x = a, *y = b;
    if (costs_more(x, y) || costs_more(y, x)) return costs_more(x, y) ? 1 : -1;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->order - y->order;
}

/* Products that are summed two by two: the sum is saved, not they. */
static void gather_summands(const Nodes *body, Table *out)
{
    for (int i = 0; i < body->n; i++)
        for (int k = 0; adds_products(body->at[i]) && k < 2; k++)
            *table_at(out, product_shown(body->at[i]->in[k])) = body->at[i];
}

static void give_up(Node *n)
{
    n->recompute = true;
    for (int k = 0; adds_products(n) && k < 2; k++) product_shown(n->in[k])->recompute = true;
}

static void mark_share(const Nodes *body, double share)
{
    Saveds all = {0};
    Table summands = {0};
    double total = 0, marked = 0;
    gather_summands(body, &summands);
    for (int i = 0; i < body->n; i++) {
        Node *n = body->at[i];
        OpKind kind = op_info[n->op].kind;
        bool sum = adds_products(n), saved = kind == DOT || kind == INDEX || kind == WHOLE;
        if (sum || (saved && !table_get(&summands, n))) push(&all, cost_of(n, i));
        else if (is_cheap(n)) n->recompute = true;
    }
    for (int i = 0; i < all.n; i++) total += all.at[i].bytes;
    if (all.n) qsort(all.at, (size_t)all.n, sizeof *all.at, cheapest_first);
    const Saved *left = NULL; /* the cheapest that was too large; nothing much dearer goes before it */
    for (int i = 0; i < all.n && !(left && costs_much_more(&all.at[i], left)); i++) {
        if (marked + all.at[i].bytes > share * total) {
            if (!left) left = &all.at[i];
            continue;
        }
        give_up(all.at[i].node);
        marked += all.at[i].bytes;
    }
}

static void visit_loops(const Loop *l, double share)
{
    Nodes body = {0};
    body_nodes(l, &body);
    if (over_layers(l, &body)) {
        if (share >= 1) mark_all(l);
        else mark_share(&body, share);
        if (share > 1) keep_meetings(l, &body);
        return;
    }
    for (int i = 0; i < body.n; i++)
        if (body.at[i]->op == OP_loop) visit_loops(body.at[i]->loop, share);
}

void pass_recompute(Graph *g, const Desc *d)
{
    if (d->options->recompute <= 0 || !g->wants_grads) return;
    Nodes roots = {0}, nodes = {0};
    graph_roots(g, &roots);
    nodes_at(g->micro, roots.at, roots.n, &nodes); /* the loop over micro-batches is still open */
    for (int i = 0; i < nodes.n; i++)
        if (nodes.at[i]->op == OP_loop) visit_loops(nodes.at[i]->loop, d->options->recompute);
}
