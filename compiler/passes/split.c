/* split.c: moves operations that are not recurrent out of loops, and does it for all iterations at once.
 *
 * A value v of the body has a form along the iterations, [trip, …]: of an x the stack it comes from, of the index iota,
 * of an op with along() that op over its inputs' forms, of anything the stack of what the loop computes.  A loop is
 * split thus (passes/split_facts.c decides):
 *
 * idle: a carry that is its own next is its init.
 *
 * sums: a carry whose next is arg + c, arg and next used nowhere else, ends as init plus the sum of c over the
 * iterations. It is taken after the loop where c is a contraction of fewer than FEW rows: one dot over (trip, …).
 *
 * fixed: what the other carries' next values need, and what inner loops need, is computed in the loop.
 *
 * after: dots that are not fixed, with one operand from outside and fewer than FEW rows, move after the loop, and with
 * them whatever depends on them; the iterations become rows of one larger dot.
 *
 * before: such dots that are fixed but depend on no carry move before the loop, with what feeds them, and come back as
 * xs.
 *
 * A loop without other carries than sums (nn.map and its reversal) is done whole: everything not fixed is `after`; only
 * inner loops, attention whose offset or draws' keys differ, and what feeds them stay.  A loop that is there to save
 * memory (`keeps`) is left alone.  A layer loop has no such dots: both operands vary.  Inner loops are split first.
 * Values that leave the loop for later are stacked; cheap ones whose operands are at hand outside are computed there
 * instead, but for those of a loop whose iterations are computed one by one (`apart`).
 *
 * Needs closed loops, Graph.micro NULL.  Leaves loops whose sums were taken out with dead carries, which pass_clean
 * drops. */
#include "passes/split.h"

typedef struct Split {
    Rewrite rewrite;
    Table made;     /* old loop arguments and results -> new nodes */
    Table results;  /* old loop node -> Nodes *: its results */
    Table operands; /* of all bodies; see Body */
} Split;

/* ------------------------------------------------------------------ values along the iterations */

static Trips split_axis_of(Body *b, Node *n);

/* The loop computes n and stacks it. */
static Node *stack_of(Body *b, Node *n)
{
    Node *now = rewritten(&b->current, n);
    make_with(making_of(b->l->node));
    return loop_stack(b->l, now);
}

static bool is_outside(Body *b, const Node *n);

/* n's form along the iterations can be had without stacking anything more. */
static bool at_hand(Body *b, const Node *n)
{
    if (!in_body(b, n) || fact(b, n)->along || loop_stacks(b->l, n)) return true;
    return n->op == OP_loop_arg ? !is_carry(n) : is_outside(b, n);
}

static bool decide_outside(Body *b, const Node *n)
{
    const Fact *f = fact(b, n);
    if (f->after || f->before) return true;
    if (!has_along(n) || !is_cheap(n)) return false;
    if (op_info[n->op].facts & (REARRANGES | REPEATS)) return true;
    if (b->l->apart || (f->fixed && !f->can_precede)) return false;
    for (int i = 0; i < n->nin; i++)
        if (!at_hand(b, n->in[i])) return false;
    return true;
}

/* Does the op itself run outside of the loop? Asked when all of the loop is known; the answer is kept. */
static bool is_outside(Body *b, const Node *n)
{
    Fact *f = fact(b, n);
    if (!f->decided) f->outside = decide_outside(b, n);
    f->decided = true;
    return f->outside;
}

static Node *all_at_once(Body *b, Node *n)
{
    if (n->op == OP_loop_arg && n->ints[0] == ARG_X) return b->l->xs.at[n->ints[1]].outer;
    if (n->op == OP_loop_arg && n->ints[0] == ARG_INDEX)
        return iota((Shape){1, {b->l->trip}, {(uint16_t)b->l->axis}}, 0);
    if (!is_outside(b, n)) return stack_of(b, n);
    Trips *in = NEW_ARRAY(Trips, n->nin);
    for (int i = 0; i < n->nin; i++) in[i] = split_axis_of(b, n->in[i]);
    make_with(making_of(n));
    Node *all = along(n, in, b->l->trip);
    hand_on_title(all, n);
    return all;
}

static Trips split_axis_of(Body *b, Node *n)
{
    if (!in_body(b, n)) return (Trips){n, false};
    Fact *f = fact(b, n);
    if (!f->along) {
        Node *v = all_at_once(b, n);
        f->along = NEW(Trips);
        *f->along = (Trips){v, true};
    }
    return *f->along;
}

/* ------------------------------------------------------------------ sums over the iterations */

/* Linear in each of its first two inputs. */
static bool is_product(const Node *n) { return n->op == OP_mul || (op_info[n->op].facts & MULTIPLIES); }

