/* check.c: trials before a long run.  `train --overfit` trains on one batch until its loss is near zero; `train
 * --dry-run` times a step and an evaluation on the run's own data.  Neither writes anything. */
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "model/tables.h"
#include "step/entry.h"
#include "step/growth.h"
#include "trainer/eval.h"
#include "trainer/knobs.h"
#include "trainer/report.h"
#include "trainer/samples.h"
#include "trainer/step.h"
#include "trainer/trainer.h"
#include "trainer/trial.h"

#include <math.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ one batch, again and again */

typedef struct Fall { /* of the loss */
    double first, last, least, norm;
    double recent, before; /* means of the last tenth of the steps, and of the tenth before it */
    int64_t steps, tenth;
    bool reached;
} Fall;

/* 1, 2, 5, 10, 20, 50, … */
static bool worth_a_line(int64_t step)
{
    while (step % 10 == 0) step /= 10;
    return step == 1 || step == 2 || step == 5;
}

/* The recipe's learning rate without its schedule, so that the loss gets near zero soon. */
static void hold_rate(Lathe_recipe *r)
{
    enum { WARM = 20 };
    r->schedule = LATHE_CONSTANT_RATE;
    r->cooldown = 0;
    if (r->warmup > WARM) r->warmup = WARM;
}

static void note_step(Fall *f, int64_t step, int64_t most, const Step *s)
{
    if (step == 0) f->first = f->least = s->loss, f->norm = s->norm;
    f->last = s->loss;
    f->least = fmin(f->least, s->loss);
    f->steps = step + 1;
    f->reached = f->first > 0 && s->loss <= 0.01 * f->first;
    if (step >= most - 2 * f->tenth && step < most - f->tenth) f->before += s->loss / (double)f->tenth;
    if (step >= most - f->tenth) f->recent += s->loss / (double)f->tenth;
}

/* Every step has the first step's data, seed and number, and so its random draws: the loss depends on the parameters
 * alone. */
static Fall train_on_one(const Trial *c, int64_t most)
{
    Trainer *t = c->t;
    Fall f = {.tenth = most / 10 + (most < 10)};
    const Lathe_entry *e = train_for_step(c->turns, t->model, 0);
    if (!fill_step(c->data, e, c->memory->call, 0))
        fail(EXIT_DATA, NULL, "the data ends before its first batch of %lld", (long long)c->items);
    set_scalars(e, c->memory->call, t->seed, 0, 0);
    for (int64_t step = 0; step < most && !f.reached; step++) {
        Step s = take_step(t, c->turns, c->memory, step);
        if (has_diverged(&s))
            fail(EXIT_DIVERGED, NULL, "overfit: step %lld: %s\n  %s", (long long)step + 1, divergence_text(&s, NULL),
                 divergence_remedy(&t->recipe, &s, NULL));
        note_step(&f, step, most, &s);
        if (worth_a_line(step + 1) || f.reached || step + 1 == most)
            show(stderr, "step %lld | loss %.4f | norm %.3g\n", (long long)step + 1, s.loss, s.norm);
    }
    return f;
}

static void print_verdict(const Fall *f, const Lathe_recipe *r)
{
    show(stdout, "overfit: the loss went from %.4f to %.4f in %lld steps on one batch", f->first, f->last,
         (long long)f->steps);
    if (f->reached) show(stdout, ", to less than 1 %% of it: model, gradients and optimizer fit together\n");
    else if (f->norm == 0)
        show(stdout, ".  The gradient is zero: the loss depends on no trained parameter.  Check what forward returns, "
                     "and frozen groups\n");
    else if (f->least > f->first - 0.05 * fabs(f->first))
        show(stdout,
             ": it does not fall.  Check the learning rate (%g; try ten times more and less, --set lr=N), frozen "
             "groups, and whether targets match their inputs\n",
             r->lr);
    else if (f->recent < f->before - 0.02 * fabs(f->before))
        show(stdout,
             ", and still falls: give it more steps (--steps %lld) or another learning rate (--set lr=N; it is %g)\n",
             (long long)(4 * f->steps), r->lr);
    else
        show(
            stdout,
            ", and stays there.  Label smoothing sets such a floor, and so do rows that look the same to the model but "
            "have "
            "different targets (it sees too little context); otherwise the model is too small, or the learning rate is "
            "wrong (--set lr=N; it is %g)\n",
            r->lr);
}

int overfit(const Trial *c)
{
    enum { MOST = 1000 };
    Trainer *t = c->t;
    if (t->model->turns)
        fail(EXIT_USAGE, NULL,
             "--overfit waits for one loss to come near zero, and %s has turns, whose losses need not; "
             "--dry-run tries a step of them",
             t->model->name);
    if (t->model->teacher)
        fail(EXIT_USAGE, NULL,
             "--overfit waits for a loss near zero, and a teacher keeps it above; try the student without --distill; "
             "--dry-run tries a step with it");
    int64_t most = was_set(t, "steps") ? t->recipe.steps : MOST;
    hold_rate(&t->recipe);
    Fall f = train_on_one(c, most);
    if (t->json)
        print_json(json_pack("{s:b, s:I, s:o, s:o, s:o}", "overfit", f.reached, "steps", (json_int_t)f.steps, "first",
                             real_json(f.first), "last", real_json(f.last), "least", real_json(f.least)));
    else print_verdict(&f, &t->recipe);
    return f.reached ? 0 : EXIT_ERROR;
}

/* ------------------------------------------------------------------ dry run */

