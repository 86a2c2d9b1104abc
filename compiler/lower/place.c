/* place.c: gives every value that is read from memory its place.
 *
 * Consumers come first. If an output, a loop's next slot or a concat wants a value in its memory, and the value's
 * kernel can write there, it does; otherwise the value gets a buffer of its own and is copied. Invariants:
 *   - a value made at a level is placed once; its place may be inside a buffer of an outer level (slots of stacks);
 *   - readers other than the wanter see the strides that reading() promised: dense, or the dot's chosen layout. */
#include "graph/parts.h"
#include "lower/lower.h"

#include <string.h>

/* ------------------------------------------------------------------ parameters */

/* The buffer of a wide parameter begins where the first of its parameters does. */
static Buffer *parameter_buffer(Cut *cut, Home home, const char *name, Node *value)
{
    Param *p = find_param(cut->desc, name);
    if (!p) die("parameter %s is not in the table", name);
    const char *what = home == GRADIENTS ? format("d_%s", p->name) : p->name;
    Buffer *b = new_buffer(cut, NULL, what, home, value->dtype, p->shape, value);
    memcpy(b->stride, p->stride, sizeof b->stride);
    b->param = p->first ? p->first : p;
    return b;
}

/* ------------------------------------------------------------------ where things lie */

static void put(Cut *cut, Node *n, View v)
{
    info(cut, n)->place = v;
    info(cut, n)->placed = true;
}

/* Tables are printed as one row; a number read through a pad is one of one element. */
static Node *as_row(const Node *constant)
{
    Node *n = copy_of(constant, sizeof *constant);
    if (!n->data) n->data = &n->value;
    n->shape = (Shape){.rank = 1, .dim = {elements(constant->shape)}};
    return n;
}

static void place_leaf(Cut *cut, Node *n)
{
    Buffer *b = NULL;
    switch (n->op) {
    case OP_input: b = new_buffer(cut, NULL, n->name, INPUTS, n->dtype, n->shape, n); break;
    case OP_state: b = new_buffer(cut, NULL, n->name, STATES, n->dtype, n->shape, n); break;
    case OP_parameter: b = parameter_buffer(cut, PARAMETERS, n->name, n); break;
    case OP_gradient: b = parameter_buffer(cut, GRADIENTS, n->name, n); break;
    case OP_constant: {
        Node *row = as_row(n);
        View v = view_dense(n->shape);
        v.buffer = new_buffer(cut, NULL, "table", TABLES, n->dtype, row->shape, row);
        put(cut, n, v);
        return;
    }
    default: die("%s %s has no place", op_info[n->op].name, shape_text(n->shape));
    }
    put(cut, n, view_whole(b));
}

View place_of(Cut *cut, Node *n)
{
    if (!info(cut, n)->placed && by_value(cut, n)) return value_view(n);
    if (!info(cut, n)->placed && n->op == OP_loop_arg) {
        must(n->ints[0] == ARG_X);
        View outer = final_view(cut, n->loop->xs.at[n->ints[1]].outer);
        put(cut, n, view_without_first(&outer, n->loop, 0));
    }
    if (!info(cut, n)->placed) place_leaf(cut, n);
    return info(cut, n)->place;
}

View final_view(Cut *cut, Node *n)
{
    Nodes moves = {0};
    while (is_view(n) && !info(cut, n)->placed) {
        push(&moves, n);
        n = n->in[0];
    }
    View v = place_of(cut, n);
    while (moves.n)
        if (!view_move(&v, moves.at[--moves.n]))
            die("a view that was affine is not: %s", op_info[moves.at[moves.n]->op].name);
    return v;
}

/* ------------------------------------------------------------------ wishes */

static bool same_strides(const View *a, const View *b)
{
    for (int i = 0; i < a->shape.rank; i++)
        if (a->shape.dim[i] != 1 && a->stride[i] != b->stride[i]) return false;
    return true;
}

/* Are the values that iterations read, or those that they write, stacked? Then carry and stack share one buffer. */
static bool loop_has_history(const Loop *l, int carry)
{
    return loop_stacks(l, l->carries.at[carry].arg) || loop_stacks(l, l->carries.at[carry].next);
}

static bool group_can_store(Cut *cut, const Node *n, const View *v)
{
    const Group *g = info(cut, n)->group;
    View over;
    Shape rows = {.rank = g->space.rank - 1}, inner = {.rank = 1, .dim = {g->space.dim[g->space.rank - 1]}};
    for (int i = 0; i < rows.rank; i++) rows.dim[i] = g->space.dim[i];
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i] == n)
            return view_reshape(v, g->role[i] == FULL ? g->space : g->role[i] == COLUMN_SUM ? inner : rows, &over);
    die("a node that is not in its group");
}

