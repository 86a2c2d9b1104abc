/* model.c: model.h (sizes, structs, entries) and the tables by which the trainer knows the model. */
#include "desc/target.h"
#include "emit/emit.h"
#include "passes/passes.h"

#include <ctype.h>
#include <string.h>

char *type_name(const Module *m, const char *entry, const char *what)
{
    return upper(
        identifier(entry ? format("%s_%s_%s", m->desc->model, entry, what) : format("%s_%s", m->desc->model, what)));
}

/* ------------------------------------------------------------------ model.h */

static void say_tensor_member(Text *t, DType type, const char *name, Shape s, const char *remark)
{
    Text x = {0};
    say(&x, "    %s %s%s;", c_type(type), name, array_text(s, 0));
    if (*remark) say(t, "%-60s /* %s */\n", x.at, in_comment(remark));
    else say(t, "%s\n", x.at);
}

static const Tensor_spec *spec_text(const Desc *d, Home home, const char *name)
{
    for (int i = 0; home == STATES && i < d->states.n; i++)
        if (same(d->states.at[i].name, name)) return &d->states.at[i];
    for (int i = 0; home == INPUTS && i < d->inputs.n; i++)
        if (same(d->inputs.at[i].name, name)) return &d->inputs.at[i];
    return NULL;
}

static int count_home(const Program *p, Home home)
{
    int n = 0;
    for (int i = 0; i < p->buffers.n; i++) n += p->buffers.at[i]->home == home;
    return n;
}

static void say_entry_struct(Text *t, const Module *m, const Program *p, Home home, const char *what)
{
    if (!count_home(p, home)) return;
    char *name = type_name(m, p->graph->name, what);
    say(t, "typedef struct %s {\n", name);
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *b = p->buffers.at[i];
        if (b->home == home) say_tensor_member(t, b->dtype, buffer_name(b), b->shape, "");
    }
    say(t, "} %s;\n\n", name);
}

static void say_state_struct(Text *t, const Module *m)
{
    if (!m->desc->states.n) return;
    char *name = type_name(m, NULL, "state");
    bool wide = in_doubles();
    bool fixed = false;
    for (int i = 0; i < m->desc->states.n; i++) fixed |= m->desc->states.at[i].fixed;
    say(t, "/* Kept between calls; zero at first%s. */\ntypedef struct %s {\n",
        fixed ? ", but for what encode writes" : "", name);
    for (int i = 0; i < m->desc->states.n; i++) {
        const Tensor_spec *s = &m->desc->states.at[i];
        DType type = s->dtype == F32 && wide ? F64 : s->dtype;
        const char *remark = s->where.file ? format("%s:%d", file_name(s->where.file), s->where.line) : "";
        say_tensor_member(t, type, state_member(m->desc, s->name), s->shape, remark);
    }
    say(t, "} %s;\n\n", name);
}

/* The sizes come first, but which are used shows only in the end. */
void say_header(Text *t, const Module *m, const char *prototypes)
{
    Text body = {0};
    char *guard = copy_string(type_name(m, NULL, "MODEL_H"));
    for (char *c = guard; *c; c++) *c = (char)toupper((unsigned char)*c);
    say_params(&body, m);
    say_state_struct(&body, m);
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        enter_scope(m, p);
        say_entry_struct(&body, m, p, INPUTS, "in");
        say_entry_struct(&body, m, p, OUTPUTS, "out");
    }
    const char *file = file_name(m->desc->file);
    say_comment(t, 0,
                format("model.h: sizes, parameters and entries of %s, made by lathe.  Edit %s, not this file.",
                       m->desc->model, file));
    say(t, "#ifndef %s\n#define %s\n\n#include \"%s\"\n", guard, guard, target()->interface);
    say(t, "%s\n", is_stored(precision_in_scope().weights) ? "#include \"rt_math.h\"\n" : "");
    say_sizes(t);
    say(t, "%s%s\n#endif\n", body.at, prototypes);
}

