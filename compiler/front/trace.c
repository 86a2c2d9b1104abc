/* trace.c: front(): reads a description and traces `forward` once for each entry: train, grad, eval, decode;
 * encode is taken out of decode (front/encode.c); `sample` is another (front/sample.c). */
#include "desc/target.h"
#include "front/objective.h"
#include "passes/passes.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PREFILL = 128, LEAST_CONTEXT = 512 }; /* tokens of a prompt that are read at once, where that pays */

/* ------------------------------------------------------------------ one entry */

/* Declares the input by which pass_grad multiplies the gradient of the loss. */
static void declare_loss_scale(Desc *d)
{
    for (int i = 0; i < d->inputs.n; i++)
        if (d->inputs.at[i].role == LATHE_LOSS_SCALE) return;
    push(&d->inputs, ((Tensor_spec){.name = "loss_scale", .dtype = F32, .role = LATHE_LOSS_SCALE}));
}

/* Tokens of a row that the entry sees at once. */
static int64_t tokens_at_once(const Graph *g, const Desc *d)
{
    if (!entry_of(g)->decoding) return d->seq;
    return g->entry == ENTRY_prefill ? d->recipe.prefill : 1;
}

Graph *begin_entry(Trace *trace, Entry entry)
{
    Desc *d = trace->desc;
    Graph *g = graph_of(entry);
    mark_turn(trace, g);
    if (trace->grown && entry_of(g)->step) {
        g->grown = trace->grown;
        g->name = name_of_grown(g->grown);
    }
    if (d->recipe.accumulate > INT32_MAX)
        err(place_of_key(trace, NULL, "accumulate"), "train.accumulate is %lld; the limit is %d",
            (long long)d->recipe.accumulate, INT32_MAX);
    int64_t split = pieces_of_micro_batch(d, g), micro = parts_of_batch(d, g);
    if (g->wants_grads && precision_of(d->options).scaled) declare_loss_scale(d);
    trace->graph = g;
    note_leaves(&g->leaves);
    trace->number++;
    trace->decode = entry_of(g)->decoding;
    trace->batch = own_positions(trace) ? d->recipe.slots
                   : trace->decode      ? d->recipe.rows
                                        : d->batch / split * (trace->widened ? trace->widened : 1);
    trace->time = tokens_at_once(g, d);
    trace->site = first_site(trace);
    trace->time_aware = trace->time_places = trace->decode_states = 0;
    trace->uncounted.said = false;
    trace->preferred = (struct Preferred){0};
    trace->open.n = trace->copies.n = trace->states.n = 0;
    trace->rows = (Table){0};
    make_with((Making){.where = making().where});
    if (micro > 1 || (d->options->exact_rows && entry_of(g)->step)) {
        g->micro = loop_open("micro", micro, false);
        if (!g->grown) g->micro->axis = axis_scaled(axis_of("accumulate", d->recipe.accumulate), split, 1);
    }
    scopes_new_entry(trace);
    axes_new_entry(trace);
    return g;
}

Where function_place(lua_State *L, int model, const char *key)
{
    lua_Debug ar;
    lua_getfield(L, model, key);
    lua_getinfo(L, ">S", &ar);
    return (Where){trace_of(L)->desc->file, ar.linedefined, NULL};
}

void call_forward(lua_State *L, int model, int c)
{
    lua_getfield(L, model, "forward");
    lua_pushvalue(L, c);
    push_input(L);
    call_lua(L, 2, 2);
}

static Graph *trace_entry(lua_State *L, int model, int c, Entry entry)
{
    Trace *trace = trace_of(L);
    Graph *g = begin_entry(trace, entry);
    size_of_entry(L, c, "batch", trace->decode ? trace->desc->batch : trace->batch * rows_of_item(trace));
    trace_teacher(L);
    call_forward(L, model, c);
    check_taught(L);
    collect_returned(L, model);
    collect_metrics(L, model, c);
    for (int i = 0; i < trace->states.n; i++)
        if (trains(g, trace->states.at[i].name))
            push(&g->outs, ((Output){OUT_STATE, trace->states.at[i].name, trace->states.at[i].node}));
    lua_pop(L, 2);
    size_of_entry(L, c, "batch", trace->desc->batch);
    trace->graph = NULL;
    note_leaves(NULL);
    trace->decode = false;
    return g;
}

