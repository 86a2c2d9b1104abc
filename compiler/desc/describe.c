/* describe.c: a description of graphs that came as text: what they read is all that is known of it. */
#include "desc/desc.h"
#include "graph/text.h"

static bool has_spec(const Desc *d, Op op, const char *name)
{
    for (int i = 0; op == OP_state && i < d->states.n; i++)
        if (same(d->states.at[i].name, name)) return true;
    for (int i = 0; op == OP_input && i < d->inputs.n; i++)
        if (same(d->inputs.at[i].name, name)) return true;
    return false;
}

static void add_param(Desc *d, const char *name, Shape s, bool frozen, DType blocks, Where where)
{
    const Param *before = find_param(d, name);
    if (before && !same_shape(before->shape, s))
        err(where.file ? where : (Where){.file = d->file}, "parameter %s is %s in one graph and %s in another", name,
            shape_text(before->shape), shape_text(s));
    if (before) return;
    Param *p = NEW(Param);
    *p = (Param){.name = name, .export_name = name, .shape = s, .frozen = frozen, .where = where};
    p->blocks = blocks;
    push(&d->params, p);
}

/* Entries may have other rows: of an input the first shape is taken. */
static void add_spec(Desc *d, Op op, const char *name, const Node *of)
{
    if (has_spec(d, op, name)) return;
    Lathe_role role = op == OP_state ? LATHE_STATE : LATHE_FEATURES;
    Tensor_spec spec = {.name = name, .dtype = of->dtype, .shape = of->shape, .role = role, .where = of->where};
    if (op == OP_state) push(&d->states, spec);
    else push(&d->inputs, spec);
}

static void add_leaf(Desc *d, const Node *n)
{
    if (n->op == OP_gradient) add_param(d, n->name, n->shape, false, BOOL, n->where);
    if (n->op == OP_parameter)
        add_param(d, n->name, n->shape, is_frozen_node(n), in_blocks(n->dtype) ? n->dtype : BOOL, n->where);
    if (n->op == OP_input || n->op == OP_state) add_spec(d, n->op, n->name, n);
}

/* A parameter that is part of a wide one has a gradient, and encode makes states that decode alone reads. */
static void add_output(Desc *d, const Output *o)
{
    if (o->kind == OUT_GRAD) add_param(d, o->name, o->node->shape, false, BOOL, o->node->where);
    if (o->kind == OUT_STATE) add_spec(d, OP_state, o->name, o->node);
}

void describe_also(Desc *d, Graph *g)
{
    Nodes roots = {0}, nodes = {0};
    graph_roots(g, &roots);
    nodes_at(NULL, roots.at, roots.n, &nodes);
    for (int i = 0; i < nodes.n; i++) add_leaf(d, nodes.at[i]);
    for (int i = 0; i < g->outs.n; i++) add_output(d, &g->outs.at[i]);
    push(&d->graphs, g);
}

const Graph *entry_graph(const Desc *d, Entry entry)
{
    for (int i = 0; i < d->graphs.n; i++)
        if (d->graphs.at[i]->entry == entry) return d->graphs.at[i];
    return NULL;
}

int turn_of(const Desc *d, const char *param)
{
    for (int k = 0; k < d->turns.n; k++)
        if (lathe_in_scopes(d->turns.at[k].of, param)) return k;
    return -1;
}

bool has_directions(const Desc *d)
{
    bool any = d->direction != NULL;
    for (int k = 0; k < d->turns.n; k++) any |= d->turns.at[k].direction != NULL;
    return any;
}

const Direction *direction_of(const Desc *d, const char *param)
{
    const int turn = turn_of(d, param);
    return !d->turns.n ? d->direction : turn < 0 ? NULL : d->turns.at[turn].direction;
}

Desc *describe(Graph *g, const char *file, const Options *o)
{
    Desc *d = NEW(Desc);
    *d = (Desc){.options = o, .file = file, .model = "graph", .of_text = true};
    if (g) describe_also(d, g);
    return d;
}

Desc *parse_graphs(const char *file, const char *text, const Options *o)
{
    Parser q = parser_of(file, text);
    Desc *d = describe(NULL, file, o);
    do describe_also(d, read_graph(&q));
    while (begins_graph(&q));
    if (begins_program(&q)) err(q.at, "kernels follow; the name of a file with kernels ends in .kernels");
    return d;
}

int64_t pieces_of_micro_batch(const Desc *d, const Graph *g)
{
    const Options *o = d->options;
    const int64_t split = o->exact_rows && d->batch % o->exact_rows == 0 ? d->batch / o->exact_rows : o->split;
    bool cut = split > 1 && entry_of(g)->step && d->batch % split == 0;
    return cut ? split : 1;
}

int64_t parts_of_batch(const Desc *d, const Graph *g)
{
    int64_t micro_batches = g->grown ? g->grown : d->recipe.accumulate;
    return entry_of(g)->step ? micro_batches * pieces_of_micro_batch(d, g) : 1;
}
