/* model.c: the tables that describe the model to the trainer, or to a library. */
#include "desc/range.h"
#include "desc/settings.h"
#include "desc/target.h"
#include "emit/emit.h"
#include "passes/passes.h"

#include <string.h>

char *type_name(Page *page, const char *entry, const char *what)
{
    if (page->library) /* whose own names begin with the model's */
        return upper(identifier(page, entry ? format("lathe_of_%s_%s", entry, what) : format("lathe_of_%s", what)));
    return upper(identifier(page, entry ? format("%s_%s_%s", page->desc->model, entry, what)
                                        : format("%s_%s", page->desc->model, what)));
}

/* ------------------------------------------------------------------ tables */

static const Tensor_spec *spec_text(const Desc *d, Home home, const char *name)
{
    for (int i = 0; home == STATES && i < d->states.n; i++)
        if (same(d->states.at[i].name, name)) return &d->states.at[i];
    for (int i = 0; home == INPUTS && i < d->inputs.n; i++)
        if (same(d->inputs.at[i].name, name)) return &d->inputs.at[i];
    return NULL;
}

char *braces(int n, const int64_t *x)
{
    Text t = {0};
    say(&t, "{");
    for (int i = 0; i < n; i++) say(&t, "%s%lld", i ? ", " : "", (long long)x[i]);
    if (!n) say(&t, "0");
    say(&t, "}");
    return t.at;
}

/* The types of the compiler and of the runtime have the same numbers. */
#define RUNTIME_HAS(member, ...) _Static_assert((int)member == (int)LATHE_##member, "as DType of the compiler");
DTYPE_LIST(RUNTIME_HAS)

const char *dtype_word(DType t)
{
#define RUNTIME_WORD(member, ...) [member] = "LATHE_" #member,
    static const char *const words[] = {DTYPE_LIST(RUNTIME_WORD)};
    return words[t];
}

/* Members of the runtime's enums. There is no default: a member that is missing here is a compile error. */
#define CASE(member)                                                                                                   \
    case member: return #member

static const char *role_word(Lathe_role r)
{
    switch (r) {
        CASE(LATHE_TOKENS);
        CASE(LATHE_TARGETS);
        CASE(LATHE_FEATURES);
        CASE(LATHE_SEED);
        CASE(LATHE_STEP);
        CASE(LATHE_POSITION);
        CASE(LATHE_STATE);
        CASE(LATHE_SLOT_STATE);
        CASE(LATHE_SEGMENTS);
        CASE(LATHE_POSITIONS);
        CASE(LATHE_SOURCE);
        CASE(LATHE_SOURCE_LENGTHS);
        CASE(LATHE_LENGTHS);
        CASE(LATHE_BEGINS);
        CASE(LATHE_CARRIED);
        CASE(LATHE_EVAL_CARRIED);
        CASE(LATHE_STATISTIC);
        CASE(LATHE_LOSS_SCALE);
        CASE(LATHE_TOTAL);
        CASE(LATHE_SHARE);
        CASE(LATHE_FIRST_ROW);
        CASE(LATHE_TARGET_MEAN);
        CASE(LATHE_TARGET_DEVIATION);
        CASE(LATHE_MOMENT);
        CASE(LATHE_GRADIENT_SCALE);
        CASE(LATHE_LEARNING_RATE);
        CASE(LATHE_UPDATE);
        CASE(LATHE_OUTPUT_GRADIENT);
        CASE(LATHE_REFERENCE);
    }
    die("role %d", (int)r);
}

/* more: further fields, such as ", .fixed = true". */
static void say_tensor(Text *t, const char *name, Lathe_role role, DType type, Shape s, const char *of,
                       const char *member, const char *more)
{
    say_wrapped(t, format("    {.name = %s, .role = %s, .dtype = %s, .rank = %d, .dim = %s, "
                          ".offset = offsetof(%s, %s)%s},",
                          quoted(name), role_word(role), dtype_word(type), s.rank, braces(s.rank, s.dim), of, member,
                          more));
}

static const char *output_words(const Program *p, int which)
{
    for (int i = 0; i < p->graph->outs.n; i++)
        if (p->graph->outs.at[i].kind == OUT_VALUE && which-- == 0) return p->graph->outs.at[i].name;
    return "";
}

static bool rows_meet(const Graph *g, const char *output)
{
    for (int i = 0; i < g->meeting.n; i++)
        if (same(g->meeting.at[i], output)) return true;
    return false;
}

