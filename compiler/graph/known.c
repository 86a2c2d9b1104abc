/* known.c: what is known while compiling: values that depend on no input, parameter, state or loop. */
#include "graph/graph.h"

enum { LONGEST = 256 }; /* steps from a constant to what is known: ids of a long chain of them are ids like others */

bool known_values(Node *n, Value *v)
{
    if (!n->known || n->known > LONGEST) return false;
    Graph *g = NEW(Graph); /* the interpreter remembers the last one */
    g->name = "known";
    push(&g->outs, ((Output){OUT_VALUE, "x", n}));
    eval_graph(g, NULL, NULL, v);
    return true;
}
