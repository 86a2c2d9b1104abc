/* main.c: the command line. */
#include "desc/target.h"
#include "doctor/doctor.h"
#include "emit/emit.h"
#include "lathe.h"
#include "passes/passes.h"
#include "plan/plan.h"
#include "runtime/base/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ options */

typedef VEC(const char *) Words;

static struct {
    const char *command, *model;
    const char *from; /* dump: the first pass that runs */
    Words rest;       /* train, export, replay: what the trainer gets */
    char **all;       /* tokenize, data: what lathe-data gets */
} line_of;

typedef enum Kind { FLAG, TEXT, SET } Kind;

static const struct Option {
    const char *name;
    Kind kind;
    const char *argument;
    void *to;
    const char *doc;
} known[] = {
    {"--config", TEXT, "NAME", &options.config, "a named configuration of the description"},
    {"--set", SET, "KEY=VALUE", &options.sets, "another value for a key of its configuration; may be repeated"},
    {"--target", TEXT, "cpu|cuda", NULL, "what to compile for (cpu); cuda: NVIDIA's GPUs, by nvcc"},
    {"--gpus", TEXT, "N", NULL, "so many of them, of one machine: what each holds (plan); train on them"},
    {"--memory", TEXT, "SIZE", &options.memory,
     "the fastest plan that fits: 512M, 2G; 60%: of the activations (plan, build, train)"},
    {"--precision", TEXT, "fp32|tf32|bf16|fp16|fp64", &options.precision,
     "of reals (fp32); bf16, fp16: what backward needs of forward is kept in 16 bits, and a GPU multiplies them; "
     "tf32: what a GPU makes of fp32 in products"},
    {"--parameters", TEXT, "fp32|bf16", &options.parameters,
     "how parameters are kept (fp32); bf16, with --precision bf16: in 16 bits, rounded at random at each update"},
    {"-o", TEXT, "DIR", &options.out_dir, "the folder to write (generated/MODEL-CONFIG-TARGET-PRECISION-HASH)"},
    {"--bundle", FLAG, "", &options.bundle,
     "build: with the runtime's sources, so that cmake and a compiler alone can build the folder"},
    {"--source", FLAG, "", &options.source, "build: only writes the source, and prints its folder"},
    {"--json", FLAG, "", &options.json, "check, plan, doctor: the result as JSON"},
    {"--after", TEXT, "PASS", &options.dump_after,
     "dump: the pass after which to print, or all of graphs, cuts, kernels, schedule (front)"},
    {"--from", TEXT, "PASS", &line_of.from, "dump of a graph: the first pass to run (the one of --after)"},
    {"--head-rows", TEXT, "N", NULL, "rows of nn.linear_cross_entropy at a time (what the plan allows)"},
    {"--recompute", TEXT, "SHARE", NULL,
     "of what layers save for backward, 0 to 1, what is computed again; 2: in parts as well (what --memory asks for)"},
    {"--brief", FLAG, "", &options.brief,
     "dump: of each kernel a line: kind, name, space, phases, what it writes and reads"},
    {"--all-in-place", FLAG, "", &options.all_in_place, "in place even where no memory is saved by it (for tests)"},
    {"--all-panels", FLAG, "", &options.all_panels, "panels wherever there can be any, of single rows (for tests)"},
    {"--all-persist", FLAG, "", &options.all_persist, "one launch of every loop that can be one (for tests)"},
    {"--instrument", FLAG, "", &options.instrument,
     "a trainer that can `replay` a step and name the first tensor that is not finite"},
    {"--poison", FLAG, "", &options.poison, "work memory is NaN before each call (for tests)"},
    {"--check-stages", FLAG, "", &options.check_stages, "check the graph after every pass (for tests)"},
};

static const struct Option *find_option(const char *name, size_t n)
{
    for (int i = 0; i < COUNT_OF(known); i++)
        if (strlen(known[i].name) == n && strncmp(known[i].name, name, n) == 0) return &known[i];
    return NULL;
}

