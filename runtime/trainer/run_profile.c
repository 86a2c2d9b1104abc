/* run_profile.c: RUN/profile.json: where a run's time goes, measured in its own steps.
 *
 * Some steps are timed as they run: the 3rd to the 10th of each turn, and those whose number is a power of two, so that
 * a long run is told by all of it.  A timed step reads the clock after each kernel; nothing that it computes changes.
 * With --trace, the last of the first ten is written kernel by kernel; of local steps one after which ranks meet.
 * The file is written 2, 4, 8, … seconds after the start and at the end, so a killed run has one, too.  What this
 * machine can do is measured after a minute, in the memory of calls, which no step expects to find as it was, and at
 * the end in all of the run's memory; each time takes a hundredth of the time that the run has taken, at most. */
#include "trainer/run_profile.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "math/measure.h"
#include "step/entry.h"
#include "trainer/laps.h"
#include "trainer/local_steps.h"
#include "trainer/ranks.h"
#include "trainer/travels.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

enum { WARM = 2, SOON = 10, MOST_TIMED = SOON + 60 };
static const double first_file = 2, rates_after = 60, least_rates = 0.05, most_rates = 0.6; /* seconds */

struct Run_profile {
    const Trainer *t;
    const Step_turns *turns;
    const Memory *memory;
    Machine_rates rates;
    double started, next_file;
    bool timing, rated, meets, due;        /* meets: after the step under way; due: the trace is to be written */
    bool written;                          /* the trace */
    const Lap_times *traced;               /* whose last step is to be written as a trace */
    const Lathe_entry *entry[LATHE_TURNS]; /* of each turn: whose steps are timed, those with most micro-batches */
    int64_t steps, taken[LATHE_TURNS];     /* steps: all of them; taken: those, of each turn */
    Lap_times laps[LATHE_TURNS];
};

void check_run_trace(const Trainer *t)
{
    if (!t->trace) return;
    if (t->no_profile || t->model->device)
        fail(EXIT_USAGE, NULL, "--trace: %s",
             t->model->device ? "steps on a GPU are traced by `trainer profile --trace FILE`"
                              : "the first steps are timed for it; leave --no-profile out");
    check_trace(t->trace);
}

Run_profile *open_run_profile(const Trainer *t, const Step_turns *turns, const Memory *m)
{
    if (t->no_profile || on_device()) return NULL;
    Run_profile *p = must_alloc(sizeof *p);
    *p = (Run_profile){.t = t, .turns = turns, .memory = m, .started = seconds_now(), .next_file = first_file};
    for (int k = 0; k < turns->n; k++) p->entry[k] = turns->at[k].entry;
    for (int k = 0; k < turns->n; k++)
        open_laps(&p->laps[k], t->model, turns->at[k].entry, &turns->at[k].optimizer, &t->recipe, MOST_TIMED);
    for (int k = 0; k < turns->n; k++) p->laps[k].lists = t->trace != NULL, p->laps[k].grads = m->grads;
    keep_travels(t->trace != NULL);
    return p;
}

static void write_step(Run_profile *p)
{
    const int ranks = gpus_of(p->t);
    if (!p->traced) return;
    write_trace(p->traced, p->t->trace, ranks > 1 ? text_of("trainer, rank 0 of %d", ranks) : "trainer");
    keep_travels(false);
    p->traced = NULL;
    p->due = false;
    p->written = true;
}

static bool is_timed(int64_t number) { return number > WARM && (number <= SOON || (number & (number - 1)) == 0); }

void begin_timed(Run_profile *p, const Turn *u, int64_t step)
{
    if (!p) return;
    const int64_t number = ++p->taken[u->number];
    p->steps += u->number == 0;
    p->meets = p->t->trace && !p->written && number > WARM && must_meet(p->t, step + 1, false);
    p->timing = u->entry == p->entry[u->number] && (is_timed(number) || p->meets);
    if (p->timing) begin_laps(&p->laps[u->number]);
}

