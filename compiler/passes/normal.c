/* normal.c: brings a graph into the form that kernels are cut from.
 *
 *   1. Maps that read no memory (of iotas, constants and single numbers: masks, random draws, positions) are evaluated
 * where they are needed: moves over them rise to their leaves, and moves of iotas become iotas. Other maps of repeated
 * values are computed before they are repeated: f(expand a, expand b) is expand f(a, b). Parameters in 16 bits are not.
 *   2. A reduction runs over the last axis or over the first one, never over several or one in the middle.
 *   3. A dot's contracted axes are neighbours in the same order on both sides, and no batch axis is an operand's last.
 * Needs: nothing.  Leaves: the same values, but for the order of sums over separate axes. */
#include "graph/parts.h"
#include "passes/passes.h"

/* ------------------------------------------------------------------ maps that read no memory */

/* One number that is there already: an input, a loop's index; perhaps seen through views. */
static bool filled_number(const Node *n)
{
    while (shows_all(n)) n = n->in[0];
    return elements(n->shape) == 1 && (op_info[n->op].kind == LEAF || n->op == OP_loop_arg);
}

/* Is a moved iota a formula of an iota: is each axis of the input one of the result? */
static bool moves_iotas(const Node *move)
{
    for (int k = 0; k < move->in[0]->shape.rank; k++)
        if (move->in[0]->shape.dim[k] != 1 && op_parts[move->op].place(move, k).axis < 0) return false;
    return true;
}

static bool is_end(const Node *n) { return filled_number(n) || is_filled(n, NULL) || n->op == OP_iota; }

static bool is_moved_map(void *move, const Node *n)
{
    return !is_end(n) && op_info[n->op].kind == MAP && moves_iotas(move);
}

/* What is known of a map: it reads no memory, or some.  Tables hold the address. */
static const char free_map = 'f', stuck = 's';

static bool is_unknown_map(void *known, const Node *n)
{
    return !is_end(n) && op_info[n->op].kind == MAP && !table_get(known, n);
}

/* Does n depend on something that no move rises through? Found once for each map. */
static bool is_stuck(Table *known, Node *n)
{
    Nodes first = {0};
    if (is_end(n)) return false;
    if (op_info[n->op].kind != MAP) return true;
    if (!table_get(known, n)) nodes_through(n, is_unknown_map, known, &first);
    for (int i = 0; i < first.n; i++) {
        const Node *m = first.at[i];
        bool any = false;
        if (!is_unknown_map(known, m)) continue;
        for (int k = 0; k < m->nin; k++) {
            const Node *in = m->in[k];
            any |= !is_end(in) && (op_info[in->op].kind != MAP || table_get(known, in) == &stuck);
        }
        *table_at(known, m) = any ? (void *)&stuck : (void *)&free_map;
    }
    return table_get(known, n) == &stuck;
}

/* Is n made of iotas, constants and single numbers by maps? `list` is then what the move rises through. */
static bool movable(Table *known, Node *n, const Node *move, Nodes *list)
{
    if (!shows_all(move) || is_stuck(known, n)) return false;
    nodes_through(n, is_moved_map, (void *)move, list);
    for (int i = 0; i < list->n; i++) {
        const Node *m = list->at[i];
        bool end = filled_number(m) || is_filled(m, NULL) || (m->op == OP_iota && moves_iotas(move));
        if (!end && !is_moved_map((void *)move, m)) return false;
    }
    return true;
}

static Node *iota_number(Node *like, double x) { return filled(x, I32, like->shape); }

static Node *moved_iota(Node *n, const Node *move)
{
    int axis = (int)n->ints[0];
    if (n->shape.dim[axis] == 1) return filled(0, I32, move->shape);
    Place p = op_parts[move->op].place(move, axis);
    Node *x = iota(move->shape, p.axis);
    if (p.step == -1) return map2(OP_sub, iota_number(x, (double)p.start), x);
    if (p.start == 0 && p.step == 1) return x;
    return map2(OP_add, map2(OP_mul, x, iota_number(x, (double)p.step)), iota_number(x, (double)p.start));
}

static Node *moved_one(Node *n, const Node *move, const Table *done)
{
    if (is_filled(n, NULL)) return refilled(n, move->shape);
    if (n->op == OP_iota) return moved_iota(n, move);
    if (op_info[n->op].kind != MAP) {
        Node view = *move;
        view.title = NULL, view.title_rank = NO_TITLE;
        view.in = &n;
        view.dtype = n->dtype;
        return intern(view);
    }
    Node *in[8];
    for (int i = 0; i < n->nin; i++) in[i] = table_get(done, n->in[i]);
    Node key = *n;
    key.in = in;
    key.shape = move->shape;
    return intern(key);
}

/* The last of what movable() has listed. */
static Node *moved(const Nodes *list, const Node *move)
{
    Table done = {0};
    Node *n = NULL;
    for (int i = 0; i < list->n; i++) *table_at(&done, list->at[i]) = n = moved_one(list->at[i], move, &done);
    if (n && move->title) title_instead(n, move);
    return n;
}