static _Noreturn void unknown_option(const char *name)
{
    int n, count = 0;
    const Pass *list = pass_list(&n);
    const char **names = NEW_ARRAY(const char *, COUNT_OF(known) + n); /* without their hyphens, which all have */
    for (int i = 0; i < COUNT_OF(known); i++) names[count++] = known[i].name + strspn(known[i].name, "-");
    for (int i = 0; i < n; i++)
        if (list[i].option) names[count++] = format("no-%s", list[i].option);
    const char *close = nearest(name + strspn(name, "-"), names, count);
    if (close) usage_error("there is no option %s; did you mean %s%s?", name, same(close, "o") ? "-" : "--", close);
    usage_error("there is no option %s; `lathe help` lists them, and --set KEY=VALUE changes a key of config", name);
}

/* The trainer's, but for what it takes of memory. */
static void take_gpus(const char *value)
{
    char *end;
    if (same(line_of.command, "train")) {
        push(&line_of.rest, format("--gpus=%s", value));
        return;
    }
    if (!same(line_of.command, "plan")) usage_error("--gpus is for plan and train");
    options.gpus = strtoll(value, &end, 10);
    if (*end || options.gpus < 1 || options.gpus > LATHE_MOST_GPUS)
        usage_error("--gpus %s: expected 1 to %d", value, LATHE_MOST_GPUS);
}

static void take_recompute(const char *value)
{
    char *end;
    options.recompute = strtod(value, &end);
    bool share = options.recompute >= 0 && options.recompute <= 1;
    if (*end || end == value || !(share || options.recompute == 2))
        usage_error("--recompute %s: expected a share from 0 to 1, or 2", value);
}

static void take_value(const struct Option *o, const char *value)
{
    if (same(o->name, "--target")) {
        options.target = same(value, "cpu") ? &target_cpu : same(value, "cuda") ? &target_cuda : NULL;
        if (!options.target) usage_error("--target %s: expected cpu or cuda", value);
    } else if (same(o->name, "--gpus")) {
        take_gpus(value);
    } else if (same(o->name, "--head-rows")) {
        char *end;
        options.head_rows = strtoll(value, &end, 10);
        if (*end || options.head_rows < 1) usage_error("--head-rows %s: expected a number of rows", value);
    } else if (same(o->name, "--recompute")) {
        take_recompute(value);
    } else if (o->kind == SET) {
        if (!strchr(value, '=')) usage_error("--set %s: expected KEY=VALUE", value);
        push(&options.sets, value);
    } else {
        *(const char **)o->to = value;
    }
}

static bool is_description(const char *word)
{
    const char *dot = strrchr(word, '.');
    return dot && (same(dot, ".lua") || same(dot, ".graph") || same(dot, ".kernels"));
}

/* What `train`, `export` and `replay` do not know goes to the trainer, in its order. */
static void take_word(const char *word)
{
    bool passes_on = same(line_of.command, "train") || same(line_of.command, "export") ||
                     same(line_of.command, "replay") || same(line_of.command, "doctor");
    if (word[0] == '-' && word[1] && !passes_on) unknown_option(word);
    if (!line_of.model && (!passes_on || is_description(word))) line_of.model = word;
    else if (passes_on) push(&line_of.rest, word);
    else usage_error("%s: one description is enough (found %s as well)", line_of.model, word);
}

/* A kernel an operation, whose inputs are still there when it has run.  Budgets are for other builds. */
static void set_instruments(void)
{
    options.instrument |= same(line_of.command, "replay");
    if (!options.instrument) return;
    static const Pass_number off[] = {PASS_fuse, PASS_in_place, PASS_pack, PASS_panels, PASS_persist};
    for (int i = 0; i < COUNT_OF(off); i++) leave_out(off[i], true);
    options.memory = NULL;
}