void end_timed(Run_profile *p, const Turn *u)
{
    if (!p || !p->timing) return;
    end_laps();
    count_laps(&p->laps[u->number]);
    p->timing = false;
    if (!p->t->trace || p->written) return;
    p->traced = &p->laps[u->number];
    if (steps_locally(p->t)) p->due = p->meets && p->taken[u->number] + p->t->recipe.local_steps > SOON;
    else if (p->taken[u->number] == SOON) write_step(p);
}

/* ------------------------------------------------------------------ the file */

/* What the room has is lost. */
static void measure_rates(Run_profile *p, char *room, int64_t bytes)
{
    double seconds = fmin(most_rates, fmax(least_rates, 0.01 * (seconds_now() - p->started))) / 2;
    p->rates.copy = copy_rate_in(room, bytes, seconds);
    p->rates.product = product_rate_in(p->t->model->real, room, bytes, seconds);
    p->rated = true;
}

/* 0: not measured. */
static json_t *rate_json(double rate) { return rate > 0 ? json_real(rate) : json_null(); }

static json_t *timed_turn_json(Run_profile *p, const Turn *u)
{
    Lap_times *laps = &p->laps[u->number];
    json_t *all = json_object();
    settle_laps(laps, &p->rates);
    put_json(all, "turn", u->name ? word_json(u->name) : json_null());
    put_json(all, "every", json_integer(u->every));
    put_json(all, "steps", json_integer(laps->steps));
    put_json(all, "step_ms", json_real(1e3 * laps->step_time));
    put_json(all, "kernels", lap_rows_json(laps));
    return all;
}

/* Of this start of the program, since it may have been resumed. */
static json_t *spent_json(const Report *r)
{
    const Spent *s = &r->spent;
    json_t *all = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "data", s->data, "forward", s->forward, "backward",
                            s->backward, "update", s->update, "evaluation", s->evaluation, "saving", s->saving);
    if (shares_steps(r->t)) put_json(all, "ranks", json_real(s->ranks)); /* part of the others */
    return all;
}

static void write_run_profile(Run_profile *p, const Report *r)
{
    Fault f = {0};
    json_t *all = json_object(), *turns = json_array();
    for (int k = 0; k < p->turns->n; k++)
        if (p->laps[k].steps) add_json(turns, timed_turn_json(p, &p->turns->at[k]));
    if (json_array_size(turns)) {
        put_json(all, "form", json_integer(1));
        put_json(all, "precision", json_string(p->t->model->precision));
        put_json(all, "threads", json_integer(omp_get_max_threads()));
        put_json(all, "copy_bytes_per_s", rate_json(p->rates.copy));
        put_json(all, "product_flops_per_s", rate_json(p->rates.product));
        put_json(all, "steps", json_integer(p->steps));
        put_json(all, "seconds", json_real(seconds_now() - p->started));
        put_json(all, "spent", spent_json(r));
        put_json(all, "turns", json_incref(turns));
        char *text = json_written(all, JSON_COMPACT | JSON_REAL_PRECISION(7)), *line = text_of("%s\n", text),
             *path = text_of("%s/profile.json", run_folder(p->t));
        replace_text(path, line, &f);
        free(path);
        free(line);
        free(text);
    }
    json_decref(turns);
    json_decref(all);
    clear_fault(&f); /* nothing depends on it */
}

void keep_run_profile(Run_profile *p, const Report *r)
{
    double now = p ? seconds_now() - p->started : 0;
    if (p && p->due) write_step(p);
    if (!p || now < p->next_file) return;
    if (!p->rated && now >= rates_after) measure_rates(p, p->memory->call, p->memory->call_bytes);
    write_run_profile(p, r);
    p->next_file = 2 * now;
}

void close_run_profile(Run_profile *p, const Report *r)
{
    if (!p) return;
    write_step(p);
    if (p->t->trace && !p->written)
        note("--trace: nothing was written: a trace is of the third step or a later one, with all its micro-batches, "
             "and there was none; give more --steps");
    measure_rates(p, p->memory->base, p->memory->bytes);
    write_run_profile(p, r);
    for (int k = 0; k < p->turns->n; k++) close_laps(&p->laps[k]);
    free(p);
}