bool adds_to(Sum *s)
{
    bool add = s && s->begun;
    if (s) s->begun = true;
    return add;
}

/* Can each iteration make its part of a stack that lies at v: without gaps, or a kernel that may leave them? */
static bool stacks_there(Loop *l, int which, const View *v)
{
    const Node *y = l->ys.at[which], *of = y->op == OP_pick ? y->in[0] : NULL;
    View slot = view_without_first(v, l, 0), dense = view_dense(slot.shape);
    if (y->op == OP_loop_arg && y->loop == l) return false;
    if (same_strides(&dense, &slot)) return true;
    if (of && op_info[of->op].kind == WHOLE) return whole_fits_at(y, &slot);
    return of && of->op == OP_loop && y->ints[0] == PICK_STACK && stacks_there(of->loop, (int)y->ints[1], &slot);
}

static bool can_be_made_there(Cut *cut, Level *level, Node *n, const View *v, bool add)
{
    if (n->in_loop != level->loop || info(cut, n)->placed || v->guarded || info(cut, n)->absorbed) return false;
    View own = reading(cut, n).view;
    if ((add || !same_strides(&own, v)) && info(cut, n)->uses > 1) return false;
    if (is_view(n) && !info(cut, n)->forced) return false;
    if (n->op == OP_pick) {
        if (op_info[n->in[0]->op].kind == WHOLE) return !add && whole_fits_at(n, v);
        if (n->in[0]->op != OP_loop || (add && !adds_up_from_zero(cut, n))) return false;
        Loop *l = n->in[0]->loop;
        if (n->ints[0] == PICK_CARRY) return !loop_has_history(l, (int)n->ints[1]) && same_strides(&own, v);
        return stacks_there(l, (int)n->ints[1], v);
    }
    if (info(cut, n)->group) return group_can_store(cut, n, v);
    if (n->op == OP_dot) return gemm_fits_at(cut, n, v) && !(add && (info(cut, n)->product || !can_be_added(n)));
    if (op_info[n->op].kind == JOIN) return !add; /* its parts are placed, or copied, wherever it lies */
    const Kernel_part *k = op_parts[n->op].kernel;
    return k && k->anywhere && (!add || k->adds) && same_strides(&own, v);
}

static View place_before_permute(const View *v, const Node *n)
{
    View r = *v;
    r.shape = n->in[0]->shape;
    for (int i = 0; i < n->shape.rank; i++) {
        r.stride[n->ints[i]] = v->stride[i];
        r.low[n->ints[i]] = v->low[i];
        r.high[n->ints[i]] = v->high[i];
    }
    return r;
}

static void add_copy(Cut *cut, Copy c)
{
    push(c.owner ? &info(cut, c.owner)->copies : &c.level->copies, copy_of(&c, sizeof c));
}

/* A carry or a state may be overwritten by a copy that comes before: such a source is copied aside first. */
static void copy_late(Cut *cut, Level *level, Node *n, View v, Sum *sum, Node *owner)
{
    Node *source = source_of(cut, n);
    bool fleeting = is_replaced(source) || (source->op == OP_loop_arg && source->ints[0] == ARG_CARRY);
    info(cut, source)->memory = true;
    if (!fleeting || owner) {
        add_copy(cut, (Copy){.level = level, .node = n, .to = v, .sum = sum, .owner = owner});
        return;
    }
    View aside = view_whole(new_buffer(cut, level->loop, value_name(cut, n), WORK, n->dtype, n->shape, n));
    add_copy(cut, (Copy){.level = level, .node = n, .to = aside, .aside = true});
    add_copy(cut, (Copy){.level = level, .node = n, .to = v, .from = aside, .sum = sum});
}

typedef VEC(struct Wanted {
    Node *n;
    View v;
    Sum *sum;
}) Wishes;

/* Can an addition that stands be made where it is wanted: as it would lie, and its operands too? */
static bool stands_there(Cut *cut, const Level *level, const struct Wanted *w)
{
    const Info *of = info(cut, w->n);
    View own = reading(cut, w->n).view;
    return of->stands && !of->placed && !w->sum && w->n->in_loop == level->loop && !w->v.guarded &&
           same_strides(&own, &w->v);
}