static void take_line(int argc, char **argv)
{
    line_of.command = argv[1];
    for (int i = 2; i < argc; i++) {
        size_t n = strcspn(argv[i], "=");
        const struct Option *o = find_option(argv[i], n);
        if (!o && take_switch(argv[i])) continue;
        if (!o || (o->kind == FLAG && argv[i][n])) {
            take_word(argv[i]);
        } else if (o->kind == FLAG) {
            *(bool *)o->to = true;
        } else if (argv[i][n]) {
            take_value(o, argv[i] + n + 1);
        } else {
            if (i + 1 == argc) usage_error("%s needs a value: %s %s", o->name, o->name, o->argument);
            take_value(o, argv[++i]);
        }
    }
    check_precision(&options);
    if (options.memory && options.recompute > 0) usage_error("--memory finds what --recompute says: give one of them");
    options.runs = same(line_of.command, "replay") || same(line_of.command, "train");
    set_instruments();
}

/* ------------------------------------------------------------------ compiling */

static void need_description(void)
{
    if (!line_of.model)
        for (int i = 0; i < line_of.rest.n; i++)
            if (access(format("%s.lua", line_of.rest.at[i]), R_OK) == 0)
                usage_error("%s needs a description; did you mean %s.lua?", line_of.command, line_of.rest.at[i]);
    if (!line_of.model) usage_error("%s needs a description: lathe %s MODEL.lua", line_of.command, line_of.command);
    if (access(line_of.model, R_OK) != 0) err((Where){0}, "cannot read %s: %s", line_of.model, strerror(errno));
    options.model_file = line_of.model;
}

static bool ends_in(const char *file, const char *suffix)
{
    size_t n = strlen(file), end = strlen(suffix);
    return n > end && same(file + n - end, suffix);
}

static bool is_graph(const char *file) { return ends_in(file, ".graph"); }
static bool is_kernels(const char *file) { return ends_in(file, ".kernels"); }

static Module *compiled(void)
{
    need_description();
    if (is_graph(options.model_file) || is_kernels(options.model_file))
        usage_error("%s: texts of graphs and of kernels are for `lathe dump`", options.model_file);
    return options.memory ? compile_within(options.memory) : compile(front(&options));
}

/* Part of a folder's name; what tells folders apart is the hash. */
static const char *folder_word(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+";
    if (!name || !*name) return "default";
    char *word = copy_bytes_as_string(name, strnlen(name, 64));
    for (char *c = word; *c; c++)
        if (!strchr(plain, *c) || *word == '.') *c = '_';
    return word;
}

static const char *folder_for(const Desc *d)
{
    if (options.out_dir) return options.out_dir;
    uint64_t h = d->source_hash;
    const bool switches[] = {options.all_in_place, options.all_panels, options.all_persist,
                             options.poison,       options.instrument, precision()->weights == BF16};
    h = hash_bytes(&options.without, sizeof options.without, hash_bytes(switches, sizeof switches, h));
    if (options.memory || options.recompute > 0)
        h = hash_bytes(&options.recompute, sizeof options.recompute, h) + (uint64_t)options.split;
    h = hash_bytes(&options.head_rows, sizeof options.head_rows, h);
    return format("generated/%s-%s-%s-%s-%08llx", folder_word(d->model), folder_word(d->config), options.target->name,
                  precision()->name, (unsigned long long)(h & 0xffffffff));
}

static const char *trainer(void)
{
    const Module *m = compiled();
    const char *dir = folder_for(m->desc);
    if (options.target == &target_cuda) emit_cuda(m, dir);
    else emit_c(m, dir);
    if (options.source) return dir;
    return options.target == &target_cuda ? build_cuda(dir) : build(m, dir);
}

/* ------------------------------------------------------------------ commands */

static int kernels_of_all(const Module *m)
{
    int n = 0;
    for (int i = 0; i < m->programs.n; i++) n += program_kernels(m->programs.at[i]);
    return n;
}

static int do_check(void)
{
    const Module *m = compiled();
    if (options.json)
        printf("{\"parameters\": %lld, \"flops_per_step\": %.0f, \"planned_bytes\": %lld}\n",
               (long long)m->plan.parameter_count, m->flops_per_step, (long long)m->plan.total);
    else
        say_to(stdout, "%s is sound: %s parameters, %s flop a step, %s bytes of memory\n", m->desc->file,
               grouped(m->plan.parameter_count), grouped((int64_t)m->flops_per_step), grouped(m->plan.total));
    return 0;
}