/* Traces the entry again at twice the batch, for comparison; keeps no inputs or states of it. */
static Graph *trace_wider(lua_State *L, int model, int c, Entry entry)
{
    Trace *trace = trace_of(L);
    Desc before = *trace->desc;
    trace->widened = 2;
    trace->states_before = before.states.n;
    Graph *g = trace_entry(L, model, c, entry);
    trace->widened = 0;
    trace->desc->states.n = before.states.n;
    trace->desc->inputs.n = before.inputs.n;
    return g;
}

static void leave(void) { _exit(1); }

typedef Graph *Trace_entry(lua_State *L, int model, int c, Entry entry);

/* Can the entry be traced so? A process of its own tries it, since a mistake ends the process. */
static bool can_trace(Trace_entry *traced, lua_State *L, int model, int c, Entry entry)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        bool quiet = atexit(leave) == 0 && freopen("/dev/null", "w", stderr) && freopen("/dev/null", "w", stdout);
        traced(L, model, c, entry);
        _exit(quiet ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static Graph *trace_training(lua_State *L, int model, int c)
{
    Trace *trace = trace_of(L);
    Graph *train = trace_entry(L, model, c, ENTRY_train), *wide = NULL;
    if (!train->micro && !made_for_ranks(trace->desc->options)) return train;
    if (can_trace(trace_wider, L, model, c, ENTRY_train)) wide = trace_wider(L, model, c, ENTRY_train);
    keep_objective(trace, train, wide, 2 * (trace->desc->batch / pieces_of_micro_batch(trace->desc, train)));
    return train;
}

/* train once more for each number of micro-batches that a run begins with. */
static void trace_growth(lua_State *L, int model, int c)
{
    Trace *trace = trace_of(L);
    while ((trace->grown = next_grown(trace, trace->grown))) {
        Graph *train = trace_training(L, model, c);
        push(&trace->desc->graphs, train);
    }
}

/* decode needs text data, an output with axes, and no `decode = false`. */
static bool wants_decode(lua_State *L, int model, const Graph *grad)
{
    lua_getfield(L, model, "decode");
    bool out = lua_isboolean(L, -1) && !lua_toboolean(L, -1), any = false;
    lua_pop(L, 1);
    for (int i = 1; i < grad->outs.n; i++)
        any |= grad->outs.at[i].node->shape.rank > 0 && !reaches_targets(trace_of(L)->desc, grad->outs.at[i].node);
    return !out && any && !lathe_reads_rows(&trace_of(L)->desc->recipe);
}

/* Why prompts are read token by token; NULL: the states have an entry for each position, so that several tokens can be
 * read at once, and what is written behind them is written again. */
static const char *hinders_prefill(const Desc *d)
{
    bool any = false;
    if (d->recipe.pairs) return "texts of pairs begin with one token";
    for (int i = 0; i < d->states.n; i++) {
        if (d->states.at[i].role != LATHE_STATE) continue;
        if (!d->states.at[i].places_axis) return format("its state %s goes from token to token", d->states.at[i].name);
        any = true;
    }
    return any ? NULL : "it has no attention over time";
}

static void settle_prefill(const Trace *trace, const char *hindered)
{
    Desc *d = trace->desc;
    int64_t *tokens = &d->recipe.prefill;
    const Where w = place_of_key(trace, NULL, "generate");
    if (*tokens > 1 && hindered)
        err(w, "generate.prefill = %lld: this model reads prompts one token at a time: %s; leave it out",
            (long long)*tokens, hindered);
    if (*tokens > d->context && !hindered)
        err(w, "generate.prefill = %lld: decode remembers %lld positions; give that or less", (long long)*tokens,
            (long long)d->context);
    if (*tokens == 0) *tokens = !hindered && d->context >= LEAST_CONTEXT ? PREFILL : 1;
}

static void add_prefill(lua_State *L, int model, int c)
{
    Desc *d = trace_of(L)->desc;
    bool asked = d->recipe.prefill > 1; /* then a mistake is told */
    settle_prefill(trace_of(L), hinders_prefill(d));
    if (d->recipe.prefill == 1) return;
    if (asked || can_trace(trace_entry, L, model, c, ENTRY_prefill)) {
        Graph *g = trace_entry(L, model, c, ENTRY_prefill);
        push(&d->graphs, g);
    } else d->recipe.prefill = 1;
}

/* Rows that come and go one by one: texts of pairs have sources, which are encoded together. */
static void add_slots(lua_State *L, int model, int c)
{
    Desc *d = trace_of(L)->desc;
    const Where w = place_of_key(trace_of(L), NULL, "generate");
    if (d->recipe.slots == 1) return;
    if (d->recipe.pairs)
        err(w,
            "generate.slots = %lld: slots are for texts that go on, and data.pairs has a source for each; leave it out",
            (long long)d->recipe.slots);
    if (d->recipe.rows > 1)
        err(w,
            "generate.slots = %lld and generate.rows = %lld: rows are at one position, slots each at its own; give one",
            (long long)d->recipe.slots, (long long)d->recipe.rows);
    Graph *g = trace_entry(L, model, c, ENTRY_slots);
    push(&d->graphs, g);
}

static void add_decode(lua_State *L, int model, int c)
{
    Trace *trace = trace_of(L);
    Graph *decode = trace_entry(L, model, c, ENTRY_decode);
    if (trace->desc->recipe.pairs) push(&trace->desc->graphs, take_encode(trace, decode));
    push(&trace->desc->graphs, decode);
    add_prefill(L, model, c);
    add_slots(L, model, c);
}

/* Rows of data can be predicted if forward returns outputs that need no target. */
static void add_predict(lua_State *L, int model, int c)
{
    Desc *d = trace_of(L)->desc;
    if (!lathe_reads_rows(&d->recipe)) return;
    Graph *g = trace_entry(L, model, c, ENTRY_predict);
    if (g->outs.n) push(&d->graphs, g);
}

/* The gradients of what it gives are inputs.  Names d_… are theirs. */
static void declare_pulled(Desc *d, const Graph *g, Where w)
{
    for (int i = 0; i < d->inputs.n; i++)
        if (is_of_gradient(d->inputs.at[i].name))
            err(w, "input '%s': in a layer (--layer), d_NAME is the gradient of NAME; give it another name",
                d->inputs.at[i].name);
    for (int i = 0; i < g->outs.n; i++) {
        const Node *n = g->outs.at[i].node;
        if (is_of_gradient(g->outs.at[i].name))
            err(w, "output '%s': in a layer (--layer), d_NAME is the gradient of NAME; give it another name",
                g->outs.at[i].name);
        if (is_real(n->dtype))
            push(&d->inputs, ((Tensor_spec){.name = format("d_%s", g->outs.at[i].name),
                                            .dtype = n->dtype,
                                            .shape = n->shape,
                                            .role = LATHE_OUTPUT_GRADIENT}));
    }
}

static void add_layer(lua_State *L, int model, int c)
{
    Desc *d = trace_of(L)->desc;
    const Where w = function_place(L, model, "forward");
    if (!d->options->layer) return;
    Graph *g = trace_entry(L, model, c, ENTRY_layer);
    if (!g->outs.n)
        err(w, "--layer: forward returns no output with a row for each row of the batch that needs no target; return "
               "the layer's result beside the loss: loss, { y = … }");
    if (g->statistics.n)
        err(g->statistics.at[0]->where, "--layer does not have nn.batchnorm, which keeps statistics of batches, yet");
    declare_pulled(d, g, w);
    push(&d->graphs, g);
}

/* A batch of one row is compared with one of two rows, to find the batch axes. */
static Graph *trace_evaluation(lua_State *L, int model, int c, Graph **score)
{
    Trace *trace = trace_of(L);
    int64_t batch = trace->desc->batch;
    Graph *eval = trace_entry(L, model, c, ENTRY_eval);
    Graph *wide = batch > 1 ? eval : NULL;
    if (!wide && can_trace(trace_wider, L, model, c, ENTRY_eval)) wide = trace_wider(L, model, c, ENTRY_eval);
    check_metrics(L, model, eval, wide);
    *score = wide ? take_scores(trace, eval, wide, max64(2, batch)) : NULL;
    return eval;
}

void trace_for_axes(lua_State *L, int model, int c)
{
    Trace *trace = trace_of(L);
    read_extents(L, model, c);
    trace_entry(L, model, c, ENTRY_train);
    end_notes_of_entry(trace);
    const Graph *grad = trace_entry(L, model, c, ENTRY_grad);
    end_notes_of_entry(trace);
    if (!wants_decode(L, model, grad)) return;
    trace_entry(L, model, c, ENTRY_decode);
    end_notes_of_entry(trace);
}

/* Puts the states of a role last. */
static void put_last(Desc *d, Lathe_role role)
{
    VEC(Tensor_spec) own = {0};
    int n = 0;
    for (int i = 0; i < d->states.n; i++)
        if (d->states.at[i].role == role) push(&own, d->states.at[i]);
        else d->states.at[n++] = d->states.at[i];
    for (int i = 0; i < own.n; i++) d->states.at[n + i] = own.at[i];
}

void trace_entries(lua_State *L, int model)
{
    Graph *score;
    Trace *trace = trace_of(L);
    Desc *d = trace->desc;
    int c = lua_gettop(L);
    read_extents(L, model, c);
    learn_axes(L, model, c);
    for (int k = 0; go_to_turn(trace, k); k++) {
        Graph *train = trace_training(L, model, c); /* pushed only now, since tracing reads the list */
        push(&d->graphs, train);
    }
    trace_growth(L, model, c);
    for (int k = 0; go_to_turn(trace, k); k++) {
        Graph *grad = trace_entry(L, model, c, ENTRY_grad);
        push(&d->graphs, grad);
    }
    const Graph *grad = entry_graph(d, ENTRY_grad);
    trace->turn = NULL;
    tell_meeting(grad, d->batch);
    check_mixed_classes(trace);
    Graph *eval = trace_evaluation(L, model, c, &score);
    push(&d->graphs, eval);
    if (d->prefer) trace_reference(L, model, c);
    if (wants_decode(L, model, grad)) add_decode(L, model, c);
    add_predict(L, model, c);
    add_layer(L, model, c);
    trace_sample(L, model, c);
    if (score) push(&d->graphs, score);
    trace_direction(L);
    put_last(d, LATHE_STATE);      /* a run that writes no texts leaves the end of the memory out, … */
    put_last(d, LATHE_SLOT_STATE); /* … and one that writes one at a time the end of that */
    if (!d->turns.n) d->losses = trace->losses - 1;
}

/* ------------------------------------------------------------------ front */

static const char *model_name(const char *file)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file, *dot = strrchr(base, '.');
    return copy_bytes_as_string(base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

/* Leaves the description, and c at the top. */
int read_settings(lua_State *L)
{
    const Options *o = lua_touserdata(L, 1);
    run_description(L, o->model_file);
    check_model_keys(L, lua_gettop(L));
    read_config(L, lua_gettop(L), o);
    read_recipe(L, lua_gettop(L) - 1);
    return 0;
}

/* Once they have told what the description has. */
static void drop_training(Desc *d)
{
    int n = 0;
    for (int i = 0; i < d->graphs.n; i++)
        if (!entry_of(d->graphs.at[i])->gradients) d->graphs.at[n++] = d->graphs.at[i];
    d->graphs.n = n;
}

/* Runs in one protected call, since reading a table may run the description's __index. */
static int read_description(lua_State *L)
{
    read_settings(L);
    int model = lua_gettop(L) - 1;
    if (trace_of(L)->desc->distill) open_teacher(L);
    trace_entries(L, model);
    if (trace_of(L)->desc->distill) close_teacher(L);
    check_recipe(L);
    if (only_answers(trace_of(L)->desc->options)) drop_training(trace_of(L)->desc);
    read_hf(L, model);
    return 0;
}

/* unfit: as in Desc */
static Desc *read_with(lua_CFunction read, const Options *o, Texts unfit)
{
    Desc *d = NEW(Desc);
    Trace *trace = NEW(Trace);
    *trace = (Trace){.desc = d, .first = node_count(), .path = ""};
    d->options = o;
    d->file = o->model_file;
    d->model = model_name(o->model_file);
    d->prefer = o->prefer ? read_prefer(o->prefer) : NULL;
    d->distill = o->distill ? read_distill(o->distill) : NULL;
    d->lora = o->lora ? read_lora(o->lora, unfit) : NULL;
    lua_State *L = sandbox_open(trace, o);
    lua_pushcfunction(L, read);
    lua_pushlightuserdata(L, (void *)o);
    call_lua(L, 1, 0);
    d->source_hash = trace->hash;
    sandbox_close(L);
    make_at((Where){0});
    return d;
}

Desc *front(const Options *o)
{
    Desc *d = read_with(read_description, o, (Texts){0});
    while (d->unfit.n) {
        Texts unfit = d->unfit;
        for (int i = 0; i < d->lora->except.n; i++) push(&unfit, d->lora->except.at[i]);
        d = read_with(read_description, o, unfit);
    }
    keep_entries_of_library(d);
    return d;
}

Desc *front_recipe(const Options *o) { return read_with(read_settings, o, (Texts){0}); }
