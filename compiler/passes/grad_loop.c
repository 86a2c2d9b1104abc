/* grad_loop.c: differentiates loops: the derivative of a loop L is the reversed loop R over what L saved.
 *
 * R undoes iteration i of L:
 *
 *  - carries: R's carry of L's carry k holds the gradient of next_k at the start of an iteration, and becomes that of
 *    arg_k. It starts as the gradient of L's end value, and ends as the gradient of init_k.
 *
 *  - ys: the gradient of a stack is one of R's xs, a contribution to the value that was stacked.
 *
 *  - xs: R stacks the gradient of an argument, which gives the gradient of the stack.
 *
 *  - outside: a value around L that its body reads collects contributions in a carry of R that starts as zeros. Views
 *    of something smaller are differentiated inside, so that the carry is small.
 *
 * value(level, v) is the value in R of a forward body value v:
 *
 *  - the index is R's index; an x is R's x of the same stack; a carry is an x of the stack of its history;
 *
 *  - dot, index ops and results of inner loops are saved: L stacks them, and R reads the stack;
 *
 *  - so is a sum of two products, which takes the room of one;
 *
 *  - maps (random ones too), reductions and moves are remade from their inputs' values in R.
 *
 * Stacks and values outside L are looked up one level up, where the same rule holds, so that nested loops save stacks
 * of stacks.  So is a value that L stacks anyway and that is a reduction of something SMALL times larger, such as the
 * probabilities of an attention.
 *
 * Under nn.checkpoint (node->recompute) only the inputs of the region are saved: dots are remade too, and a loop is
 * copied once, to the place where its values are needed; its reversed loop then reads the copy's stacks.  A value
 * outside such a region that is made of costly values inside (x + region(x)) is saved, so that the region does not run
 * again for what follows it. Inside a copied loop (`replayed` levels) the copy saves values as usual, since they are
 * made again only once. */
#include "desc/passes.h"
#include "ops/grad.h"

enum { SMALL = 16 };

static bool shows_another(const Node *v) { return op_info[v->op].facts & (REARRANGES | REPEATS); }

/* ------------------------------------------------------------------ forward values */

static bool recomputed(const Grad *all, const Node *v)
{
    if (v->op == OP_pick) return recomputed(all, v->in[0]);
    return v->recompute && !without(all->desc, PASS_remat) && op_info[v->op].kind != LEAF && v->op != OP_loop_arg;
}

/* v, under recompute, cannot be had without running a costly op again. */
static bool rests_on_region(Grad *all, const Node *v)
{
    static const char yes = 'y', no = 'n'; /* their addresses are what the table holds */
    if (!recomputed(all, v)) return false;
    if (!is_cheap(v)) return true;
    void *known = table_get(&all->regions, v);
    if (known) return known == &yes;
    bool rests = false;
    for (int i = 0; i < v->nin && !rests; i++) rests = rests_on_region(all, v->in[i]);
    *table_at(&all->regions, v) = rests ? (void *)&yes : (void *)&no;
    return rests;
}

bool region_ends(Grad *all, const Node *v)
{
    if (recomputed(all, v)) return false;
    for (int i = 0; i < v->nin; i++)
        if (rests_on_region(all, v->in[i])) return true;
    return false;
}

/* The elements of the largest that is reduced where v is remade; 0 if nothing is. */
static int64_t widest_reduced(Table *memo, const Node *v)
{
    if (!is_cheap(v) || v->op == OP_loop_arg) return 0;
    void **known = table_at(memo, v);
    if (*known) return (intptr_t)*known - 1;
    int64_t widest = op_info[v->op].kind == REDUCE ? elements(v->in[0]->shape) : 0;
    for (int i = 0; i < v->nin; i++) widest = max64(widest, widest_reduced(memo, v->in[i]));
    *table_at(memo, v) = (void *)(intptr_t)(widest + 1);
    return widest;
}

/* A value that the loop stacks anyway, and that is much smaller than what it would be remade of. */
static bool stacked_and_small(Grad_level *lv, const Node *v)
{
    for (int i = 0; i < lv->forward->ys.n; i++)
        if (lv->forward->ys.at[i] == v) return widest_reduced(&lv->all->reduced, v) >= SMALL * elements(v->shape);
    return false;
}

bool sums_columns(const Node *v)
{
    if (op_info[v->op].kind != REDUCE) return false;
    const Shape *of = &v->in[0]->shape;
    int last = of->rank - 1; /* sums over the last axes alone are made along with the row */
    for (int i = v->nints - 1; i >= 0; i--, last--) {
        while (last > v->ints[i] && of->dim[last] == 1) last--;
        if (of->dim[v->ints[i]] > 1 && v->ints[i] < last) return elements(*of) >= SMALL * elements(v->shape);
    }
    return false;
}

static bool is_costly(const Node *v) { return !is_cheap(v) || sums_columns(v) || adds_products(v); }

