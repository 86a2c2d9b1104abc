/* model.c: an entry's graph as the file that ONNX has of it, without weights, which the trainer adds.
 *
 * Node by node: each operation becomes one operator, or the few that say the same.  What runs the file fuses as it
 * likes.  Loops are written iteration by iteration, since few programs run ONNX's own; what does not change in a loop
 * is outside it already.  Whole operations are written by their definitions, but for convolutions, which ONNX has. */
#include "onnx/onnx.h"
#include "runtime/base/protobuf.h"

#include <string.h>

enum { IR = 8, OPSET = 18 }; /* of 2022: the first with operators on bits and reductions over axes that are an input */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_DOC = 6, MODEL_OPSET = 8, OPSET_VERSION = 2 };
enum { GRAPH_NAME = 2, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

/* ------------------------------------------------------------------ leaves */

static const Param *statistic_named(const Desc *d, const char *name)
{
    for (int i = 0; i < d->statistics.n; i++)
        if (same(d->statistics.at[i]->name, name)) return d->statistics.at[i];
    return NULL;
}

static void add_weight(Onnx *o, const Param *p)
{
    Val *v = new_val(o->node->dtype, o->node->shape, NULL);
    v->param = p;
    set_val(o, o->node, v);
}

static const Node *output_of_graph(const Graph *g, const char *name)
{
    for (int i = 0; g && i < g->outs.n; i++)
        if (same(g->outs.at[i].name, name)) return g->outs.at[i].node;
    return NULL;
}

/* An input of score: an output of eval, or the share that the batch has of all rows, which is all of them. */
static void add_total(Onnx *o)
{
    const Node *n = o->node, *total = output_of_graph(o->totals, n->name);
    if (total) set_val(o, n, val_of(o, total));
    else set_name(o, n, number_in_file(o, n->dtype, 1));
}

/* An input of the trainer's, or a state between calls. */
static bool is_fed(const Onnx *o, const Node *n)
{
    return n->op == OP_input || (n->op == OP_state && !statistic_named(o->desc, n->name));
}

/* Its name was taken before all others. */
static void add_input(Onnx *o)
{
    const Node *n = o->node;
    if (o->totals) add_total(o);
    else describe_value(&o->inputs, GRAPH_INPUT, val_of(o, n)->name, n->dtype, n->shape);
}

static void add_leaf_value(Onnx *o)
{
    const Node *n = o->node;
    if (is_fed(o, n)) {
        add_input(o);
        return;
    }
    switch (n->op) {
    case OP_iota: set_val(o, n, indices_along(o, n->shape, n->ints[0])); break;
    case OP_parameter: add_weight(o, find_param(o->desc, n->name)); break;
    case OP_state: add_weight(o, statistic_named(o->desc, n->name)); break;
    default:
        set_name(o, n, n->data ? array_in_file(o, n->dtype, n->shape, n->data) : number_in_file(o, n->dtype, n->value));
    }
}

/* ------------------------------------------------------------------ loops */

static void add_nodes(Onnx *o, const Nodes *order);

static Val *stack_of_trips(const Node *body_value, int64_t trip)
{
    Shape s = {.rank = body_value->shape.rank + 1, .dim = {trip}};
    memcpy(s.dim + 1, body_value->shape.dim, sizeof *s.dim * (size_t)body_value->shape.rank);
    Val *v = new_val(body_value->dtype, s, NULL);
    for (int64_t i = 0; i < trip; i++) push(&v->part, NULL);
    return v;
}

static void begin_iteration(Onnx *o, const Loop *l, int64_t i)
{
    const Node *around = o->node;
    set_name(o, l->index, number_in_file(o, I32, (double)i));
    for (int k = 0; k < l->xs.n; k++) {
        o->node = l->xs.at[k].arg;
        set_val(o, o->node, val_at(o, val_of(o, l->xs.at[k].outer), i));
    }
    o->node = around;
}

/* The loop's value has its final carries, then its stacks. */
static void add_loop(Onnx *o)
{
    const Node *n = o->node;
    const Loop *l = n->loop;
    Nodes roots = {0}, order = {0};
    Val *all = NEW(Val);
    loop_roots(l, &roots);
    nodes_at((Loop *)l, roots.at, roots.n, &order);
    for (int k = 0; k < l->carries.n; k++) push(&all->part, val_of(o, l->carries.at[k].init));
    for (int k = 0; k < l->ys.n; k++) push(&all->part, stack_of_trips(l->ys.at[k], l->trip));
    push(&o->trips, 0);
    for (int64_t t = 0; t < l->trip; t++) {
        int64_t i = l->reverse ? l->trip - 1 - t : t;
        o->trips.at[o->trips.n - 1] = i;
        begin_iteration(o, l, i);
        for (int k = 0; k < l->carries.n; k++) set_val(o, l->carries.at[k].arg, all->part.at[k]);
        add_nodes(o, &order);
        for (int k = 0; k < l->carries.n; k++) all->part.at[k] = val_of(o, l->carries.at[k].next);
        for (int k = 0; k < l->ys.n; k++) all->part.at[l->carries.n + k]->part.at[i] = val_of(o, l->ys.at[k]);
    }
    o->trips.n--;
    o->node = n;
    set_val(o, n, all);
}

static void add_pick(Onnx *o)
{
    const Node *n = o->node, *from = n->in[0];
    int which = (int)n->ints[from->op == OP_loop];
    if (from->op == OP_loop && n->ints[0] == PICK_STACK) which += from->loop->carries.n;
    set_val(o, n, val_of(o, from)->part.at[which]);
}

/* ------------------------------------------------------------------ nodes */

static void (*const own_operators[OPS])(Onnx *) = {
#define OWN(name, ...) [OP_##name] = onnx_##name,
#include "graph/ops_default.h"
#include "graph/ops.def"
    [OP_convolution] = onnx_convolved};

static void add_node(Onnx *o)
{
    const Node *n = o->node;
    OpKind kind = op_info[n->op].kind;
    if (own_operators[n->op]) own_operators[n->op](o);
    else if (kind == MAP) onnx_map(o);
    else if (kind == REDUCE) onnx_reduce(o);
    else if (n->op == OP_loop) add_loop(o);
    else if (n->op == OP_pick) add_pick(o);
    else if (kind == LEAF) add_leaf_value(o);
    else must(n->op == OP_loop_arg); /* set by begin_iteration() */
}

static void add_nodes(Onnx *o, const Nodes *order)
{
    for (int i = 0; i < order->n; i++) {
        o->node = order->at[i];
        add_node(o);
    }
}

/* ------------------------------------------------------------------ which graph */

static bool is_convolution_towards_y(const Node *n)
{
    return n->op == OP_convolution && convolution_of(n).side == TOWARDS_Y;
}

static Node *definition_but_of_convolutions(Rewrite *r, Node *old, Node *const *in)
{
    (void)r;
    bool by_definition = old->op == OP_pick && op_info[in[0]->op].kind == WHOLE && !is_convolution_towards_y(in[0]);
    return by_definition ? whole_info[in[0]->op].define(in[0], (int)old->ints[0]) : NULL;
}

static bool needs_targets(const Desc *d, Node *n)
{
    Nodes all = {0};
    nodes_at(NULL, &n, 1, &all);
    for (int i = 0; i < all.n; i++)
        for (int k = 0; k < d->inputs.n && all.at[i]->op == OP_input; k++)
            if (same(d->inputs.at[k].name, all.at[i]->name) && d->inputs.at[k].role == LATHE_TARGETS) return true;
    return false;
}

static Graph *copy_of_graph(const Graph *g)
{
    Graph *copy = copy_of(g, sizeof *g);
    copy->outs.at = copy_of(g->outs.at, sizeof *g->outs.at * (size_t)g->outs.n);
    return copy;
}

static const Graph *by_definitions(const Graph *g)
{
    Graph *copy = copy_of_graph(g);
    rewrite_graph(&(Rewrite){.node = definition_but_of_convolutions}, copy);
    return copy;
}

/* Models of texts have no entry of that name: it is the arrays of all outputs, so far as no target is needed. */
static const Graph *predicting(const Desc *d)
{
    const Graph *own = entry_graph(d, ENTRY_predict), *all = entry_graph(d, ENTRY_grad);
    if (own || !all) return own;
    Graph *g = copy_of_graph(all);
    int n = 0;
    for (int i = 0; i < g->outs.n; i++) {
        const Output *out = &g->outs.at[i];
        if (out->kind == OUT_VALUE && out->node->shape.rank && !needs_targets(d, out->node)) g->outs.at[n++] = *out;
    }
    g->outs.n = n;
    return n ? g : NULL;
}

/* *entry NULL: predict, or else eval. */
static const Graph *chosen_graph(const Desc *d, const char **entry)
{
    static const Entry others[] = {ENTRY_eval, ENTRY_encode, ENTRY_decode, ENTRY_prefill, ENTRY_sample};
    const Graph *predict = predicting(d);
    Text there = {0};
    if (!*entry) *entry = predict ? "predict" : "eval";
    if (predict && same(*entry, "predict")) return by_definitions(predict);
    if (predict) say(&there, "predict");
    for (int k = 0; k < COUNT_OF(others); k++) {
        const Graph *own = entry_graph(d, others[k]);
        if (own && same(own->name, *entry)) return by_definitions(own);
        if (own) say(&there, "%s%s", there.n ? ", " : "", own->name);
    }
    usage_error("--entry %s: expected one that %s has: %s", *entry, d->file, there.at ? there.at : "none");
}

/* ------------------------------------------------------------------ the file */

/* Names that others know come first, so that no value inside has them. */
static void reserve_weights(Onnx *o)
{
    const Desc *d = o->desc;
    for (int i = 0; i < d->params.n + d->statistics.n; i++) {
        const Param *p = i < d->params.n ? d->params.at[i] : d->statistics.at[i - d->params.n];
        int64_t copies = 1, at[MAXRANK];
        for (int k = 0; k < p->loops; k++) copies *= p->shape.dim[k];
        for (int64_t c = 0; c < copies; c++) {
            int64_t rest = c;
            for (int k = p->loops; k-- > 0; rest /= p->shape.dim[k]) at[k] = rest % p->shape.dim[k];
            onnx_name(o, published_name(p, at));
        }
    }
}

static void reserve_inputs(Onnx *o, const Graph *g)
{
    Nodes all = {0};
    all_nodes(g, &all);
    for (int i = 0; i < all.n; i++)
        if (is_fed(o, all.at[i])) set_name(o, all.at[i], onnx_name(o, all.at[i]->name));
}

/* score: what it reads is no result; NULL: there is none. */
static void reserve_outputs(Onnx *o, const Graph *g, const Graph *score)
{
    Nodes all = {0};
    Strings read = {0};
    if (score) all_nodes(score, &all);
    for (int i = 0; i < all.n; i++)
        if (all.at[i]->op == OP_input) *strings_at(&read, all.at[i]->name) = 1;
    for (int i = 0; i < g->outs.n; i++) {
        const Output *out = &g->outs.at[i];
        if (strings_get(&read, out->name)) continue;
        const char *name = out->kind == OUT_STATE ? format("%s.next", out->name) : out->name;
        name = onnx_name(o, strings_get(&o->names, name) ? format("%s.out", name) : name); /* an input has it */
        push(&o->outs, ((struct Onnx_output){out->node, name}));
    }
}

static void add_graph(Onnx *o, const Graph *g)
{
    Nodes roots = {0}, order = {0};
    graph_roots(g, &roots);
    nodes_at(NULL, roots.at, roots.n, &order);
    add_nodes(o, &order);
}

static void add_outputs(Onnx *o)
{
    for (int i = 0; i < o->outs.n; i++) {
        o->node = o->outs.at[i].node;
        operator_to(o, "Identity", whole_value(o, val_of(o, o->node)), o->outs.at[i].name);
        describe_value(&o->outputs, GRAPH_OUTPUT, o->outs.at[i].name, o->node->dtype, o->node->shape);
    }
}

static Text graph_fields(const Onnx *o, const char *entry)
{
    Text t = {0};
    say_bytes(&t, o->nodes.at, o->nodes.n);
    proto_text(&t, GRAPH_NAME, format("%s_%s", o->desc->model, entry));
    say_bytes(&t, o->constants.at, o->constants.n);
    say_bytes(&t, o->inputs.at, o->inputs.n);
    say_bytes(&t, o->outputs.at, o->outputs.n);
    return t;
}

static Text model_fields(const Desc *d, const char *entry)
{
    Text t = {0}, opset = {0}, doc = {0};
    say(&doc, "Entry %s of %s", entry, d->file);
    if (d->config) say(&doc, ", config %s", d->config);
    say(&doc, ", by Lathe.  All extents are fixed, the batch's too.  Loops are written iteration by iteration.  Reals "
              "are fp32.");
    proto_int(&opset, OPSET_VERSION, OPSET);
    proto_int(&t, MODEL_IR, IR);
    proto_text(&t, MODEL_PRODUCER, "lathe");
    proto_text(&t, MODEL_DOC, doc.at);
    proto_message(&t, MODEL_OPSET, &opset);
    return t;
}

/* Metrics of eval that are made of sums over all batches are here made of the sums over one. */
Text onnx_part(const Desc *d, const char *entry)
{
    Onnx o = {.desc = d};
    const Graph *g = chosen_graph(d, &entry), *score = g->entry == ENTRY_eval ? entry_graph(d, ENTRY_score) : NULL;
    if (score) score = by_definitions(score);
    reserve_weights(&o);
    reserve_inputs(&o, g);
    if (score) reserve_outputs(&o, score, NULL);
    reserve_outputs(&o, g, score);
    add_graph(&o, g);
    o.totals = g;
    if (score) add_graph(&o, score);
    add_outputs(&o);
    Text t = {0}, model = model_fields(d, entry), graph = graph_fields(&o, entry);
    say(&t, ONNX_PART ONNX_PART_NUMBERS, (long long)o.weights.n, (long long)model.n, (long long)graph.n,
        (unsigned long long)d->source_hash);
    for (int i = 0; i < o.weights.n; i++) say_bytes(&t, o.weights.at[i], strlen(o.weights.at[i]) + 1);
    say_bytes(&t, model.at, model.n);
    say_bytes(&t, graph.at, graph.n);
    return t;
}
