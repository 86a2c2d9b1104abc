/* known.c: values known at compile time: they depend on no input, parameter, state or loop. */
#include "graph/graph.h"

enum { LONGEST = 256 }; /* ops from a constant to a known value; after longer chains it counts as unknown */

bool known_values(Node *n, Value *v)
{
    if (!n->known || n->known > LONGEST) return false;
    Graph *g = NEW(Graph); /* the interpreter remembers the last one */
    g->name = "known";
    push(&g->outs, ((Output){OUT_VALUE, "x", n}));
    eval_graph(g, NULL, NULL, v);
    return true;
}
