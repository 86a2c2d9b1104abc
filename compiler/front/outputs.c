/* outputs.c: what forward returns: the loss, or several by name, and then named outputs; which of them an entry gives.
 */
#include "front/front.h"

#include <ctype.h>
#include <string.h>

/* for messages about what forward returns */
static Where forward_place(lua_State *L, int model) { return function_place(L, model, "forward"); }

/* ------------------------------------------------------------------ losses */

void check_scalar(const Tensor *t, const char *what)
{
    if (t->node->shape.rank != 0 || !is_real(t->node->dtype))
        err(t->node->where, "%s must be a real scalar, found %s %s; x:mean() makes one", what,
            dtype_name(t->node->dtype), tensor_text(t));
}

/* Is it a plain table, of losses by name? */
static bool are_losses(lua_State *L, int index) { return lua_istable(L, index) && !is_tensor(L, index); }

static void check_returned(lua_State *L, int model)
{
    Where w = forward_place(L, model);
    if (is_tensor(L, -2)) check_scalar(is_tensor(L, -2), "the loss");
    else if (!are_losses(L, -2))
        err(w, "forward must return the loss, a tensor, and then a table of named outputs, found %s", lua_text(L, -2));
    if (!lua_isnil(L, -1) && !are_losses(L, -1))
        err(w, "forward's second result must be a table of named outputs like { logits = … }, found %s",
            lua_text(L, -1));
}

static bool gives_loss(const Graph *g)
{
    return entry_of(g)->gives == GIVES_ALL || entry_of(g)->gives == GIVES_METRICS;
}

/* A loss names entries and struct members. */
void check_plain_name(const char *of, const char *name, Where w)
{
    bool plain = !isdigit((unsigned char)*name);
    for (const char *c = name; *c; c++) plain &= isalnum((unsigned char)*c) || *c == '_';
    if (!plain || !*name) err(w, "the name of %s must be a word of letters, digits and _, found '%s'", of, name);
}

static void refuse_taken(const char *name, const char *const *taken, int n, Where w)
{
    for (int i = 0; i < n; i++)
        if (same(name, taken[i])) err(w, "a line of metrics.jsonl has '%s' already; give this one another name", name);
}

/* What else a line of metrics.jsonl, or of `eval --json`, says of an evaluation. */
static void check_output_name(const char *name, Where w)
{
    static const char *const taken[] = {"step",  "split",   "rows",    "windows",    "pictures", "sequences",
                                        "pairs", "weights", "metrics", "perplexity", "rouge1",   "rouge2",
                                        "rougeL"};
    refuse_taken(name, taken, COUNT_OF(taken), w);
}

void check_logged_name(const char *of, const char *name, Where w)
{
    check_plain_name(of, name, w);
    check_output_name(name, w);
}

/* Losses are in the lines of steps, too. */
static void check_loss_name(const char *name, Where w)
{
    static const char *const taken[] = {"lr",    "grad_norm", "batch", "noise_scale", "rows_s",
                                        "tok_s", "tokens",    "time",  "data_wait",   "queue"};
    check_logged_name("a loss", name, w);
    if (same(name, "loss")) err(w, "the name 'loss' belongs to the sum of all losses; give this one another");
    refuse_taken(name, taken, COUNT_OF(taken), w);
}

static Tensor *loss_named(lua_State *L, int losses, const char *name, Where w)
{
    lua_getfield(L, losses, name);
    Tensor *t = is_tensor(L, -1);
    if (!t) err(w, "loss '%s' must be a tensor, found %s", name, lua_text(L, -1));
    lua_pop(L, 1);
    check_scalar(t, format("loss '%s'", name));
    return t;
}

/* The losses of the table at -2, in the order of their names; their sum is `loss`. */
static void collect_losses(lua_State *L, int model)
{
    Graph *g = trace_of(L)->graph;
    Where w = forward_place(L, model);
    int losses = lua_absindex(L, -2), n;
    const char **names;
    Node *sum = NULL;
    keys_of(L, losses, &names, &n);
    if (n == 0 || lua_rawlen(L, losses) > 0)
        err(w, "forward's first result must name each loss, { discriminator = …, generator = … }, but %s",
            lua_rawlen(L, losses) ? "one has no name" : "there is none");
    push(&g->outs, ((Output){OUT_VALUE, "loss", NULL}));
    for (int i = 0; i < n; i++) {
        check_loss_name(names[i], w);
        const Tensor *t = loss_named(L, losses, names[i], w);
        give_title(t->node, format("%s_loss", names[i]), TITLE_OUTPUT, "");
        make_at(t->node->where);
        sum = sum ? map2(OP_add, sum, t->node) : t->node;
        push(&g->outs, ((Output){OUT_VALUE, copy_string(names[i]), t->node}));
    }
    g->outs.at[0].node = sum;
    if (!gives_loss(g)) g->outs.n = 0;
}

static void collect_loss(lua_State *L, int model)
{
    Trace *trace = trace_of(L);
    if (are_losses(L, -2)) {
        collect_losses(L, model);
        return;
    }
    if (trace->desc->turns.n)
        err(forward_place(L, model), "train has turns, so forward's first result must be a table of losses by name, "
                                     "{ discriminator = …, generator = … }, found one loss");
    give_title(is_tensor(L, -2)->node, "loss", TITLE_OUTPUT, "");
    if (gives_loss(trace->graph)) push(&trace->graph->outs, ((Output){OUT_VALUE, "loss", is_tensor(L, -2)->node}));
}

