/* walk.c: visits graphs in order, tables by node, and copies of graphs with nodes replaced. */
#include "graph/graph.h"

#include <string.h>

/* ------------------------------------------------------------------ the nodes a walk has been at */

/* Shared by all walks, since only one runs at a time; by id: the number of the last walk that reached the node. */
static struct {
    int *last;
    int n, now;
} walks;

static void begin_walk(void) { walks.now++; }

static bool first_time_at(const Node *n)
{
    if (n->id >= walks.n) {
        int bigger = (n->id + 1) * 2;
        int *last = NEW_ARRAY(int, bigger);
        if (walks.n) memcpy(last, walks.last, sizeof *last * (size_t)walks.n);
        walks.last = last;
        walks.n = bigger;
    }
    bool first = walks.last[n->id] != walks.now;
    walks.last[n->id] = walks.now;
    return first;
}

/* The i-th node that n needs: inputs; of a loop initial values, stacks and roots of its body.  NULL: no more. */
static Node *need(const Node *n, int i)
{
    if (n->op != OP_loop) return i < n->nin ? n->in[i] : NULL;
    const Loop *l = n->loop;
    if (i < l->carries.n) return l->carries.at[i].init;
    i -= l->carries.n;
    if (i < l->xs.n) return l->xs.at[i].outer;
    i -= l->xs.n;
    if (i < l->carries.n) return l->carries.at[i].next;
    i -= l->carries.n;
    return i < l->ys.n ? l->ys.at[i] : NULL;
}

/* Depth first, without recursion, since chains may be long. */
static void visit(Loop *level, bool all, Node *root, Nodes *out)
{
    VEC(struct Frame {
        Node *n;
        int next;
    }) stack = {0};
    if (first_time_at(root)) push(&stack, ((struct Frame){root, 0}));
    while (stack.n) {
        struct Frame *f = &stack.at[stack.n - 1];
        Node *child = need(f->n, f->next++);
        if (child) {
            if ((all || loop_inside(child->in_loop, level)) && first_time_at(child))
                push(&stack, ((struct Frame){child, 0}));
            continue;
        }
        if (all || f->n->in_loop == level) push(out, f->n);
        stack.n--;
    }
}

void nodes_at(Loop *level, Node *const *roots, int nroots, Nodes *out)
{
    begin_walk();
    for (int i = 0; i < nroots; i++)
        if (loop_inside(roots[i]->in_loop, level)) visit(level, false, roots[i], out);
}

void nodes_through(Node *root, Through through, void *user, Nodes *out)
{
    VEC(struct Frame {
        Node *n;
        int next; /* index of the next input; -1: `through` was not asked yet */
    }) stack = {0};
    begin_walk();
    (void)first_time_at(root);
    push(&stack, ((struct Frame){root, -1}));
    while (stack.n) {
        struct Frame *f = &stack.at[stack.n - 1];
        if (f->next < 0) f->next = through(user, f->n) ? 0 : f->n->nin;
        if (f->next == f->n->nin) {
            push(out, f->n);
            stack.n--;
            continue;
        }
        Node *in = f->n->in[f->next++];
        if (first_time_at(in)) push(&stack, ((struct Frame){in, -1}));
    }
}

void loop_roots(const Loop *l, Nodes *out)
{
    for (int k = 0; k < l->carries.n; k++) push(out, l->carries.at[k].next);
    for (int k = 0; k < l->ys.n; k++) push(out, l->ys.at[k]);
}

void loop_begins(const Loop *l, Nodes *out)
{
    for (int k = 0; k < l->carries.n; k++) push(out, l->carries.at[k].init);
}

void loop_walks(const Loop *l, Nodes *out)
{
    for (int k = 0; k < l->xs.n; k++) push(out, l->xs.at[k].outer);
}

void graph_roots(const Graph *g, Nodes *out)
{
    for (int i = 0; i < g->outs.n; i++) push(out, g->outs.at[i].node);
}