/* ------------------------------------------------------------------ tables */

char *braces(int n, const int64_t *x)
{
    Text t = {0};
    say(&t, "{");
    for (int i = 0; i < n; i++) say(&t, "%s%lld", i ? ", " : "", (long long)x[i]);
    if (!n) say(&t, "0");
    say(&t, "}");
    return t.at;
}

const char *dtype_word(DType t)
{
    return (const char *[]){"LATHE_BOOL", "LATHE_I32", "LATHE_F32", "LATHE_F64", "LATHE_BF16", "LATHE_F16"}[t];
}

static const char *role_word(Lathe_role r)
{
    return (const char *[]){"LATHE_TOKENS",    "LATHE_TARGETS",  "LATHE_FEATURES",       "LATHE_SEED",
                            "LATHE_STEP",      "LATHE_POSITION", "LATHE_STATE",          "LATHE_SEGMENTS",
                            "LATHE_POSITIONS", "LATHE_SOURCE",   "LATHE_SOURCE_LENGTHS", "LATHE_LENGTHS",
                            "LATHE_BEGINS",    "LATHE_CARRIED",  "LATHE_EVAL_CARRIED",   "LATHE_LOSS_SCALE",
                            "LATHE_TOTAL",     "LATHE_SHARE",    "LATHE_FIRST_ROW"}[r];
}

static void say_param_table(Text *t, const Module *m)
{
    static const char *const inits[] = {"LATHE_ZEROS", "LATHE_ONES", "LATHE_CONSTANT", "LATHE_NORMAL", "LATHE_UNIFORM"};
    const Desc *d = m->desc;
    if (!d->params.n) return;
    char *type = type_name(m, NULL, "params");
    const char *zero[MAXRANK] = {"0", "0", "0", "0", "0", "0", "0", "0"};
    const char *real = c_type(precision_in_scope().weights);
    say(t, "static const Lathe_param params[] = {\n");
    for (int i = 0; i < d->params.n; i++) {
        const Param *p = d->params.at[i];
        say_wrapped(t, format("    {.name = %s, .export_name = %s,", quoted(p->name), quoted(p->export_name)));
        say(t, "     .where = %s, .rank = %d, .loops = %d,\n",
            quoted(format("%s:%d", p->where.file ? p->where.file : "", p->where.line)), p->shape.rank, p->loops);
        say_wrapped(t, format("     .dim = %s, .stride = %s,", braces(p->shape.rank, p->shape.dim),
                              braces(p->shape.rank, p->stride)));
        say_wrapped(t, format("     .offset = offsetof(%s, %s) / sizeof(%s), .decay = %s,", type,
                              param_text(p, "", zero), real, p->decay ? "true" : "false"));
        say(t, "     .init = %s, .init_a = %s, .init_b = %s", inits[p->init], number_text(p->init_a),
            number_text(p->init_b));
        if (p->zero_row) say(t, ", .zero_row = %lld", (long long)p->zero_row);
        say(t, "},\n");
    }
    say(t, "};\n\n");
}

/* more: further fields, ", .fixed = true" */
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

static void say_tensors(Text *t, const Module *m, const Program *p, Home home, const char *what)
{
    if (!count_home(p, home)) return;
    char *of = type_name(m, p->graph->name, what);
    int which = 0;
    say(t, "static const Lathe_tensor %s_%s[] = {\n", identifier(p->graph->name), what);
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *b = p->buffers.at[i];
        if (b->home != home) continue;
        const char *name = home == INPUTS ? b->value->name : output_words(p, which++);
        const Tensor_spec *spec = spec_text(m->desc, home, name);
        say_tensor(t, name, spec ? spec->role : LATHE_FEATURES, b->dtype, b->shape, of, buffer_name(b),
                   home == OUTPUTS && rows_meet(p->graph, name) ? ", .meets = true" : "");
    }
    say(t, "};\n");
}