/* In a turn the loss is its own; a step computes nothing besides.  losses: number of outputs that are losses. */
static void keep_turn(const Trace *trace, int losses)
{
    Graph *g = trace->graph;
    VEC(const char *) names = {0};
    bool found = false;
    for (int k = 1; k < losses; k++) {
        push(&names, g->outs.at[k].name);
        if (!same(g->outs.at[k].name, trace->turn->loss)) continue;
        g->outs.at[0].node = g->outs.at[k].node;
        found = true;
    }
    if (!found)
        err(place_of_turn(trace, trace->turn), "turn '%s' trains the loss '%s', which forward does not return%s",
            trace->turn->name, trace->turn->loss, advice(trace->turn->loss, names.at, names.n));
    if (entry_of(g)->step) g->outs.n = 1;
}

/* ------------------------------------------------------------------ outputs */

static bool is_target(const Desc *d, const char *input)
{
    for (int i = 0; i < d->inputs.n; i++)
        if (same(d->inputs.at[i].name, input)) return d->inputs.at[i].role == LATHE_TARGETS;
    return false;
}

bool reaches_targets(const Desc *d, Node *n)
{
    Nodes all = {0};
    nodes_at(NULL, &n, 1, &all);
    for (int i = 0; i < all.n; i++)
        if (all.at[i]->op == OP_input && is_target(d, all.at[i]->name)) return true;
    return false;
}

static bool has_batch_rows(const Tensor *t) { return t->batch.axis == 0 && t->batch.outer == 1 && t->batch.inner == 1; }

static bool wanted(const Desc *d, const Graph *g, const Tensor *t)
{
    bool scalar_value = t->node->shape.rank == 0;
    switch (entry_of(g)->gives) {
    case GIVES_NONE: return false;
    case GIVES_ALL: return true;
    case GIVES_METRICS: return scalar_value && is_real(t->node->dtype);
    case GIVES_ARRAYS: return !scalar_value && !reaches_targets(d, t->node);
    case GIVES_ROWS: return has_batch_rows(t) && !reaches_targets(d, t->node);
    case GIVES_OWN: break;
    }
    die("entry %s does not give what forward returns", g->name);
}

/* Refuses outputs that decode cannot compute since they mix times; eval, which is traced before decode, knows it. */
static void note_mixing(lua_State *L, int model, const char *name, const Tensor *t)
{
    const Trace *trace = trace_of(L);
    if (trace->graph->entry != ENTRY_eval || !t->mixed || t->node->shape.rank == 0 ||
        lathe_reads_rows(&trace->desc->recipe))
        return;
    lua_getfield(L, model, "decode");
    bool out = lua_isboolean(L, -1) && !lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (out || reaches_targets(trace->desc, t->node)) return;
    err(t->mixed->where,
        "%s, so output '%s' cannot be computed one token at a time (entry decode)\n"
        "  nn.attention and nn.attend with causal = true, nn.scan, nn.shift and nn.positions can; or opt out with "
        "`decode = false`",
        t->mixed->why, name);
}

static void check_other_name(const Graph *g, const char *name, Where w)
{
    for (int k = 0; k < g->outs.n; k++)
        if (same(g->outs.at[k].name, name)) err(w, "'%s' is the name of a loss and of an output", name);
}

/* From the table at the top, in the order of names. */
static void collect_outputs(lua_State *L, int model)
{
    Trace *trace = trace_of(L);
    const char **names;
    int n;
    keys_of(L, -1, &names, &n);
    if (lua_rawlen(L, -1) > 0)
        err(forward_place(L, model),
            "forward's second result must name each output, { logits = … }, but %d ha%s no name",
            (int)lua_rawlen(L, -1), lua_rawlen(L, -1) > 1 ? "ve" : "s");
    for (int i = 0; i < n; i++) {
        lua_getfield(L, -1, names[i]);
        const Tensor *t = is_tensor(L, -1);
        if (!t) err(forward_place(L, model), "output '%s' must be a tensor, found %s", names[i], lua_text(L, -1));
        if (same(names[i], "loss")) err(forward_place(L, model), "the name 'loss' belongs to forward's first result");
        if (t->node->shape.rank == 0) check_output_name(names[i], forward_place(L, model));
        note_mixing(L, model, names[i], t);
        give_title(t->node, names[i], TITLE_OUTPUT, "");
        if (t->node->shape.rank == 0 && !is_real(t->node->dtype) && !trace->decode)
            warn(t->node->where, "output '%s' is %s, so it is not a metric; x:cast(\"f32\") makes it one", names[i],
                 dtype_name(t->node->dtype));
        check_other_name(trace->graph, names[i], forward_place(L, model));
        if (wanted(trace->desc, trace->graph, t)) push(&trace->graph->outs, ((Output){OUT_VALUE, names[i], t->node}));
        lua_pop(L, 1);
    }
}

void collect_returned(lua_State *L, int model)
{
    Trace *trace = trace_of(L);
    check_returned(L, model);
    collect_loss(L, model);
    int losses = trace->graph->outs.n;
    if (!trace->losses) trace->losses = losses; /* grad is traced first */
    collect_preferred(trace);
    if (lua_istable(L, -1)) collect_outputs(L, model);
    if (trace->turn) keep_turn(trace, losses);
}