/* What is left of the wish at an input, or at two. */
static void want_once(Cut *cut, Level *level, struct Wanted w, Node *owner, Wishes *left)
{
    View inner;
    Node *n = w.n;
    if (stands_there(cut, level, &w)) {
        Sum *sum = NEW(Sum);
        put(cut, n, w.v);
        info(cut, n)->memory = true;
        for (int k = 2; k-- > 0;) push(left, ((struct Wanted){n->in[k], w.v, sum}));
    } else if (info(cut, n)->stands) {
        copy_late(cut, level, n, w.v, w.sum, owner);
    } else if (info(cut, n)->absorbed) {
        if (!w.sum) w.sum = NEW(Sum);
        for (int k = 2; k-- > 0;) push(left, ((struct Wanted){n->in[k], w.v, w.sum})); /* the first is taken first */
    } else if (can_be_made_there(cut, level, n, &w.v, w.sum)) {
        put(cut, n, w.v);
        info(cut, n)->sum = w.sum;
        info(cut, n)->memory = true;
    } else if (n->op == OP_reshape && !info(cut, n)->forced && view_reshape(&w.v, n->in[0]->shape, &inner)) {
        push(left, ((struct Wanted){n->in[0], inner, w.sum}));
    } else if (n->op == OP_permute && !info(cut, n)->forced) {
        push(left, ((struct Wanted){n->in[0], place_before_permute(&w.v, n), w.sum}));
    } else {
        copy_late(cut, level, n, w.v, w.sum, owner);
    }
}

/* n is wanted at v, as a part of the sum there if there is one, by the end of the level, or before its owner, a loop or
 * a concat, runs. */
static void want(Cut *cut, Level *level, Node *n, View v, Sum *sum, Node *owner)
{
    Wishes left = {0};
    push(&left, ((struct Wanted){n, v, sum}));
    while (left.n) want_once(cut, level, left.at[--left.n], owner, &left);
}

/* As want(), at a place that a loop will overwrite: what others read as well is copied there. */
static void want_fleeting(Cut *cut, Level *level, Node *n, View v, Node *owner)
{
    Node *source = source_of(cut, n);
    if (info(cut, source)->uses != 1) {
        copy_late(cut, level, n, v, NULL, owner);
        return;
    }
    want(cut, level, n, v, NULL, owner);
    info(cut, source)->fleeting = info(cut, source)->placed && info(cut, source)->place.buffer == v.buffer;
}

/* Is `new` the value of `old` with entries overwritten, and is nothing else made of old? */
static bool updates_in_place(Cut *cut, const Node *new, const Node *old)
{
    if (info(cut, old)->uses != 1) return false;
    if (op_info[new->op].facts & UPDATES) return new->in[0] == old;
    if (new->op != OP_pick || new->in[0]->op != OP_loop || new->ints[0] != PICK_STACK) return false;
    const Loop *l = new->in[0]->loop;
    for (int k = 0; k < l->xs.n; k++)
        if (l->xs.at[k].outer == old) return updates_in_place(cut, l->ys.at[new->ints[1]], l->xs.at[k].arg);
    return false;
}

static void want_output(Cut *cut, Level *top, const Output *o)
{
    Node *n = o->node, *old = leaf_replaced(cut->graph, o);
    if (old == n) return; /* it is what lies there */
    if (old && !updates_in_place(cut, n, old)) {
        copy_late(cut, top, n, place_of(cut, old), NULL, NULL);
        return;
    }
    Buffer *b = old ? place_of(cut, old).buffer
                : o->kind == OUT_GRAD
                    ? parameter_buffer(cut, GRADIENTS, o->name, n)
                    : new_buffer(cut, NULL, format("out_%s", o->name), OUTPUTS, n->dtype, n->shape, n);
    want(cut, top, n, view_whole(b), NULL, NULL);
}

/* ------------------------------------------------------------------ loops */

static Shape slots(const Loop *l, int64_t more, Shape s)
{
    Shape r = {1, {l->trip + more}, {(uint16_t)axis_longer(l->axis, more)}};
    for (int i = 0; i < s.rank; i++) r = with_axis(r, s, i);
    return r;
}

static Node *pick_at(Cut *cut, const Loop *l, int kind, int which)
{
    const Nodes *picks = &info(cut, l->node)->picks;
    for (int i = 0; i < picks->n; i++)
        if (picks->at[i]->ints[0] == kind && picks->at[i]->ints[1] == which) return picks->at[i];
    return NULL;
}

