/* pass_fuse.c: decides which maps and reductions share a kernel.
 *
 * The rule (DESIGN section 4).  Nodes of one level merge into a ROWS group if and only if
 *   1. they run over one space of rows x inner axis: values are full (an element of the space), per row, sums over a
 * row, or sums over all rows (columns);
 *   2. inside the group every value is read where it was made: a full one at its own element, a row's at its own row, a
 *      column sum not at all;
 *   3. what is read from outside is affine over the space;
 *      what is stored in 16 bits is read outside of where it was made, so that nothing wider waits for its readers;
 *   4. no path between two of them leads through a node outside.
 * Greedy in topological order: first with the groups that made a node's inputs, then with siblings that read the same.
 * No layer is known by name. */
#include "lower.h"

#include <stdlib.h>

static int by_order(const void *a, const void *b)
{
    return info(*(Node *const *)a)->order - info(*(Node *const *)b)->order;
}

/* ------------------------------------------------------------------ 1. the space */

static bool is_column(const Node *n) { return n->shape.rank > 0 && n->ints[0] == 0 && n->in[0]->shape.rank > 1; }

typedef struct Extent {
    int64_t all, inner;
} Extent; /* elements of the space, of its inner axis (0: free) */

static bool settle(int64_t *value, int64_t to)
{
    if (*value && *value != to) return false;
    *value = to;
    return true;
}

static bool extent_of(const Nodes *nodes, Extent *e)
{
    *e = (Extent){0};
    for (int i = 0; i < nodes->n; i++) {
        const Node *n = nodes->at[i];
        if (op_info[n->op].kind != REDUCE) continue;
        int64_t all = elements(n->in[0]->shape), out = elements(n->shape);
        if (!settle(&e->all, all) || !settle(&e->inner, is_column(n) ? out : all / out)) return false;
    }
    for (int i = 0; i < nodes->n; i++) {
        int64_t n = elements(nodes->at[i]->shape);
        if (op_info[nodes->at[i]->op].kind == REDUCE) continue;
        if (e->inner && n == e->all / e->inner) continue;
        if (!settle(&e->all, n)) return false;
    }
    return true;
}

static bool role_of(const Node *n, Extent e, Role *role)
{
    int64_t all = elements(n->shape);
    if (op_info[n->op].kind == REDUCE) *role = is_column(n) ? COLUMN_SUM : ROW_SUM;
    else if (all == e.all) *role = FULL;
    else if (e.inner && all == e.all / e.inner) *role = PER_ROW;
    else return false;
    return true;
}

/* Row axes are as fine as any node wants them; a fixed inner axis is one. */
static bool space_of(const Nodes *nodes, const Role *role, Extent e, Shape *space)
{
    Shape rows = {.rank = 1, .dim = {e.inner ? e.all / e.inner : e.all}};
    Shape outline = {.rank = 2, .dim = {rows.dim[0], e.inner}};
    for (int i = 0; i < nodes->n; i++) {
        Shape s = role[i] == ROW_SUM || role[i] == COLUMN_SUM ? nodes->at[i]->in[0]->shape : nodes->at[i]->shape;
        if (e.inner && role[i] != PER_ROW) {
            if (!refine(s, outline, &s)) return false;
            for (int64_t inner = 1; s.rank > 0 && inner < e.inner; s.rank--) inner *= s.dim[s.rank - 1];
        }
        if (!refine(rows, s, &rows)) return false;
    }
    if (rows.rank >= MAXRANK) return false;
    if (e.inner || rows.rank == 0) rows.dim[rows.rank++] = e.inner ? e.inner : 1;
    *space = rows;
    return true;
}

/* ------------------------------------------------------------------ 2., 3. what is read */

static int place_in(const Nodes *nodes, const Node *n)
{
    for (int i = 0; i < nodes->n; i++)
        if (nodes->at[i] == n) return i;
    return -1;
}

