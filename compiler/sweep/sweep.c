/* sweep.c: lathe-sweep: what `lathe sweep` and `lathe scale` run: a program of its own, since lathe itself does not
 * link the runtime. */
#include "desc/settings.h"
#include "desc/target.h"
#include "lathe.h"
#include "line.h"
#include "runtime/base/help.h"
#include "runtime/base/machine.h"
#include "runtime/base/process.h"
#include "runtime/base/words.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_run(void) { return 2; }
enum { SWEEP, SCALE };
static const Command own_commands[] = {
    [SWEEP] = {"sweep", no_run, PASSES_ON | RUNS | RANKS_OF_TRAINER, "MODEL.lua --over KEY=…",
               "trains a description many times, over values of its settings, and prints which were best"},
    [SCALE] = {"scale", no_run, PASSES_ON | RUNS | RANKS_OF_TRAINER, "MODEL.lua --over KEY=…",
               "trains a family of sizes, and says how the loss falls with the size: E + A / parameters^alpha"},
};

/* ------------------------------------------------------------------ options */

typedef struct Asked { /* 0, NULL: not given */
    Texts over;
    const char *method, *folder, *budget;
    int64_t trials, seeds, jobs, threads, seed, steps, memory;
    bool halving;
} Asked;

static Asked asked;

typedef struct Sweep_option {
    const char *name, *argument, *help;
    int64_t *count;
    const char **text;
    bool *flag;
    int64_t least;
    int besides; /* 1 << SWEEP, 1 << SCALE: a command that does not take it */
} Sweep_option;

static const Sweep_option sweep_options[] = {
    {"--over", "KEY=a..b|a..b/N|a,b,c",
     "a setting and its range, N values of a range (of a grid: 5), or its values; may be repeated", .count = NULL},
    {"--trials", "N", "how many settings to try (20; a grid has as many as it has)", .count = &asked.trials, .least = 1,
     .besides = 1 << SCALE},
    {"--method", "grid|random|tpe",
     "how they are chosen (grid where all are values and no --trials is given, else tpe)", .text = &asked.method,
     .besides = 1 << SCALE},
    {"--halving", "", "all do a ninth of the steps, the best third a third, and of these the best third all",
     .flag = &asked.halving, .besides = 1 << SCALE},
    {"--seeds", "K", "runs of each setting, with seeds S, S + 1, …: ranked by their mean (1)", .count = &asked.seeds,
     .least = 1},
    {"--jobs", "N", "runs at a time (as many as there are cores, and memory for)", .count = &asked.jobs, .least = 1},
    {"--threads", "N", "threads of each run (cores / jobs)", .count = &asked.threads, .least = 1},
    {"--memory-limit", "SIZE", "what all runs at a time may plan together (what the machine has available)",
     .count = NULL},
    {"--seed", "S", "of the settings that are drawn, and of the first run of each (1)", .count = &asked.seed},
    {"--steps", "N", "optimizer steps of a whole run", .count = &asked.steps, .least = 1},
    {"--budget", "TIME|FLOP", "what the law says of runs that take 30m, 2h, or 1e15 operations", .text = &asked.budget,
     .besides = 1 << SWEEP},
    {"--out", "DIR", "folder of it all (runs/sweep-MODEL-CONFIG, runs/scale-…); the same command goes on there",
     .text = &asked.folder},
};

static const Sweep_option *sweep_option(const char *word, size_t n)
{
    for (int i = 0; i < COUNT_OF(sweep_options); i++)
        if (strlen(sweep_options[i].name) == n && strncmp(sweep_options[i].name, word, n) == 0)
            return &sweep_options[i];
    return NULL;
}

static void give_value(const Sweep_option *o, const char *value)
{
    if (o->text) *o->text = value;
    else if (same(o->name, "--over")) push(&asked.over, value);
    else if (same(o->name, "--memory-limit")) {
        if (!parse_size(value, &asked.memory) || asked.memory < 1)
            usage_error("--memory-limit %s: expected a size such as 512M or 2G", value);
    } else if (!parse_count(value, o->count) || *o->count < o->least || *o->count > INT32_MAX)
        usage_error("%s %s: expected a whole number, %lld or more", o->name, value, (long long)o->least);
}

