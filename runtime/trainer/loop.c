/* loop.c: `trainer train`: steps, evaluations and saves, until done, interrupted or diverged. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "lathe_rt.h"
#include "model/block.h"
#include "model/run.h"
#include "model/tables.h"
#include "model/weights.h"
#include "ranks/courier.h"
#include "step/average.h"
#include "step/entry.h"
#include "step/growth.h"
#include "step/optim.h"
#include "step/state.h"
#include "step/statistics.h"
#include "trainer/about.h"
#include "trainer/checkpoint.h"
#include "trainer/eval.h"
#include "trainer/hashes.h"
#include "trainer/histograms.h"
#include "trainer/local_steps.h"
#include "trainer/logs.h"
#include "trainer/ranks.h"
#include "trainer/report.h"
#include "trainer/returns.h"
#include "trainer/samples.h"
#include "trainer/saves.h"
#include "trainer/shards.h"
#include "trainer/shared.h"
#include "trainer/told.h"
#include "trainer/signals.h"
#include "trainer/state.h"
#include "trainer/step.h"
#include "trainer/trainer.h"
#include "trainer/training.h"
#include "trainer/trial.h"

#include <math.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A run that is stopped writes them all the same, but where each token takes all ranks. */
static void report_samples(Training *r)
{
    const bool together = shards_parameters(r->t);
    for (int k = 0; r->samples && k < sample_count(r->samples) && !(together && interrupted); k++) {
        if (together) order_share(r->t, SHARE_SAMPLES, k);
        json_t *sample = draw_sample(r->samples, k, r->at.step);
        report_sample(&r->report, r->at.step, sample);
        json_decref(sample);
    }
}

/* Of the mean of the weights, if there is one: it takes their place as long as `of` runs. */
static bool with_averages(Training *r, bool of(Training *))
{
    const Optimizer *o = &r->turns.at[0].optimizer;
    rank_does(RANK_EVALUATES, r->at.step - 1);
    if (!o->average) return of(r);
    wait_until_copied(r->saver); /* it reads the weights */
    order_mean(r->t, true);
    show_mean_of_ranks(r->t, o, &r->memory);
    bool result = of(r);
    order_mean(r->t, false);
    show_trained(o, r->memory.params, r->memory.grads);
    return result;
}

/* Returns whether it is the best so far. */
static bool evaluate_weights(Training *r)
{
    const Lathe_recipe *recipe = &r->t->recipe;
    bool late = saved_step(r->saver) == r->at.step;
    double from = seconds_now();
    rank_does(RANK_EVALUATES, r->at.step - 1);
    r->scores = evaluate(&r->data, &r->memory, r->t, recipe->eval_rows);
    add_rouge(&r->scores, r->texts, r->at.step);
    add_task_metric(&r->scores, &r->data, &r->memory, r->t);
    if (!r->scores.complete) return false;
    report_scores(&r->report, r->at.step, &r->scores);
    hash_scores(r->t->hashes, &r->scores, r->at.step);
    bool best = note_evaluation(&r->at, recipe, &r->scores);
    double value = metric_value(recipe, &r->scores);
    if (!isfinite(value))
        report_text(&r->report, "note: %s is %g at step %lld, which never counts as the best", metric_name(recipe),
                    value, (long long)r->at.step);
    report_samples(r);
    r->evaluation_took = seconds_now() - from;
    r->report.spent.evaluation += r->evaluation_took;
    if (late) save_evaluation(r);
    return best;
}

static Training *evaluating;

/* Data that cannot be read ends the run, but not what it has trained.  (Other ranks evaluate, too, and cannot save.) */
static bool save_before_failing(int code, const char *text)
{
    Training *r = evaluating;
    const Optimizer *o = &r->turns.at[0].optimizer;
    (void)text;
    before_failing(NULL);
    if (code != EXIT_DATA) return false;
    if (o->average) show_trained(o, r->memory.params, r->memory.grads);
    save_before_end(r);
    return false;
}

static void finish_steps(Training *r);

static bool evaluate_run(Training *r)
{
    finish_steps(r);
    if (!r->evaluates || r->at.evaluated == r->at.step) return false;
    evaluating = r;
    if (!r->t->ranks) before_failing(save_before_failing);
    const bool best = with_averages(r, evaluate_weights);
    if (!r->t->ranks) before_failing(NULL);
    return best;
}