static int do_plan(void)
{
    Module *m = compiled();
    const Plan *p = &m->plan;
    Text t = {0};
    if (options.gpus > 1 && !options.target->device)
        usage_error("--gpus %lld: that is for --target cuda", (long long)options.gpus);
    if (options.gpus > 1) plan_for_gpus(m, (int)options.gpus);
    if (!options.json) {
        name_kernels(m);
        say_choices(&t);
        print_plan(&t, m);
        if (!options.target->device) say(&t, "\nabout %.1f ms a step on this machine\n", estimated_ms(m));
        say_text_to(stdout, t.at);
        return 0;
    }
    say_choices_json(&t);
    printf("{\"parameters\": %lld, \"flops_per_step\": %.0f, \"planned_bytes\": %lld, \"lower_bound_bytes\": %lld, "
           "\"kernels\": %d,\n \"bytes\": {\"parameters\": %lld, \"gradients\": %lld, \"optimizer\": %lld, \"states\": "
           "%lld, \"inputs\": %lld, \"outputs\": %lld, \"work\": %lld, ",
           (long long)p->parameter_count, m->flops_per_step, (long long)p->total, (long long)p->lower_bound,
           kernels_of_all(m), (long long)p->parameters, (long long)p->gradients, (long long)p->optimizer,
           (long long)p->states, (long long)p->inputs, (long long)p->outputs, (long long)p->work);
    if (options.target->device)
        printf("\"generation\": %lld, \"step\": %lld, \"workspace\": %lld},\n \"gpus\": %d, \"host_bytes\": "
               "{\"image\": %lld, "
               "\"pinned\": %lld, \"data\": %lld, \"shared\": %lld}%s}\n",
               (long long)p->generation, (long long)p->step, (long long)p->workspace, p->gpus, (long long)p->image,
               (long long)p->pinned, (long long)p->data, (long long)p->shared, t.at ? t.at : "");
    else
        printf("\"blas\": %lld, \"data\": %lld, \"generation\": %lld},\n \"step_ms_estimate\": %.3f%s}\n",
               (long long)p->blas, (long long)p->data, (long long)p->generation, estimated_ms(m), t.at ? t.at : "");
    return 0;
}

static int do_build(void)
{
    const char *program = trainer();
    if (isatty(STDOUT_FILENO)) say_to(stdout, "%s\n", program);
    else printf("%s\n", program); /* $(lathe build …) */
    return 0;
}

/* `lathe train`, `lathe export`, `lathe replay`: the trainer's command of that name. */
static int do_run(void)
{
    if (options.source) usage_error("--source is for build: %s needs a trainer", line_of.command);
    if (same(line_of.command, "replay") && options.target != &target_cpu)
        usage_error("replay runs on the processor alone: leave --target out");
    const char *program = trainer();
    say_to(stderr, "trainer: %s\n", program);
    Words words = {0};
    push(&words, program);
    push(&words, line_of.command);
    if (options.json) push(&words, "--json");
    for (int i = 0; i < options.for_run.n; i++) {
        push(&words, "--set");
        push(&words, options.for_run.at[i]);
    }
    for (int i = 0; i < line_of.rest.n; i++) push(&words, line_of.rest.at[i]);
    push(&words, NULL);
    fflush(stdout);
    execv(program, (char *const *)words.at);
    err((Where){0}, "cannot run %s: %s", program, strerror(errno));
}

/* Of a stage the last. */
static const Pass *pass_named(const char *name)
{
    int n;
    const Pass *list = pass_list(&n);
    if (last_of_stage(name)) return last_of_stage(name);
    const char **names = NEW_ARRAY(const char *, n);
    for (int i = 0; i < n; i++) {
        names[i] = list[i].name;
        if (same(list[i].name, name)) return &list[i];
    }
    const char *close = nearest(name, names, n);
    usage_error("there is no pass %s%s%s; `lathe passes` lists them", name, close ? "; did you mean " : "",
                close ? close : "");
}