/* Takes the sweep's own options; the others go to the runs. */
static Texts words_of_runs(const Texts *line)
{
    Texts words = {0};
    for (int i = 0; i < line->n; i++) {
        const char *word = line->at[i];
        size_t n = strcspn(word, "=");
        const Sweep_option *o = sweep_option(word, n);
        if (o && o->besides >> (line_of.command - own_commands) & 1)
            usage_error("%s is not for %s; `lathe %s --help` lists what is", o->name, line_of.command->name,
                        line_of.command->name);
        if (!o) push(&words, word);
        else if (o->flag) *o->flag = true;
        else if (word[n]) give_value(o, word + n + 1);
        else if (i + 1 == line->n) usage_error("%s needs a value: %s %s", o->name, o->name, o->argument);
        else give_value(o, line->at[++i]);
    }
    return words;
}

static int print_sweep_help(const Command *c)
{
    if (line_of.table) print_table_usage("lathe", c->name, c->arguments, c->help);
    else printf("usage: lathe %s %s [options]\n\n  %s\n\noptions\n", c->name, c->arguments, c->help);
    for (int i = 0; i < COUNT_OF(sweep_options); i++)
        if (!(sweep_options[i].besides >> (c - own_commands) & 1))
            print_option_row(sweep_options[i].name, sweep_options[i].argument, sweep_options[i].help);
    if (line_of.table) print_table_row("also", "lathe", "train", "");
    else printf("\nAll others are those of `lathe train`, for every run.\n");
    return 0;
}

/* ------------------------------------------------------------------ what does not go together */

static bool has_option(const Texts *words, const char *option)
{
    size_t n = strlen(option);
    for (int i = 0; i < words->n; i++)
        if (starts_with(words->at[i], option) && (!words->at[i][n] || words->at[i][n] == '=')) return true;
    return false;
}

static void refuse_words(const Sweep *s)
{
    static const char *const without[] = {"--resume", "--overfit", "--dry-run"};
    static const char *const lengths[] = {"--epochs", "--tokens"};
    for (int i = 0; i < COUNT_OF(without); i++)
        if (has_option(&s->words, without[i]))
            usage_error("%s is for a run of its own; leave it out of a sweep", without[i]);
    for (int i = 0; i < COUNT_OF(lengths) && s->halving; i++)
        if (has_option(&s->words, lengths[i]))
            usage_error("--halving counts steps: give --steps N instead of %s", lengths[i]);
    if (line_of.options.out_dir)
        usage_error("-o %s: the programs of a sweep lie in its own folder; --out DIR names that",
                    line_of.options.out_dir);
    if (line_of.options.source || line_of.options.json)
        usage_error("%s is not for sweep%s", line_of.options.source ? "--source" : "--json",
                    line_of.options.json ? ": its table is sweep.csv in its folder" : ": it trains");
    if (only_answers(&line_of.options))
        usage_error("a program built with --parameters %s trains nothing", line_of.options.parameters);
    if (s->halving && s->desc->turns.n)
        usage_error("--halving: %s trains in turns, whose schedules end with the run", s->model);
}

static void check_keys_of_sweep(const Sweep *s)
{
    for (int i = 0; i < s->over.n; i++) {
        const char *key = s->over.at[i].key;
        for (int k = 0; k < i; k++)
            if (same(key, s->over.at[k].key)) usage_error("--over %s is there twice; give all its values at once", key);
        if (s->halving && (same(key, "steps") || same(key, "schedule_steps")))
            usage_error("--over %s: with --halving all trials have the same number of steps", key);
    }
}

/* ------------------------------------------------------------------ the sweep */