/* As many rows as the last evaluation, unless that took more than two seconds and a hundredth of the run. */
static bool keep_last_scores(Training *r)
{
    double room = fmax(2, 0.01 * (seconds_now() - r->report.started)), share = room / r->evaluation_took;
    int64_t rows = share < 1 ? (int64_t)(share * (double)r->scores.items) : r->scores.items;
    keep_scores(r->t, &r->data, &r->memory, &r->scores, rows < 1 ? 1 : rows, r->at.step);
    return true;
}

/* Confusion and calibration, for the report at the end. */
static void evaluate_for_report(Training *r)
{
    bool last = r->scores.n && r->scores.complete && r->at.evaluated == r->at.step;
    if (last && !interrupted && !r->t->no_report && !shards_parameters(r->t)) with_averages(r, keep_last_scores);
}

static void tell_patience(Training *r)
{
    const Progress *p = &r->at;
    char *best = p->best_step < 0 ? text_of("all were NaN")
                                  : text_of("the best is %.4g at step %lld", p->best_value, (long long)p->best_step);
    report_text(&r->report,
                "stopped after step %lld of %lld: no better %s in %lld evaluation%s, %s; to continue: `%s --set "
                "patience=N`, N above %lld or 0",
                (long long)p->step, (long long)r->t->recipe.steps, metric_name(&r->t->recipe), (long long)p->stale,
                p->stale == 1 ? "" : "s", best, resume_command(r->t), (long long)p->stale);
}

/* ------------------------------------------------------------------ divergence */

/* The parameters are still those before the turn (begin_turn), which has brought GPUs together.  They are saved for
 * replay, apart from the run's checkpoints.  false: no rank has all of them. */
static bool save_before(Training *r, const char *path)
{
    if (shards_parameters(r->t)) return false;
    await_returns();
    device_down(r->memory.params, weight_bytes(r->t->model));
    copy_statistics(r->t->model, &r->memory);
    save_weights(r->t->model, path, r->t->base, r->memory.params, r->memory.statistics);
    return true;
}

static _Noreturn void diverged(Training *r, int64_t step, Step s)
{
    if (end_save(r->saver, true)) report_save(r);
    int64_t saved = saved_step(r->saver);
    const char *kept = saved >= 0 ? text_of("the checkpoint of step %lld is in %s", (long long)saved,
                                            checkpoint_path(run_folder(r->t), saved))
                                  : "there is no checkpoint";
    char *before = text_of("%s/diverged.safetensors", run_folder(r->t));
    const Turn *u = &r->turns.at[s.turn];
    end_line(&r->report);
    report_divergence(&r->report, step + 1, u->name, &s);
    end_about(r->t, "diverged", step);
    note("step %lld: %s; %s", (long long)step + 1, divergence_text(&s, u->name), kept);
    const bool whole = save_before(r, before);
    if (adds_gradients(r->t)) add_up_data_record(r->record);
    close_data_record(r->record);
    close_run_profile(r->profile, &r->report);
    report_at_end(r->t);
    char *remedy = divergence_remedy(u->recipe, &s, u->name);
    if (u->name)
        fail(EXIT_DIVERGED, NULL, "step %lld diverged.  %s.  %s has the parameters before it", (long long)step + 1,
             remedy, before);
    if (!whole) fail(EXIT_DIVERGED, NULL, "step %lld diverged.  %s", (long long)step + 1, remedy);
    if (gpus_of(r->t) > 1 || r->data.more)
        fail(EXIT_DIVERGED, NULL,
             "step %lld diverged.  %s.  %s has the parameters before it; replay computes the rows of %s",
             (long long)step + 1, remedy, before,
             gpus_of(r->t) > 1 ? "one rank" : "a run that was never resumed with another number of rows");
    fail(EXIT_DIVERGED, NULL, "step %lld diverged.  %s.  To find the operation that caused it, run\n  %s",
         (long long)step + 1, remedy, replay_words(r->t, &r->data, before, step + 1));
}

/* ------------------------------------------------------------------ steps */

static void count_epoch(Training *r, Step s)
{
    Stream_sum sum;
    int source;
    bool told = false;
    r->at.epoch_steps++;
    r->at.epoch_loss += s.loss;
    if (s.number + 1 < r->at.step) return; /* the remark is about a later step */
    while (mixture_epoch(r->data.epochs->rows, &source, &sum)) told |= report_epoch(&r->report, &r->at, source, &sum);
    if (!told) return;
    start_next_epoch(&r->report, r->at.step);
    r->at.epochs++;
    r->at.epoch_steps = 0;
    r->at.epoch_loss = 0;
}