/* A parameter in 16 bits is widened by every kernel that reads it. */
static bool is_weight_cast(const Node *old, Node *in)
{
    Node key = *old;
    key.in = &in;
    return is_weight(&key);
}

static Node *before_repeating(const Node *old, Node *const *in)
{
    const Node *first = NULL;
    Node *small[8];
    for (int i = 0; i < old->nin; i++) {
        if (is_filled(in[i], NULL)) continue;
        if (in[i]->op != OP_expand || (first && !same_shape(first->in[0]->shape, in[i]->in[0]->shape))) return NULL;
        first = in[i];
    }
    if (!first) return NULL;
    for (int i = 0; i < old->nin; i++)
        small[i] = is_filled(in[i], NULL) ? refilled(in[i], first->in[0]->shape) : in[i]->in[0];
    Node key = *old;
    key.in = small;
    key.shape = first->in[0]->shape;
    return expand(intern(key), old->shape);
}

/* ------------------------------------------------------------------ reductions */

static Node *without_unit_axes(Node *n, const Node *reduction, int *axes, int *naxes)
{
    Shape s = {0};
    *naxes = 0;
    for (int i = 0, k = 0; i < n->shape.rank; i++) {
        bool reduced = k < reduction->nints && reduction->ints[k] == i;
        k += reduced;
        if (n->shape.dim[i] == 1) continue;
        if (reduced) axes[(*naxes)++] = s.rank;
        s.dim[s.rank++] = n->shape.dim[i];
    }
    return reshape(n, s);
}

/* Sums over the last `count` axes as one. */
static Node *over_last_axis(Op op, Node *x, int count)
{
    Shape s = x->shape;
    for (s.rank = x->shape.rank - count + 1; count-- > 1;) s.dim[s.rank - 1] *= x->shape.dim[s.rank + count - 1];
    return reduce(op, reshape(x, s), 1, &(int){s.rank - 1});
}

/* Sums over the first `count` axes as one; the rest keep their shape. */
static Node *over_first(Op op, Node *x, int count)
{
    Shape s = {.rank = x->shape.rank - count + 1, .dim = {1}};
    for (int i = 0; i < x->shape.rank; i++)
        if (i < count) s.dim[0] *= x->shape.dim[i];
        else s.dim[i - count + 1] = x->shape.dim[i];
    return reduce(op, reshape(x, s), 1, &(int){0});
}

static Node *middle_last(Node *x, const int *axes, int naxes)
{
    int perm[MAXRANK], n = 0;
    for (int i = 0, k = 0; i < x->shape.rank; i++) {
        if (k < naxes && axes[k] == i) k++;
        else perm[n++] = i;
    }
    for (int k = 0; k < naxes; k++) perm[n++] = axes[k];
    return permute(x, perm);
}

static Node *normal_reduction(const Node *old, Node *x)
{
    int axes[MAXRANK], n, tail = 0, head = 0;
    x = without_unit_axes(x, old, axes, &n);
    while (tail < n && axes[n - 1 - tail] == x->shape.rank - 1 - tail) tail++;
    if (tail) {
        x = over_last_axis(old->op, x, tail);
        n -= tail;
    }
    while (head < n && axes[head] == head) head++;
    if (head && head < n) die("reductions in several places are split by the front of the list");
    if (head) x = over_first(old->op, x, head);
    else if (n) x = over_last_axis(old->op, middle_last(x, axes, n), n);
    return reshape(x, old->shape);
}

/* Reduced axes at the front and in the middle: the middle ones first. */
static Node *split_reduction(const Node *old, Node *x)
{
    int head = 0, rest[MAXRANK], n = 0;
    while (head < old->nints && old->ints[head] == head) head++;
    for (int i = head; i < old->nints; i++) rest[n++] = (int)old->ints[i];
    if (head == 0 || n == 0) return normal_reduction(old, x);
    Node *first = reduce(old->op, x, n, rest);
    first = normal_reduction(first, x);
    int heads[MAXRANK];
    for (int i = 0; i < head; i++) heads[i] = i;
    return normal_reduction(reduce(old->op, first, head, heads), first);
}

/* ------------------------------------------------------------------ */

typedef struct Normal {
    Table known; /* movable()'s answers */
    bool fuses;  /* kernels may have several operations */
} Normal;

static Node *normal(Rewrite *r, Node *old, Node *const *in)
{
    Normal *s = r->user;
    if (op_info[old->op].kind == REDUCE) return split_reduction(old, in[0]);
    if (op_info[old->op].kind == MAP && old->nin && !(s->fuses && is_weight_cast(old, in[0])))
        return before_repeating(old, in);
    if (op_parts[old->op].normal) return op_parts[old->op].normal(old, in);
    bool leaf = in && old->nin && (in[0]->op == OP_iota || op_info[in[0]->op].kind == MAP || is_filled(in[0], NULL));
    Nodes list = {0};
    if (is_view(old) && leaf && movable(&s->known, in[0], old, &list)) return moved(&list, old);
    return NULL;
}

void pass_normal(Graph *g, const Desc *d)
{
    Normal s = {.fuses = !without(d, PASS_fuse)};
    Rewrite r = {.node = normal, .user = &s};
    rewrite_graph(&r, g);
}