static View slot(const View *stack, int64_t k)
{
    View v = *stack;
    v.shape = shape_behind(stack->shape);
    v.base += k * stack->stride[0];
    for (int i = 0; i < v.shape.rank; i++) {
        v.stride[i] = stack->stride[i + 1];
        v.low[i] = 0;
        v.high[i] = v.shape.dim[i];
    }
    return v;
}

/* A carry whose history is kept: iteration i of a forward loop reads slot i and writes slot i + 1; a reversed one reads
 * slot i + 1 and writes slot i.  Stacks of what is read, and of what is written, lie there. */
static void place_history(Cut *cut, Level *level, Level *body, int k, Node *final)
{
    Loop *l = body->loop;
    struct Carry *c = &l->carries.at[k];
    Buffer *b =
        new_buffer(cut, level->loop, carry_name(cut, c), WORK, c->arg->dtype, slots(l, 1, c->arg->shape), c->next);
    View all = view_whole(b), history = all;
    put(cut, c->arg, view_without_first(&all, l, l->reverse ? 1 : 0));
    if (final) put(cut, final, slot(&all, l->reverse ? 0 : l->trip));
    for (int y = 0; y < l->ys.n; y++) {
        Node *stack = pick_at(cut, l, PICK_STACK, y);
        bool read = l->ys.at[y] == c->arg, written = l->ys.at[y] == c->next;
        if (!stack || !(read || (written && !info(cut, stack)->placed))) continue;
        history.shape.dim[0] = history.high[0] = l->trip;
        history.base = read == l->reverse ? all.stride[0] : 0;
        put(cut, stack, history);
    }
    want(cut, level, c->init, slot(&all, l->reverse ? l->trip : 0), NULL, l->node);
    want(cut, body, c->next, view_without_first(&all, l, l->reverse ? 0 : 1), NULL, NULL);
}

/* The carry at v adds up x.  What its loop adds to, or a zero, comes first, unless a product can do without. */
static void place_loop_sum(Cut *cut, Level *level, Level *body, const struct Carry *c, View v, Node *final)
{
    Loop *l = body->loop;
    Node *x = added_to(cut, c);
    Sum *over = final ? info(cut, final)->sum : NULL, *inside = NEW(Sum);
    double zero = 1;
    inside->begun = true;
    want(cut, body, x, v, inside, NULL);
    if (!is_filled(c->init, &zero) || zero != 0) {
        want_fleeting(cut, level, c->init, v, l->node);
        return;
    }
    if (!over) over = NEW(Sum);
    Node *below = beneath(cut, x);
    if (below->op == OP_dot && info(cut, below)->sum == inside) {
        info(cut, below)->sum = over;
        info(cut, below)->afresh = l;
    } else {
        copy_late(cut, level, c->init, v, NULL, l->node);
        const Copies *own = &info(cut, l->node)->copies;
        own->at[own->n - 1]->zero_of = over;
    }
}

static void place_single(Cut *cut, Level *level, Level *body, int k, Node *final)
{
    Loop *l = body->loop;
    struct Carry *c = &l->carries.at[k];
    if (!final || !info(cut, final)->placed) {
        Buffer *b = new_buffer(cut, level->loop, carry_name(cut, c), WORK, c->arg->dtype, c->arg->shape, c->next);
        if (final) put(cut, final, view_whole(b));
        put(cut, c->arg, view_whole(b));
    } else {
        put(cut, c->arg, info(cut, final)->place);
    }
    View v = info(cut, c->arg)->place;
    if (added_to(cut, c)) {
        place_loop_sum(cut, level, body, c, v, final);
        return;
    }
    want_fleeting(cut, level, c->init, v, l->node);
    if (c->next != c->arg) copy_late(cut, body, c->next, v, NULL, NULL);
}

/* Not where somebody wants the stack of what is written elsewhere. */
static bool keeps_history(Cut *cut, const Loop *l, int k)
{
    const struct Carry *c = &l->carries.at[k];
    if (loop_stacks(l, c->arg)) return true;
    for (int y = 0; y < l->ys.n; y++) {
        Node *stack = l->ys.at[y] == c->next ? pick_at(cut, l, PICK_STACK, y) : NULL;
        if (stack) return !info(cut, stack)->placed;
    }
    return false;
}

static bool lies_in_history(Cut *cut, const Loop *l, const Node *stack)
{
    bool lies = false;
    for (int k = 0; k < l->carries.n && info(cut, stack)->placed; k++)
        lies |=
            loop_has_history(l, k) && info(cut, stack)->place.buffer == info(cut, l->carries.at[k].arg)->place.buffer;
    return lies;
}