static void say_state_table(Text *t, const Module *m)
{
    if (!m->desc->states.n) return;
    bool wide = in_doubles();
    say(t, "static const Lathe_tensor states[] = {\n");
    for (int i = 0; i < m->desc->states.n; i++) {
        const Tensor_spec *s = &m->desc->states.at[i];
        say_tensor(t, s->name, s->role, s->dtype == F32 && wide ? F64 : s->dtype, s->shape, type_name(m, NULL, "state"),
                   state_member(m->desc, s->name),
                   format(", .rows_axis = %d%s", s->rows_axis, s->fixed ? ", .fixed = true" : ""));
    }
    say(t, "};\n\n");
}

static char *size_of(const Module *m, const Program *p, Home home, const char *what)
{
    return count_home(p, home) ? format("sizeof(%s)", type_name(m, p->graph->name, what)) : "0";
}

static char *array_or_null(const Program *p, Home home, const char *what)
{
    return count_home(p, home) ? format("%s_%s", identifier(p->graph->name), what) : "NULL";
}

static void say_entry_table(Text *t, const Module *m)
{
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        enter_scope(m, p);
        say_tensors(t, m, p, INPUTS, "in");
        say_tensors(t, m, p, OUTPUTS, "out");
        say_kernel_table(t, p);
        say_watch_tables(t, m, p);
    }
    if (!m->programs.n) return;
    say(t, "\nstatic const Lathe_entry entries[] = {\n");
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        const char *instruments = m->desc->options->instrument ? format(", .instruments = %s", watch_table(p)) : "";
        say(t, "    {.name = %s, .run = run_%s, .work_bytes = %lld, .flops = %.0f,\n", quoted(p->graph->name),
            identifier(p->graph->name), (long long)p->work_bytes, entry_flops(p));
        say_wrapped(t, format("     .in_bytes = %s, .out_bytes = %s, .inputs = %d, .outputs = %d, .input = %s, "
                              ".output = %s, .kernels = %s, .kernel = %s%s},\n",
                              size_of(m, p, INPUTS, "in"), size_of(m, p, OUTPUTS, "out"), count_home(p, INPUTS),
                              count_home(p, OUTPUTS), array_or_null(p, INPUTS, "in"), array_or_null(p, OUTPUTS, "out"),
                              kernel_count(p), kernel_table(p), instruments));
    }
    say(t, "};\n\n");
}

static void say_pairs(Text *t, const Lathe_recipe *r)
{
    static const char *const losses[] = {"LATHE_LOSS_FOUND", "LATHE_LOSS_TARGET", "LATHE_LOSS_ALL"};
    static const char *const targets[] = {"LATHE_TARGETS_JOINED", "LATHE_FIRST_TARGET", "LATHE_EACH_TARGET"};
    if (!r->pairs && r->loss_on == LATHE_LOSS_FOUND && !r->sep) return;
    say(t, "        .pairs = %s, .loss_on = %s, .sep = %s, .pad = %s,\n", r->pairs ? "true" : "false",
        losses[r->loss_on], quoted(r->sep), quoted(r->pad));
    say(t, "        .text_field = %s, .target_field = %s, .targets = %s,\n", quoted(r->text_field),
        quoted(r->target_field), targets[r->targets]);
    say(t, "        .on_long = %s, .buckets = %lld,\n",
        r->on_long == LATHE_SKIP_LONG ? "LATHE_SKIP_LONG" : "LATHE_CUT_LONG", (long long)r->buckets);
}