typedef struct Times { /* s */
    Step step;         /* loss and norm of the first step, times of the last */
    double eval_batch, sample;
    int64_t eval_items, evaluations;
    Scores scores;
} Times;

static double step_time(const Step *s) { return s->data + s->forward + s->backward + s->update + s->there; }

static Step timed_step(const Trial *c, int64_t step)
{
    const Lathe_entry *e = train_for_step(c->turns, c->t->model, step);
    double from = seconds_now();
    if (!fill_step(c->data, e, c->memory->call, step))
        fail(EXIT_DATA, NULL, "the data ends after %lld steps of %lld", (long long)step, (long long)c->items);
    double data = seconds_now() - from;
    set_scalars(e, c->memory->call, c->t->seed, step, 0);
    Step s = take_step(c->t, c->turns, c->memory, step);
    s.data = data;
    return s;
}

/* The first step also touches memory for the first time; a second one is timed unless that would take long. */
static Step time_steps(const Trial *c)
{
    enum { LONG = 20 }; /* s */
    Step first = timed_step(c, 0);
    while (first.skipped) first = timed_step(c, 0);
    Step s = first;
    if (has_diverged(&first)) fail(EXIT_DIVERGED, NULL, "dry run: the first step: %s", divergence_text(&first, NULL));
    if (step_time(&first) < LONG) s = timed_step(c, 1);
    s.loss = first.loss;
    s.norm = first.norm;
    return s;
}

/* Number of evaluations in the whole run.  Those of eval_epochs are left out: counting documents would read them
 * all. */
static int64_t evaluations_of(const Trial *c)
{
    const Lathe_recipe *r = &c->t->recipe;
    int64_t n = r->eval_every ? (r->steps - 1) / r->eval_every + 1 : 1;
    if (r->eval_epochs && !c->data->epochs)
        n += items_before(c->data, r->steps - 1) / (r->eval_epochs * epoch_items(c->data));
    return n;
}

static void time_evaluation(const Trial *c, Times *w)
{
    const Lathe_recipe *r = &c->t->recipe;
    int64_t rows = need_entry(c->t->model, ENTRY_eval)->rows, all = evaluated(c->data)->val_items;
    double from = seconds_now();
    w->scores = evaluate(c->data, c->memory, c->t, rows);
    w->eval_batch = seconds_now() - from;
    w->eval_items = r->eval_rows && r->eval_rows < all ? r->eval_rows : all;
    w->eval_batch *= (double)w->eval_items / (double)w->scores.items; /* scaled to a whole evaluation */
    w->evaluations = evaluations_of(c);
    from = seconds_now();
    add_rouge(&w->scores, c->texts, 0);
    add_task_metric(&w->scores, c->data, c->memory, c->t);
    w->eval_batch += seconds_now() - from;
    if (!c->samples) return;
    from = seconds_now();
    json_decref(draw_sample(c->samples, 0, 0));
    w->sample = (seconds_now() - from) * sample_calls(c->samples);
}

/* As many steps like this one have the rows of the whole run. */
static double steps_alike(const Trial *c, int64_t step)
{
    const int64_t rows = items_before(c->data, step + 1) - items_before(c->data, step);
    return (double)items_before(c->data, c->t->recipe.steps) / (double)rows;
}

static double whole_time(const Trial *c, const Times *w)
{
    return steps_alike(c, w->step.number) * step_time(&w->step) + (double)w->evaluations * (w->eval_batch + w->sample);
}

static void print_times(const Trial *c, const Times *w)
{
    const Step *s = &w->step;
    const Lathe_model *m = c->t->model;
    char *guess = has_tokens(c->data) && !m->teacher ? text_of(" (random guessing gives %.4f)", log((double)m->vocab))
                                                     : text_of("%s", "");
    show(stdout, "step: loss %.4f%s, gradient norm %.3g; %.1f ms: data %.1f", s->loss, guess, s->norm,
         1e3 * step_time(s), 1e3 * s->data);
    if (on_device()) show(stdout, ", on the GPU %.1f\n", 1e3 * s->there);
    else
        show(stdout, ", forward %.1f, backward %.1f, update %.1f\n", 1e3 * s->forward, 1e3 * s->backward,
             1e3 * s->update);
    if (c->evaluates)
        show(stdout, "evaluation: %s over %s of %s %s; about %.1f s for %s\n", scores_text(&w->scores, c->data),
             grouped_text(w->scores.items), grouped_text(evaluated(c->data)->val_items), item_word(evaluated(c->data)),
             w->eval_batch, grouped_text(w->eval_items));
    if (c->samples) show(stdout, "samples: about %.1f s after each evaluation\n", w->sample);
    show(stdout, "the whole run: %s steps and %lld evaluations, about %s; nothing was written\n",
         grouped_text(c->t->recipe.steps), (long long)w->evaluations, duration_text(whole_time(c, w)));
}

int dry_run(const Trial *c)
{
    Times w = {.step = time_steps(c)};
    if (c->evaluates) time_evaluation(c, &w);
    if (c->t->json)
        print_json(json_pack("{s:o, s:o, s:f, s:f, s:I, s:f}", "loss", real_json(w.step.loss), "grad_norm",
                             real_json(w.step.norm), "step_s", step_time(&w.step), "evaluation_s", w.eval_batch,
                             "evaluations", (json_int_t)w.evaluations, "run_s", whole_time(c, &w)));
    else print_times(c, &w);
    return 0;
}
