/* line.c: the command line: its options, and what each sets. */
#include "line.h"
#include "desc/target.h"
#include "passes/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Line line_of;

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

void take_line(int argc, char **argv)
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

void print_options(void)
{
    for (int i = 0; i < COUNT_OF(known); i++)
        printf("  %-24s %s\n", format("%s %s", known[i].name, known[i].argument), known[i].doc);
}