static void say_recipe(Text *t, const Lathe_recipe *r)
{
    static const char *const optimizers[] = {"LATHE_SGD", "LATHE_ADAMW", "LATHE_ADAM", "LATHE_LION"};
    static const char *const schedules[] = {"LATHE_CONSTANT_RATE", "LATHE_LINEAR",  "LATHE_COSINE",
                                            "LATHE_ONE_CYCLE",     "LATHE_STEPPED", "LATHE_INVERSE_SQRT"};
    static const char *const modes[] = {"LATHE_MODE_KNOWN", "LATHE_LOWEST", "LATHE_HIGHEST"};
    static const char *const tokenizers[] = {"LATHE_NO_TEXT", "LATHE_BYTES", "LATHE_CHARS", "LATHE_TOKENIZER_FILE"};
    static const char *const orders[] = {"LATHE_ORDER_FOUND", "LATHE_WINDOWS", "LATHE_EPOCHS", "LATHE_CONTIGUOUS"};
    static const char *const documents[] = {"LATHE_FILES", "LATHE_PARAGRAPHS", "LATHE_LINES", "LATHE_WHOLE"};
    say(t, "    .recipe = {\n");
    say(t, "        .optimizer = %s, .lr = %s, .beta1 = %s, .beta2 = %s,\n", optimizers[r->optimizer],
        number_text(r->lr), number_text(r->beta1), number_text(r->beta2));
    say(t, "        .eps = %s, .decay = %s, .momentum = %s, .nesterov = %lld,\n", number_text(r->eps),
        number_text(r->decay), number_text(r->momentum), (long long)r->nesterov);
    say(t, "        .schedule = %s, .final_lr = %s, .warmup = %lld, .steps = %lld,\n", schedules[r->schedule],
        number_text(r->final_lr), (long long)r->warmup, (long long)r->steps);
    say(t, "        .schedule_steps = %lld, .cooldown = %lld, .warm_fraction = %s,\n", (long long)r->schedule_steps,
        (long long)r->cooldown, number_text(r->warm_fraction));
    say(t, "        .start_div = %s, .final_div = %s,\n", number_text(r->start_div), number_text(r->final_div));
    say(t, "        .cycle_momentum = %lld, .low_momentum = %s, .high_momentum = %s,\n", (long long)r->cycle_momentum,
        number_text(r->low_momentum), number_text(r->high_momentum));
    say(t, "        .step_every = %lld, .step_factor = %s, .milestones = %s,\n", (long long)r->step_every,
        number_text(r->step_factor), quoted(r->milestones));
    say(t, "        .clip = %s, .clip_value = %s, .accumulate = %lld,\n", number_text(r->clip),
        number_text(r->clip_value), (long long)r->accumulate);
    say(t, "        .eval_every = %lld, .save_every = %lld, .log_every = %lld,\n", (long long)r->eval_every,
        (long long)r->save_every, (long long)r->log_every);
    say(t, "        .eval_epochs = %lld, .eval_rows = %lld, .patience = %lld,\n", (long long)r->eval_epochs,
        (long long)r->eval_rows, (long long)r->patience);
    say(t, "        .best = %s, .best_mode = %s, .samples = %s,\n", quoted(r->best), modes[r->best_mode],
        quoted(r->samples));
    say(t, "        .keep_last = %lld,\n", (long long)r->keep_last);
    say(t, "        .tokenizer = %s, .val_fraction = %s, .csv_target = %s,\n", tokenizers[r->tokenizer],
        number_text(r->val_fraction), quoted(r->csv_target));
    if (r->tokenizer_file)
        say_wrapped(t, format("        .tokenizer_file = %s, .tokenizer_place = %s,", quoted(r->tokenizer_file),
                              quoted(r->tokenizer_place)));
    say(t, "        .order = %s, .documents = %s, .pack = %s,\n", orders[r->order], documents[r->documents],
        r->pack ? "true" : "false");
    say(t, "        .bad_records = %lld, .raw_id_size = %lld,\n", (long long)r->bad_records, (long long)r->raw_id_size);
    say(t, "        .shuffle_tokens = %lld, .eval_tokens = %lld, .stride = %lld, .bos = %s, .eos = %s,\n",
        (long long)r->shuffle_tokens, (long long)r->eval_tokens, (long long)r->stride, quoted(r->bos), quoted(r->eos));
    if (r->mix) say(t, "        .mix = %s,\n", quoted(r->mix));
    say_pairs(t, r);
    say(t, "        .temperature = %s, .top_p = %s, .repetition_penalty = %s,\n", number_text(r->temperature),
        number_text(r->top_p), number_text(r->repetition_penalty));
    say(t, "        .top_k = %lld, .sample_tokens = %lld, .rows = %lld,\n", (long long)r->top_k,
        (long long)r->sample_tokens, (long long)r->rows);
    say(t, "        .beams = %lld, .min_tokens = %lld, .no_repeat_ngram = %lld, .length_penalty = %s,\n",
        (long long)r->beams, (long long)r->min_tokens, (long long)r->no_repeat_ngram, number_text(r->length_penalty));
    if (r->ignored) say(t, "        .ignored = %lld,\n", (long long)r->ignored);
    if (r->eval_generate) say(t, "        .eval_generate = %lld,\n", (long long)r->eval_generate);
    say(t, "    },\n");
}

