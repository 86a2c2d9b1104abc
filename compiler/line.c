/* line.c: reads the command line into the options (desc/options.def), and lists those for help. */
#include "line.h"
#include "build/machine.h"
#include "desc/target.h"
#include "passes/passes.h"
#include "runtime/base/help.h"
#include "runtime/interface/dealt.h"
#include "timing/timing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Line line_of = {.options.target = &target_cpu};

/* ------------------------------------------------------------------ options whose argument is checked */

static void give_sets(const char *value)
{
    if (!strchr(value, '=')) usage_error("--set %s: expected KEY=VALUE", value);
    push(&line_of.options.sets, value);
}

static void give_target(const char *value)
{
    line_of.options.target = same(value, "cpu") ? &target_cpu : same(value, "cuda") ? &target_cuda : NULL;
    if (!line_of.options.target) usage_error("--target %s: expected cpu or cuda", value);
}

/* Of train the trainer's: here they only say whose plan --memory fits. */
static void take_ranks(const char *option, const char *value, int64_t *ranks)
{
    char *end;
    const int most = ranks == &line_of.options.ranks ? LATHE_MOST_RANKS : LATHE_MOST_GPUS;
    *ranks = strtoll(value, &end, 10);
    if (line_of.command->manner & RANKS_OF_TRAINER) {
        push(&line_of.rest, format("%s=%s", option, value));
        if (*end || *ranks < 1 || *ranks > most) *ranks = 0; /* the trainer says so */
        return;
    }
    if (!(line_of.command->manner & RANKS_OF_PLAN)) usage_error("%s is for plan, build and train", option);
    if (*end || *ranks < 1 || *ranks > most) usage_error("%s %s: expected 1 to %d", option, value, most);
}

static void give_gpus(const char *value) { take_ranks("--gpus", value, &line_of.options.gpus); }
static void give_ranks(const char *value) { take_ranks("--ranks", value, &line_of.options.ranks); }

int ranks_planned(const char *one_rank)
{
    const Options *o = &line_of.options;
    const long long ranks = max64(1, max64(o->gpus, o->ranks));
    if (o->gpus && !o->target->device)
        usage_error("--gpus %lld: that is for --target cuda; processors have processes: --ranks N", ranks);
    if (o->ranks && o->target->device)
        usage_error("--ranks %lld: that is for processors; with --target cuda each rank has a GPU: --gpus N", ranks);
    if ((o->gpus || o->ranks) && !o->memory && same(line_of.command->name, "build"))
        usage_error(
            "--%s: build takes it only with --memory, which then fits the plan of each; `trainer train` takes it",
            o->gpus ? "gpus" : "ranks");
    if (ranks > 1 && one_rank) usage_error("--%s %lld: %s", o->gpus ? "gpus" : "ranks", ranks, one_rank);
    return (int)ranks;
}

static void give_machine(const char *value)
{
    line_of.options.machine = value;
    if (!machine_named(value)) usage_error("--for %s: expected %s%s", value, names_of_machines(), machine_meant(value));
}

static void give_head_rows(const char *value)
{
    char *end;
    line_of.options.head_rows = strtoll(value, &end, 10);
    if (*end || line_of.options.head_rows < 1) usage_error("--head-rows %s: expected a number of rows", value);
}

static void give_exact_rows(const char *value)
{
    char *end;
    line_of.options.exact_rows = strtoll(value, &end, 10);
    if (*end || line_of.options.exact_rows < 1) usage_error("--exact-sums %s: expected a number of rows", value);
}

static void give_recompute(const char *value)
{
    char *end;
    line_of.options.recompute = strtod(value, &end);
    bool share = line_of.options.recompute >= 0 && line_of.options.recompute <= 1;
    if (*end || end == value || !(share || line_of.options.recompute == 2))
        usage_error("--recompute %s: expected a share from 0 to 1, or 2", value);
}

