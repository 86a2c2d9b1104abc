/* main.c: the commands. */
#include "desc/options.h"
#include "desc/target.h"
#include "doctor/doctor.h"
#include "emit/emit.h"
#include "lathe.h"
#include "line.h"
#include "onnx/onnx.h"
#include "passes/passes.h"
#include "plan/plan.h"
#include "runtime/base/help.h"
#include "runtime/base/process.h"
#include "timing/timing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ compiling */

static void need_description(void)
{
    const char *command = line_of.command->name;
    if (!line_of.model)
        for (int i = 0; i < line_of.rest.n; i++)
            if (access(format("%s.lua", line_of.rest.at[i]), R_OK) == 0)
                usage_error("%s needs a description; did you mean %s.lua?", command, line_of.rest.at[i]);
    if (!line_of.model) usage_error("%s needs a description: lathe %s MODEL.lua", command, command);
    if (access(line_of.model, R_OK) != 0) err((Where){0}, "cannot read %s: %s", line_of.model, strerror(errno));
    line_of.options.model_file = line_of.model;
}

static bool has_suffix(const char *file, const char *suffix)
{
    size_t n = strlen(file), end = strlen(suffix);
    return n > end && same(file + n - end, suffix);
}

static bool is_graph(const char *file) { return has_suffix(file, ".graph"); }
static bool is_kernels(const char *file) { return has_suffix(file, ".kernels"); }

/* tried: the plans that --memory tried; left alone without --memory. */
static Module *compiled_of(const Choices **tried)
{
    const Options *o = &line_of.options;
    need_description();
    if (line_of.command->manner & RUNS && names_data(&line_of.rest)) {
        const Desc *d = front_recipe(&line_of.options);
        take_sizes_from_data(&line_of.options, d, &line_of.rest);
    }
    if (is_graph(o->model_file) || is_kernels(o->model_file))
        usage_error("%s: texts of graphs and of kernels are for `lathe dump`", o->model_file);
    return o->memory ? compile_within(o, tried) : compile(front(o));
}

static Module *compiled(void)
{
    const Choices *tried;
    return compiled_of(&tried);
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
    const Options *o = d->options;
    if (o->out_dir) return o->out_dir;
    const char *words = options_text(o, OTHER_PROGRAM);
    uint64_t h = hash_bytes(words, strlen(words), d->source_hash);
    return format("generated/%s-%s-%s-%s-%08llx", folder_word(d->model), folder_word(d->config), o->target->name,
                  precision_of(o).name, (unsigned long long)(h & 0xffffffff));
}

static const char *trainer(const Module *m)
{
    const Options *o = m->desc->options;
    const char *dir = folder_for(m->desc);
    if (makes_library(o)) return make_library(m, dir);
    if (o->target->device && (o->is_static || o->machine)) usage_error("%s is for processors: leave --target %s out", o->machine ? "--for" : "--static", o->target->name);
    if (o->target == &target_cuda) emit_cuda(new_page(m), dir);
    else emit_c(new_page(m), dir);
    if (o->source) return dir;
    return o->target == &target_cuda ? build_cuda(dir) : build(m, dir);
}

/* ------------------------------------------------------------------ commands */

static int do_check(void)
{
    if (line_of.options.json) begin_mistakes();
    const Module *m = compiled();
    if (line_of.options.json)
        printf("{\"parameters\": %lld, \"flops_per_step\": %.0f, \"planned_bytes\": %lld, \"mistakes\": [%s]}\n",
               (long long)m->plan.flat.count, m->flops_per_step, (long long)m->plan.total, mistakes_text());
    else
        say_to(stdout, "%s is sound: %s parameters, %s flop a step, %s bytes of memory\n", m->desc->file,
               grouped(m->plan.flat.count), grouped((int64_t)m->flops_per_step), grouped(m->plan.total));
    return 0;
}