/* Is the sum of c better taken after the loop? */
static bool sums_well(Body *b, const Node *c)
{
    if (!in_body(b, c) || fact(b, c)->after) return true;
    if (!has_along(c) || fact(b, c)->fixed) return false;
    bool first = in_body(b, c->in[0]), second = c->nin > 1 && in_body(b, c->in[1]);
    if (is_view(c) || c->op == OP_neg) return sums_well(b, c->in[0]);
    if (is_product(c) && first != second) return sums_well(b, c->in[!first]);
    if (op_parts[c->op].terms) return op_parts[c->op].terms(c) < FEW;
    switch (c->op) {
    case OP_add:
    case OP_sub: return sums_well(b, c->in[0]) && sums_well(b, c->in[1]);
    case OP_mul: return false;
    case OP_sum: return elements(c->in[0]->shape) / elements(c->shape) < FEW;
    default: return elements(c->shape) < FEW;
    }
}

static Node *total(Body *b, Node *c);

/* c is linear in its input i, the only one that varies. */
static Node *total_of_input(Body *b, Node *c, int i)
{
    Node **in = NEW_ARRAY(Node *, c->nin);
    for (int k = 0; k < c->nin; k++) in[k] = k == i ? total(b, c->in[k]) : c->in[k];
    make_with(making_of(c));
    return remade(c, in);
}

static Node *total_of_stack(Body *b, Node *c)
{
    Node *stack = split_axis_of(b, c).node;
    make_with(making_of(c));
    return reduce(OP_sum, stack, 1, &(int){0});
}

static Node *total_of_both(Body *b, Node *c)
{
    Trips in[2] = {split_axis_of(b, c->in[0]), split_axis_of(b, c->in[1])};
    make_with(making_of(c));
    return op_parts[c->op].total(c, in, b->l->trip);
}

static Node *total(Body *b, Node *c)
{
    make_with(making_of(c));
    if (!in_body(b, c)) return map2(OP_mul, c, filled((double)b->l->trip, c->dtype, c->shape));
    if (c->op == OP_loop_arg || !has_along(c) || fact(b, c)->fixed || fact(b, c)->along) return total_of_stack(b, c);
    bool first = in_body(b, c->in[0]), second = c->nin > 1 && in_body(b, c->in[1]);
    if (is_view(c) || c->op == OP_neg) return total_of_input(b, c, 0);
    if (is_product(c) && first != second) return total_of_input(b, c, !first);
    if (op_parts[c->op].total) return second ? total_of_both(b, c) : total_of_input(b, c, 0);
    switch (c->op) {
    case OP_add:
    case OP_sub: {
        Node *p = total(b, c->in[0]), *q = total(b, c->in[1]);
        make_with(making_of(c));
        return map2(c->op, p, q);
    }
    case OP_sum: {
        Node *stack = split_axis_of(b, c->in[0]).node;
        make_with(making_of(c));
        return total_sum(c, stack);
    }
    default: return total_of_stack(b, c);
    }
}

static Node *total_of_carry(Body *b, int k)
{
    Node *init = b->l->carries.at[k].init, *sum = NULL;
    double value;
    for (int i = b->parts[k].n - 1; i >= 0; i--) { /* the spine's end is the first addend */
        Node *t = total(b, b->parts[k].at[i]);
        make_with(making_of(b->l->carries.at[k].next));
        sum = sum ? map2(OP_add, sum, t) : t;
    }
    if (!sum) return init;
    return is_filled(init, &value) && value == 0 ? sum : map2(OP_add, init, sum);
}

/* ------------------------------------------------------------------ one loop */

/* For b->current: the value that the new loop computes for a value of the old body. */
static Node *as_it_is_now(Rewrite *r, Node *n)
{
    Body *b = r->user;
    if (!loop_inside(n->in_loop, b->l)) return n;
    if (!in_body(b, n)) return NULL; /* of an inner loop that is being copied */
    if (comes_back(b, n)) return loop_x(b->l, split_axis_of(b, n).node);
    return fact(b, n)->rebuilt ? NULL : n;
}

static bool takes_out(Body *b, int k)
{
    if (!b->is_sum[k]) return false;
    bool well = true;
    for (int i = 0; i < b->parts[k].n; i++) {
        if (b->whole || (in_body(b, b->parts[k].at[i]) && fact(b, b->parts[k].at[i])->after)) return true;
        well &= sums_well(b, b->parts[k].at[i]);
    }
    return well;
}