/* Lathe_tensor.reads of an output */
static uint64_t inputs_read(const Program *p, const char *output)
{
    uint64_t bits = 0;
    Nodes all = {0};
    for (int i = 0; i < p->graph->outs.n; i++)
        if (same(p->graph->outs.at[i].name, output)) nodes_at(NULL, &p->graph->outs.at[i].node, 1, &all);
    for (int i = 0, which = 0; i < p->buffers.n; i++) {
        if (p->buffers.at[i]->home != INPUTS) continue;
        for (int k = 0; k < all.n; k++)
            if (all.at[k]->op == OP_input && same(all.at[k]->name, p->buffers.at[i]->value->name))
                bits |= 1ull << (which < 63 ? which : 63);
        which++;
    }
    return bits;
}

/* What an output has beside its shape. */
static const char *said_of_output(const Program *p, const char *name)
{
    const char *meets = rows_meet(p->graph, name) ? ", .meets = true" : "";
    if (entry_of(p->graph)->gives != GIVES_ROWS) return meets;
    return format("%s, .reads = 0x%llx", meets, (unsigned long long)inputs_read(p, name));
}

/* What kernels rely on: a library checks it, as a trainer checks its data. */
static const char *bounds_of_input(Page *page, const Buffer *b)
{
    const Range r = range_of_input(page->desc, b->value);
    if (b->dtype != I32 || r.low == INT32_MIN || r.high == INT32_MAX) return "";
    return format("%s, .below = %lld", r.low ? format(", .least = %lld", (long long)r.low) : "", (long long)r.high + 1);
}

static void say_tensors(Page *page, Text *t, const Program *p, Home home, const char *what)
{
    if (!count_home(p, home)) return;
    char *of = type_name(page, p->graph->name, what);
    int which = 0;
    say(t, "static const Lathe_tensor %s_%s[] = {\n", identifier(page, p->graph->name), what);
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *b = p->buffers.at[i];
        if (b->home != home) continue;
        const char *name = home == INPUTS ? b->value->name : output_words(p, which++);
        const Tensor_spec *spec = spec_text(page->desc, home, name);
        say_tensor(t, name, spec ? spec->role : LATHE_FEATURES, b->dtype, b->shape, of, buffer_name(page, b),
                   home == OUTPUTS       ? said_of_output(p, name)
                   : page->library       ? bounds_of_input(page, b)
                   : spec && spec->below ? format(", .below = %lld", (long long)spec->below)
                                         : "");
    }
    say(t, "};\n");
}

static const char *places_text(const Desc *d, const Tensor_spec *s)
{
    return d->recipe.slots > 1 && s->places_axis ? format(", .places_axis = %d", s->places_axis) : "";
}

static void say_state_table(Page *page, Text *t)
{
    if (!page->desc->states.n) return;
    bool wide = in_doubles(page);
    say(t, "static const Lathe_tensor states[] = {\n");
    for (int i = 0; i < page->desc->states.n; i++) {
        const Tensor_spec *s = &page->desc->states.at[i];
        say_tensor(t, s->name, s->role, s->dtype == F32 && wide ? F64 : s->dtype, s->shape,
                   type_name(page, NULL, "state"), state_member(page, s->name),
                   format(", .rows_axis = %d%s%s", s->rows_axis, places_text(page->desc, s),
                          s->fixed ? ", .fixed = true" : ""));
    }
    say(t, "};\n\n");
}

static char *size_of(Page *page, const Program *p, Home home, const char *what)
{
    return count_home(p, home) ? format("sizeof(%s)", type_name(page, p->graph->name, what)) : "0";
}

static char *array_or_null(Page *page, const Program *p, Home home, const char *what)
{
    return count_home(p, home) ? format("%s_%s", identifier(page, p->graph->name), what) : "NULL";
}

static const char *rows_text(const Desc *d, const Graph *g) /* of a call, and the parts that they are computed in */
{
    const bool writes = entry_of(g)->decoding || g->entry == ENTRY_encode;
    const long long parts = parts_of_batch(d, g), texts = g->entry == ENTRY_slots ? d->recipe.slots : d->recipe.rows;
    const long long rows = writes ? texts : d->batch * parts / pieces_of_micro_batch(d, g);
    return format(parts > 1 ? "%lld, .parts = %lld" : "%lld", rows, parts);
}

