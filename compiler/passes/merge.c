/* merge.c: dots of one left operand with parameters that are side by side in memory become one dot.
 *
 * If q, k, v are dot(x, Wq), dot(x, Wk), dot(x, Wv) and the rows of the weights [out][in] follow each other in the flat
 * array, they become slices of one dot(x, W), where W is all three: a wide parameter [out + out + out][in]. Other
 * readers of one of the three read a slice of W.  Differentiation comes later, so the gradient of W is one product into
 * the flat gradients, and that of x is one product with the gradients of the slices side by side.
 *
 * Needs: a graph without gradients of what is merged.  Leaves: wide parameters, known to find_param(); every
 * parameter in at most one of them.  --no-merge: nothing happens. */
#include "passes/passes.h"

#include <stdlib.h>
#include <string.h>

typedef struct Weighted {
    Node *dot;
    Param *weight;
} Weighted;
typedef VEC(Weighted) Weighteds;

typedef struct Merging {
    const Desc *desc;
    VEC(struct Member {
        const Param *param;
        Param *wide;
        int64_t start; /* of its rows */
    }) members;
    Nodes dots; /* that read a wide parameter */
} Merging;

/* ------------------------------------------------------------------ what can be merged */

static bool is_x(const Node *n) { return n->op == OP_loop_arg && n->ints[0] == ARG_X; }
static Node *outer_of(const Node *x) { return x->loop->xs.at[x->ints[1]].outer; }

/* The parameter that w is, or the iteration's own of, in loops that are all stacks of it. */
static Param *parameter_under(const Desc *d, const Node *w)
{
    int depth = 0;
    for (; is_x(w); w = outer_of(w)) depth++;
    Param *p = w->op == OP_parameter ? find_param(d, w->name) : NULL;
    return p && !p->first && p->loops == depth ? p : NULL;
}

static bool same_loops(const Node *a, const Node *b)
{
    for (; is_x(a) && is_x(b) && a->loop == b->loop; a = outer_of(a), b = outer_of(b)) continue;
    return !is_x(a) && !is_x(b);
}

/* Rows are what the first axis of the weight counts: free, and no batch. */
static bool has_rows(const Node *dot)
{
    Dot_axes x = dot_axes(dot);
    for (int k = 0; k < x.nc; k++)
        if (x.bc[k] == 0) return false;
    return x.nb == 0 && dot->in[1]->shape.rank > 0;
}

/* Dots that may be parts of one, as far as the graph goes. */
static bool siblings(const Node *a, const Node *b)
{
    if (a->in[0] != b->in[0] || a->nints != b->nints || !same_loops(a->in[1], b->in[1])) return false;
    return memcmp(a->ints, b->ints, sizeof *a->ints * (size_t)a->nints) == 0;
}

static int64_t elements_of_weight(const Param *p)
{
    int64_t n = 1;
    for (int i = p->loops; i < p->shape.rank; i++) n *= p->shape.dim[i];
    return n;
}

/* Do the rows of q follow those of p, in every copy, and does one turn train both, or none? */
static bool follows(const Desc *d, const Param *p, const Param *q)
{
    if (turn_of(d, p->name) != turn_of(d, q->name) || p->frozen != q->frozen) return false;
    if (p->blocks != q->blocks || p->teacher != q->teacher) return false;
    if (p->loops != q->loops || p->shape.rank != q->shape.rank || q->offset != p->offset + elements_of_weight(p))
        return false;
    for (int i = 0; i < p->shape.rank; i++)
        if (p->stride[i] != q->stride[i] || (i != p->loops && p->shape.dim[i] != q->shape.dim[i])) return false;
    return true;
}

/* ------------------------------------------------------------------ dots, level by level */

/* Products that are added to others, which a slice of a wide one could not be. */
static Table added_ones(const Nodes *all)
{
    Table added = {0};
    for (int i = 0; i < all->n; i++)
        for (int k = 0; adds_products(all->at[i]) && k < 2; k++) {
            const Node *n = all->at[i]->in[k];
            while (n->op != OP_dot) n = n->in[0];
            *table_at(&added, n) = all->at[i];
        }
    return added;
}

static void find_dots(const Desc *d, Loop *level, const Nodes *roots, Weighteds *out)
{
    Nodes all = {0};
    nodes_at(level, roots->at, roots->n, &all);
    Table added = added_ones(&all);
    for (int i = 0; i < all.n; i++) {
        Node *n = all.at[i];
        Param *w = n->op == OP_dot && has_rows(n) && !table_get(&added, n) ? parameter_under(d, n->in[1]) : NULL;
        if (w) push(out, ((Weighted){n, w}));
        if (n->op != OP_loop) continue;
        Nodes inner = {0};
        loop_roots(n->loop, &inner);
        find_dots(d, n->loop, &inner, out);
    }
}

static int by_weight_offset(const void *a, const void *b)
{
    const Weighted *x = a, *y = b;
    return (x->weight->offset > y->weight->offset) - (x->weight->offset < y->weight->offset);
}

/* ------------------------------------------------------------------ wide parameters */

