/* store.c: stores the forward values that backward reads in 16 bits (--precision bf16). Values are rounded when they
 * are saved and widened when they are read; nothing is computed in 16 bits.
 *
 * Needs phases (0 forward, 1 backward), as pass_remat leaves them: backward remakes cheap values from what is saved.
 * Leaves: a cast to BF16 of each saved value, made forward (of a loop's: stacked by the loop), and casts back in
 * backward.
 *
 * A value that is read soon is not a saved value: the softmax of logits and its derivative are one kernel.  A value's
 * depth is the number of products, loops and whole ops in the longest chain before it; a reader whose other inputs are
 * deeper reads it late.  Remade values exist in two versions, from the computed and from the stored inputs; a late
 * reader takes the latter.
 *
 * These values are not rounded:
 *   leaves             parameters, inputs, states are kept anyway; constants take no memory
 *   log sum exp        of attention: its weights are exp(score - lse), so an error of 2^-9 lse is one of the exponent
 *   sums of columns    far smaller than what they are made of, whose differences from a mean matter
 *   cumulative sums    their differences matter, which are small beside them
 *   gradients          what loss, metrics and states do not need lives for a short time, and adds up
 *   copies of loops    that backward makes under nn.checkpoint: they, too, live for a short time
 *   single numbers     nothing is gained */
#include "ops/grad.h"
#include "passes/passes.h"

typedef struct Storing {
    DType real, saved;
    Table depths;       /* node -> 1 + its depth */
    const char *needed; /* by id: loss, metrics or states need it */
    Table forward;      /* cheap node -> yes or no: is_made_of_forward() */
    Table stored;       /* old value -> its 16-bit version */
    Table late;         /* old value -> its late version */
} Storing;

static const char yes = 'y', no = 'n'; /* their addresses are what tables hold */

/* ------------------------------------------------------------------ depth */

static int depth(Storing *s, const Node *n);

static int deeper(Storing *s, int d, const Node *n) { return (int)max64(d, depth(s, n)); }

/* The depth of the values that a loop starts from and walks along. */
static int start_of_saving(Storing *s, const Loop *l)
{
    int d = 0;
    for (int k = 0; k < l->carries.n; k++) d = deeper(s, d, l->carries.at[k].init);
    for (int k = 0; k < l->xs.n; k++) d = deeper(s, d, l->xs.at[k].outer);
    return d;
}

/* The depth of the inputs of n. */
static int time_of(Storing *s, const Node *n)
{
    int d = n->op == OP_loop ? start_of_saving(s, n->loop) : 0;
    for (int k = 0; k < n->nin; k++) d = deeper(s, d, n->in[k]);
    return d;
}

static int depth_of_loop(Storing *s, const Loop *l)
{
    Nodes roots = {0};
    loop_roots(l, &roots);
    int d = start_of_saving(s, l);
    for (int i = 0; i < roots.n; i++) d = deeper(s, d, roots.at[i]);
    return d + 1;
}

static int found_depth(Storing *s, const Node *n)
{
    if (n->op == OP_loop) return depth_of_loop(s, n->loop);
    if (n->op == OP_loop_arg) return n->ints[0] == ARG_INDEX ? 0 : start_of_saving(s, n->loop);
    if (n->op == OP_pick && n->in[0]->op == OP_loop && n->ints[0] == PICK_STACK)
        return depth(s, n->in[0]->loop->ys.at[n->ints[1]]);
    OpKind kind = op_info[n->op].kind;
    return time_of(s, n) + (kind == DOT || kind == WHOLE);
}

static int depth(Storing *s, const Node *n)
{
    void *known = table_get(&s->depths, n);
    if (known) return (int)(intptr_t)known - 1;
    int d = found_depth(s, n);
    *table_at(&s->depths, n) = (void *)(intptr_t)(d + 1);
    return d;
}

/* ------------------------------------------------------------------ what is forward's */

static bool is_stack(const Node *n) { return n->op == OP_pick && n->in[0]->op == OP_loop && n->ints[0] == PICK_STACK; }

/* A value of forward: what loss, metrics and states need, or what is remade of nothing but such values. */
static bool is_forward(Storing *s, const Node *n);

static bool is_made_of_forward(Storing *s, const Node *n)
{
    void *known = table_get(&s->forward, n);
    if (known) return known == &yes;
    bool all = is_cheap(n);
    for (int k = 0; k < n->nin && all; k++) all = is_forward(s, n->in[k]);
    *table_at(&s->forward, n) = all ? (void *)&yes : (void *)&no;
    return all;
}

static bool is_forward(Storing *s, const Node *n)
{
    if (op_info[n->op].kind == LEAF || s->needed[n->id]) return true;
    if (is_stack(n)) return is_forward(s, n->in[0]->loop->ys.at[n->ints[1]]);
    if (n->op != OP_loop_arg) return is_made_of_forward(s, n);
    if (n->ints[0] == ARG_X) return is_forward(s, n->loop->xs.at[n->ints[1]].outer);
    return n->ints[0] == ARG_INDEX;
}

static bool is_remade(Storing *s, const Node *n) { return n->phase && is_cheap(n) && is_forward(s, n); }

/* May a forward value be rounded? See the list above. */
static bool may_round(Storing *s, const Node *v)
{
    if (v->dtype != s->real || elements(v->shape) == 1 || is_filled(v, NULL) || !is_forward(s, v)) return false;
    if (is_stack(v)) return may_round(s, v->in[0]->loop->ys.at[v->ints[1]]);
    bool lse = v->op == OP_pick && v->in[0]->op == OP_attention && v->ints[0] == 1;
    return op_info[v->op].kind != LEAF && !(op_info[v->op].facts & IN_FULL) && !lse && !sums_columns(v);
}

