/* train_loop.c: `trainer train`: steps, evaluations and saves, until done, interrupted or diverged. */
#include "lathe_rt.h"
#include "trainer.h"

#include <math.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* ------------------------------------------------------------------ signals */

volatile int interrupted;

/* The first signal lets the step finish and saves; a second one ends at once. */
static void on_signal(int number)
{
    if (interrupted) _exit(128 + number);
    interrupted = number;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ------------------------------------------------------------------ a step */

Step take_step(const Trainer *t, const Lathe_entry *e, const Lathe_call *call, Optimizer *o, void *params, int64_t step)
{
    e->run(call);
    Step s = {output_scalar(e, call->out, "loss"), gradient_norm(o, call->grads), rate_at(&t->recipe, step)};
    LAP(LAP_NORM);
    if (isfinite(s.loss) && isfinite(s.norm))
        optimizer_step(o, params, call->grads, step, s.rate, clip_scale(s.norm, t->recipe.clip));
    LAP(LAP_UPDATE);
    return s;
}

/* ------------------------------------------------------------------ a run */

typedef struct Training {
    Trainer *t;
    Data data;
    Memory memory;
    Optimizer optimizer;
    Report report;
    const Lathe_entry *entry;
    int64_t items, *item; /* of one step */
    int64_t saved;        /* steps done at the last save; -1: none */
    bool evaluates;
    Scores scores; /* of the last evaluation */
} Training;

/* --epochs and --tokens say how long in other units than steps. */
static void settle_steps(Training *r)
{
    Trainer *t = r->t;
    int64_t epoch = r->data.train / r->data.seq;
    if (t->epochs && t->tokens) fail(EXIT_USAGE, NULL, "--epochs and --tokens both say how long to train; give one");
    if (t->epochs) t->recipe.steps = (t->epochs * epoch + r->items - 1) / r->items;
    if (t->tokens) t->recipe.steps = (t->tokens + r->items * r->data.seq - 1) / (r->items * r->data.seq);
    if (t->recipe.steps < 1)
        fail(EXIT_USAGE, NULL,
             "the description does not say how long to train; give --steps N, --epochs N or --tokens N");
}

static void settle_evaluation(Training *r)
{
    r->evaluates = find_entry(r->t->model, "eval") && r->data.val_items > 0;
    if (r->t->recipe.val_fraction == 0) return;
    if (!r->evaluates)
        note("no evaluation: the last %g of the data is %lld %s, less than one sequence", r->t->recipe.val_fraction,
             (long long)r->data.val, r->data.text ? "tokens" : "rows");
}

static void start_training(Training *r, Trainer *t)
{
    static const char *const entries[] = {"train", "eval", NULL};
    r->t = t;
    r->saved = -1;
    r->entry = need_entry(t->model, "train");
    check_memory(t);
    open_data(&r->data, t, true);
    r->items = items_in_call(r->entry);
    r->item = must_alloc(sizeof *r->item * (size_t)r->items);
    settle_steps(r);
    settle_evaluation(r);
    rt_init_gemm(t->threads ? t->threads : omp_get_max_threads());
    take_memory(&r->memory, t, true, true, entries);
    optimizer_init(&r->optimizer, t->model, &t->recipe, r->memory.moments);
    if (t->weights) load_weights(t->model, t->weights, r->memory.params);
    else init_parameters(t->model, (uint64_t)t->seed, r->memory.params);
    open_report(&r->report, t, &r->data, r->items);
}

/* The vocabulary is written with the weights, so that the two in a run folder always belong together. */
static void save_run(Training *r, int64_t done)
{
    char *path = text_of("%s/model.safetensors", run_folder(r->t));
    if (r->saved == done) return;
    Fault f = {0};
    if (r->data.text && !replace_text(text_of("%s/tokenizer.json", run_folder(r->t)), vocab_json(&r->data.vocab), &f))
        fail(EXIT_DATA, f.path, "%s; free some space or choose another folder with --out", f.text);
    save_weights(r->t->model, path, r->memory.params);
    report_text(&r->report, "step %lld: saved %s", (long long)done, path);
    r->saved = done;
    free(path);
}

static void evaluate_run(Training *r, int64_t done)
{
    if (!r->evaluates) return;
    r->scores = evaluate(&r->data, &r->memory, r->t);
    if (r->scores.complete) report_scores(&r->report, done, &r->scores);
}

/* Words for a shell: the replay of a step from the weights at `path`, with what decides on the step's data. */
static char *replay_words(const Trainer *t, const char *path, int64_t number)
{
    const Lathe_model *m = t->model;
    char *s = text_of("lathe replay %s --weights %s --step %lld --seed %d", m->rebuild ? m->rebuild : "MODEL.lua", path,
                      (long long)number, t->seed);
    if (t->recipe.val_fraction != m->recipe.val_fraction)
        s = text_of("%s --val-fraction %g", s, t->recipe.val_fraction);
    if (t->tokenizer_given) s = text_of("%s --tokenizer %s", s, t->recipe.tokenizer == LATHE_CHARS ? "chars" : "bytes");
    s = text_of("%s --data", s);
    for (int i = 0; i < t->data.n; i++) s = text_of("%s %s", s, t->data.at[i]);
    return s;
}

/* The parameters are still those before the step (take_step); they are kept apart from the run's own, for replay. */
static _Noreturn void diverged(Training *r, int64_t step, Step s)
{
    const char *kept = r->saved >= 0 ? text_of("the weights of step %lld are kept in %s/model.safetensors",
                                               (long long)r->saved, run_folder(r->t))
                                     : "nothing had been saved yet";
    char *before = text_of("%s/diverged.safetensors", run_folder(r->t));
    end_line(&r->report);
    note("step %lld: expected a finite loss, found loss %g and gradient norm %g; %s.  Try a lower learning rate "
         "(--set lr=%g), a longer warm-up (--set warmup=N) or clipping (--set clip=1)",
         (long long)step + 1, s.loss, s.norm, kept, r->t->recipe.lr / 10);
    save_weights(r->t->model, before, r->memory.params);
    fail(EXIT_DIVERGED, NULL, "step %lld diverged.  Which operation made it says\n  %s", (long long)step + 1,
         replay_words(r->t, before, step + 1));
}

static void one_step(Training *r, int64_t step)
{
    Lathe_call call = call_of(&r->memory, r->entry);
    train_items(&r->data, step, r->items, r->item);
    fill_items(&r->data, r->entry, r->memory.call, r->item);
    set_scalars(r->entry, r->memory.call, r->t->seed, step, 0);
    Step s = take_step(r->t, r->entry, &call, &r->optimizer, r->memory.params, step);
    if (!isfinite(s.loss) || !isfinite(s.norm)) diverged(r, step, s);
    report_step(&r->report, step + 1, s);
}

static bool due(int64_t done, int64_t every) { return every > 0 && done % every == 0; }

/* Returns the number of steps done. */
static int64_t all_steps(Training *r)
{
    const Lathe_recipe *recipe = &r->t->recipe;
    int64_t step = 0;
    while (step < recipe->steps && !interrupted) {
        one_step(r, step++);
        if (step == recipe->steps || interrupted) break;
        if (due(step, recipe->eval_every)) evaluate_run(r, step);
        if (due(step, recipe->save_every)) save_run(r, step);
    }
    return step;
}

static void print_result(const Training *r, int64_t done)
{
    json_t *all = json_object();
    json_object_set_new(all, "steps", json_integer(done));
    json_object_set_new(all, "weights", json_string(text_of("%s/model.safetensors", run_folder(r->t))));
    json_object_set_new(all, "eval",
                        r->scores.n && r->scores.complete ? scores_json(&r->scores, &r->data) : json_null());
    json_object_set_new(all, "seconds", json_real(seconds_now() - r->report.started));
    json_object_set_new(all, "interrupted", json_boolean(interrupted));
    print_json(all);
}

int train_command(Trainer *t)
{
    static Training r;
    start_training(&r, t);
    catch_signals();
    int64_t done = all_steps(&r);
    if (!interrupted) evaluate_run(&r, done);
    save_run(&r, done);
    if (interrupted)
        report_text(&r.report, "interrupted after step %lld of %lld", (long long)done, (long long)t->recipe.steps);
    close_report(&r.report);
    if (t->json) print_result(&r, done);
    optimizer_free(&r.optimizer);
    return interrupted ? 128 + interrupted : 0;
}