static Method method_of(const Sweep *s)
{
    static const char *const words[] = {"grid", "random", "tpe"};
    bool ranged = false;
    for (int i = 0; i < s->over.n; i++) ranged |= s->over.at[i].ranged;
    if (s->scaling) return BY_GRID;
    if (!asked.method) return ranged || asked.trials ? BY_TPE : BY_GRID;
    for (int i = 0; i < COUNT_OF(words); i++)
        if (same(words[i], asked.method)) return (Method)i;
    const char *close = nearest(asked.method, words, COUNT_OF(words));
    usage_error("--method %s: expected grid, random or tpe%s%s%s", asked.method, close ? "; did you mean " : "",
                close ? close : "", close ? "?" : "");
}

static void settle_trials(Sweep *s)
{
    enum { USUAL = 20, MOST = 100000, OF_RANGE = 5 };
    bool ranged = false;
    for (int i = 0; i < s->over.n; i++) {
        Dimension *d = &s->over.at[i];
        if (d->ranged && s->method == BY_GRID) spread_range(d, OF_RANGE);
        ranged |= d->ranged;
    }
    int64_t points = grid_size(&s->over);
    if (s->method == BY_GRID && asked.trials && asked.trials != points)
        usage_error("--trials %lld: this grid has %lld; leave --trials out, or give --method random",
                    (long long)asked.trials, (long long)points);
    if (s->method != BY_GRID && !ranged && asked.trials > points)
        usage_error("--trials %lld: there are only %lld settings; --method grid tries each", (long long)asked.trials,
                    (long long)points);
    s->trials = s->method == BY_GRID ? points : asked.trials ? asked.trials : ranged ? USUAL : min64(USUAL, points);
    if (s->trials > MOST) usage_error("%lld trials are too many; at most %d", (long long)s->trials, MOST);
}

/* The metric of the checkpoint `best`: as the recipe says it, or --set best=…, best_mode=… */
static void settle_metric(Sweep *s)
{
    const char *mode = "auto", *given = setting_word(&s->desc->recipe, "best_mode");
    s->metric = s->desc->recipe.best ? s->desc->recipe.best : "loss";
    if (given) mode = given;
    for (int i = 0; i < s->for_run.n; i++) {
        const char *set = s->for_run.at[i];
        if (starts_with(set, "best=")) s->metric = set + strlen("best=");
        if (starts_with(set, "best_mode=")) mode = set + strlen("best_mode=");
    }
    s->lower = same(mode, "auto") ? lathe_less_is_better(s->metric) != 0 : same(mode, "min");
}

static void settle_words(Sweep *s)
{
    s->steps = asked.steps ? asked.steps : s->desc->recipe.steps;
    if (asked.steps && !s->halving) push(&s->words, format("--steps=%lld", (long long)asked.steps));
    s->keeps = has_option(&s->words, "--keep-last");
    for (int i = 0; i < s->options->sets.n; i++) s->keeps |= starts_with(s->options->sets.at[i], "keep_last=");
    if (s->halving && s->steps < 1)
        usage_error("--halving: the description does not say how long to train; give --steps N");
}

static void settle_jobs(Sweep *s)
{
    int64_t most = s->options->target->device ? 1 : max64(1, cores_here() / max64(1, asked.threads));
    if (s->method == BY_TPE) most = min64(most, TPE_LAG);
    s->jobs = asked.jobs ? asked.jobs : min64(most, s->trials * s->seeds);
    s->threads = asked.threads ? asked.threads : max64(1, cores_here() / s->jobs);
}

/* What `lathe train` does before it builds: sizes that only the data says. */
static void read_for_sweep(Sweep *s)
{
    Options *o = &line_of.options;
    check_data_is_there(&s->words);
    if (names_data(&s->words)) take_sizes_from_data(o, front_recipe(o), &s->words);
    s->desc = front(o);
    s->for_run = s->desc->for_run;
    Options *built = copy_of(o, sizeof *o); /* without what only runs know */
    built->runs = false;
    built->sets = (Texts){0};
    for (int i = 0; i < o->sets.n; i++) {
        bool of_run = false;
        for (int k = 0; k < s->for_run.n; k++) of_run |= same(o->sets.at[i], s->for_run.at[k]);
        if (!of_run) push(&built->sets, o->sets.at[i]);
    }
    s->options = built;
}

