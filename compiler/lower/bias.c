/* bias.c: a row that is added to all rows of a product becomes the product's end, if the target's products have such
 * ends (Target.ends): the dot gets the row as its third input.
 *
 * The condition is that nothing reads the product without the row. If a backward loop saves the product, each of its
 * readers there must add the same row. A product stored in 16 bits qualifies if the sum is rounded to 16 bits in a
 * kernel of its own. The pass looks at readers alone; it knows no layer by name. */
#include "desc/target.h"
#include "lower/lower.h"

/* ------------------------------------------------------------------ a row that all rows add */

/* A parameter, or the slice of one that a loop walks through. */
static bool is_parameter(const Node *n)
{
    if (n->op == OP_loop_arg && n->ints[0] == ARG_X) return is_parameter(n->loop->xs.at[n->ints[1]].outer);
    return n->op == OP_parameter;
}

/* The parameter of which e, of a dot's shape, repeats all elements along the axes that come from the dot's right
 * operand; or NULL. */
static Node *repeated_row(Node *e, const Node *dot)
{
    Nodes moves = {0};
    Node *row = is_weight(e) ? e->in[0] : e;
    for (; row->op == OP_expand || row->op == OP_reshape; row = row->in[0]) push(&moves, row);
    if (!is_parameter(row) || row->dtype == F64) return NULL;
    View v = view_dense(row->shape);
    while (moves.n)
        if (!view_move(&v, moves.at[--moves.n])) return NULL;
    int64_t step = 1;
    for (int i = e->shape.rank - 1; i >= 0; i--) {
        bool along = step < elements(row->shape);
        if (e->shape.dim[i] > 1 && v.stride[i] != (along ? step : 0)) return NULL;
        if (along) step *= e->shape.dim[i];
    }
    int64_t columns = dot_columns(dot);
    return step == columns && elements(row->shape) == columns ? row : NULL;
}

typedef struct Biased { /* a dot whose readers all add one row to it */
    Node *dot, *row;
    Nodes sums; /* theirs */
} Biased;

/* Is `row` the one that is added to x, which is the dot, or what another loop has of its stack?  One node, or the
 * slices that both loops take of one. */
static bool same_row(const Node *row, const Node *x, const Biased *b)
{
    if (row == b->row) return true;
    if (row->op != OP_loop_arg || b->row->op != OP_loop_arg) return false;
    return row->loop == x->loop && b->row->loop == b->dot->in_loop &&
           row->loop->xs.at[row->ints[1]].outer == b->row->loop->xs.at[b->row->ints[1]].outer;
}

/* Is the row added wherever `value` is read, which is x, or x of 16 bits widened? */
static bool row_is_added(Cut *cut, Node *value, const Node *x, Biased *b)
{
    const Nodes *all = &readers(cut, value)->nodes;
    for (int i = 0; i < all->n; i++) {
        Node *n = all->at[i];
        if (n->op != OP_add || n->in[0] == n->in[1] || !same_shape(n->shape, x->shape)) return false;
        Node *row = repeated_row(n->in[n->in[0] == value], b->dot);
        if (!row || (b->row && !same_row(row, x, b))) return false;
        if (!b->row && !loop_inside(b->dot->in_loop, row->in_loop)) return false;
        b->row = b->row ? b->row : row;
        push(&b->sums, n);
    }
    return true;
}

/* Does everybody who reads x, the dot or what a loop has of its stack, add the row? */
static bool readers_add(Cut *cut, Node *x, Biased *b)
{
    const Readers *r = readers(cut, x);
    if (r->else_too || r->xs.n || (r->ys.n && x != b->dot)) return false;
    if (!is_stored(x->dtype)) return row_is_added(cut, x, x, b);
    for (int i = 0; i < r->nodes.n; i++) {
        Node *n = r->nodes.at[i];
        const Readers *wide = readers(cut, n);
        if (n->op != OP_cast || wide->else_too || wide->xs.n || wide->ys.n || !row_is_added(cut, n, x, b)) return false;
    }
    return true;
}

static bool stacked_readers_add(Cut *cut, const Level *level, In_loop y, Biased *b)
{
    if (y.loop != b->dot->in_loop) return false;
    for (int i = 0; i < level->nodes.n; i++) {
        Node *n = level->nodes.at[i];
        if (n->op != OP_pick || n->in[0] != y.loop->node || n->ints[0] != PICK_STACK || n->ints[1] != y.k) continue;
        const Readers *r = readers(cut, n);
        if (r->else_too || r->nodes.n || r->ys.n) return false;
        for (int k = 0; k < r->xs.n; k++) {
            const Loop *l = r->xs.at[k].loop;
            if (l->trip != y.loop->trip || !readers_add(cut, l->xs.at[r->xs.at[k].k].arg, b)) return false;
        }
    }
    return true;
}

