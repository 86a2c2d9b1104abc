/* reach.c: which parameters a gradient of the loss reaches, asked before pass_grad; a turn that trains none is refused.
 */
#include "passes/passes.h"

typedef struct Reach {
    Table seen;
    Nodes todo;
} Reach;

static void go_to(Reach *r, Node *n)
{
    void **slot = n ? table_at(&r->seen, n) : NULL;
    if (!n || *slot) return;
    *slot = r;
    push(&r->todo, n);
}

/* From a loop's argument to what it stands for. */
static void go_out_of_loop(Reach *r, const Node *arg)
{
    const Loop *l = arg->loop;
    int k = (int)arg->ints[1];
    if (arg->ints[0] == ARG_X) go_to(r, l->xs.at[k].outer);
    if (arg->ints[0] != ARG_CARRY) return;
    go_to(r, l->carries.at[k].init);
    go_to(r, l->carries.at[k].next);
}

/* From a loop's result to what it is made of. */
static void go_into_loop(Reach *r, const Node *pick)
{
    const Loop *l = pick->in[0]->loop;
    int k = (int)pick->ints[1];
    if (pick->ints[0] == PICK_STACK) go_to(r, l->ys.at[k]);
    else go_to(r, l->carries.at[k].arg);
}

static void go_back(Reach *r, const Node *n)
{
    if (n->op == OP_loop_arg) go_out_of_loop(r, n);
    else if (n->op == OP_pick && n->in[0]->op == OP_loop) go_into_loop(r, n);
    else
        for (int i = 0; i < n->nin; i++)
            if (gradient_flows(n, i)) go_to(r, n->in[i]);
}

void reached_parameters(const Graph *g, Strings *names)
{
    Reach r = {0};
    go_to(&r, g->outs.at[0].node);
    while (r.todo.n) {
        const Node *n = r.todo.at[--r.todo.n];
        if (n->op == OP_parameter) *strings_at(names, n->name) = 1;
        else go_back(&r, n);
    }
}