static const char *turn_member(const Graph *g) { return g->turn ? format(".turn = %s,\n     ", quoted(g->turn)) : ""; }

static void say_said_table(Page *page, Text *t, const Program *p)
{
    static const char *const words[] = {"LATHE_NEEDED", "LATHE_DROPPED", "LATHE_BEGUN", "LATHE_DONE"};
    if (!page->desc->options->shard_parameters) return;
    const Sayings all = sayings_of(p);
    if (!all.n) return;
    say(t, "static const Lathe_said %s_said[] = {\n", identifier(page, p->graph->name));
    for (int i = 0; i < all.n; i++)
        say(t, "    {%s, %lld, %lld},\n", words[all.at[i].what], (long long)all.at[i].first,
            (long long)all.at[i].count);
    say(t, "};\n\n");
}

static const char *said_member(Page *page, const Program *p)
{
    const int n = page->desc->options->shard_parameters ? sayings_of(p).n : 0;
    return n ? format(", .sayings = %d, .said = %s_said", n, identifier(page, p->graph->name)) : "";
}

static void say_entry_table(Page *page, Text *t)
{
    const Module *m = page->module;
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        enter_scope(page, p);
        say_tensors(page, t, p, INPUTS, "in");
        say_tensors(page, t, p, OUTPUTS, "out");
        say_kernel_table(page, t, p);
        say_watch_tables(page, t, p);
        say_said_table(page, t, p);
    }
    if (!m->programs.n) return;
    say(t, "\n%sstatic const Lathe_entry entries[] = {\n", page->library ? "" : "#include \"model.plan.h\"\n\n");
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        say(t, "    {.name = %s, %s.run = run_%s, .work_bytes = %lld, .flops = %.0f, .rows = %s,\n",
            quoted(p->graph->turn || p->graph->grown ? entry_of(p->graph)->name : p->graph->name),
            turn_member(p->graph), identifier(page, p->graph->name), (long long)p->work_bytes, entry_flops(p),
            rows_text(page->desc, p->graph));
        say_wrapped(t, format("     .in_bytes = %s, .out_bytes = %s, .inputs = %d, .outputs = %d, .input = %s, "
                              ".output = %s, .kernels = %s, .kernel = %s%s%s%s},\n",
                              size_of(page, p, INPUTS, "in"), size_of(page, p, OUTPUTS, "out"), count_home(p, INPUTS),
                              count_home(p, OUTPUTS), array_or_null(page, p, INPUTS, "in"),
                              array_or_null(page, p, OUTPUTS, "out"), kernel_count(page, p), kernel_table(page, p),
                              page->library ? "" : buffers_member(page, p), instruments_member(page, p),
                              said_member(page, p)));
    }
    say(t, "};\n\n");
}

static void say_knobs(Text *t, const Desc *d)
{
    if (!d->knobs.n) return;
    say(t, "static const char *const knobs[][2] = {\n");
    enum { ROOM = 99 };
    const char *line = "   ";
    for (int i = 0; i < d->knobs.n; i++) {
        const char *pair = format(" {%s, %s},", quoted(d->knobs.at[i].name), quoted(d->knobs.at[i].value));
        bool full = i && strlen(line) + strlen(pair) > ROOM;
        if (full) say_wrapped(t, line);
        line = format("%s%s", full ? "   " : line, pair);
    }
    say_wrapped(t, line);
    say(t, "};\n\n");
}

/* Prints s as string literals, one on each line, broken after newlines and blanks. */
static void say_string(Text *t, const char *s)
{
    enum { ROOM = 80 };
    for (const char *before = ""; *s; before = "\n    ") {
        size_t n = strcspn(s, "\n");
        if (n > ROOM) {
            for (n = ROOM; n > 1 && s[n - 1] != ' ';) n--;
            if (n == 1) n = strcspn(s, " \n");
        }
        n += s[n] == '\n';
        say(t, "%s%s", before, quoted(copy_bytes_as_string(s, n)));
        s += n;
    }
}

static void say_string_member(Text *t, const char *name, const char *s)
{
    say(t, "    .%s = ", name);
    say_string(t, s);
    say(t, "%s,\n", *s ? "" : "\"\"");
}

static void say_hf(Text *t, const char *name, const char *json)
{
    if (!json) return;
    say(t, "/* Its form in Hugging Face's files, for the runtime's model/hf.c. */\nstatic const char %s[] =\n    ",
        name);
    say_string(t, json);
    say(t, ";\n\n");
}

