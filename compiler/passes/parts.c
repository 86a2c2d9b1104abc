/* parts.c: maps that are read in parts alone are made in parts: slice(f(a, b)) becomes f(slice a, slice b).
 *
 * The gates of a recurrent cell are one product, to whose sum with biases and another product slices are read.  Where
 * every reader of a map is a slice, no two of which overlap, and those are read by maps, the same elements are computed
 * once whether they are made as one value or each where its slice is read; and there they need no kernel of their own,
 * which would write them for the next one to read.  Likewise for maps that are read by such a map alone.
 * Needs: no dead nodes (they would count as readers).  Leaves the same bits. */
#include "passes/passes.h"

typedef struct Readers {
    Nodes by;
    bool whole; /* an output, or a value that a loop is given or keeps */
} Readers;

typedef struct Parts {
    Table readers; /* Readers by node */
    Table made;    /* maps that are made in parts, by node: themselves */
} Parts;

/* ------------------------------------------------------------------ who reads what */

static Readers *readers_of(Parts *p, const Node *n)
{
    void **at = table_at(&p->readers, n);
    if (!*at) *at = NEW(Readers);
    return *at;
}

static void is_read_whole(Parts *p, const Node *n)
{
    if (n) readers_of(p, n)->whole = true;
}

static void read_by_loop(Parts *p, const Loop *l)
{
    for (int k = 0; k < l->carries.n; k++) {
        is_read_whole(p, l->carries.at[k].init);
        is_read_whole(p, l->carries.at[k].next);
    }
    for (int k = 0; k < l->xs.n; k++) is_read_whole(p, l->xs.at[k].outer);
    for (int k = 0; k < l->ys.n; k++) is_read_whole(p, l->ys.at[k]);
}

static void find_readers(Parts *p, const Graph *g, const Nodes *all)
{
    for (int i = 0; i < all->n; i++) {
        Node *n = all->at[i];
        for (int k = 0; k < n->nin; k++) push(&readers_of(p, n->in[k])->by, n);
        if (n->op == OP_loop) read_by_loop(p, n->loop);
    }
    for (int i = 0; i < g->outs.n; i++) is_read_whole(p, g->outs.at[i].node);
    if (g->micro) read_by_loop(p, g->micro);
}

/* ------------------------------------------------------------------ which maps are made in parts */

static bool slices_apart(const Node *x, const Node *y)
{
    int rank = x->shape.rank;
    for (int i = 0; i < rank; i++) {
        int64_t x_end = x->ints[i] + (x->shape.dim[i] - 1) * x->ints[rank + i];
        int64_t y_end = y->ints[i] + (y->shape.dim[i] - 1) * y->ints[rank + i];
        if (x_end < y->ints[i] || y_end < x->ints[i]) return true;
    }
    return false;
}

static bool read_by_maps(Parts *p, const Node *n)
{
    const Readers *r = readers_of(p, n);
    for (int i = 0; i < r->by.n; i++)
        if (op_info[r->by.at[i]->op].kind != MAP) return false;
    return !r->whole && r->by.n > 0;
}

static bool made_in_parts(Parts *p, const Node *n)
{
    const Readers *r = readers_of(p, n);
    if (op_info[n->op].kind != MAP || !n->nin || r->whole || !r->by.n) return false;
    if (r->by.n == 1 && table_get(&p->made, r->by.at[0])) return true;
    for (int i = 0; i < r->by.n; i++) {
        if (r->by.at[i]->op != OP_slice || !read_by_maps(p, r->by.at[i])) return false;
        for (int k = 0; k < i; k++)
            if (!slices_apart(r->by.at[i], r->by.at[k])) return false;
    }
    return true;
}

/* Readers come before what they read. */
static void find_sliced_parts(Parts *p, const Nodes *all)
{
    for (int i = all->n - 1; i >= 0; i--)
        if (made_in_parts(p, all->at[i])) *table_at(&p->made, all->at[i]) = all->at[i];
}

/* ------------------------------------------------------------------ making them */

static bool is_made_in_parts(void *parts, const Node *n)
{
    return table_get(&((Parts *)parts)->made, n) && !is_filled(n, NULL);
}

/* Lists the nodes that make the part that a slice takes, the part last; false: it is a slice of a whole. */
static bool made_for(Parts *p, const Node *of, Nodes *list)
{
    if (of->op != OP_slice || !table_get(&p->made, of->in[0])) return false;
    nodes_through(of->in[0], is_made_in_parts, p, list);
    return true;
}

/* Wholes that parts are taken of. */
static void needs(Rewrite *r, const Node *old, Nodes *out)
{
    Nodes list = {0};
    if (!made_for(r->user, old, &list)) return;
    for (int i = 0; i < list.n; i++)
        if (!is_made_in_parts(r->user, list.at[i]) && !is_filled(list.at[i], NULL)) push(out, list.at[i]);
}

static Node *part(Rewrite *r, Node *old, const Node *of, const Table *done)
{
    if (is_filled(old, NULL)) return refilled(old, of->shape);
    if (!is_made_in_parts(r->user, old))
        return slice(rewritten(r, old), of->ints, of->shape.dim, of->ints + of->shape.rank);
    Node *in[8], key = *old;
    for (int i = 0; i < old->nin; i++) in[i] = table_get(done, old->in[i]);
    key.in = in;
    key.shape = of->shape;
    return intern(key);
}

static Node *before(Rewrite *r, Node *old)
{
    Nodes list = {0};
    Table done = {0};
    Node *n = NULL;
    if (!made_for(r->user, old, &list)) return NULL;
    Making was = make_beside(old);
    for (int i = 0; i < list.n; i++) *table_at(&done, list.at[i]) = n = part(r, list.at[i], old, &done);
    if (n && old->title) title_instead(n, old);
    make_with(was);
    return n;
}

void pass_parts(Graph *g, const Desc *d)
{
    if (without(d, PASS_parts)) return;
    Parts p = {0};
    Nodes all = {0};
    all_nodes(g, &all);
    find_readers(&p, g, &all);
    find_sliced_parts(&p, &all);
    Rewrite r = {.needs = needs, .before = before, .user = &p};
    rewrite_graph(&r, g);
}
