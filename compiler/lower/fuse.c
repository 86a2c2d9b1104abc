/* fuse.c: decides which maps and reductions share a kernel.
 *
 * The rule (DESIGN section 4).  Nodes of one level merge into a ROWS group if and only if
 *   1. they run over one space of rows x inner axis: values are full (an element of the space), per row, sums over a
 * row, or sums over all rows (columns);
 *   2. inside the group every value is read where it was made: a full one at its own element, a row's at its own row, a
 *      column sum not at all;
 *   3. what is read from outside is affine over the space;
 *      what is stored in 16 bits is read outside of where it was made, so that nothing wider waits for its readers;
 *   4. no path between two of them leads through a node outside;
 *   5. of an entry in two halves (lower/sides.c): they are of one.
 * Greedy in topological order: first with the groups that made a node's inputs, then with siblings that read the same.
 * No layer is known by name. */
#include "lower/order.h"

#include <stdlib.h>

/* No kernel is larger, so that its text can be printed and compiled, and each pass takes time in proportion to nodes.
 */
enum {
    MOST_NODES = 128,
    MOST_SUMS = 32,    /* reductions, and thereby phases */
    MOST_SIBLINGS = 64 /* groups that are tried for one, of those that read the same */
};

/* ------------------------------------------------------------------ 1. the space */

static bool is_column(const Node *n) { return n->shape.rank > 0 && n->ints[0] == 0 && n->in[0]->shape.rank > 1; }

static bool settle(int64_t *value, int64_t to)
{
    if (*value && *value != to) return false;
    *value = to;
    return true;
}

/* The extent of a group of one node: a reduction fixes the inner axis. */
static Extent extent_of_node(const Node *n)
{
    int64_t out = elements(n->shape);
    if (op_info[n->op].kind != REDUCE) return (Extent){.all = out};
    int64_t all = elements(n->in[0]->shape);
    return (Extent){.all = all, .inner = is_column(n) ? out : all / out};
}