void all_nodes(const Graph *g, Nodes *out)
{
    Nodes roots = {0};
    graph_roots(g, &roots);
    begin_walk();
    for (int i = 0; i < roots.n; i++) visit(NULL, true, roots.at[i], out);
}

int count_nodes(const Graph *g)
{
    Nodes all = {0};
    all_nodes(g, &all);
    return all.n;
}

/* ------------------------------------------------------------------ tables by node */

static int slot_of(const Table *t, const Node *key)
{
    unsigned h = (unsigned)key->id * 2654435761u, mask = (unsigned)(t->cap - 1);
    while (t->key[h & mask] && t->key[h & mask] != key) h++;
    return (int)(h & mask);
}

void drop_table(Table *t)
{
    if (!t->cap) return;
    give_back((void *)t->key, sizeof *t->key * (size_t)t->cap);
    give_back(t->value, sizeof *t->value * (size_t)t->cap);
    *t = (Table){0};
}

void **table_at(Table *t, const Node *key)
{
    if (t->n * 2 >= t->cap) {
        Table old = *t;
        t->cap = old.cap ? old.cap * 2 : 64;
        t->key = alloc_again(sizeof *t->key * (size_t)t->cap);
        t->value = alloc_again(sizeof *t->value * (size_t)t->cap);
        for (int i = 0; i < old.cap; i++) {
            if (!old.key[i]) continue;
            int s = slot_of(t, old.key[i]);
            t->key[s] = old.key[i];
            t->value[s] = old.value[i];
        }
        drop_table(&old);
    }
    int s = slot_of(t, key);
    t->n += !t->key[s];
    t->key[s] = key;
    return &t->value[s];
}

void *table_get(const Table *t, const Node *key) { return t->cap ? t->value[slot_of(t, key)] : NULL; }

/* ------------------------------------------------------------------ copying with replacements */

Node *remade(const Node *old, Node *const *in)
{
    if (old->op == OP_pick && in[0] != old->in[0]) return pick(in[0], (int)old->ints[0], (int)old->ints[1]);
    Node key = *old;
    key.in = (Node **)in;
    return intern(key);
}

static void rewrite_loop_body(Rewrite *r, const Loop *old, Loop *new)
{
    *table_at(&r->done, old->index) = new->index;
    for (int k = 0; k < old->carries.n; k++) {
        const struct Carry *c = &old->carries.at[k];
        *table_at(&r->done, c->arg) = as_argument(loop_carry(new, rewritten(r, c->init)), c->arg);
    }
    for (int k = 0; k < old->xs.n; k++) {
        Node *arg = r->slice ? r->slice(r, old, k, new) : NULL;
        if (!arg) arg = loop_x(new, rewritten(r, old->xs.at[k].outer));
        *table_at(&r->done, old->xs.at[k].arg) = as_argument(arg, old->xs.at[k].arg);
    }
    for (int k = 0; k < old->carries.n; k++)
        if (old->carries.at[k].next) loop_next(new, k, rewritten(r, old->carries.at[k].next));
}

/* It is closed with all stacks, since any of them may make it an inner loop; see rewritten_pick. */
static Node *rewritten_loop(Rewrite *r, Node *old)
{
    Loop *new = loop_again(old->loop, old->loop->reverse);
    rewrite_loop_body(r, old->loop, new);
    for (int k = 0; k < old->loop->ys.n; k++) {
        Node *y = rewritten(r, old->loop->ys.at[k]);
        push(&new->ys, y);
    }
    Making was = make_beside(old);
    Node *n = loop_close(new);
    new->ys.n = 0;
    make_with(was);
    return n;
}

/* Stacks are copied when they are picked, so unused ones disappear. */
static Node *rewritten_pick(Rewrite *r, const Node *old, Loop *new)
{
    int which = (int)old->ints[1];
    Node *value = old->ints[0] == PICK_STACK ? rewritten(r, old->in[0]->loop->ys.at[which]) : NULL;
    Making was = make_in_phase(old->phase);
    Node *n = value ? loop_stack(new, value) : loop_result(new, which);
    make_with(was);
    return n;
}