static bool is_saved(Grad_level *lv, const Node *v)
{
    if (lv->copying) return false;
    if (lv->replayed) return is_costly(v);
    if (recomputed(lv->all, v)) return false;
    return is_costly(v) || region_ends(lv->all, v) || (lv->up && stacked_and_small(lv, v));
}

static Grad_level *copied(Grad_level *lv, Node *node);

static Node *saved(Grad_level *lv, Node *v)
{
    Node *stack;
    if (lv->copy) {
        stack = loop_stack(lv->copy->backward, value(lv->copy, v));
    } else {
        Making was = make_in_phase(0);
        stack = loop_stack(lv->forward, v);
        make_with(was);
        stack = value(lv->up, stack);
    }
    return loop_x(lv->backward, stack);
}

static Node *argument_here(Grad_level *lv, Node *v)
{
    if (v->ints[0] == ARG_INDEX) return lv->backward->index;
    if (v->ints[0] == ARG_X) return loop_x(lv->backward, value(lv->up, lv->forward->xs.at[v->ints[1]].outer));
    must(!lv->copying); /* copied() has entered a copy's carries */
    return saved(lv, v);
}

/* A result of a copied loop.  Stacks are found by what they stack: copies number them in the order of need. */
static Node *result_again(Grad_level *lv, const Node *v)
{
    const Grad_level *c = copied(lv, v->in[0]);
    int which = (int)v->ints[1];
    if (v->ints[0] == PICK_CARRY) return loop_result(c->backward, which);
    return loop_stack(c->backward, value((Grad_level *)c, c->forward->ys.at[which]));
}

static Node *remade_here(Grad_level *lv, Node *v)
{
    if (v->op == OP_pick && v->in[0]->op == OP_loop) return result_again(lv, v);
    Node **in = NEW_ARRAY(Node *, v->nin + 1);
    for (int i = 0; i < v->nin; i++) in[i] = value(lv, v->in[i]);
    if (v->op == OP_pick) return pick(in[0], (int)v->ints[0], (int)v->ints[1]);
    Node key = *v;
    key.in = in;
    key.phase = making().phase;
    key.again = key.phase > 0;
    return intern(key);
}

static bool belongs_to(const Grad_level *lv, const Node *v)
{
    return lv->up ? v->in_loop == lv->forward : recomputed(lv->all, v);
}

/* Is v remade from its inputs' values? */
static bool is_remade_of_inputs(void *user, const Node *v)
{
    Grad_level *lv = user;
    return belongs_to(lv, v) && !table_get(&lv->values, v) && v->op != OP_loop_arg && !is_saved(lv, v) &&
           !(v->op == OP_pick && v->in[0]->op == OP_loop);
}

Node *value(Grad_level *lv, Node *v)
{
    if (!belongs_to(lv, v)) return lv->up ? value(lv->up, v) : v;
    Node *known = table_get(&lv->values, v);
    if (known) return known;
    Nodes first = {0}; /* inputs come first, so that no recursion is as deep as a graph */
    for (int i = 0; i < v->nin && !first.n; i++)
        if (is_remade_of_inputs(lv, v) && is_remade_of_inputs(lv, v->in[i]))
            nodes_through(v, is_remade_of_inputs, lv, &first);
    for (int i = 0; i < first.n - 1; i++) (void)value(lv, first.at[i]);
    Making was = make_on_line_of(v);
    Node *made;
    if (v->op == OP_loop_arg) made = argument_here(lv, v);
    else if (is_saved(lv, v)) made = saved(lv, v);
    else made = remade_here(lv, v);
    make_with(was);
    *table_at(&lv->values, v) = made;
    return made;
}

/* The copy of a loop under recompute.  It has all stacks of the original at once, so that its parent is right. */
static Grad_level *copied(Grad_level *lv, Node *node)
{
    for (int i = 0; i < lv->copies.n; i++)
        if (lv->copies.at[i]->forward == node->loop) return lv->copies.at[i];
    Loop *l = node->loop;
    Grad_level *c = NEW(Grad_level);
    *c = (Grad_level){.up = lv, .all = lv->all, .forward = l, .copying = true};
    c->backward = loop_again(l, l->reverse);
    for (int k = 0; k < l->carries.n; k++) {
        Node *arg = loop_carry(c->backward, value(lv, l->carries.at[k].init));
        *table_at(&c->values, l->carries.at[k].arg) = arg;
    }
    for (int k = 0; k < l->carries.n; k++) loop_next(c->backward, k, value(c, l->carries.at[k].next));
    for (int k = 0; k < l->ys.n; k++) loop_yield(c->backward, value(c, l->ys.at[k]));
    loop_close(c->backward);
    push(&lv->copies, c);
    return c;
}

/* ------------------------------------------------------------------ the reversed loop */

typedef struct Reversal {
    Grad_level *lv, in;
    Loop *l, *r;
    int *adjoint; /* r's carry that holds the gradient of l's carry k; -1: none */
} Reversal;

static Node *zeros_like(const Node *v) { return filled(0, v->dtype, v->shape); }