static void report_skipped(Training *r, const Step *s)
{
    double now = s->loss_scale.scale;
    report_text(&r->report,
                "step %lld | loss scale %g: gradients overflowed fp16; the step is skipped (%lld so far), and the "
                "scale is now %g",
                (long long)s->number + 1, 2 * now, (long long)s->loss_scale.skipped, now);
}

static void log_histograms(Training *r)
{
    char *line = last_histograms(r->t->histograms);
    if (line) add_histograms_to_logs(r->report.logs, line);
    free(line);
}

static void take_batch_and_noise(Training *r, Step *s)
{
    const Lathe_model *m = r->t->model;
    const Lathe_entry *e = train_of_step(m, s->number);
    const int64_t ranks = adds_gradients(r->t) ? gpus_of(r->t) : 1;
    if (batch_grows(m)) s->batch = gpus_of(r->t) * e->rows;
    if (!s->measures_noise) return;
    note_noise(&r->at.noise, s->norm * s->norm, s->part_squares, ranks * e->rows, ranks * e->parts);
    s->noise_scale = noise_scale(&r->at.noise);
}

/* Ends the oldest turn that was begun, and with its last turn the step. */
static void finish_turn(Training *r)
{
    Step s = end_turn();
    const Turn *u = &r->turns.at[s.turn];
    if (has_diverged(&s)) diverged(r, s.number, s);
    if (s.skipped) report_skipped(r, &s);
    take_batch_and_noise(r, &s);
    note_turn(&r->report.notes, u, &s);
    log_histograms(r);
    const bool last = is_last_turn(&r->turns, u, s.number);
    hash_turn(r->t->hashes, &s, last);
    if (!last) return;
    s = noted_step(&r->report.notes);
    r->at.loss_scale = s.loss_scale;
    report_step(&r->report, s.number + 1, s);
    if (r->data.epochs) count_epoch(r, s);
    if (sends_messages(r->t) && !interrupted) interrupted = signal_of_ranks();
}

/* Finishes all steps under way: evaluations and saves need their results and the parameters. */
static void finish_steps(Training *r)
{
    while (turns_begun()) finish_turn(r);
    return_parameters(r->t, &r->memory);
}

/* After local steps, where ranks must. */
static void meet_in_run(Training *r, bool ends)
{
    if (!must_meet(r->t, r->at.step, ends)) return;
    meet_ranks(r->t, &r->memory, r->at.step);
    r->data_ended |= !share_bad_files(r->t, &r->data);
}

/* Returns false if there is no data for it.  at.step counts steps that were begun; on a device the last still runs. */
static bool one_step(Training *r)
{
    int64_t step = r->at.step;
    const Lathe_entry *e = train_for_step(&r->turns, r->t->model, step);
    double from = seconds_now();
    rank_does(RANK_READS, step);
    if (!fill_step(&r->data, e, r->memory.call, step)) return false;
    set_scalars(e, r->memory.call, r->t->seed, step, 0);
    note_batch(r->record, e, r->memory.call);
    hash_batch(r->t->hashes, e, r->memory.call, step);
    order_step(r->t);
    double data = seconds_now() - from;
    if (shares_steps(r->t)) tell_of_data(&r->data, data);
    r->at.step++;
    for (int k = 0; k < r->turns.n; k++) {
        if (!turn_is_due(&r->turns.at[k], step)) continue;
        begin_timed(r->profile, &r->turns.at[k], step);
        begin_turn(r->t, &r->turns.at[k], &r->memory, step, data);
        end_timed(r->profile, &r->turns.at[k]);
        if (adds_gradients(r->t)) r->data_ended |= !share_bad_files(r->t, &r->data);
        data = 0;
        while (turn_must_end()) finish_turn(r);
    }
    meet_in_run(r, false);
    if (r->data.epochs && mixture_epoch_ended(r->data.epochs->rows)) finish_steps(r);
    return true;
}

/* Without save_every, a run is saved every quarter of an hour.  Saving does not change its results. */
static bool long_unsaved(const Training *r)
{
    enum { LONGEST = 15 * 60 }; /* s */
    return r->t->recipe.save_every == 0 && seconds_now() - r->saved_at > LONGEST;
}

/* Whether the step ended the number of epochs between evaluations; for windows and rows, an epoch is as many items as
 * the training part has. */
static bool epochs_due(const Training *r)
{
    int64_t every = r->t->recipe.eval_epochs, step = r->at.step;
    if (every == 0 || step == 0) return false;
    if (r->data.epochs) return turns_begun() == 0 && r->at.epoch_steps == 0 && r->at.epochs % every == 0;
    int64_t items = every * epoch_items(&r->data);
    return items_before(&r->data, step) / items > items_before(&r->data, step - 1) / items;
}