static Node *rewritten_op(Rewrite *r, Node *old, Node **in)
{
    Making was = make_as(old);
    Node *n = r->node ? r->node(r, old, in) : NULL;
    if (!n) n = remade(old, in);
    hand_on_title(n, old);
    make_with(was);
    return n;
}

/* The inputs of old are done. */
static Node *rewritten_over(Rewrite *r, Node *old)
{
    if (old->op == OP_loop) return rewritten_loop(r, old);
    Node **in = NEW_ARRAY(Node *, old->nin + 1);
    for (int i = 0; i < old->nin; i++) in[i] = table_get(&r->done, old->in[i]);
    must(old->op != OP_loop_arg); /* arguments of copied loops are done; others need `before` */
    bool of_loop = old->op == OP_pick && in[0]->op == OP_loop && old->in[0]->op == OP_loop;
    return of_loop ? rewritten_pick(r, old, in[0]->loop) : rewritten_op(r, old, in);
}

/* A node on the stack, and its next step. */
typedef struct Step {
    Node *old;
    enum { FIRST_NEEDS, REPLACEMENT, FROM_OUTSIDE, FROM_INPUTS } next;
    int input;
} Step;
typedef VEC(Step) Steps;

static void push_all(const Rewrite *r, Steps *stack, const Nodes *nodes)
{
    for (int i = nodes->n; i-- > 0;) /* so the first is on the top */
        if (!table_get(&r->done, nodes->at[i])) push(stack, ((Step){nodes->at[i], FIRST_NEEDS, 0}));
}

void loops_first(Rewrite *r, const Node *old, Nodes *out)
{
    (void)r;
    if (old->op == OP_loop) {
        loop_begins(old->loop, out);
        loop_walks(old->loop, out);
    } else if (old->op == OP_pick && old->in[0]->op == OP_loop) {
        push(out, old->in[0]);
    }
}

/* NULL: other nodes were pushed that must be done first. */
static Node *made_by_step(Rewrite *r, Steps *stack)
{
    Step *s = &stack->at[stack->n - 1];
    Node *old = s->old;
    Nodes first = {0};
    switch (s->next++) {
    case FIRST_NEEDS:
        if (r->needs) r->needs(r, old, &first);
        break;
    case REPLACEMENT: return r->before ? r->before(r, old) : NULL;
    case FROM_OUTSIDE: /* slices may be replaced */
        if (old->op == OP_loop) loop_begins(old->loop, &first);
        if (old->op == OP_loop && !r->slice) loop_walks(old->loop, &first);
        break;
    default:
        s->next = FROM_INPUTS;
        if (s->input == old->nin) return rewritten_over(r, old);
        Node *in = old->in[s->input++];
        if (!table_get(&r->done, in)) push(stack, ((Step){in, FIRST_NEEDS, 0}));
        return NULL;
    }
    push_all(r, stack, &first);
    return NULL;
}

/* Depth first; recursive only for nested loops, and where `before` asks for nodes that `needs` did not announce. */
Node *rewritten(Rewrite *r, Node *root)
{
    Steps stack = {0};
    push(&stack, ((Step){root, FIRST_NEEDS, 0}));
    while (stack.n) {
        Node *old = stack.at[stack.n - 1].old, *made = table_get(&r->done, old);
        if (made) stack.n--;
        else if ((made = made_by_step(r, &stack))) *table_at(&r->done, old) = made;
    }
    return table_get(&r->done, root);
}

void rewrite_graph(Rewrite *r, Graph *g)
{
    if (g->micro) {
        Loop *new = loop_again(g->micro, g->micro->reverse);
        rewrite_loop_body(r, g->micro, new);
        g->micro = new;
    }
    for (int i = 0; i < g->outs.n; i++) g->outs.at[i].node = rewritten(r, g->outs.at[i].node);
    drop_table(&r->done);
}