static void refuse_plan(const Module *m)
{
    const Options *o = &line_of.options;
    if (o->gpu && (!o->time || !o->target->device)) usage_error("--gpu %s: that is for --time --target cuda", o->gpu);
    if (o->time && o->target->device && (!o->gpu || !gpu_named(o->gpu)))
        usage_error("--time: expected the --gpu whose times are predicted, %s; found %s%s", names_of_gpus(),
                    o->gpu ? o->gpu : "none", gpu_meant(o->gpu));
    if (o->time && max64(o->gpus, o->ranks) > 1)
        usage_error("--time: times are predicted for one %s out", o->gpus > 1 ? "GPU; leave --gpus" : "rank; leave --ranks");
    Rates usual = usual_rates();
    if (o->time && step_ms(m, &usual) == 0)
        usage_error("--time: the description has no entry that trains, so there is no step to time");
}

static void say_plan(Text *t, const Module *m, const Choices *tried)
{
    Page *page = new_page(m);
    name_kernels(page);
    if (tried) say_choices(t, tried);
    if (line_of.options.time) {
        Rates r = asked_rates(&line_of.options, precision_of(&line_of.options).tf32);
        say_times(page, t, &r);
        return;
    }
    print_plan(page, t);
    Rates usual = usual_rates();
    double ms = line_of.options.target->device ? 0 : step_ms(m, &usual);
    if (ms > 0) say(t, "\nabout %s a step on a usual machine; --time: on this one\n", milliseconds(ms));
    if (ms > 0) say_serial(page, t, &usual);
}

static void say_plan_object(Text *t, const Module *m, const Choices *tried)
{
    Page *page = new_page(m);
    name_kernels(page);
    say(t, "{");
    say_plan_json(page, t);
    if (!line_of.options.target->device || line_of.options.time) {
        Rates r =
            line_of.options.time ? asked_rates(&line_of.options, precision_of(&line_of.options).tf32) : usual_rates();
        double ms = step_ms(m, &r);
        say(t, ",\n \"%s\": %s", line_of.options.time ? "step_ms_estimate" : "step_ms_usual_machine",
            ms > 0 ? format("%.4g", ms) : "null");
        if (!r.gpu) say_serial_json(page, t, &r);
        if (line_of.options.time) say_times_json(page, t, &r);
    }
    if (tried) say_choices_json(t, tried);
    say(t, "}\n");
}

static int do_plan(void)
{
    const Choices *tried = NULL;
    Module *m = compiled_of(&tried);
    Text t = {0};
    const int ranks = ranks_planned(m->desc->one_rank);
    refuse_plan(m);
    if (ranks > 1) plan_for_ranks(m, ranks);
    if (line_of.options.json) say_plan_object(&t, m, tried);
    else say_plan(&t, m, tried);
    say_text_to(stdout, t.at);
    return 0;
}

static int do_explain(void)
{
    const Module *m = compiled();
    Page *page = new_page(m);
    if (!line_of.rest.n)
        usage_error("explain needs a name of the source, the plan or a profile: lathe explain MODEL.lua NAME");
    name_kernels(page);
    for (int i = 0; i < line_of.rest.n; i++) {
        Text t = {0};
        Texts known = {0};
        const char *name = line_of.rest.at[i];
        if (*name == '-') usage_error("explain has no option %s; `lathe help` lists them", name);
        if (!explain(page, &t, name, NULL)) {
            explain(page, &t, name, &known);
            const char *close = nearest(name, known.at, known.n);
            err((Where){.file = m->desc->file},
                "it has no kernel, value or parameter '%s'%s%s; `lathe plan` lists them", name,
                close ? "; did you mean " : "", close ? close : "");
        }
        say_text_to(stdout, t.at);
    }
    return 0;
}

static int do_build(void)
{
    const Module *m = compiled();
    (void)ranks_planned(m->desc->one_rank);
    const char *program = trainer(m);
    if (isatty(STDOUT_FILENO)) say_to(stdout, "%s\n", program);
    else printf("%s\n", program); /* $(lathe build …) */
    return 0;
}