/* That of --from: straighten is the first to cut a graph. */
static const Pass *pass_to_start_with(void)
{
    const Pass *p = pass_named(line_of.from);
    if (is_kernels(options.model_file))
        usage_error("--from %s: the text of kernels says itself after which pass it is", p->name);
    if (p->kind > GRAPHS && !same(p->name, "straighten"))
        usage_error("--from %s: a graph's text starts with a pass over graphs, or with straighten", p->name);
    return p;
}

static char *text_of_model(void)
{
    char *text = read_file(options.model_file, NULL);
    if (!text)
        err((Where){.file = options.model_file}, "cannot be read: %s", errno ? strerror(errno) : "it is no plain file");
    return text;
}

/* Of kernels that came as text: those passes that are left up to `after`. */
static const Module *dumped_kernels(const Pass *after)
{
    Module *m = parse_kernels(options.model_file, text_of_model(), NULL);
    const char *was = m->programs.at[0]->after;
    if (!options.dump_after) return m;
    if (comes_before(after->name, was))
        usage_error("--after %s: %s is of after %s already", after->name, options.model_file, was);
    compile_kernels(m, after->name);
    return m;
}

/* Of a description all passes up to `after`.  A graph's text is what came out of some pass: only the one asked for
 * runs, or those from `from` on; for kernels all from `normal` on. */
static const Module *dumped(const char *from, const Pass *after)
{
    const char *file = options.model_file;
    if (is_kernels(file)) return dumped_kernels(after);
    if (!is_graph(file)) {
        if (from) usage_error("--from %s: a description starts at the front; give a graph's text (.graph)", from);
        return compile_until(front(&options), NULL, after->name);
    }
    if (!from) from = after->kind <= GRAPHS ? after->name : "normal";
    return compile_until(parse_graphs(file, text_of_model()), from, after->name);
}

static int do_dump(void)
{
    if (line_of.from && (is_graph(line_of.from) || is_kernels(line_of.from))) {
        line_of.model = line_of.from;
        line_of.from = NULL;
    }
    need_description();
    const Pass *after = pass_named(options.dump_after ? options.dump_after : "front");
    const char *from = line_of.from ? pass_to_start_with()->name : NULL;
    const Module *m = dumped(from, after);
    set_sizes(m->desc);
    name_parameters(m->desc);
    Text t = {0};
    print_stage(&t, m, m->programs.n ? pass_named(m->programs.at[0]->after) : after);
    say_text_to(stdout, t.at ? t.at : "");
    return 0;
}

static int do_ops(void)
{
    for (int op = 0; op < OPS; op++) {
        const OpInfo *o = &op_info[op];
        const char *text = *o->text ? o->text : *o->ints ? format("{%s}", o->ints) : "";
        printf("%-12s %-7s %2d  %-24s %s\n", o->name,
               (const char *[]){"map", "reduce", "leaf", "move", "dot", "index", "loop", "whole"}[o->kind], o->arity,
               text, o->doc);
    }
    return 0;
}

static int do_passes(void)
{
    int n;
    const Pass *list = pass_list(&n);
    for (int i = 0; i < n; i++)
        printf("%-10s %-15s %s\n", list[i].name, list[i].option ? format("--no-%s", list[i].option) : "", list[i].doc);
    return 0;
}

static int do_stubs(void)
{
    const char *dir = options.out_dir ? options.out_dir : line_of.model ? line_of.model : ".";
    make_folder(dir);
    front_stubs(dir);
    return 0;
}