/* Splits b->l and enters the values that replace the old loop's results.  values: the stacked values of its stacks. */
static void split(Split *s, Body *b, const Nodes *results, Node *const *values)
{
    Loop *l = b->l;
    b->current = (Rewrite){.before = as_it_is_now, .user = b};
    l->ys.n = 0;
    bool *out = NEW_ARRAY(bool, l->carries.n + 1);
    Node **next = NEW_ARRAY(Node *, l->carries.n + 1);
    for (int k = 0; k < l->carries.n; k++) {
        out[k] = takes_out(b, k);
        next[k] = out[k] ? l->carries.at[k].arg : rewritten(&b->current, l->carries.at[k].next);
    }
    for (int i = 0; i < results->n; i++) /* first what must be stacked: others may be made from it */
        if (values[i] && in_body(b, values[i]) && fact(b, values[i])->fixed) split_axis_of(b, values[i]);
    for (int i = 0; i < results->n; i++) {
        const Node *r = results->at[i];
        int which = (int)r->ints[1];
        Node *v;
        make_with(making_of(r));
        if (!values[i]) v = out[which] ? total_of_carry(b, which) : loop_result(l, which);
        else if (in_body(b, values[i])) v = split_axis_of(b, values[i]).node;
        else v = broadcast(values[i], r->shape);
        hand_on_title(v, r);
        *table_at(&s->made, r) = v;
    }
    for (int k = 0; k < l->carries.n; k++) loop_next(l, k, next[k]);
}

/* ------------------------------------------------------------------ all loops */

static Loop *copy_loop(Split *s, const Loop *old, const Nodes *results, Node **values)
{
    Loop *l = loop_again(old, old->reverse);
    *table_at(&s->made, old->index) = l->index;
    for (int k = 0; k < old->carries.n; k++) {
        const struct Carry *c = &old->carries.at[k];
        Node *init = rewritten(&s->rewrite, c->init), *arg = as_argument(loop_carry(l, init), c->arg);
        *table_at(&s->made, c->arg) = c->next == c->arg ? init : arg;
    }
    for (int k = 0; k < old->xs.n; k++) {
        const struct Stacked *x = &old->xs.at[k];
        *table_at(&s->made, x->arg) = as_argument(loop_x(l, rewritten(&s->rewrite, x->outer)), x->arg);
    }
    for (int k = 0; k < old->carries.n; k++) {
        const struct Carry *c = &old->carries.at[k];
        loop_next(l, k, c->next == c->arg ? l->carries.at[k].arg : rewritten(&s->rewrite, c->next));
    }
    for (int i = 0; i < results->n; i++) {
        const Node *r = results->at[i];
        if (r->ints[0] != PICK_STACK) continue;
        values[i] = rewritten(&s->rewrite, old->ys.at[r->ints[1]]);
        push(&l->ys, values[i]);
    }
    make_with(making_of(old->node));
    loop_close(l);
    return l;
}

static Node *split_loop(Split *s, Node *old)
{
    Nodes none = {0}, *results = table_get(&s->results, old);
    if (!results) results = &none;
    Node **values = NEW_ARRAY(Node *, results->n + 1); /* of the stacks among the results */
    Making was = making();
    Body b = {.l = copy_loop(s, old->loop, results, values), .operands = &s->operands};
    find_facts(&b);
    split(s, &b, results, values);
    make_with(was);
    return b.l->node;
}

static Node *from_split(Rewrite *r, Node *old)
{
    Split *s = r->user;
    Node *made = table_get(&s->made, old);
    if (made) return made;
    if (old->op == OP_loop) return split_loop(s, old);
    if (old->op != OP_pick || old->in[0]->op != OP_loop) return NULL;
    rewritten(r, old->in[0]);
    return table_get(&s->made, old);
}

static void collect_results(Split *s, Loop *level, const Nodes *roots)
{
    Nodes body = {0};
    nodes_at(level, roots->at, roots->n, &body);
    for (int i = 0; i < body.n; i++) {
        Node *n = body.at[i];
        if (n->op == OP_pick && n->in[0]->op == OP_loop) {
            void **slot = table_at(&s->results, n->in[0]);
            if (!*slot) *slot = NEW(Nodes);
            push((Nodes *)*slot, n);
        } else if (n->op == OP_loop) {
            Nodes inner = {0};
            loop_roots(n->loop, &inner);
            collect_results(s, n->loop, &inner);
        }
    }
}

/* Loops anew, with the stacks that are read and the parents that the bodies now have. */
static void copy_graph(Graph *g) { rewrite_graph(&(Rewrite){0}, g); }

void pass_split(Graph *g, const Desc *d)
{
    if (without(d, PASS_split)) return;
    must(!g->micro);
    copy_graph(g);
    Split s = {.rewrite = {.before = from_split, .needs = loops_first}};
    s.rewrite.user = &s;
    Nodes roots = {0};
    graph_roots(g, &roots);
    collect_results(&s, NULL, &roots);
    rewrite_graph(&s.rewrite, g);
    copy_graph(g);
}
