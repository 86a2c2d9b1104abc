/* harness_graph.c: describes graphs made in the test's own process, so that compile() takes them. */
#include "harness.h"

#include <string.h>

const char *printed(const Graph *g)
{
    Text t = {0};
    print_graph(&t, g);
    return t.at;
}

/* ------------------------------------------------------------------ a description of what the graphs read */

static void add_param(Desc *d, const Node *n)
{
    for (int i = 0; i < d->params.n; i++)
        if (same(d->params.at[i]->name, n->name)) {
            must(same_shape(d->params.at[i]->shape, n->shape));
            return;
        }
    Param *p = NEW(Param);
    *p = (Param){.name = n->name, .export_name = n->name, .shape = n->shape, .init = LATHE_NORMAL, .init_a = 1};
    push(&d->params, p);
}

static Lathe_role role_of(const char *name)
{
    static const struct {
        const char *name;
        Lathe_role role;
    } roles[] = {
        {"tokens", LATHE_TOKENS},       {"targets", LATHE_TARGETS},     {"seed", LATHE_SEED},
        {"step", LATHE_STEP},           {"position", LATHE_POSITION},   {"segments", LATHE_SEGMENTS},
        {"positions", LATHE_POSITIONS}, {"source", LATHE_SOURCE},       {"source_lengths", LATHE_SOURCE_LENGTHS},
        {"lengths", LATHE_LENGTHS},     {"first_row", LATHE_FIRST_ROW},
    };
    for (int i = 0; i < COUNT_OF(roles); i++)
        if (same(roles[i].name, name)) return roles[i].role;
    return LATHE_FEATURES;
}

static void add_leaf(Desc *d, const Node *n)
{
    bool state = n->op == OP_state;
    Tensor_spec *at = state ? d->states.at : d->inputs.at;
    for (int i = 0; i < (state ? d->states.n : d->inputs.n); i++)
        if (same(at[i].name, n->name)) {
            must(same_shape(at[i].shape, n->shape) && at[i].dtype == n->dtype);
            return;
        }
    Lathe_role role = state ? LATHE_STATE : role_of(n->name);
    Tensor_spec spec = {.name = n->name, .dtype = n->dtype, .shape = n->shape, .role = role, .where = n->where};
    if (state) push(&d->states, spec);
    else push(&d->inputs, spec);
}

Desc *describe_graphs(int n, Graph *const *graphs)
{
    Desc *d = NEW(Desc);
    *d = (Desc){.options = &options, .file = "test.lua", .model = "test", .config = ""};
    for (int g = 0; g < n; g++) {
        Nodes roots = {0}, nodes = {0};
        graph_roots(graphs[g], &roots);
        nodes_at(NULL, roots.at, roots.n, &nodes);
        for (int i = 0; i < nodes.n; i++) {
            if (nodes.at[i]->op == OP_parameter || nodes.at[i]->op == OP_gradient) add_param(d, nodes.at[i]);
            if (nodes.at[i]->op == OP_input || nodes.at[i]->op == OP_state) add_leaf(d, nodes.at[i]);
        }
        push(&d->graphs, graphs[g]);
    }
    return d;
}