static const struct Member *member_of(const Merging *m, const Param *p)
{
    for (int i = 0; i < m->members.n; i++)
        if (m->members.at[i].param == p) return &m->members.at[i];
    return NULL;
}

/* n parameters that follow each other as one. */
static Param *wide_param(const Desc *d, const Weighted *run, int n)
{
    Param *first = run[0].weight;
    const char *name = format("%s..%s", first->name, run[n - 1].weight->name);
    Param *wide = find_param(d, name);
    if (wide) return wide;
    wide = copy_of(first, sizeof *first);
    wide->name = name;
    wide->first = first;
    int axis = wide->shape.axis[wide->loops];
    for (int i = 1; i < n; i++) {
        wide->shape.dim[wide->loops] += run[i].weight->shape.dim[wide->loops];
        axis = axis_sum(axis, run[i].weight->shape.axis[wide->loops]);
    }
    wide->shape.axis[wide->loops] = (uint16_t)axis;
    first->wide = wide; /* wide->wide: what first->wide was */
    know_param(d, wide);
    return wide;
}

/* A parameter is in one wide parameter at most: another run may only be the same one again. */
static void merge_run(Merging *m, const Weighted *run, int n)
{
    int known = 0;
    for (int i = 0; i < n; i++) known += member_of(m, run[i].weight) != NULL;
    Param *wide = n > 1 && (known == 0 || known == n) ? wide_param(m->desc, run, n) : NULL;
    if (!wide || (known && member_of(m, run[0].weight)->wide != wide)) return;
    int64_t start = 0;
    for (int i = 0; i < n; i++) {
        if (!known) push(&m->members, ((struct Member){run[i].weight, wide, start}));
        start += run[i].weight->shape.dim[wide->loops];
        push(&m->dots, run[i].dot);
    }
}

/* Merges each run of neighbours in memory among one dot and its siblings. */
static void merge_sibling_dots(Merging *m, const Weighteds *all, int which, bool *done)
{
    Weighteds group = {0};
    for (int i = which; i < all->n; i++) {
        if (done[i] || !siblings(all->at[which].dot, all->at[i].dot)) continue;
        done[i] = true;
        push(&group, all->at[i]);
    }
    qsort(group.at, (size_t)group.n, sizeof *group.at, by_weight_offset);
    for (int i = 0, end; i < group.n; i = end) {
        for (end = i + 1; end < group.n && follows(m->desc, group.at[end - 1].weight, group.at[end].weight);) end++;
        merge_run(m, &group.at[i], end - i);
    }
}

/* ------------------------------------------------------------------ rewriting */

static Node *rows_of_weight(Node *n, int axis, int64_t start, int64_t extent)
{
    int64_t from[MAXRANK] = {0};
    Shape s = n->shape;
    from[axis] = start;
    s.dim[axis] = extent;
    return slice(n, from, s.dim, NULL);
}

/* The wide parameter of a rewritten weight, which is a slice of it or an iteration's part of that. */
static Node *whole(const Node *part) { return is_x(part) ? loop_x(part->loop, whole(outer_of(part))) : part->in[0]; }

static Node *merged_dot(const struct Member *m, Node *old, Node *const *in)
{
    Node *all = dot(in[0], whole(in[1]), dot_axes(old));
    const char *title = !all->title ? old->title : old->title ? format("%s_%s", all->title, old->title) : NULL;
    bool listed = all->title && old->title && strstr(all->title, old->title);
    if (title && !listed) {
        all->title = title;
        all->title_rank = TITLE_WORD;
        all->layer = path_before(old->layer);
    }
    int axis = in[0]->shape.rank - dot_axes(old).nc;
    return rows_of_weight(all, axis, m->start, m->param->shape.dim[m->param->loops]);
}

static Node *merged(Rewrite *r, Node *old, Node *const *in)
{
    const Merging *m = r->user;
    if (old->op == OP_parameter) {
        const struct Member *part = member_of(m, find_param(m->desc, old->name));
        if (!part) return NULL;
        Node *all = parameter_like(old, part->wide->name, old->dtype, part->wide->shape);
        return rows_of_weight(all, part->wide->loops, part->start, part->param->shape.dim[part->wide->loops]);
    }
    for (int i = 0; i < m->dots.n; i++)
        if (m->dots.at[i] == old) return merged_dot(member_of(m, parameter_under(m->desc, old->in[1])), old, in);
    return NULL;
}

void pass_merge(Graph *g, const Desc *d)
{
    Merging m = {.desc = d};
    Weighteds all = {0};
    Nodes roots = {0};
    if (without(d, PASS_merge)) return;
    layout_parameters(d);
    graph_roots(g, &roots);
    find_dots(d, NULL, &roots, &all);
    if (g->micro) find_dots(d, g->micro, &roots, &all);
    bool *done = NEW_ARRAY(bool, all.n + 1);
    for (int i = 0; i < all.n; i++)
        if (!done[i]) merge_sibling_dots(&m, &all, i, done);
    if (m.dots.n) rewrite_graph(&(Rewrite){.node = merged, .user = &m}, g);
}