static void say_groups(Text *t, const Desc *d)
{
    if (!d->groups.n) return;
    say(t, "/* Of several that match, each setting is the last's; negative: it says nothing of that. */\n");
    say(t, "static const Lathe_group groups[] = {\n");
    for (int i = 0; i < d->groups.n; i++) {
        const Lathe_group *g = &d->groups.at[i];
        say_wrapped(t, format("    {.match = %s, .lr_scale = %s, .decay = %s, .decays = %d, .frozen = %d},",
                              quoted(g->match), number_text(g->lr_scale), number_text(g->decay), g->decays, g->frozen));
    }
    say(t, "};\n\n");
}

static void say_knobs(Text *t, const Desc *d)
{
    if (!d->knobs.n) return;
    say(t, "static const char *const knobs[][2] = {\n");
    for (int i = 0; i < d->knobs.n; i++)
        say_wrapped(t, format("    {%s, %s},", quoted(d->knobs.at[i].name), quoted(d->knobs.at[i].value)));
    say(t, "};\n\n");
}

/* String literals a line, broken after line ends and blanks. */
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

static void say_hf(Text *t, const char *json)
{
    if (!json) return;
    say(t, "/* How Hugging Face knows it: train_hf.c goes by this. */\nstatic const char hf[] =\n    ");
    say_string(t, json);
    say(t, ";\n\n");
}

/* What a user says for the same program again, on the way to `lathe replay`. */
static char *rebuild_words(const Desc *d)
{
    const Options *o = d->options;
    Text t = {0};
    say(&t, "%s", shell_quoted(d->file));
    if (o->config) say(&t, " --config %s", shell_quoted(o->config));
    for (int i = 0; i < o->sets.n; i++) say(&t, " --set %s", shell_quoted(o->sets.at[i]));
    if (o->precision) say(&t, " --precision %s", o->precision);
    if (o->parameters) say(&t, " --parameters %s", o->parameters);
    return t.at;
}

static void say_plan_table(Text *t, const Plan *p)
{
    say(t, "static const Lathe_bytes planned[] = {\n");
    const struct {
        const char *name;
        int64_t bytes;
    } all[] = {{"parameters", p->parameters},
               {"gradients", p->gradients},
               {"optimizer", p->optimizer},
               {"states", p->states},
               {"inputs", p->inputs},
               {"outputs", p->outputs},
               {"work", p->work},
               {"blas", p->blas},
               {"data", p->data},
               {"generation", p->generation}};
    const struct {
        const char *name;
        int64_t bytes;
    } there[] = {
        {"step", p->step}, {"workspace", p->workspace}, {"image", p->image}, {"pinned", p->pinned}, {"data", p->data}};
    bool device = target()->device;
    for (int i = 0; i < COUNT_OF(all); i++)
        if (!device || !(same(all[i].name, "blas") || same(all[i].name, "data")))
            say(t, "    {\"%s\", %lld},\n", all[i].name, (long long)all[i].bytes);
    for (int i = 0; i < COUNT_OF(there) && device; i++)
        say(t, "    {\"%s\", %lld},\n", there[i].name, (long long)there[i].bytes);
    say(t, "};\n\n");
}