static void place_level(Cut *cut, Level *level);

static void place_loop(Cut *cut, Level *level, Level *body)
{
    Loop *l = body->loop;
    for (int k = 0; k < l->carries.n; k++) {
        Node *final = pick_at(cut, l, PICK_CARRY, k);
        if (keeps_history(cut, l, k)) place_history(cut, level, body, k, final);
        else place_single(cut, level, body, k, final);
    }
    for (int k = 0; k < l->ys.n; k++) {
        Node *y = l->ys.at[k], *stack = pick_at(cut, l, PICK_STACK, k);
        if (!stack || lies_in_history(cut, l, stack)) continue;
        if (!info(cut, stack)->placed)
            put(cut, stack,
                view_whole(new_buffer(cut, level->loop, value_name(cut, y), WORK, y->dtype, slots(l, 0, y->shape), y)));
        View all = info(cut, stack)->place;
        want(cut, body, y, view_without_first(&all, l, 0), NULL, NULL);
    }
    place_level(cut, body);
}

/* ------------------------------------------------------------------ levels */

static void place_default(Cut *cut, Node *n)
{
    View own = reading(cut, n).view;
    bool dense = view_is_dense(&own);
    own.buffer =
        new_buffer(cut, n->in_loop, info(cut, n)->forced && is_view(n) ? name_of_copy(cut, n) : value_name(cut, n),
                   WORK, n->dtype, own_shape(cut, n, &own), n);
    if (dense) memcpy(own.stride, own.buffer->stride, sizeof own.stride);
    put(cut, n, own);
}

static void place_parts(Cut *cut, Level *level, Node *n)
{
    int axis = (int)n->ints[0];
    View part = info(cut, n)->place;
    for (int i = 0; i < n->nin; i++) {
        part.shape = n->in[i]->shape;
        part.high[axis] = part.shape.dim[axis];
        if (info(cut, n)->fleeting) want_fleeting(cut, level, n->in[i], part, n);
        else want(cut, level, n->in[i], part, NULL, n);
        part.base += part.shape.dim[axis] * part.stride[axis];
    }
}

/* An absorbed addition with a place of its own, which its operands' kernels add to. */
static void place_standing(Cut *cut, Level *level, Node *n)
{
    if (info(cut, n)->placed) return;
    place_default(cut, n);
    info(cut, n)->memory = true;
    Sum *sum = NEW(Sum);
    for (int k = 0; k < 2; k++) want(cut, level, n->in[k], info(cut, n)->place, sum, NULL);
}

static bool always_in_memory(const Node *n)
{
    OpKind kind = op_info[n->op].kind;
    return (kind == DOT || kind == INDEX || kind == JOIN) && !has_several(n);
}

static void place_level(Cut *cut, Level *level)
{
    if (!level->loop)
        for (int i = 0; i < cut->graph->outs.n; i++) want_output(cut, level, &cut->graph->outs.at[i]);
    int inside = level->inside.n;
    for (int i = level->nodes.n; i-- > 0;) {
        Node *n = level->nodes.at[i];
        if (n->op == OP_loop) {
            place_loop(cut, level, level->inside.at[--inside]);
            continue;
        }
        if (info(cut, n)->stands) place_standing(cut, level, n);
        bool result = n->op == OP_pick && n->in[0]->op != OP_loop;
        bool own = always_in_memory(n) || (info(cut, n)->group && info(cut, n)->memory) || result;
        if (own && !info(cut, n)->placed) place_default(cut, n);
        if (op_info[n->op].kind == JOIN) place_parts(cut, level, n);
    }
}

/* The turns of a step are given the same inputs, so each has a place for all that one of them reads. */
static void place_inputs_of_turns(Cut *c)
{
    for (int i = 0; i < c->desc->graphs.n; i++) {
        const Graph *g = c->desc->graphs.at[i];
        Nodes all = {0};
        if (!g->turn || !entry_of(g)->step) continue;
        all_nodes(g, &all);
        for (int k = 0; k < all.n; k++)
            if (all.at[k]->op == OP_input) place_of(c, all.at[k]);
    }
}

void pass_place(Cut *c)
{
    c->program = NEW(Program);
    c->program->graph = c->graph;
    note_readers(c);
    name_values(c);
    if (c->graph->turn && entry_of(c->graph)->step) place_inputs_of_turns(c);
    place_level(c, c->top);
}