static bool reads_own(const Group *g, int reader, int made, const View *v, bool fixed)
{
    int64_t inner = g->space.dim[g->space.rank - 1];
    View over;
    if (g->role[made] == COLUMN_SUM || is_stored(g->nodes.at[made]->dtype)) return false;
    if (g->role[made] == FULL) return g->role[reader] != PER_ROW && view_is_dense(v);
    if (g->role[reader] == PER_ROW) return view_is_dense(v);
    return fixed && view_reshape(v, g->space, &over) && view_rows_dense(&over, inner);
}

static bool affine(const Group *g, int reader, const View *v)
{
    View over;
    Shape rows = {.rank = g->space.rank - 1};
    for (int i = 0; i < rows.rank; i++) rows.dim[i] = g->space.dim[i];
    return view_reshape(v, g->role[reader] == PER_ROW ? rows : g->space, &over);
}

/* What n reads must be made in the group and read in its place, or be affine; free maps are looked through. */
static bool readable(const Group *g, int reader, const Node *n, bool fixed)
{
    for (int k = 0; k < n->nin; k++) {
        Reading r = reading(n->in[k]);
        int made = place_in(&g->nodes, r.source);
        if (made < 0 && is_free(n->in[k])) {
            if (!readable(g, reader, n->in[k], fixed)) return false;
        } else if (made >= 0 ? !reads_own(g, reader, made, &r.view, fixed) : !affine(g, reader, &r.view)) {
            return false;
        }
    }
    return true;
}

static bool fits(const Nodes *nodes, Group *g)
{
    Extent e;
    g->nodes = *nodes;
    g->role = NEW_ARRAY(Role, nodes->n);
    if (!extent_of(nodes, &e)) return false;
    for (int i = 0; i < nodes->n; i++)
        if (!role_of(nodes->at[i], e, &g->role[i])) return false;
    if (!space_of(nodes, g->role, e, &g->space)) return false;
    for (int i = 0; i < nodes->n; i++) {
        const Node *n = nodes->at[i];
        if (!in_rows(n)) return false;
        if (info(n)->forced) { /* a copy: its reading is below it */
            if (nodes->n > 1) return false;
            continue;
        }
        if (!readable(g, i, n, e.inner > 0)) return false;
    }
    return true;
}

/* ------------------------------------------------------------------ 4. paths */

static void needs_of_body(Loop *level, const Loop *l, Nodes *out);

static void needs_of(Loop *level, const Node *n, Nodes *out)
{
    for (int k = 0; k < n->nin; k++)
        if (n->in[k]->in_loop == level) push(out, n->in[k]);
    if (n->op == OP_loop) needs_of_body(level, n->loop, out);
    if (info(n)->product && n->in_loop == level) push(out, info(n)->product);
}

static void needs_of_body(Loop *level, const Loop *l, Nodes *out)
{
    Nodes roots = {0}, body = {0};
    loop_roots(l, &roots);
    for (int k = 0; k < l->carries.n; k++) push(&roots, l->carries.at[k].init);
    for (int k = 0; k < l->xs.n; k++) push(&roots, l->xs.at[k].outer);
    for (int k = 0; k < roots.n; k++)
        if (roots.at[k]->in_loop == level) push(out, roots.at[k]);
    nodes_at((Loop *)l, roots.at, roots.n, &body);
    for (int k = 0; k < body.n; k++) needs_of(level, body.at[k], out);
}

void needs_at(Loop *level, Node *n, Nodes *out) { needs_of(level, n, out); }

static const Nodes *needs(Loop *level, Node *n)
{
    Nodes *c = &info(n)->needs;
    if (!c->cap) {
        needs_of(level, n, c);
        c->cap += !c->cap;
    }
    return c;
}