/* The command line that builds the same program again, for `lathe replay`. */
static char *rebuild_words(const Desc *d)
{
    return format("%s%s", shell_quoted(d->file), options_text(d->options, OTHER_MODEL));
}

/* Names that no kernel may have: those of tables, and of functions that call entries. */
void take_table_names(Page *page, void (*take)(Page *page, const char *name))
{
    const Module *m = page->module;
    static const char *const own[] = {
        "params",         "statistics",  "states",         "entries",           "groups", "knobs",    "hf",
        "planned",        "train_loops", "train_operands", "train_instruments", "turns",  "adapters", "teacher",
        "teacher_params", "teacher_hf"};
    static const struct {
        const char *before, *after;
    } of_entries[] = {{"run_", ""}, {"", "_in"}, {"", "_out"}, {"", "_kernels"}, {"", "_buffers"}, {"", "_said"}};
    for (int i = 0; i < COUNT_OF(own); i++) take(page, own[i]);
    for (int i = 0; i < m->programs.n; i++)
        for (int k = 0; k < COUNT_OF(of_entries); k++)
            take(page, format("%s%s%s", of_entries[k].before, identifier(page, m->programs.at[i]->graph->name),
                              of_entries[k].after));
}

void say_runs(Page *page, Text *t)
{
    const Module *m = page->module;
    for (int i = 0; i < m->programs.n; i++)
        say(t, "void run_%s(const Lathe_call *c);\n", identifier(page, m->programs.at[i]->graph->name));
    say(t, "\n");
}

/* Which model it is: its name, options and sizes. */
static void say_identity(Page *page, Text *t)
{
    const Desc *d = page->desc;
    say_wrapped(t, format("    .name = %s, .config = %s, .precision = \"%s\", .source_hash = \"%016llx\",",
                          quoted(d->model), quoted(d->config ? d->config : ""), page->precision.name,
                          (unsigned long long)d->source_hash));
    say(t, "    .needs = lathe_needs,\n");
    say_string_member(t, "rebuild", rebuild_words(d));
    say(t, "    .real = %s, .batch = %lld, .seq = %lld, .vocab = %lld,", in_doubles(page) ? "LATHE_F64" : "LATHE_F32",
        (long long)d->batch, (long long)d->seq, (long long)d->vocab);
    say(t, d->context ? " .context = %lld,\n" : "\n", (long long)d->context);
    if (page->precision.weights != page->precision.real)
        say(t, "    .weights = %s,\n", dtype_word(page->precision.weights));
    if (d->source_seq) say(t, "    .source_seq = %lld,\n", (long long)d->source_seq);
}

static void say_in_blocks(Text *t, const Flat *f)
{
    for (DType type = 0; type < DTYPES; type++)
        if (f->in_blocks[type]) say(t, "    .in_blocks[%s] = %lld,\n", dtype_word(type), (long long)f->in_blocks[type]);
}

/* The tables above, and how long they are. */
static void say_lengths(Page *page, Text *t, const Categories *categories)
{
    const Module *m = page->module;
    const Desc *d = page->desc;
    say(t, "    .params = %d, .entries = %d, .states = %d, ", d->params.n, m->programs.n, d->states.n);
    if (page->library) say(t, "\n");
    else say(t, ".knobs = %d, .categories = %d,\n", d->knobs.n, categories->all.n);
    say(t, "    .param = %s, .entry = %s, .state = %s,\n", d->params.n ? "params" : "NULL",
        m->programs.n ? "entries" : "NULL", d->states.n ? "states" : "NULL");
    if (d->statistics.n) say(t, "    .statistics = %d, .statistic = statistics,\n", d->statistics.n);
    if (d->states.n) say(t, "    .state_bytes = sizeof(%s),\n", type_name(page, NULL, "state"));
    say(t, "    .parameter_count = %lld, .flat_elements = %lld,\n", (long long)m->plan.flat.count,
        (long long)m->plan.flat.elements);
    int64_t frozen = m->plan.flat.elements - m->plan.flat.trained;
    if (frozen) say(t, "    .frozen_elements = %lld,\n", (long long)frozen);
    say_direction(t, d->direction, &m->plan.flat);
    say_in_blocks(t, &m->plan.flat);
}