/* What the line that goes to the trainer says behind --name; NULL: nothing. */
static const char *passed_on(const char *name)
{
    size_t n = strlen(name);
    for (int i = 0; i < line_of.rest.n; i++) {
        const char *word = line_of.rest.at[i];
        if (same(word, name) && i + 1 < line_of.rest.n) return line_of.rest.at[i + 1];
        if (starts_with(word, name) && word[n] == '=') return word + n + 1;
    }
    return NULL;
}

/* A trainer has the weights and no graph: it gets the graph as a file in its folder. */
static void hand_over_graph(const char *dir, Texts *words)
{
    bool onnx = same(line_of.command->name, "export") && same(passed_on("--to"), "onnx");
    if (line_of.options.entry && !onnx) usage_error("--entry is for export --to onnx");
    if (!onnx) return;
    const char *path = format("%s/graph.onnx.part", dir);
    remarks_made = true; /* by the compilation */
    const Text part = onnx_part(front(&line_of.options), line_of.options.entry);
    if (!write_file(path, part.at, part.n)) err((Where){.file = path}, "cannot be written: %s", strerror(errno));
    push(words, "--graph");
    push(words, path);
}

/* `lathe train`, `lathe export`, `lathe replay`: the trainer's command of that name. */
static int do_run(void)
{
    const Options *o = &line_of.options;
    if (o->source || makes_library(o))
        usage_error("%s is for build: %s needs a trainer", o->source ? "--source" : "--library", line_of.command->name);
    if (line_of.command->manner & INSTRUMENTS && line_of.options.target != &target_cpu)
        usage_error("%s runs on the processor alone: leave --target out", line_of.command->name);
    if (line_of.command->manner & RUNS && only_answers(&line_of.options))
        usage_error(
            "%s: a program built with --parameters %s trains nothing; --lora … --frozen %s trains adapters beside such "
            "weights",
            line_of.command->name, line_of.options.parameters, line_of.options.parameters);
    check_data_is_there(&line_of.rest);
    const Module *m = compiled();
    const char *program = trainer(m), *hosts = line_of.options.hosts;
    say_to(stderr, "trainer: %s\n", program);
    Texts words = {0};
    if (hosts) start_on_hosts(&words, hosts, program);
    else push(&words, program);
    push(&words, line_of.command->name);
    if (line_of.options.json) push(&words, "--json");
    for (int i = 0; i < m->desc->for_run.n; i++) {
        push(&words, "--set");
        push(&words, m->desc->for_run.at[i]);
    }
    for (int i = 0; i < line_of.rest.n; i++) push(&words, line_of.rest.at[i]);
    hand_over_graph(folder_for(m->desc), &words);
    push(&words, NULL);
    fflush(stdout);
    execv(words.at[0], (char *const *)words.at);
    err((Where){0}, "cannot run %s: %s", words.at[0], strerror(errno));
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
    const Pass *p = pass_named(line_of.options.dump_from);
    if (is_kernels(line_of.options.model_file))
        usage_error("--from %s: the text of kernels says itself after which pass it is", p->name);
    if (!is_first_of_graphs(p))
        usage_error("--from %s: a graph's text starts with a pass over graphs, or with straighten", p->name);
    return p;
}

static char *text_of_model(void)
{
    char *text = read_file(line_of.options.model_file, NULL);
    if (!text)
        err((Where){.file = line_of.options.model_file}, "cannot be read: %s",
            errno ? strerror(errno) : "it is not a regular file");
    return text;
}

/* Of kernels that came as text: those passes that are left up to `after`. */
static const Module *dumped_kernels(const Pass *after)
{
    Module *m = parse_kernels(line_of.options.model_file, text_of_model(),
                              describe(NULL, line_of.options.model_file, &line_of.options));
    const char *was = m->programs.at[0]->after;
    if (!line_of.options.dump_after) return m;
    if (comes_before(after->name, was))
        usage_error("--after %s: %s is of after %s already", after->name, line_of.options.model_file, was);
    compile_kernels(m, after->name);
    return m;
}