/* Does anything that n reads, groups taken as one, lead to a or b? */
static bool leads_to(Loop *level, Node *n, const Group *a, const Group *b, int search)
{
    Nodes todo = {0};
    push(&todo, n);
    while (todo.n) {
        Node *m = todo.at[--todo.n];
        const Group *g = info(m)->group;
        if (info(m)->search == search) continue;
        if (g == a || g == b) return true;
        info(m)->search = search;
        const Nodes *members = g ? &g->nodes : &(Nodes){.at = &m, .n = 1};
        for (int i = 0; i < members->n; i++) {
            const Nodes *next = needs(level, members->at[i]);
            info(members->at[i])->search = search;
            for (int k = 0; k < next->n; k++) push(&todo, next->at[k]);
        }
    }
    return false;
}

static int searches;

bool depends_on(Loop *level, Node *n, const Group *g) { return leads_to(level, n, g, g, ++searches); }

static bool apart(Loop *level, const Group *a, const Group *b)
{
    searches++;
    for (int pass = 0; pass < 2; pass++) {
        const Group *g = pass ? b : a;
        for (int i = 0; i < g->nodes.n; i++) {
            const Nodes *next = needs(level, g->nodes.at[i]);
            for (int k = 0; k < next->n; k++) {
                Node *m = next->at[k];
                while (is_view(m) && !info(m)->forced && m->in[0]->in_loop == level) m = m->in[0];
                const Group *other = info(m)->group;
                if (other != a && other != b && leads_to(level, m, a, b, searches)) return false;
            }
        }
    }
    return true;
}

/* ------------------------------------------------------------------ merging */

static bool merge(Loop *level, Group *a, Group *b)
{
    if (a == b) return true;
    Nodes all = {0};
    for (int i = 0; i < a->nodes.n; i++) push(&all, a->nodes.at[i]);
    for (int i = 0; i < b->nodes.n; i++) push(&all, b->nodes.at[i]);
    qsort(all.at, (size_t)all.n, sizeof *all.at, by_order);
    Group both = {0};
    if (!fits(&all, &both) || !apart(level, a, b)) return false;
    *a = both;
    for (int i = 0; i < all.n; i++) info(all.at[i])->group = a;
    b->nodes.n = 0;
    return true;
}

static void merge_with_makers(Level *level, Node *n)
{
    for (int k = 0; k < n->nin; k++) {
        Group *maker = info(reading(n->in[k]).source)->group;
        if (maker && reading(n->in[k]).source->in_loop == level->loop) merge(level->loop, maker, info(n)->group);
    }
}

static const Node *in_memory(Node *n)
{
    const Node *source = reading(n).source;
    return widens(source) ? reading(source->in[0]).source : source;
}

static bool share_a_source(const Group *a, const Group *b)
{
    for (int i = 0; i < a->nodes.n; i++)
        for (int k = 0; k < a->nodes.at[i]->nin; k++) {
            const Node *source = in_memory(a->nodes.at[i]->in[k]);
            if (elements(source->shape) == 1) continue;
            for (int j = 0; j < b->nodes.n; j++)
                for (int m = 0; m < b->nodes.at[j]->nin; m++)
                    if (in_memory(b->nodes.at[j]->in[m]) == source) return true;
        }
    return false;
}

static void merge_siblings(Level *level, const Groups *groups)
{
    for (int i = 0; i < groups->n; i++)
        for (int j = i + 1; j < groups->n && groups->at[i]->nodes.n; j++)
            if (groups->at[j]->nodes.n && share_a_source(groups->at[i], groups->at[j]))
                merge(level->loop, groups->at[i], groups->at[j]);
}

void fuse_level(Level *level)
{
    Groups groups = {0};
    for (int i = 0; i < level->nodes.n; i++) {
        Node *n = level->nodes.at[i];
        if (!in_rows(n) || info(n)->absorbed) continue;
        Group *g = NEW(Group);
        Nodes alone = {0};
        push(&alone, n);
        if (!fits(&alone, g)) die("%s %s fits no kernel, not even alone", op_info[n->op].name, shape_text(n->shape));
        info(n)->group = g;
        push(&groups, g);
        if (!options.no_fuse && !info(n)->forced) merge_with_makers(level, n);
    }
    if (!options.no_fuse) merge_siblings(level, &groups);
}
