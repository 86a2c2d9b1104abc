/* graph_known.c: what is known while compiling: values that depend on no input, parameter, state or loop. */
#include "lathe.h"

static bool is_known(Node *n)
{
    Nodes all = {0};
    if (n->in_loop) return false;
    nodes_at(NULL, &n, 1, &all);
    for (int i = 0; i < all.n; i++) {
        Op op = all.at[i]->op;
        OpKind kind = op_info[op].kind;
        if (kind == LOOP || kind == WHOLE || op == OP_over_ranks ||
            (kind == LEAF && op != OP_constant && op != OP_iota))
            return false;
    }
    return true;
}

bool known_values(Node *n, Value *v)
{
    if (!is_known(n)) return false;
    Graph *g = NEW(Graph); /* the interpreter remembers the last one */
    g->name = "known";
    push(&g->outs, ((Output){OUT_VALUE, "x", n}));
    eval_graph(g, NULL, NULL, v);
    return true;
}