/* lathe doctor [MODEL.lua] [--data FILE…] [--out RUN] */
static int do_doctor(void)
{
    Doctor d = {0};
    bool data = false;
    for (int i = 0; i < line_of.rest.n; i++) {
        const char *word = line_of.rest.at[i];
        if (starts_with(word, "--")) data = same(word, "--data");
        if (same(word, "--out") && i + 1 < line_of.rest.n) d.out = line_of.rest.at[++i];
        else if (data && !same(word, "--data")) push(&d.data, word);
        else if (!same(word, "--data"))
            usage_error("doctor takes a description, --data FILE and --out RUN, and no %s", word);
    }
    examine_machine(&d);
    if (line_of.model) examine_description(&d, compiled());
    else if (d.data.n) usage_error("--data is looked at with a description: lathe doctor MODEL.lua --data FILE");
    return tell_findings(&d, options.json);
}

/* `lathe tokenize …`, `lathe data …`: lathe-data reads the rest of the line. */
static int do_data(void)
{
    line_of.all[0] = program_beside("lathe-data");
    execv(line_of.all[0], line_of.all);
    err((Where){0}, "cannot run %s: %s\n  build Lathe again", line_of.all[0], strerror(errno));
}

static int do_help(void);

static const struct Command {
    const char *name;
    int (*run)(void);
    const char *arguments, *doc;
} commands[] = {
    {"check", do_check, "MODEL.lua", "is it sound, and how large is it"},
    {"plan", do_plan, "MODEL.lua", "its memory, to the byte, and its kernels"},
    {"build", do_build, "MODEL.lua", "writes the program and compiles it; prints the trainer's path"},
    {"train", do_run, "MODEL.lua", "builds, then runs `trainer train` with the other options"},
    {"export", do_run, "MODEL.lua", "builds, then runs `trainer export --to hf`: weights as Hugging Face has them"},
    {"replay", do_run, "MODEL.lua", "builds with --instrument, then runs `trainer replay`: which tensor is not finite"},
    {"dump", do_dump, "FILE",
     "prints the graphs or the kernels after a pass; FILE is a description or what dump printed (.graph, .kernels)"},
    {"ops", do_ops, "", "the operations"},
    {"passes", do_passes, "", "the passes, in order"},
    {"stubs", do_stubs, "[DIR]", "writes type annotations of the language for editors"},
    {"tokenize", do_data, "train|encode|decode", "tokenizers: made from text, text to token ids and back"},
    {"data", do_data, "info FILE…", "what is in files of training data"},
    {"doctor", do_doctor, "[MODEL.lua]",
     "what this machine has and does, what fits, what to expect; --data FILE, --out RUN"},
    {"help", do_help, "", "this page"},
};

static int do_help(void)
{
    printf("usage: lathe COMMAND [MODEL.lua] [options]\n\n");
    for (int i = 0; i < COUNT_OF(commands); i++)
        printf("  %-8s %-19s %s\n", commands[i].name, commands[i].arguments, commands[i].doc);
    printf("\noptions\n");
    for (int i = 0; i < COUNT_OF(known); i++)
        printf("  %-24s %s\n", format("%s %s", known[i].name, known[i].argument), known[i].doc);
    printf("\npasses that can be left out (`lathe passes` lists all)\n");
    int n;
    const Pass *list = pass_list(&n);
    for (int i = 0; i < n; i++)
        if (list[i].option) printf("  %-24s %s\n", format("--no-%s", list[i].option), list[i].off);
    return 0;
}

static const struct Command *command_named(const char *name)
{
    const char *names[COUNT_OF(commands)];
    if (same(name, "--help") || same(name, "-h")) name = "help";
    for (int i = 0; i < COUNT_OF(commands); i++) {
        names[i] = commands[i].name;
        if (same(commands[i].name, name)) return &commands[i];
    }
    const char *close = nearest(name, names, COUNT_OF(names));
    if (close) usage_error("there is no command %s; did you mean %s?", name, close);
    usage_error("there is no command %s; `lathe help` lists them", name);
}

int main(int argc, char **argv)
{
    start_process("lathe");
    if (argc < 2) {
        do_help();
        return end_process("lathe", 2);
    }
    const struct Command *command = command_named(argv[1]);
    line_of.all = argv;
    if (command->run != do_data) take_line(argc, argv);
    int code = command->run();
    free_all();
    return end_process("lathe", code);
}