static bool has_gradient(const Grad_level *lv, const Node *node)
{
    for (int i = 0; i < lv->picks.n; i++)
        if (lv->picks.at[i]->in[0] == node) return true;
    return false;
}

/* The gradient of result (kind, which) of the loop, or NULL. */
static Node *of_result(Grad_level *lv, const Node *node, int kind, int which)
{
    Nodes parts = {0};
    for (int i = 0; i < lv->picks.n; i++) {
        Node *p = lv->picks.at[i];
        if (p->in[0] == node && p->ints[0] == kind && p->ints[1] == which) push(&parts, gradient(lv, p));
    }
    return parts.n ? sum_of(&parts) : NULL;
}

static void seed(Reversal *v)
{
    for (int k = 0; k < v->l->carries.n; k++) {
        const struct Carry *c = &v->l->carries.at[k];
        Node *end = of_result(v->lv, v->l->node, PICK_CARRY, k);
        v->adjoint[k] = -1;
        if (!grad_active(v->lv, c->arg) || (!end && !table_get(&v->lv->all->reached, c->arg))) continue;
        v->adjoint[k] = v->r->carries.n;
        Node *arg = loop_carry(v->r, end ? end : zeros_like(c->arg));
        title_gradient(arg, c->next);
        contribute(&v->in, c->next, arg);
    }
    for (int k = 0; k < v->l->ys.n; k++) {
        Node *g = of_result(v->lv, v->l->node, PICK_STACK, k);
        if (g) contribute(&v->in, v->l->ys.at[k], loop_x(v->r, g));
    }
}

/* Takes views outside the body, latest first, from in->outside and differentiates them inside. */
static void pull_views_in(Grad_level *in)
{
    for (;;) {
        int latest = -1;
        for (int i = 0; i < in->outside.n; i++)
            if (shows_another(in->outside.at[i]) && (latest < 0 || in->outside.at[i]->id > in->outside.at[latest]->id))
                latest = i;
        if (latest < 0) return;
        Node *v = in->outside.at[latest];
        for (int i = latest + 1; i < in->outside.n; i++) in->outside.at[i - 1] = in->outside.at[i];
        in->outside.n--;
        differentiate_node(in, v, gradient(in, v));
    }
}

static void end_carries(Reversal *v)
{
    for (int k = 0; k < v->l->carries.n; k++) {
        if (v->adjoint[k] < 0) continue;
        Node *arg = v->l->carries.at[k].arg, *g = gradient(&v->in, arg);
        loop_next(v->r, v->adjoint[k], g ? g : zeros_like(arg));
    }
}

static void collect_outside(Reversal *v)
{
    for (int i = 0; i < v->in.outside.n; i++) {
        Node *o = v->in.outside.at[i], *arg = loop_carry(v->r, zeros_like(o));
        title_gradient(arg, o);
        loop_next(v->r, v->r->carries.n - 1, map2(OP_add, arg, gradient(&v->in, o)));
    }
}

/* The gradient of stack xs[k]: made by r, or the same in all iterations.  Before closing: enters it in r's ys. */
static Node *of_stack(Reversal *v, int k, bool closed)
{
    Node *g = gradient(&v->in, v->l->xs.at[k].arg);
    if (!g) return NULL;
    if (g->in_loop != v->r) return broadcast(g, v->l->xs.at[k].outer->shape);
    if (closed) return loop_stack(v->r, g);
    loop_yield(v->r, g);
    return g;
}

void grad_loop(Grad_level *lv, Node *node)
{
    if (!has_gradient(lv, node)) return;
    Loop *l = node->loop;
    Reversal v = {.lv = lv, .l = l, .r = loop_again(l, !l->reverse)};
    v.adjoint = NEW_ARRAY(int, l->carries.n + 1);
    v.in = (Grad_level){.up = lv, .all = lv->all, .forward = l, .backward = v.r};
    if (recomputed(lv->all, node) && !lv->replayed) v.in.copy = copied(lv, node);
    v.in.replayed = lv->replayed || v.in.copy;
    seed(&v);
    differentiate(&v.in, body_of(lv->all, l));
    pull_views_in(&v.in);
    end_carries(&v);
    int first_outside = v.r->carries.n;
    collect_outside(&v);
    for (int k = 0; k < l->xs.n; k++) of_stack(&v, k, false);
    loop_close(v.r);
    for (int k = 0; k < l->carries.n; k++) {
        bool from_body = table_get(&v.in.contributions, l->carries.at[k].arg);
        if (v.adjoint[k] >= 0 && from_body) contribute(lv, l->carries.at[k].init, loop_result(v.r, v.adjoint[k]));
    }
    for (int k = 0; k < l->xs.n; k++) {
        Node *g = of_stack(&v, k, true);
        if (g) contribute(lv, l->xs.at[k].outer, g);
    }
    for (int i = 0; i < v.in.outside.n; i++) contribute(lv, v.in.outside.at[i], loop_result(v.r, first_outside + i));
}