static const char *usual_folder(const Sweep *s)
{
    return format("runs/%s-%s%s%s", line_of.command->name, s->desc->model, s->options->config ? "-" : "",
                  s->options->config ? s->options->config : "");
}

static void settle_sweep(Sweep *s)
{
    s->model = line_of.options.model_file = line_of.model;
    s->words = words_of_runs(&line_of.rest);
    s->halving = asked.halving;
    s->scaling = line_of.command == &own_commands[SCALE];
    if (asked.budget) parse_budget(s, asked.budget);
    if (!asked.over.n)
        usage_error("%s needs --over KEY=a..b (a range) or --over KEY=a,b,c (values)", line_of.command->name);
    for (int i = 0; i < asked.over.n; i++) push(&s->over, parse_over(asked.over.at[i]));
    read_for_sweep(s);
    refuse_words(s);
    check_keys_of_sweep(s);
    for (int i = 0; i < s->over.n; i++) settle_key(&s->over.at[i], &line_of.options, s->desc);
    for (int i = 0; i < s->over.n; i++)
        if (s->over.at[i].points) spread_range(&s->over.at[i], s->over.at[i].points);
    s->method = method_of(s);
    s->seeds = max64(1, asked.seeds);
    s->seed = asked.seed;
    if (s->seed + s->seeds - 1 > INT32_MAX)
        usage_error("--seed %lld: seeds are at most %d", (long long)s->seed, INT32_MAX);
    s->memory = asked.memory;
    settle_trials(s);
    settle_metric(s);
    settle_words(s);
    settle_jobs(s);
    s->rungs = s->halving ? rungs_for((int)s->trials, s->steps) : 1;
    s->folder = asked.folder ? asked.folder : usual_folder(s);
    s->trial = NEW_ARRAY(Sweep_trial, s->trials);
    for (int i = 0; i < s->trials; i++) s->trial[i].run = alloc(sizeof *s->trial[i].run * (size_t)s->seeds);
}

/* The best third goes on. */
static void promote(Sweep *s, int rung)
{
    double *score = NEW_ARRAY(double, s->trials);
    int *order = NEW_ARRAY(int, s->trials), n = 0;
    for (int i = 0; i < s->trials; i++) {
        bool there = s->trial[i].rung == rung;
        n += there;
        score[i] = there ? score_of(s, i, rung) : INFINITY;
    }
    int fine = order_best(score, (int)s->trials, order);
    for (int i = 0; i < fine && i < go_on(n); i++) s->trial[order[i]].rung = rung + 1;
}

static void all_rungs(Sweep *s)
{
    for (int rung = 0; rung < s->rungs; rung++) {
        run_rung(s, rung);
        if (sweep_signal) return;
        if (rung + 1 < s->rungs) promote(s, rung);
    }
}

int main(int argc, char **argv)
{
    static Sweep s;
    start_process("lathe");
    name_program("lathe");
    json_set_alloc_funcs(must_alloc, free); /* jansson silently leaves out values when memory runs out */
    asked.seed = 1;
    const Command *command = &own_commands[argc > 1 && same(argv[1], "scale") ? SCALE : SWEEP];
    for (int i = 2; i < argc; i++) {
        line_of.table |= asks_for_table(argv[i]);
        if (same(argv[i], "--help") || same(argv[i], "-h") || line_of.table)
            return end_process("lathe", print_sweep_help(command));
    }
    take_line(command, argc, argv);
    if (!line_of.model)
        usage_error("%s needs a description: lathe %s MODEL.lua --over KEY=a,b", command->name, command->name);
    if (!has_end(line_of.model, ".lua"))
        usage_error("%s: texts of graphs and of kernels are for `lathe dump`", line_of.model);
    settle_sweep(&s);
    open_sweep_folder(&s);
    catch_sweep_signals(&s);
    show(stderr, "sweep: %s, %lld trials, %lld at a time\n", s.folder, (long long)s.trials, (long long)s.jobs);
    all_rungs(&s);
    int code = end_sweep(&s);
    if (code == 0 && s.scaling) code = tell_law(&s);
    return end_process("lathe", code);
}