static void evaluate_and_save(Training *r)
{
    const Lathe_recipe *recipe = &r->t->recipe;
    if (take_asked_save()) want_save();
    if (ranks_are_apart(r->t, r->at.step)) return;
    bool best = (is_due(r->t, r->at.step, recipe->eval_every) || epochs_due(r)) && evaluate_run(r);
    if (best || is_due(r->t, r->at.step, recipe->save_every) || save_is_wanted() || long_unsaved(r)) {
        finish_steps(r);
        save_run(r);
    }
}

static bool is_tired(const Training *r) { return r->evaluates && out_of_patience(&r->at, &r->t->recipe); }

static void all_steps(Training *r)
{
    if (r->at.step < r->t->recipe.steps && r->t->resume) evaluate_and_save(r); /* an interruption had left it out */
    while (r->at.step < r->t->recipe.steps && !must_end(r->t, r->at.step) && !is_tired(r)) {
        bool done = one_step(r);
        r->data_ended |= !done && !interrupted;
        if (r->data_ended || !done) break;
        if (end_save(r->saver, false)) report_save(r);
        keep_run_profile(r->profile, &r->report);
        keep_data_record(r->record);
        if (r->at.step == r->t->recipe.steps || must_end(r->t, r->at.step)) break;
        evaluate_and_save(r);
    }
    finish_steps(r);
    meet_in_run(r, true);
}

static void print_result(const Training *r, int stopped)
{
    json_t *all = json_object();
    put_json(all, "steps", json_integer(r->at.step));
    put_json(all, "weights", word_json(weights_path(&(Trainer){.out = r->t->out})));
    put_json(all, "eval", r->scores.n && r->scores.complete ? scores_json(&r->scores, &r->data) : json_null());
    put_json(all, "seconds", real_json(seconds_now() - r->report.started));
    put_json(all, "interrupted", json_boolean(stopped));
    put_json(all, "stopped", json_boolean(is_tired(r)));
    print_json(all);
}

/* Reports that no rows are left: a pipe has ended, or the reading thread met data that it cannot read.  The steps
 * before are saved. */
static void tell_end_of_data(Training *r)
{
    int code;
    const char *failure = data_failure(&r->data, &code);
    if (!failure) {
        report_text(&r->report,
                    "the data ends after step %lld of %lld: fewer than %lld sequences are left for the next",
                    (long long)r->at.step, (long long)r->t->recipe.steps,
                    (long long)(items_before(&r->data, r->at.step + 1) - items_before(&r->data, r->at.step)));
        return;
    }
    close_report(&r->report);
    if (r->at.step) tell_saved(r);
    end_program(code, failure);
}

static bool has_failed(const Training *r)
{
    int code;
    return r->data_ended && data_failure(&r->data, &code);
}

int train_command(Trainer *t)
{
    static Training r;
    check_log_names(t->log);
    (void)hashes_asked(t);
    catch_save_signal();
    prepare_training(&r, t);
    if (t->overfit || t->dry_run) return try_training(&r);
    if (is_follower(t)) {
        if (sends_messages(t)) catch_signals(t);
        r.record = count_data(t);
        Trial c = trial_of(&r);
        return follow(&c, r.at.step);
    }
    start_training(&r);
    catch_signals(t);
    all_steps(&r);
    if (!interrupted && !has_failed(&r)) evaluate_run(&r);
    if (r.at.step || !has_failed(&r)) save_last(&r);
    const int stopped = interrupted; /* from here on a signal only cuts the scores short */
    evaluate_for_report(&r);
    add_up_data_record(r.record);
    end_ranks(t);
    if (r.data_ended) tell_end_of_data(&r);
    if (is_tired(&r) && !stopped) tell_patience(&r);
    tell_unreadable(&r.data);
    if (stopped)
        report_text(&r.report, "interrupted after step %lld of %lld; to continue: `%s`", (long long)r.at.step,
                    (long long)t->recipe.steps, resume_command(t));
    close_data_record(r.record);
    close_run_profile(r.profile, &r.report);
    close_report(&r.report);
    close_histograms(t->histograms);
    close_hashes(t->hashes);
    end_about(t, r.at.step < t->recipe.steps ? "stopped" : "done", r.at.step);
    report_at_end(t);
    if (t->json) print_result(&r, stopped);
    close_turns(&r.turns);
    return stopped ? 128 + stopped : 0;
}