static const Level *level_of(const Level *level, const Loop *l)
{
    const Level *found = level->loop == l ? level : NULL;
    for (int i = 0; i < level->inside.n && !found; i++) found = level_of(level->inside.at[i], l);
    return found;
}

/* Is a kernel there for nothing but one of the sums, or its gelu?  A row in 32 bits of a dot of 16 has to be one, too:
 * it is rounded once an entry, which only that is worth. */
static bool saves_a_kernel(Cut *cut, const Biased *b)
{
    for (int i = 0; i < b->sums.n; i++) {
        const Group *g = info(cut, b->sums.at[i])->group;
        bool lone = g;
        for (int k = 0; g && k < g->nodes.n; k++)
            lone &= g->nodes.at[k] == b->sums.at[i] || g->nodes.at[k]->op == OP_cast;
        if (lone || (b->sums.at[i]->in_loop == b->dot->in_loop && makes_gelu(cut, b->sums.at[i]))) return true;
    }
    return false;
}

static bool is_biased(Cut *cut, Node *dot, Biased *b)
{
    *b = (Biased){.dot = dot};
    if (dot_end(dot) != END_NONE || !is_plain(cut, dot) || !readers_add(cut, dot, b) || !b->row) return false;
    const Readers *r = readers(cut, dot);
    for (int i = 0; i < r->ys.n; i++)
        if (!stacked_readers_add(cut, level_of(cut->top, r->ys.at[i].loop->parent), r->ys.at[i], b)) return false;
    return b->row->dtype == dot->dtype || saves_a_kernel(cut, b);
}

/* ------------------------------------------------------------------ making them */

typedef struct Ends {
    Table dots, sums; /* Biased, by dot; by each sum what it adds to */
    int found;
} Ends;

static void find_biased(Cut *cut, const Level *level, Ends *e)
{
    for (int i = 0; i < level->nodes.n; i++) {
        Biased *b = NEW(Biased);
        if (level->nodes.at[i]->op != OP_dot || !is_biased(cut, level->nodes.at[i], b)) continue;
        *table_at(&e->dots, b->dot) = b;
        for (int k = 0; k < b->sums.n; k++) {
            const Node *n = b->sums.at[k];
            *table_at(&e->sums, n) = n->in[repeated_row(n->in[0], b->dot) != NULL];
        }
        e->found++;
    }
    for (int i = 0; i < level->inside.n; i++) find_biased(cut, level->inside.at[i], e);
}

/* The row as the dot's type has it: of a loop's slices all at once, before it. */
static Node *row_of_type(Node *row, DType t)
{
    if (row->dtype == t) return row;
    return row->op == OP_loop_arg ? loop_x(row->loop, cast_op(row->loop->xs.at[row->ints[1]].outer, t))
                                  : cast_op(row, t);
}

static Node *dot_with_row(Rewrite *r, Node *old, Node *row)
{
    Node *in[] = {rewritten(r, old->in[0]), rewritten(r, old->in[1]), rewritten(r, row)};
    Making was = make_beside(old);
    in[2] = row_of_type(in[2], old->dtype);
    make_with(was);
    return ended_dot(old, COUNT_OF(in), in, END_BIAS);
}

/* The dot that replaces `old`, if old is the sum with a row or the cast that rounds the sum to the dot's type; else
 * NULL. */
static Node *dot_beneath(const Ends *e, const Node *old)
{
    const Table *sums = &e->sums;
    Node *added_to = table_get(sums, old), *rounded = old->op == OP_cast ? table_get(sums, old->in[0]) : NULL;
    if (added_to) return added_to;
    return rounded && rounded->op == OP_cast && rounded->in[0]->dtype == old->dtype ? rounded->in[0] : NULL;
}

static void needs_with_row(Rewrite *r, const Node *old, Nodes *out)
{
    const Ends *e = r->user;
    Node *dot = dot_beneath(e, old);
    const Biased *b = table_get(&e->dots, old);
    if (dot) push(out, dot);
    if (dot || !b) return;
    push(out, old->in[0]);
    push(out, old->in[1]);
    push(out, b->row);
}

static Node *with_row(Rewrite *r, Node *old)
{
    const Ends *e = r->user;
    Node *dot = dot_beneath(e, old);
    if (dot) return rewritten(r, dot);
    const Biased *b = table_get(&e->dots, old);
    return b ? dot_with_row(r, old, b->row) : NULL;
}

void pass_bias(Graph *g, const Desc *d)
{
    Ends ends = {0};
    if (without(d, PASS_bias) || without(d, PASS_fuse) || !(d->options->target->ends & ENDS_BIAS)) return;
    Cut *c = trial_cut(g, d);
    note_readers(c);
    find_biased(c, c->top, &ends);
    if (ends.found) rewrite_graph(&(Rewrite){.needs = needs_with_row, .before = with_row, .user = &ends}, g);
    drop_cut(c);
}