/* Nodes without an inner axis fit one that has: as full values or as values per row. */
static bool common_extent(Extent a, Extent b, Extent *e)
{
    const Extent *free = a.inner ? &b : &a;
    *e = a.inner ? a : b;
    if (e->inner && !free->inner && free->all == e->all / e->inner) return true;
    return settle(&e->all, free->all) && (!free->inner || settle(&e->inner, free->inner));
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
static bool add_to_rows(const Node *n, Role role, Extent e, Shape *rows)
{
    Shape outline = {.rank = 2, .dim = {e.inner ? e.all / e.inner : e.all, e.inner}};
    Shape s = role == ROW_SUM || role == COLUMN_SUM ? n->in[0]->shape : n->shape;
    if (e.inner && role != PER_ROW) {
        if (!refine(s, outline, &s)) return false;
        for (int64_t inner = 1; s.rank > 0 && inner < e.inner; s.rank--) inner *= s.dim[s.rank - 1];
    }
    return refine(*rows, s, rows);
}

static bool space_of(const Shape *rows, Extent e, Shape *space)
{
    if (rows->rank >= MAXRANK) return false;
    *space = *rows;
    if (e.inner || space->rank == 0) space->dim[space->rank++] = e.inner ? e.inner : 1;
    return true;
}

static bool same_extent(Extent a, Extent b) { return a.all == b.all && a.inner == b.inner; }

/* The rows of g's nodes where the extent is e. */
static bool rows_of_group(const Group *g, Extent e, Shape *rows)
{
    Role role;
    if (same_extent(g->extent, e) && g->rows.rank) return refine(*rows, g->rows, rows);
    for (int i = 0; i < g->nodes.n; i++)
        if (!role_of(g->nodes.at[i], e, &role) || !add_to_rows(g->nodes.at[i], role, e, rows)) return false;
    return true;
}

/* ------------------------------------------------------------------ 2., 3. what is read */

/* A group to be: of a and b, which have nodes and roles of their own; or of a alone. */
typedef struct Trial {
    const Group *a, *b;
    Extent extent;
    Shape rows, space;
} Trial;

static bool is_in(Cut *cut, const Trial *t, const Node *n)
{
    const Group *g = info(cut, n)->group;
    return g && (g == t->a || g == t->b);
}

static Role role_in(const Trial *t, const Node *n)
{
    Role role = FULL;
    must(role_of(n, t->extent, &role));
    return role;
}

static bool reads_own(const Trial *t, Role reader, const Node *made, const View *v)
{
    int64_t inner = t->space.dim[t->space.rank - 1];
    Role role = role_in(t, made);
    View over;
    if (role == COLUMN_SUM || is_stored(made->dtype)) return false;
    if (role == FULL) return reader != PER_ROW && view_is_dense(v);
    if (reader == PER_ROW) return view_is_dense(v);
    return t->extent.inner && view_reshape(v, t->space, &over) && view_rows_dense(&over, inner);
}

static bool affine(const Trial *t, Role reader, const View *v)
{
    View over;
    Shape rows = {.rank = t->space.rank - 1};
    for (int i = 0; i < rows.rank; i++) rows.dim[i] = t->space.dim[i];
    return view_reshape(v, reader == PER_ROW ? rows : t->space, &over);
}

/* Every input of n must be made in the group and read at the same element, or be an affine view; free maps are looked
 * through. */
static bool readable(Cut *cut, const Trial *t, Role reader, const Node *n)
{
    for (int k = 0; k < n->nin; k++) {
        Node *source = source_of(cut, n->in[k]);
        bool own = is_in(cut, t, source);
        if (!own && is_free(cut, n->in[k])) {
            if (!readable(cut, t, reader, n->in[k])) return false;
            continue;
        }
        View v = reading(cut, n->in[k]).view;
        if (own ? !reads_own(t, reader, source, &v) : !affine(t, reader, &v)) return false;
    }
    return true;
}

/* The sources that n reads, free maps looked through and among them. */
static void find_sources(Cut *cut, Node *n, Nodes *out)
{
    for (int k = 0; k < n->nin; k++) {
        Node *source = source_of(cut, n->in[k]);
        push(out, source);
        if (is_free(cut, n->in[k])) find_sources(cut, n->in[k], out);
    }
}

static const Nodes *sources_of(Cut *cut, Node *n)
{
    Nodes *found = &info(cut, n)->sources;
    if (!found->cap) {
        find_sources(cut, n, found);
        found->cap += !found->cap;
    }
    return found;
}

static bool reads_from(Cut *cut, Node *n, const Group *g)
{
    const Nodes *sources = sources_of(cut, n);
    for (int i = 0; i < sources->n; i++)
        if (info(cut, sources->at[i])->group == g) return true;
    return false;
}

/* May g's nodes be in it?  Where neither space nor roles change, this is a matter of what they read of the other. */
static bool all_readable(Cut *cut, const Trial *t, const Group *g, const Group *other)
{
    bool as_before = other && same_extent(t->extent, g->extent) && same_shape(t->space, g->space);
    for (int i = 0; i < g->nodes.n; i++) {
        Node *n = g->nodes.at[i];
        if (as_before && !reads_from(cut, n, other)) continue;
        if (!readable(cut, t, role_in(t, n), n)) return false;
    }
    return true;
}

static bool fits(Cut *cut, Trial *t)
{
    const Group *a = t->a, *b = t->b;
    t->extent = a->extent;
    if (b && !common_extent(a->extent, b->extent, &t->extent)) return false;
    Extent e = t->extent;
    t->rows = (Shape){.rank = 1, .dim = {e.inner ? e.all / e.inner : e.all}};
    if (!rows_of_group(a, e, &t->rows) || (b && !rows_of_group(b, e, &t->rows)) || !space_of(&t->rows, e, &t->space))
        return false;
    if (a->forced || (b && b->forced)) return !b; /* a copy: its reading is below it */
    return all_readable(cut, t, a, b) && (!b || all_readable(cut, t, b, a));
}

/* ------------------------------------------------------------------ merging */

/* b's nodes come into a's list, in order. */
static void take_nodes(Cut *cut, Group *a, const Group *b)
{
    Nodes *all = &a->nodes;
    int i = all->n - 1, j = b->nodes.n - 1;
    for (int k = 0; k < b->nodes.n; k++) push(all, b->nodes.at[k]);
    for (int at = all->n - 1; j >= 0; at--) {
        bool first = i >= 0 && info(cut, all->at[i])->order > info(cut, b->nodes.at[j])->order;
        all->at[at] = first ? all->at[i--] : b->nodes.at[j--];
    }
}

static void settle_group(Cut *cut, Group *g, const Trial *t)
{
    g->extent = t->extent;
    g->rows = t->rows;
    g->space = t->space;
    for (int i = 0; i < g->nodes.n; i++) info(cut, g->nodes.at[i])->group = g;
}

static bool merge(Cut *cut, Loop *level, Group *a, Group *b)
{
    Trial t = {.a = a, .b = b};
    if (a == b) return true;
    if (a->nodes.n + b->nodes.n > MOST_NODES || a->sums + b->sums > MOST_SUMS) return false;
    if ((a->first || b->first) && (a->second || b->second)) return false;
    if (!fits(cut, &t) || !apart(cut, level, a, b)) return false;
    take_nodes(cut, a, b);
    join_units(cut, a, b);
    settle_group(cut, a, &t);
    a->sums += b->sums;
    a->first |= b->first;
    a->second |= b->second;
    b->nodes.n = 0;
    return true;
}

static void merge_with_makers(Cut *cut, Level *level, Node *n)
{
    for (int k = 0; k < n->nin; k++) {
        Node *source = source_of(cut, n->in[k]);
        Group *maker = info(cut, source)->group;
        if (maker && source->in_loop == level->loop) merge(cut, level->loop, maker, info(cut, n)->group);
    }
}

static const Node *in_memory(Cut *cut, Node *n)
{
    const Node *source = source_of(cut, n);
    return widens(cut, source) ? source_of(cut, source->in[0]) : source;
}

/* ------------------------------------------------------------------ siblings */

typedef VEC(int) Numbers;

static void **readers_slot(Table *readers, const Node *source)
{
    void **slot = table_at(readers, source);
    if (!*slot) *slot = NEW(Numbers);
    return slot;
}

/* Which groups read a source from memory, in their order. */
static void note_sources(Cut *cut, Table *readers, const Group *g, int number)
{
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->nin; k++) {
            const Node *source = in_memory(cut, g->nodes.at[i]->in[k]);
            if (elements(source->shape) == 1) continue;
            Numbers *list = *readers_slot(readers, source);
            if (!list->n || list->at[list->n - 1] != number) push(list, number);
        }
}