/* ------------------------------------------------------------------ storing */

static Node *stored(Rewrite *r, Node *v);

/* A body's value, for a stack: inner loops stack theirs in 16 bits themselves. */
static Node *stored_rounded(Rewrite *r, Node *v)
{
    const Storing *s = r->user;
    Node *made = is_stack(v) ? stored(r, v) : NULL;
    Making was = making();
    bool carry = v->op == OP_loop_arg && v->ints[0] == ARG_CARRY;
    make_at(carry ? v->loop->carries.at[v->ints[1]].next->where : v->where);
    if (!made) made = cast_op(rewritten(r, v), s->saved);
    make_with(was);
    return made;
}

static Node *stored_here(Rewrite *r, Node *v)
{
    Storing *s = r->user;
    if (v->op == OP_loop_arg) return NULL; /* slice_of() has entered those that are */
    if (is_view(v)) {
        Node *in = stored(r, v->in[0]);
        Node key = *v;
        key.in = &in;
        key.dtype = s->saved;
        return in ? intern(key) : NULL;
    }
    if (v->phase || !may_round(s, v)) return NULL;
    if (!is_stack(v)) return stored_rounded(r, v);
    Loop *l = rewritten(r, v->in[0])->loop;
    return loop_stack(l, stored_rounded(r, v->in[0]->loop->ys.at[v->ints[1]]));
}

static Node *stored_once(Rewrite *r, Node *v)
{
    Storing *s = r->user;
    void *known = table_get(&s->stored, v);
    if (known) return known == &no ? NULL : known;
    Making was = making();
    make_with((Making){.where = v->where, .recompute = was.recompute});
    Node *n = v->dtype == s->real ? stored_here(r, v) : NULL;
    make_with(was);
    *table_at(&s->stored, v) = n ? (void *)n : (void *)&no;
    return n;
}

/* The 16-bit version of the old value v; NULL: there is none.  In a chain of moves, the first comes first. */
static Node *stored(Rewrite *r, Node *v)
{
    Storing *s = r->user;
    Nodes moves = {0};
    for (Node *n = v; is_view(n) && !table_get(&s->stored, n); n = n->in[0]) push(&moves, n);
    while (moves.n) (void)stored_once(r, moves.at[--moves.n]);
    return stored_once(r, v);
}

static bool is_made_late(void *user, const Node *n)
{
    Storing *s = user;
    return !table_get(&s->late, n) && (is_view(n) || is_remade(s, n));
}

static Node *late_once(Rewrite *r, Node *v)
{
    Storing *s = r->user;
    Node *known = table_get(&s->late, v), *n = known || is_view(v) ? NULL : stored(r, v);
    if (known) return known;
    Making was = make_on_line_of(v);
    if (n) {
        n = cast_op(n, s->real);
    } else if (is_view(v) || is_remade(s, v)) {
        Node **in = NEW_ARRAY(Node *, v->nin + 1);
        for (int k = 0; k < v->nin; k++) in[k] = table_get(&s->late, v->in[k]);
        n = remade(v, in);
    } else {
        n = rewritten(r, v);
    }
    make_with(was);
    return *table_at(&s->late, v) = n;
}

/* The late version of a value of forward; of what it is made of first. */
static Node *late(Rewrite *r, Node *v)
{
    Storing *s = r->user;
    Nodes first = {0};
    if (is_made_late(s, v)) nodes_through(v, is_made_late, s, &first);
    for (int i = 0; i < first.n; i++) (void)late_once(r, first.at[i]);
    return late_once(r, v);
}

static Node *over_stored(Rewrite *r, Node *old, Node *const *in)
{
    Storing *s = r->user;
    if (old->phase == 0 || !old->nin || is_remade(s, old)) return NULL;
    Node **own = NEW_ARRAY(Node *, old->nin);
    int now = time_of(s, old);
    for (int k = 0; k < old->nin; k++) {
        bool is_late = is_forward(s, old->in[k]) && depth(s, old->in[k]) < now;
        own[k] = is_late ? late(r, old->in[k]) : in[k];
    }
    return remade(old, own);
}

/* Backward's loops walk along what is stored. */
static Node *slice_of(Rewrite *r, const Loop *old, int k, Loop *new)
{
    Storing *s = r->user;
    Node *outer = old->xs.at[k].outer, *arg = old->xs.at[k].arg;
    bool is_late = outer->op == OP_loop_arg || depth(s, outer) < start_of_saving(s, old);
    if (!old->node || !old->node->phase || !is_late || !is_forward(s, outer)) return NULL;
    Node *n = stored(r, outer);
    if (!n) return loop_x(new, late(r, outer));
    Node *slice = loop_x(new, n);
    *table_at(&s->stored, arg) = slice;
    Making was = make_in_phase(1);
    Node *wide = cast_op(slice, s->real);
    make_with(was);
    return wide;
}

/* Inputs first, so that no recursion is as deep as the graph. */
static void find_depths(Storing *s, const Graph *g)
{
    Nodes all = {0};
    all_nodes(g, &all);
    for (int i = 0; i < all.n; i++) {
        (void)depth(s, all.at[i]);
        (void)is_forward(s, all.at[i]);
    }
}

void pass_store(Graph *g, const Desc *d)
{
    const Precision p = precision_of(d->options);
    Storing s = {.real = p.real, .saved = p.saved, .needed = needed_forward(g)};
    Rewrite r = {.node = over_stored, .slice = slice_of, .user = &s};
    if (p.saved == p.real || without(d, PASS_store)) return;
    find_depths(&s, g);
    rewrite_graph(&r, g);
}
