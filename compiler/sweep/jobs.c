/* jobs.c: which runs are under way: as many as cores and memory allow, the lowest numbers first. */
#include "emit/emit.h"
#include "runtime/base/machine.h"
#include "runtime/base/words.h"
#include "runtime/model/run.h"
#include "sweep/sweep.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------ memory */

/* What may be planned in all: what there was when nothing ran. */
static int64_t memory_for_runs(const Sweep *s)
{
    static int64_t there;
    if (!s->children.n || !there) there = available_bytes();
    return s->memory ? s->memory : there;
}

static int64_t memory_taken(const Sweep *s)
{
    int64_t bytes = 0;
    for (int i = 0; i < s->children.n; i++)
        if (s->children.at[i]->trial >= 0) bytes += s->children.at[i]->build->bytes;
    return bytes;
}

/* ------------------------------------------------------------------ a run */

static void end_at_once(Sweep *s, int trial, int seed, int rung, Ended how, const char *why)
{
    s->trial[trial].run[seed][rung] = (Outcome){.how = how, .message = why};
    keep_outcome(s, trial, seed, rung);
    say_run(s, trial, seed, rung);
}

/* With --halving the schedule is that of all steps. */
static const char *steps_words(const Sweep *s, int rung)
{
    if (!s->halving) return "";
    long long steps = (long long)steps_at(s->steps, rung, s->rungs), all = (long long)s->steps;
    const char *schedule = s->desc->recipe.schedule_steps ? "" : format(" --set schedule_steps=%lld", all);
    return format("%s --steps %lld", schedule, steps);
}

static const char *run_command(const Sweep *s, int trial, int seed, int rung)
{
    const Sweep_trial *t = &s->trial[trial];
    const char *folder = trial_folder(s, trial, seed);
    Text c = {0};
    say(&c, "exec %s train", shell_quoted(format("%s/trainer", t->build->folder)));
    for (int i = 0; i < s->words.n; i++) say(&c, " %s", shell_quoted(s->words.at[i]));
    for (int i = 0; i < s->for_run.n; i++) say(&c, " --set %s", shell_quoted(s->for_run.at[i]));
    say(&c, "%s%s --no-report --no-profile --seed %lld --threads %lld --out %s", t->run_sets, steps_words(s, rung),
        (long long)s->seed + seed, (long long)s->threads, shell_quoted(folder));
    if (!s->keeps) say(&c, " --keep-last 1");
    if (newest_checkpoint(folder, INT64_MAX) >= 0) say(&c, " --resume");
    return c.at;
}

static void start_run(Sweep *s, int trial, int seed, int rung)
{
    Child *c = start_child(s, run_command(s, trial, seed, rung), format("%s.log", trial_folder(s, trial, seed)));
    c->trial = trial;
    c->seed = seed;
    c->build = s->trial[trial].build;
}

static Outcome outcome_of(const Sweep *s, const Child *c, int code)
{
    Outcome o = {.seconds = seconds_now() - c->started};
    bool told = read_metric(trial_folder(s, c->trial, c->seed), s->metric, s->lower, &o);
    o.how = code == 4 ? DIVERGED : code == 0 && told ? DONE : FAILED;
    if (o.how == DONE) return o;
    o.message = code ? first_error(c->log, c->from)
                     : format("no evaluation has a finite %s; is a part of the data kept for it (--val-fraction F)?",
                              s->metric);
    if (code > 128) o.message = format("the run was ended by signal %d", code - 128);
    if (!o.message) o.message = format("the run ended with exit code %d", code);
    return o;
}

static void end_run(const Sweep *s, const Child *c, int rung, int code)
{
    if (code != 0 && code != 4 && sweep_signal) return; /* it has saved, and goes on with the sweep */
    s->trial[c->trial].run[c->seed][rung] = outcome_of(s, c, code);
    keep_outcome(s, c->trial, c->seed, rung);
    say_run(s, c->trial, c->seed, rung);
}

/* ------------------------------------------------------------------ all of a rung */

static bool is_running(const Sweep *s, int trial, int seed)
{
    for (int i = 0; i < s->children.n; i++)
        if (s->children.at[i]->trial == trial && s->children.at[i]->seed == seed) return true;
    return false;
}

/* Starts the run, or its build, if it may start now; false: nothing more may. */
static bool begin(Sweep *s, int trial, int seed, int rung)
{
    Sweep_trial *t = &s->trial[trial];
    Sweep_build *b = t->build;
    if (!t->fault && !b->ready && !b->fault && !b->running) start_build(s, b);
    if (t->fault || b->fault) end_at_once(s, trial, seed, rung, FAILED, t->fault ? t->fault : b->fault);
    else if (b->ready && b->bytes > memory_for_runs(s) && memory_taken(s) == 0)
        end_at_once(s, trial, seed, rung, TOO_LARGE,
                    format("it plans %s, and there are %s", bytes_text(b->bytes), bytes_text(memory_for_runs(s))));
    else if (b->ready && memory_taken(s) + b->bytes > memory_for_runs(s)) return false;
    else if (b->ready) start_run(s, trial, seed, rung);
    return true;
}

static void begin_runs(Sweep *s, int rung)
{
    for (int i = 0; i < s->trials; i++) {
        Sweep_trial *t = &s->trial[i];
        if (!t->value && !propose(s, i)) return;
        if (t->rung < rung || has_ended(s, i, rung)) continue;
        for (int k = 0; k < s->seeds; k++) {
            if (s->children.n >= s->jobs || sweep_signal) return;
            if (t->run[k][rung].how != NOT_ENDED || is_running(s, i, k)) continue;
            if (!t->build && !t->fault) resolve(s, i);
            if (!begin(s, i, k, rung)) return;
        }
    }
}

static int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

void run_rung(Sweep *s, int rung)
{
    for (;;) {
        int status;
        begin_runs(s, rung);
        Child *c = s->children.n ? end_of_child(s, &status) : NULL;
        if (!c) return;
        if (c->trial < 0) end_build(s, c, code_of(status));
        else end_run(s, c, rung, code_of(status));
    }
}