static int first_after(const Numbers *list, int number)
{
    int low = 0, high = list->n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (list->at[middle] > number) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* Adds the next groups after `number` that read what these nodes read. */
static void add_siblings(Cut *cut, const Table *readers, const Nodes *nodes, int number, Numbers *out)
{
    for (int i = 0; i < nodes->n; i++)
        for (int k = 0; k < nodes->at[i]->nin; k++) {
            const Numbers *list = table_get(readers, in_memory(cut, nodes->at[i]->in[k]));
            if (!list) continue;
            int from = first_after(list, number), to = from + MOST_SIBLINGS;
            for (int j = from; j < list->n && j < to; j++) push(out, list->at[j]);
        }
}

static int lower(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* The lowest number after `after`; -1: there is none. */
static int next_of(Numbers *candidates, int after, bool *sorted)
{
    if (!*sorted && candidates->n) qsort(candidates->at, (size_t)candidates->n, sizeof *candidates->at, lower);
    *sorted = true;
    int at = first_after(candidates, after);
    return at < candidates->n ? candidates->at[at] : -1;
}

/* Group i with those after it that read what it reads, as it grows. */
static void merge_with_siblings(Cut *cut, Level *level, const Groups *groups, const Table *readers, int i,
                                Numbers *candidates)
{
    Group *g = groups->at[i];
    bool sorted = false;
    candidates->n = 0;
    add_siblings(cut, readers, &g->nodes, i, candidates);
    for (int tried = 0, j = i; tried < MOST_SIBLINGS && g->nodes.n < MOST_NODES; tried++) {
        if ((j = next_of(candidates, j, &sorted)) < 0) return;
        Group *other = groups->at[j];
        if (!other->nodes.n) continue;
        const Nodes more = {.at = copy_of(other->nodes.at, sizeof *more.at * (size_t)other->nodes.n),
                            .n = other->nodes.n};
        if (!merge(cut, level->loop, g, other)) continue;
        add_siblings(cut, readers, &more, j, candidates);
        sorted = false;
    }
}

static void merge_siblings(Cut *cut, Level *level, const Groups *groups)
{
    Table readers = {0};
    Numbers candidates = {0};
    for (int i = 0; i < groups->n; i++) note_sources(cut, &readers, groups->at[i], i);
    for (int i = 0; i < groups->n; i++)
        if (groups->at[i]->nodes.n) merge_with_siblings(cut, level, groups, &readers, i, &candidates);
}

/* ------------------------------------------------------------------ a level */

static Group *group_alone(Cut *cut, Node *n)
{
    Group *g = NEW(Group);
    g->nodes = (Nodes){.at = copy_of(&n, sizeof n), .n = 1, .cap = 1};
    g->extent = extent_of_node(n);
    g->sums = op_info[n->op].kind == REDUCE;
    g->forced = info(cut, n)->forced;
    g->first = cut->halves && cut->halves[n->id] == FIRST_HALF;
    g->second = cut->halves && cut->halves[n->id] == SECOND_HALF;
    g->unit = info(cut, n)->unit;
    g->unit->group = g;
    Trial t = {.a = g};
    if (!fits(cut, &t)) die("%s %s fits no kernel, not even alone", op_info[n->op].name, shape_text(n->shape));
    settle_group(cut, g, &t);
    return g;
}

static void give_roles(Group *g)
{
    const Trial t = {.a = g, .extent = g->extent};
    g->role = NEW_ARRAY(Role, g->nodes.n);
    for (int i = 0; i < g->nodes.n; i++) g->role[i] = role_in(&t, g->nodes.at[i]);
}

static void fuse_level(Cut *cut, Level *level)
{
    Groups groups = {0};
    order_level(cut, level);
    for (int i = 0; i < level->nodes.n; i++) {
        Node *n = level->nodes.at[i];
        if (!in_rows(cut, n) || info(cut, n)->absorbed) continue;
        push(&groups, group_alone(cut, n));
        if (!without(cut->desc, PASS_fuse) && !info(cut, n)->forced) merge_with_makers(cut, level, n);
    }
    if (!without(cut->desc, PASS_fuse)) merge_siblings(cut, level, &groups);
    for (int i = 0; i < groups.n; i++) {
        give_roles(groups.at[i]);
        if (groups.at[i]->nodes.n) groups.at[i]->number = ++cut->groups;
    }
}

/* ------------------------------------------------------------------ what is read from memory */

static void read_as_is(Cut *cut, Node *n)
{
    if (is_free(cut, source_of(cut, n))) info(cut, source_of(cut, n))->grouped = true;
}

/* A free map is a kernel of its own only for readers that cannot compute it: products, loops, outputs, views. */
static void find_grouped(Cut *cut, Level *level, Node *n)
{
    (void)level;
    OpKind kind = op_info[n->op].kind;
    for (int k = 0; k < n->nin; k++)
        if ((kind != MAP && kind != REDUCE) || is_view(n->in[k]) || info(cut, n)->absorbed) read_as_is(cut, n->in[k]);
    if (n->op != OP_loop) return;
    const Loop *l = n->loop;
    for (int k = 0; k < l->carries.n; k++)
        read_as_is(cut, l->carries.at[k].init), read_as_is(cut, l->carries.at[k].next);
    for (int k = 0; k < l->xs.n; k++) read_as_is(cut, l->xs.at[k].outer);
    for (int k = 0; k < l->ys.n; k++) read_as_is(cut, l->ys.at[k]);
}

static void fuse_all(Cut *cut, Level *level)
{
    fuse_level(cut, level);
    for (int i = 0; i < level->inside.n; i++) fuse_all(cut, level->inside.at[i]);
}

void pass_fuse(Cut *c)
{
    each_level(c, c->top, find_grouped);
    for (int i = 0; i < c->roots.n; i++) read_as_is(c, c->roots.at[i]);
    c->halves = halves_of(c->graph);
    fuse_all(c, c->top);
}