/* ------------------------------------------------------------------ the table */

static const struct Option {
    const char *name, *argument, *help;
    bool *flag;
    const char **text;
    void (*give)(const char *value);
} known[] = {
#define FLAG(member, option, changes, help)                    {option, "", help, .flag = &line_of.options.member},
#define TEXT(member, option, argument, changes, help)          {option, argument, help, .text = &line_of.options.member},
#define CHECKED(type, member, option, argument, changes, help) {option, argument, help, .give = give_##member},
#include "desc/options.def"
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

static bool is_description(const char *word)
{
    const char *dot = strrchr(word, '.');
    return dot && (same(dot, ".lua") || same(dot, ".graph") || same(dot, ".kernels"));
}

bool asks_for_help(const Command *command, int argc, char **argv)
{
    bool asks = false, described = false;
    for (int i = 2; i < argc; i++) {
        line_of.table |= asks_for_table(argv[i]);
        asks |= same(argv[i], "--help") || same(argv[i], "-h") || line_of.table;
        described |= is_description(argv[i]);
    }
    return asks && (line_of.table || !(described && command->manner & PASSES_ON));
}

static Options with_own_sets(const Options *o)
{
    Options copy = *o;
    copy.sets = (Texts){0};
    for (int i = 0; i < o->sets.n; i++) push(&copy.sets, o->sets.at[i]);
    return copy;
}

static void end_thing(void)
{
    if (line_of.things) line_of.thing[line_of.things - 1].options = line_of.options;
    else line_of.shared = line_of.options;
}

/* Options behind it are its own; --json is the command's wherever it stands. */
static void begin_thing(const char *word)
{
    if (word[0] == '-' && word[1]) unknown_option(word);
    if (line_of.things == COUNT_OF(line_of.thing))
        usage_error("%s compares two things (found %s as well)", line_of.command->name, word);
    bool json = line_of.options.json;
    end_thing();
    line_of.options = with_own_sets(&line_of.shared);
    line_of.options.json |= json;
    line_of.thing[line_of.things++].what = word;
}

/* What `train`, `export` and `replay` do not know goes to the trainer, in its order. */
static void take_word(const char *word)
{
    bool passes_on = line_of.command->manner & PASSES_ON;
    if (line_of.command->manner & TWO_THINGS) {
        begin_thing(word);
        return;
    }
    if (word[0] == '-' && word[1] && !passes_on) unknown_option(word);
    if (!line_of.model && (!passes_on || is_description(word))) line_of.model = word;
    else if (passes_on) push(&line_of.rest, word);
    else usage_error("%s: one description is enough (found %s as well)", line_of.model, word);
}

/* A kernel an operation, whose inputs are still there when it has run.  Budgets are for other builds. */
static void set_instruments(void)
{
    if (line_of.command->manner & INSTRUMENTS) line_of.options.instrument = true;
    if (!line_of.options.instrument) return;
    static const Pass_number off[] = {PASS_fuse, PASS_in_place, PASS_pack, PASS_panels, PASS_persist};
    for (int i = 0; i < COUNT_OF(off); i++) leave_out(&line_of.options, off[i], true);
    line_of.options.memory = NULL;
}

static void take_argument(const struct Option *o, const char *value)
{
    if (o->give) o->give(value);
    else *o->text = value;
}

void take_line(const Command *command, int argc, char **argv)
{
    line_of.command = command;
    for (int i = 2; i < argc; i++) {
        size_t n = strcspn(argv[i], "=");
        const struct Option *o = find_option(argv[i], n);
        if (argv[i][0] == '-' && !same(argv[i], "--json"))
            *(line_of.things ? &line_of.thing[line_of.things - 1].own : &line_of.shared_given) = true;
        if (!o && take_switch(&line_of.options, argv[i])) continue;
        if (!o || (o->flag && argv[i][n])) {
            take_word(argv[i]);
        } else if (o->flag) {
            *o->flag = true;
        } else if (argv[i][n]) {
            take_argument(o, argv[i] + n + 1);
        } else {
            if (i + 1 == argc) usage_error("%s needs a value: %s %s", o->name, o->name, o->argument);
            take_argument(o, argv[++i]);
        }
    }
    end_thing();
    check_precision(&line_of.options);
    for (int i = 0; i < line_of.things; i++) check_precision(&line_of.thing[i].options);
    if (line_of.options.memory && line_of.options.recompute > 0)
        usage_error("--memory finds what --recompute says: give one of them");
    if (line_of.options.hosts && !(command->manner & RANKS_OF_TRAINER)) usage_error("--hosts is for train");
    line_of.options.runs = command->manner & RUNS;
    set_instruments();
}

/* A path of --data that is not there is refused before the trainer in the folder is replaced. */
void check_data_is_there(const Texts *words)
{
    bool data = false;
    for (int i = 0; i < words->n; i++) {
        const char *word = words->at[i], *equals = strchr(word, '=');
        if (starts_with(word, "--")) data = same(word, "--data") || same(word, "--val-data");
        if (!data || *word == '-' || access(word, F_OK) == 0 || (equals && access(equals + 1, F_OK) == 0)) continue;
        say_to(stderr, "%s: error: cannot be read: %s; check the path (nothing was built)\n", word, strerror(errno));
        exit(3); /* as the trainer does */
    }
}

/* Help may begin with the commands that the option is for: "check, plan: …". */
static bool is_for(const struct Option *o, const char *command)
{
    size_t word = strcspn(o->help, " ,:"), list = strcspn(o->help, ":");
    if (!command) return true;
    if (strstr(o->help, "(for tests)")) return false;
    return o->help[word] == ' ' || strstr(format("%.*s", (int)list, o->help), command);
}

void print_option_row(const char *name, const char *argument, const char *help)
{
    if (line_of.table) print_table_row("option", name, argument, help);
    else printf("  %-24s %s\n", format("%s %s", name, argument), help);
}

bool is_first_of_graphs(const Pass *p) { return p->kind <= GRAPHS || same(p->name, "straighten"); }

static bool is_pass(const char *name)
{
    int n;
    const Pass *list = pass_list(&n);
    for (int i = 0; i < n; i++)
        if (same(list[i].name, name)) return true;
    return false;
}

static void print_pass_values(const char *option, bool first)
{
    static const char *const stages[] = {STAGE_LIST(LIST_WORD)};
    int n;
    const Pass *list = pass_list(&n);
    for (int i = 0; i < n; i++)
        if (!first || is_first_of_graphs(&list[i])) print_table_row("value", option, list[i].name, "");
    for (int i = 0; i < COUNT_OF(stages) && !first; i++)
        if (!is_pass(stages[i])) print_table_row("value", option, stages[i], "");
}

/* For completions: what an option may be, where a table says it. */
static void print_values_of(const struct Option *o)
{
    if (o->give == give_machine) print_table_values(o->name, names_of_machines());
    if (o->text == &line_of.options.gpu) print_table_values(o->name, names_of_gpus());
    if (o->text == &line_of.options.dump_after) print_pass_values(o->name, false);
    if (o->text == &line_of.options.dump_from) print_pass_values(o->name, true);
}

void print_options(const char *command)
{
    for (int i = 0; i < COUNT_OF(known); i++)
        if (is_for(&known[i], command)) {
            print_option_row(known[i].name, known[i].argument, known[i].help);
            if (line_of.table) print_values_of(&known[i]);
        }
    if (command && !same(command, "dump")) return;
    if (!line_of.table) printf("\npasses that can be left out (`lathe passes` lists all)\n");
    int n;
    const Pass *list = pass_list(&n);
    for (int i = 0; i < n; i++)
        if (list[i].option) print_option_row(format("--no-%s", list[i].option), "", list[i].off);
}