/* Of a description all passes up to `after`.  A graph's text is what came out of some pass: only the one asked for
 * runs, or those from `from` on; for kernels all from `normal` on. */
static const Module *dumped(const char *from, const Pass *after)
{
    const char *file = line_of.options.model_file;
    if (is_kernels(file)) return dumped_kernels(after);
    if (!is_graph(file)) {
        if (from) usage_error("--from %s: a description starts at the front; give a graph's text (.graph)", from);
        return compile_until(front(&line_of.options), NULL, after->name);
    }
    if (!from) from = after->kind <= GRAPHS ? after->name : "normal";
    return compile_until(parse_graphs(file, text_of_model(), &line_of.options), from, after->name);
}

static int do_dump(void)
{
    if (line_of.options.dump_from && (is_graph(line_of.options.dump_from) || is_kernels(line_of.options.dump_from))) {
        line_of.model = line_of.options.dump_from;
        line_of.options.dump_from = NULL;
    }
    need_description();
    const Pass *after = pass_named(line_of.options.dump_after ? line_of.options.dump_after : "front");
    const char *from = line_of.options.dump_from ? pass_to_start_with()->name : NULL;
    const Module *m = dumped(from, after);
    Text t = {0};
    print_stage(&t, m, m->programs.n ? pass_named(m->programs.at[0]->after) : after);
    say_text_to(stdout, t.at ? t.at : "");
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
    return tell_findings(&d, line_of.options.json);
}

/* A program that reads the rest of the line itself. */
static _Noreturn void start_beside(const char *name)
{
    line_of.all[0] = program_beside(name);
    execv(line_of.all[0], line_of.all);
    err((Where){0}, "cannot run %s: %s\n  build Lathe again", line_of.all[0], strerror(errno));
}

/* `lathe tokenize …`, `lathe data …`, `lathe report …` and the like. */
static int do_data(void) { start_beside("lathe-data"); }

/* `lathe sweep …`, `lathe scale …`: lathe-sweep does. */
static int do_sweep(void) { start_beside("lathe-sweep"); }

static int do_diff(void) { start_beside("lathe-diff"); }

static int do_help(void);

static const Command commands[] = {
    {"check", do_check, 0, "MODEL.lua", "checks a description and prints its size"},
    {"plan", do_plan, RANKS_OF_PLAN, "MODEL.lua", "prints its memory, to the byte, and its kernels"},
    {"explain", do_explain, PASSES_ON, "MODEL.lua",
     "NAME…: what a name of the source, the plan, a profile or a crash is: its Lua line, formula, neighbours"},
    {"build", do_build, RANKS_OF_PLAN, "MODEL.lua", "writes the program and compiles it; prints the trainer's path"},
    {"train", do_run, PASSES_ON | RUNS | RANKS_OF_TRAINER, "MODEL.lua",
     "builds, then runs `trainer train` with the other options"},
    {"export", do_run, PASSES_ON, "MODEL.lua",
     "builds, then runs `trainer export`: a model for others' programs; --to hf, gguf, peft, gguf-adapter, llmc, onnx"},
    {"replay", do_run, PASSES_ON | RUNS | INSTRUMENTS, "MODEL.lua",
     "builds with --instrument, then runs `trainer replay`: finds the first tensor that is not finite"},
    {"sweep", do_sweep, 0, "MODEL.lua --over …",
     "trains a description many times, over values of its settings, and prints which were best"},
    {"scale", do_sweep, 0, "MODEL.lua --over …",
     "trains a family of sizes, and says how the loss falls with the size, and what a budget would buy"},
    {"diff", do_diff, 0, "A B",
     "what differs between two descriptions, programs or runs: settings, parameters, plan, losses"},
    {"dump", do_dump, 0, "FILE",
     "prints the graphs or the kernels after a pass; FILE is a description or what dump printed (.graph, .kernels)"},
    {"ops", do_ops, 0, "", "the operations"},
    {"passes", do_passes, 0, "", "the passes, in order"},
    {"settings", do_settings, 0, "", "the recipe's settings, as the table of models/README.md"},
    {"stubs", do_stubs, 0, "[DIR]", "writes type annotations of the language for editors"},
    {"tokenize", do_data, 0, "train|encode|decode", "makes a tokenizer from text; text to token ids and back"},
    {"data", do_data, 0, "info FILE…", "prints what files of training data contain"},
    {"new", do_data, 0, "DIR --from NAME|PATH",
     "writes a description to begin with (--list), or that of a Hugging Face folder or a GGUF file"},
    {"report", do_data, 0, "RUN…", "draws runs as a page of HTML: losses, settings, samples, layers, memory"},
    {"runs", do_data, 0, "[DIR…]", "lists and sorts runs: state, steps, best loss, rate, time"},
    {"verify", do_data, 0, "RUN", "computes steps of a run again: the same, or the first step and tensor that differ"},
    {"plot", do_data, 0, "RUN…", "draws a number of runs in the terminal"},
    {"doctor", do_doctor, PASSES_ON, "[MODEL.lua]",
     "what this machine has, what fits, and how fast it will be; --data FILE, --out RUN"},
    {"version", do_version, 0, "", "which Lathe this is (--version), and the versions of the files that it writes"},
    {"help", do_help, 0, "", "this page"},
};

