/* reading.c: what nodes are to those who read them: views, maps that every reader computes, values in memory. */
#include "lower/lower.h"

#include <string.h>

/* ------------------------------------------------------------------ kinds */

enum { MOST_FREE = 200 }; /* operations of a map that is computed wherever it is read */

static bool number_read(const Node *n)
{
    return elements(n->shape) == 1 && (op_info[n->op].kind == LEAF || n->op == OP_loop_arg);
}

/* A parameter in 16 bits, seen through views that need no copy. */
static bool is_widened_weight(Cut *cut, const Node *n)
{
    if (!is_weight(n)) return false;
    for (n = n->in[0]; n->op != OP_parameter; n = n->op == OP_loop_arg ? n->loop->xs.at[n->ints[1]].outer : n->in[0])
        if (info(cut, n)->forced) return false;
    return true;
}

/* Readers widen a value that is stored in 16 bits themselves; behind a view one cast does it for all. */
bool widens(Cut *cut, const Node *n)
{
    return n->op == OP_cast && is_stored(n->in[0]->dtype) && !without(cut->desc, PASS_fuse) && !info(cut, n)->grouped &&
           !info(cut, n)->solid;
}

/* The operations of a map that reads no memory, each counted wherever it is read; 0: it reads some.  Copies are found
 * one after another and only make such maps fewer, so "none" stays, and other answers hold for a round. */
static int free_size(Cut *cut, const Node *n);

static int own_free_size(Cut *cut, const Node *n)
{
    int size = 1;
    if (op_info[n->op].kind != MAP || without(cut->desc, PASS_fuse) || info(cut, n)->solid) return 0;
    if (is_widened_weight(cut, n)) return size;
    for (int i = 0; i < n->nin; i++) {
        const Node *in = n->in[i], *under = in;
        while (shows_all(under) && !info(cut, under)->forced) under = under->in[0];
        if (is_filled(in, NULL) || by_value(cut, in) || number_read(under)) continue;
        int more = free_size(cut, in);
        if (!more || (size += more) > MOST_FREE) return 0;
    }
    return size;
}

static int free_size(Cut *cut, const Node *n)
{
    Info *known = info(cut, n);
    if (!known->reads_some && known->free_round != cut->round) {
        known->free_size = own_free_size(cut, n);
        known->free_round = cut->round;
        known->reads_some = !known->free_size;
    }
    return known->free_size;
}

bool is_free(Cut *cut, const Node *n) { return widens(cut, n) || free_size(cut, n); }

/* Inputs come first, so no recursion goes along a chain. */
void find_free(Cut *cut, Level *level)
{
    for (int i = 0; i < level->nodes.n; i++) free_size(cut, level->nodes.at[i]);
    for (int i = 0; i < level->inside.n; i++) find_free(cut, level->inside.at[i]);
}

bool in_rows(Cut *cut, const Node *n)
{
    OpKind kind = op_info[n->op].kind;
    if (info(cut, n)->absorbed || (is_free(cut, n) && !info(cut, n)->grouped)) return false;
    return kind == MAP || kind == REDUCE || info(cut, n)->forced;
}

/* ------------------------------------------------------------------ readings */

bool by_value(Cut *cut, const Node *n)
{
    return !info(cut, n)->forced && (n->op == OP_iota || (n->op == OP_loop_arg && n->ints[0] == ARG_INDEX));
}

View value_view(const Node *n)
{
    View v = view_dense(n->shape);
    for (int i = 0; i < n->shape.rank; i++) v.stride[i] = n->op == OP_iota && i == n->ints[0];
    if (n->op != OP_iota) {
        v.over[v.nover].loop = n->loop;
        v.over[v.nover++].stride = 1;
    }
    return v;
}

static View base_view(Cut *cut, Node *n)
{
    if (n->op == OP_loop_arg && n->ints[0] == ARG_X && !info(cut, n)->forced) {
        Node *outer = n->loop->xs.at[n->ints[1]].outer;
        View v = reading(cut, outer).view;
        if (v.low[0] > 0 || v.high[0] < outer->shape.dim[0]) {
            info(cut, outer)->forced = true;
            v = reading(cut, outer).view;
        }
        return view_without_first(&v, n->loop, 0);
    }
    View v = view_dense(n->shape);
    if (by_value(cut, n)) return value_view(n);
    if (n->op == OP_parameter || n->op == OP_gradient) {
        const Param *p = find_param(cut->desc, n->name);
        if (p) memcpy(v.stride, p->stride, sizeof v.stride);
    }
    const Node *perm = info(cut, n)->layout;
    if (perm) {
        View laid = view_dense(perm->shape);
        for (int i = 0; i < n->shape.rank; i++) v.stride[perm->ints[i]] = laid.stride[i];
    }
    return v;
}

/* A reshape cannot look through `below`: a dot that is only read through it takes that layout, else it is copied. */
static void straighten(Cut *cut, Node *below)
{
    Node *dot = below->op == OP_permute ? below->in[0] : NULL;
    int last = below->shape.rank - 1;
    if (dot && dot->op == OP_dot && dot_end(dot) == END_NONE && info(cut, dot)->uses == 1 &&
        below->ints[last] == last && !info(cut, dot)->layout) {
        info(cut, dot)->layout = below;
    } else {
        info(cut, below)->forced = true;
    }
}

static Reading reading_below(Cut *cut, Node *n, bool through_first)
{
    for (;;) {
        Nodes moves = {0};
        Node *m = n;
        bool first = through_first, straight = true;
        while (is_view(m) && (first || !info(cut, m)->forced)) {
            push(&moves, m);
            m = m->in[0];
            first = false;
        }
        View v = base_view(cut, m);
        while (moves.n && straight) {
            Node *move = moves.at[--moves.n];
            if (!view_move(&v, move)) {
                straighten(cut, move->in[0]);
                straight = false;
            }
        }
        if (straight) return (Reading){m, v};
    }
}

Reading reading(Cut *cut, Node *n) { return reading_below(cut, n, false); }

Reading reading_beneath(Cut *cut, Node *copied) { return reading_below(cut, copied, true); }

Node *source_of(Cut *cut, Node *n)
{
    while (is_view(n) && !info(cut, n)->forced) n = n->in[0];
    return n;
}

bool has_address(Cut *cut, Node *n)
{
    Node *source = reading(cut, n).source;
    while (source->op == OP_loop_arg && source->ints[0] == ARG_X && !info(cut, source)->forced)
        source = reading(cut, source->loop->xs.at[source->ints[1]].outer).source;
    return !is_filled(n, NULL) && !by_value(cut, source);
}