/* No kernel has the name of a table or of what calls an entry. */
void take_table_names(const Module *m, void (*take)(const char *name))
{
    static const char *const own[] = {"params", "states",  "entries",     "groups",         "knobs",
                                      "hf",     "planned", "train_loops", "train_operands", "train_instruments"};
    static const char *const before[] = {"run_", "", "", ""}, *const after[] = {"", "_in", "_out", "_kernels"};
    for (int i = 0; i < COUNT_OF(own); i++) take(own[i]);
    for (int i = 0; i < m->programs.n; i++)
        for (int k = 0; k < COUNT_OF(before); k++)
            take(format("%s%s%s", before[k], identifier(m->programs.at[i]->graph->name), after[k]));
}

void say_runs(Text *t, const Module *m)
{
    for (int i = 0; i < m->programs.n; i++)
        say(t, "void run_%s(const Lathe_call *c);\n", identifier(m->programs.at[i]->graph->name));
    say(t, "\n");
}

void say_tables(Text *t, const Module *m)
{
    const Desc *d = m->desc;
    const Plan *p = &m->plan;
    bool wide = in_doubles();
    say(t, "/* ---------------------------------------------------------------- what the trainer knows of it */\n\n");
    say_param_table(t, m);
    say_state_table(t, m);
    say_entry_table(t, m);
    say_groups(t, d);
    say_knobs(t, d);
    say_hf(t, d->hf);
    say_plan_table(t, p);
    say(t, "const Lathe_model lathe_model = {\n");
    say_wrapped(t, format("    .name = %s, .config = %s, .precision = \"%s\", .source_hash = \"%016llx\",",
                          quoted(d->model), quoted(d->config ? d->config : ""), precision_in_scope().name,
                          (unsigned long long)d->source_hash));
    say(t, "    .needs = lathe_needs,\n");
    say_string_member(t, "rebuild", rebuild_words(d));
    say(t, "    .real = %s, .batch = %lld, .seq = %lld, .vocab = %lld,\n", wide ? "LATHE_F64" : "LATHE_F32",
        (long long)d->batch, (long long)d->seq, (long long)d->vocab);
    if (precision_in_scope().weights != precision_in_scope().real)
        say(t, "    .weights = %s,\n", dtype_word(precision_in_scope().weights));
    if (d->source_seq) say(t, "    .source_seq = %lld,\n", (long long)d->source_seq);
    say(t, "    .params = %d, .entries = %d, .states = %d, .knobs = %d, .categories = %d,\n", d->params.n,
        m->programs.n, d->states.n, d->knobs.n, target()->device ? 13 : 10);
    say(t, "    .param = %s, .entry = %s, .state = %s,\n", d->params.n ? "params" : "NULL",
        m->programs.n ? "entries" : "NULL", d->states.n ? "states" : "NULL");
    if (d->states.n) say(t, "    .state_bytes = sizeof(%s),\n", type_name(m, NULL, "state"));
    say(t, "    .parameter_count = %lld, .flat_elements = %lld,\n", (long long)p->parameter_count,
        (long long)p->flat_elements);
    say_recipe(t, &d->recipe);
    if (d->groups.n) say(t, "    .groups = %d, .group = groups,\n", d->groups.n);
    say(t, "    .hf = %s, .knob = %s, .plan = planned,\n", d->hf ? "hf" : "NULL", d->knobs.n ? "knobs" : "NULL");
    say(t, "    .planned_bytes = %lld, .lower_bound_bytes = %lld,\n", (long long)p->total, (long long)p->lower_bound);
    if (target()->device) say(t, "    .device = &%s, .host_categories = 3,\n", target()->device);
    if (target()->device && m->desc->one_gpu) say_wrapped(t, format("    .one_gpu = %s,", quoted(m->desc->one_gpu)));
    say(t, "};\n\n");
    say(t, "int main(int argc, char **argv) { return lathe_main(&lathe_model, argc, argv); }\n");
}