static int do_help(void)
{
    if (line_of.table) {
        print_table_usage("lathe", "", "COMMAND [MODEL.lua] [options]", "");
        for (int i = 0; i < COUNT_OF(commands); i++)
            print_table_row("command", commands[i].name, commands[i].arguments, commands[i].help);
        print_options(NULL);
        return 0;
    }
    printf("usage: lathe COMMAND [MODEL.lua] [options]\n\n");
    for (int i = 0; i < COUNT_OF(commands); i++)
        printf("  %-8s %-19s %s\n", commands[i].name, commands[i].arguments, commands[i].help);
    printf("\noptions\n");
    print_options(NULL);
    return 0;
}

static int table_of(const Command *c)
{
    print_table_usage("lathe", c->name, c->arguments, c->help);
    print_options(c->name);
    if (c->manner & PASSES_ON && c->run == do_run) print_table_row("also", "trainer", c->name, "");
    for (char **word = line_of.all + 2; *word; word++)
        if (has_suffix(*word, ".lua") && access(*word, R_OK) == 0) {
            line_of.options.model_file = *word;
            print_names_of(front_recipe(&line_of.options));
        }
    return 0;
}

static int help_of(const Command *c)
{
    if (line_of.table) return table_of(c);
    printf("usage: lathe %s %s [options]\n\n  %s\n\noptions\n", c->name, c->arguments, c->help);
    print_options(c->name);
    if (c->manner & PASSES_ON && c->run == do_run)
        printf("\nAll others are the trainer's: `lathe %s MODEL.lua --help` builds it and lists them.\n", c->name);
    return 0;
}

static const Command *command_named(const char *name)
{
    const char *names[COUNT_OF(commands)];
    line_of.table = asks_for_table(name);
    if (same(name, "--help") || same(name, "-h") || line_of.table) name = "help";
    if (same(name, "--version")) name = "version";
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
    const Command *command = command_named(argv[1]);
    line_of.all = argv;
    bool ours = command->run != do_data && command->run != do_sweep && command->run != do_diff,
         help = ours && asks_for_help(command, argc, argv);
    if (ours && !help) take_line(command, argc, argv);
    if (line_of.options.machine && !same(command->name, "build"))
        usage_error("--for %s: that is for build; plans are the same for all machines", line_of.options.machine);
    if (line_of.options.gpu && !same(command->name, "plan"))
        usage_error("--gpu %s: that is for plan --time --target cuda", line_of.options.gpu);
    int code = help ? help_of(command) : command->run();
    free_all();
    return end_process("lathe", code);
}