static void say_adapters(Text *t, const Desc *d)
{
    if (!d->adapters.n) return;
    say(t, "    .adapters = %d, .adapter = adapters,\n", d->adapters.n);
    const Lora *l = d->lora;
    say(t, "    .lora = {.rank = %lld, .scale = %s, .alpha = %s, .dropout = %s%s%s},\n", (long long)l->rank,
        number_text(l->scale), number_text(l->alpha), number_text(l->dropout),
        l->rank_stabilised ? ", .rank_stabilised = true" : "", l->decomposed ? ", .decomposed = true" : "");
}

/* A model of parameters alone, which the trainer reads as it reads its own. */
static void say_teacher(Page *page, Text *t)
{
    const Desc *d = page->desc->teacher;
    const Plan *plan = &page->module->plan;
    if (!d) return;
    say_hf(t, "teacher_hf", d->hf);
    say(t, "static const Lathe_model teacher = {\n");
    say_wrapped(t, format("    .name = %s, .config = %s,", quoted(d->model), quoted(d->config ? d->config : "")));
    say(t, "    .real = %s,\n", in_doubles(page) ? "LATHE_F64" : "LATHE_F32");
    if (page->precision.weights != page->precision.real)
        say(t, "    .weights = %s,\n", dtype_word(page->precision.weights));
    say(t, "    .params = %d, .param = %s, .hf = %s,\n", d->params.n, d->params.n ? "teacher_params" : "NULL",
        d->hf ? "teacher_hf" : "NULL");
    say(t, "    .parameter_count = %lld, .flat_elements = %lld, .frozen_elements = %lld,\n",
        (long long)plan->taught.count, (long long)plan->taught.elements, (long long)plan->taught.elements);
    say_in_blocks(t, &plan->taught);
    say(t, "};\n\n");
}

static void say_device(Page *page, Text *t, const Categories *categories)
{
    if (!page->target->device) return;
    say(t, "    .device = &%s, .host_categories = %d,\n", page->target->device, categories->host);
}

static void say_model_table(Page *page, Text *t, const Categories *categories)
{
    const Desc *d = page->desc;
    const Plan *p = &page->module->plan;
    say(t, "%sconst Lathe_model lathe_model = {\n", page->library ? "static " : "");
    say_identity(page, t);
    say_lengths(page, t, categories);
    say_adapters(t, d);
    say_recipe(t, &d->recipe);
    if (d->groups.n) say(t, "    .groups = %d, .group = groups,\n", d->groups.n);
    if (d->teacher)
        say(t, "    .teacher = &teacher, .distill = {.alpha = %s, .temperature = %s},\n",
            number_text(d->distill->alpha), number_text(d->distill->temperature));
    if (d->losses) say(t, "    .losses = %d,\n", d->losses);
    if (d->turns.n) say(t, "    .turns = %d, .turn = turns,\n", d->turns.n);
    if (!page->library)
        say(t, "    .hf = %s, .knob = %s, .plan = planned,\n", d->hf ? "hf" : "NULL", d->knobs.n ? "knobs" : "NULL");
    say(t, "    .planned_bytes = %lld, .lower_bound_bytes = %lld,\n", (long long)p->total, (long long)p->lower_bound);
    say_device(page, t, categories);
    if (d->one_rank && made_for_ranks(d->options)) say_wrapped(t, format("    .one_rank = %s,", quoted(d->one_rank)));
    if (d->options->exact_rows) say(t, "    .exact_rows = %lld,\n", (long long)d->options->exact_rows);
    say(t, "};\n\n");
}

void say_tables(Page *page, Text *t)
{
    const Desc *d = page->desc;
    const Categories categories = planned_categories(page->module);
    say(t, "/* ---------------------------------------------------------------- tables for the %s */\n\n",
        page->library ? "library" : "trainer");
    say_param_table(page, t);
    say_adapter_table(t, d);
    say_statistic_table(t, d);
    say_state_table(page, t);
    say_entry_table(page, t);
    say_groups(t, d);
    say_turns(t, d);
    if (!page->library) say_knobs(t, d);
    if (!page->library) say_hf(t, "hf", d->hf);
    say_teacher(page, t);
    if (!page->library) say_plan_table(t, &categories);
    say_model_table(page, t, &categories);
    if (page->library) return;
    say(t, "int main(int argc, char **argv) { return lathe_main(&lathe_model, argc, argv); }\n");
}
