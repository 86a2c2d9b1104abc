/* remat.c: lets backward nodes remake cheap forward values instead of keeping them.
 *
 * Needs phases (0 forward, 1 backward) as pass_grad leaves them.  Leaves: at every level, no phase-1 node reads a map,
 * reduction or move of phase 0 at first hand, but its clone of phase 1, made from what is saved anyway: dots, index
 * ops, loop results, leaves, sums of products, and small sums of columns, which take a sweep of their own. A clone
 * serves all its readers, and, not being merged with the original, ends the original's life with the forward pass. What
 * ends a recomputed region (nn.checkpoint) is read as it is: cloning it would run the region again.  In reversed loops
 * pass_grad has done the same; here it matters where forward and backward share a level: the top, and the body of
 * micro. */
#include "desc/passes.h"
#include "ops/grad.h"

typedef struct Remat {
    Grad facts;
    Table clones;
} Remat;

static bool is_clonable(Remat *m, const Node *v)
{
    return v->phase == 0 && is_cheap(v) && !sums_columns(v) && !adds_products(v) && !region_ends(&m->facts, v);
}

static bool is_to_be_cloned(void *user, const Node *v)
{
    Remat *m = user;
    return is_clonable(m, v) && !table_get(&m->clones, v);
}

static Node *instead_of(const Remat *m, Node *v)
{
    Node *clone = table_get(&m->clones, v);
    return clone ? clone : v;
}

static void make_clone(Remat *m, Node *v)
{
    Node **in = NEW_ARRAY(Node *, v->nin + 1);
    for (int i = 0; i < v->nin; i++) in[i] = instead_of(m, v->in[i]);
    Making was = make_on_line_of(v);
    Node key = *v;
    key.in = in;
    key.phase = 1;
    key.again = true;
    *table_at(&m->clones, v) = intern(key);
    make_with(was);
}

static Node *clone(Remat *m, Node *v)
{
    Nodes first = {0}; /* what v is made of, then v */
    if (is_to_be_cloned(m, v)) nodes_through(v, is_to_be_cloned, m, &first);
    for (int i = 0; i < first.n; i++)
        if (is_to_be_cloned(m, first.at[i])) make_clone(m, first.at[i]);
    return instead_of(m, v);
}

static Node *over_clones(Rewrite *r, Node *old, Node *const *in)
{
    if (old->phase == 0 || !old->nin) return NULL;
    Node **own = NEW_ARRAY(Node *, old->nin);
    for (int i = 0; i < old->nin; i++) own[i] = clone(r->user, in[i]);
    return remade(old, own);
}

/* Collects the values that loops of the backward pass start from and walk along. */
static void feed_loops(Remat *m, Loop *level, Node *const *roots, int nroots, Table *seen)
{
    Nodes body = {0};
    nodes_at(level, roots, nroots, &body);
    for (int i = 0; i < body.n; i++) {
        Node *n = body.at[i];
        void **slot = n->op == OP_loop ? table_at(seen, n) : NULL;
        if (!slot || *slot) continue;
        *slot = n;
        Loop *l = n->loop;
        for (int k = 0; k < l->carries.n && n->phase; k++) l->carries.at[k].init = clone(m, l->carries.at[k].init);
        for (int k = 0; k < l->xs.n && n->phase; k++) l->xs.at[k].outer = clone(m, l->xs.at[k].outer);
        Nodes inner = {0};
        loop_roots(l, &inner);
        feed_loops(m, l, inner.at, inner.n, seen);
    }
}

void pass_remat(Graph *g, const Desc *d)
{
    if (without(d, PASS_remat)) return;
    Remat m = {.facts.desc = d};
    Table seen = {0};
    Rewrite r = {.node = over_clones, .user = &m};
    rewrite_graph(&r, g);
    Nodes roots = {0};
    graph_roots(g, &roots);
    feed_loops(&m, NULL, roots.at, roots.n, &seen);
}
