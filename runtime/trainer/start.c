/* start.c: a training run up to its first step: starting point, data, memory, folder. */
#include "base/file.h"
#include "base/words.h"
#include "data/data.h"
#include "interface/lathe_model.h"
#include "lathe_rt.h"
#include "model/block.h"
#include "model/init.h"
#include "model/run.h"
#include "model/tables.h"
#include "step/average.h"
#include "step/entry.h"
#include "step/growth.h"
#include "step/optim.h"
#include "step/state.h"
#include "step/statistics.h"
#include "text/generate.h"
#include "token/tokenizer.h"
#include "trainer/alike.h"
#include "trainer/checkpoint.h"
#include "trainer/data.h"
#include "trainer/eval.h"
#include "trainer/hashes.h"
#include "trainer/histograms.h"
#include "trainer/join.h"
#include "trainer/knobs.h"
#include "trainer/last_actions.h"
#include "trainer/local_steps.h"
#include "trainer/memory.h"
#include "trainer/ranks.h"
#include "trainer/reference.h"
#include "trainer/report.h"
#include "trainer/run_profile.h"
#include "trainer/samples.h"
#include "trainer/shards.h"
#include "trainer/selftest.h"
#include "trainer/state.h"
#include "trainer/step.h"
#include "trainer/teacher.h"
#include "trainer/trainer.h"
#include "trainer/training.h"
#include "trainer/unsent.h"
#include "trainer/verify.h"
#include "trainer/trial.h"

#include <math.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Called before data is read: a checkpoint gives the settings and data of a resumed run. */
static void find_start(Training *r)
{
    Trainer *t = r->t;
    r->at = (Progress){.evaluated = -1, .best_step = -1};
    agree_on_checkpoint(t);
    if (t->adapter && !t->weights)
        fail(EXIT_USAGE, NULL, "--adapter is of adapters over weights: %s",
             t->resume ? "--resume has its own; leave it out" : "give these with --init PATH");
    if (!t->resume) find_teacher(t, NULL);
    if (!t->resume) return;
    if (t->overfit || t->dry_run)
        fail(EXIT_USAGE, NULL, "--%s tries a new run; leave --resume out", t->overfit ? "overfit" : "dry-run");
    if (t->weights) fail(EXIT_USAGE, NULL, "--resume and --init both give a starting point; give one");
    r->checkpoint = find_checkpoint(t);
    if (!t->verify && !is_follower(t)) lock_run(run_folder(t));
    open_checkpoint(&r->from, r->checkpoint);
    check_model(t, r->checkpoint);
    if (t->verify) take_verified(t->verify, &r->from);
    find_teacher(t, &r->from);
    resume_settings(t, &r->from);
    t->weights = text_of("%s/model.safetensors", r->checkpoint);
    r->at = r->from.at;
    take_evaluations(&r->at, t, &r->from);
}

/* Converts --epochs or --tokens to steps. */
static void settle_steps(Training *r)
{
    Trainer *t = r->t;
    if (t->epochs && t->tokens) fail(EXIT_USAGE, NULL, "--epochs and --tokens both say how long to train; give one");
    if ((t->epochs || t->tokens) && was_set(t, "steps"))
        fail(EXIT_USAGE, NULL, "--steps and --%s both say how long to train; give one",
             t->epochs ? "epochs" : "tokens");
    int64_t items = t->epochs   ? t->epochs * epoch_items(&r->data)
                    : t->tokens ? items_for_units(&r->data, t->tokens)
                                : 0;
    if (items) t->recipe.steps = steps_for_items(&r->data, items);
    if (t->recipe.steps < 1)
        fail(EXIT_USAGE, NULL,
             "the description does not say how long to train; give --steps N, --epochs N or --tokens N");
}

static void settle_evaluation(Training *r)
{
    r->evaluates = find_entry(r->t->model, ENTRY_eval) && evaluated(&r->data)->val_items > 0;
    if (r->evaluates) check_metric(r->t, &r->data);
    else if (r->t->recipe.patience)
        note("patience counts evaluations, but no part of the data is kept for them; give --val-fraction F");
    if (r->t->recipe.val_fraction == 0 || r->data.held) return;
    if (!r->evaluates && r->data.epochs)
        note("no evaluation: %s", r->data.epochs->order.once
                                      ? "all data from a pipe is used for training"
                                      : "no document was drawn for it; use more or shorter documents (--documents "
                                        "blank) or a larger --val-fraction");
    else if (!r->evaluates && words_of_split(&r->data.rule))
        note("no evaluation: there are no rows for it (%s)", words_of_split(&r->data.rule));
    else if (!r->evaluates)
        note("no evaluation: the last %g of the data is %lld %s, less than one sequence", r->t->recipe.val_fraction,
             (long long)r->data.val, r->data.text ? "tokens" : "rows");
}

/* Beside an optimizer written in Lua, --set reaches it by the learning rate alone. */
static void tell_others(const Trainer *t)
{
    const Lathe_recipe *r = &t->recipe, *built = &t->model->recipe;
    bool differs = r->optimizer != built->optimizer || r->decay != built->decay || r->beta1 != built->beta1 ||
                   r->beta2 != built->beta2 || r->eps != built->eps || r->momentum != built->momentum;
    if (t->model->direction.name && differs)
        note("optimizer, decay, beta1, beta2, eps and momentum change only the parameters that %s does not update",
             t->model->direction.name);
}

static void tell_late_growth(const Trainer *t)
{
    int64_t from, count;
    if (growth_ends_early(t->model, t->recipe.steps, &from, &count))
        note("accumulate_at has %lld micro-batches from step %lld on, and this run ends with step %lld: it never has "
             "so many; give more --steps, or build with earlier steps in the description",
             (long long)count, (long long)from, (long long)t->recipe.steps);
}

static void check_steps(const Training *r)
{
    const Lathe_recipe *recipe = &r->t->recipe;
    int64_t length = recipe->schedule_steps ? recipe->schedule_steps : recipe->steps;
    if (recipe->warmup >= length)
        note(
            "warmup is %lld steps and the schedule has %lld: the learning rate never reaches lr; --set warmup=N with a "
            "smaller N",
            (long long)recipe->warmup, (long long)length);
    bool falls = recipe->schedule == LATHE_LINEAR || recipe->schedule == LATHE_COSINE;
    if (falls && recipe->final_lr > recipe->lr)
        note("final_lr=%g is above lr=%g: the learning rate rises; --set final_lr=N with a smaller N", recipe->final_lr,
             recipe->lr);
    check_sending(r->t);
    check_local_steps(r->t);
    check_shards_of(r->t);
    tell_others(r->t);
    tell_late_growth(r->t);
    if (r->at.step > r->t->recipe.steps)
        fail(EXIT_USAGE, NULL, "--steps %lld: the checkpoint %s has done %lld steps already; give more",
             (long long)r->t->recipe.steps, r->checkpoint, (long long)r->at.step);
}

/* Copies the arrays to a device, where the moments and states of a new run are already zero. */
static void give_arrays(Training *r)
{
    const Lathe_model *m = r->t->model;
    const Optimizer *o = &r->turns.at[0].optimizer;
    join_ranks(r->t, &r->turns.at[0].optimizer, &r->memory);
    if (!r->t->ranks) weights_up(m, &r->memory);
    test_first_start(r->t, r->entry, &r->memory);
    if ((r->t->resume || o->average) && r->t->ranks) take_parts(r->t, o, &r->memory, r->checkpoint);
    if (r->t->resume && r->t->ranks) take_states(r->t, &r->memory, r->checkpoint);
    begin_local_steps(r->t, &r->memory, r->at.step);
    if (!r->t->resume && !r->t->ranks) optimizer_up(o);
    if (r->t->resume && !r->t->ranks) device_up(r->memory.moments, (int64_t)optimizer_bytes(m, &r->t->recipe));
    if ((r->t->resume || m->statistics) && !r->t->ranks) device_up(r->memory.state, r->memory.state_bytes);
    ready_optimizers(&r->turns, &r->memory);
}

/* Of parameters that no rank has all of: from the same files as rank 0, or drawn as there. */
static void take_own_weights(Training *r)
{
    if (r->t->resume) load_own_parameters(r->t, &r->from, r->checkpoint, &r->memory);
    else take_first_weights(r->t, &r->memory);
    advise(NULL);
}

static void fill_arrays(Training *r)
{
    Trainer *t = r->t;
    if (shares_steps(t)) open_turns_on_zeros(&r->turns, t->model, &t->recipe, whole_moments(t, &r->memory));
    else open_turns(&r->turns, t->model, &t->recipe, whole_moments(t, &r->memory));
    if (is_follower(t)) {
        if (shards_parameters(t) && !t->model->device) take_own_weights(r);
        give_arrays(r);
        return;
    }
    if (t->resume) load_checkpoint(t, &r->from, r->checkpoint, &r->memory, saved_optimizer(&r->turns));
    else {
        take_first_weights(t, &r->memory);
        if (!adds_gradients(t)) begin_averages(&r->turns.at[0].optimizer, r->memory.params);
    }
    advise(NULL);
    fill_teacher(t, &r->memory, t->resume ? &r->from : NULL);
    go_on_with_scale(&r->turns.at[0].optimizer, &r->at.loss_scale);
    give_arrays(r);
    if (t->resume && !t->verify) compare_origin(t, &r->data, &r->from);
}

static bool same_folder(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Renews the links: a kill or a power cut may have left links to an older checkpoint, or to a missing one. */
static void link_again(const Training *r)
{
    const char *run = run_folder(r->t);
    Fault f = {0};
    int64_t best = r->at.best_step;
    if (best >= 0 && access(checkpoint_path(run, best), F_OK) != 0) best = -1;
    if (best < 0) unlink(text_of("%s/checkpoints/best", run));
    link_checkpoint(run, r->at.step, best, &f);
    if (f.path) note("%s %s", f.path, f.text);
}

/* A run resumed in its own folder keeps what was written up to its checkpoint; all other contents are moved aside. */
static void open_run(Training *r)
{
    const char *run = run_folder(r->t);
    char *folder = r->checkpoint ? folder_of(r->checkpoint) : NULL, *where;
    char *metrics = NULL, *histograms = NULL, *hashes = NULL;
    char *checkpoints = text_of("%s/checkpoints", run);
    bool own = folder && same_folder(folder, checkpoints);
    lock_run(run);
    tell_last_actions(run);
    if (folder) metrics = text_of("%s/../metrics.jsonl", folder);
    if (folder) histograms = text_of("%s/../histograms.jsonl", folder);
    if (folder) hashes = text_of("%s/../" HASHES_FILE, folder);
    if (prepare_run(run, own ? r->at.step : -1, &where))
        note("%s moved to %s", own ? "later checkpoints were" : "the earlier contents of the run folder were", where);
    if (!own) keep_reference(&r->data, r->t, run);
    if (own) link_again(r);
    r->t->histograms = open_histograms(r->t, &r->at, histograms);
    r->t->hashes = open_hashes(r->t, &r->data, &r->memory, &r->turns, &r->at, hashes);
    open_report(&r->report, r->t, &r->data, r->items, &r->at, metrics);
    r->saver = open_saver(r->t, &r->memory, saved_optimizer(&r->turns), &r->data, r->report.metrics,
                          own ? r->at.step : NOT_SAVED);
    r->saved_at = seconds_now();
    open_rank_log(r->t, r->at.step);
    free(folder);
    free(metrics);
    free(histograms);
    free(hashes);
    free(checkpoints);
}

/* A new run writes samples only on request: those of a description would make each evaluation last for minutes. */
static void leave_samples_out(Trainer *t)
{
    const bool possible = !t->model->device && !find_entry(t->model, ENTRY_sample);
    if (!shards_parameters(t) || !possible || t->resume || !wants_samples(t) || was_set(t, "samples")) return;
    note("no samples: each token of them gathers all parameters from all ranks (--shard-parameters); --set samples=1 "
         "writes one all the same");
    t->recipe.samples = "";
}

static void tell_gathered_texts(const Trainer *t, const char *what, const char *without)
{
    note("%s: each token gathers all parameters from all ranks, %s (--shard-parameters); --set %s leaves them out",
         what, bytes_text(weight_bytes(t->model) - bytes_of_frozen(t)), without);
}

/* Prepares the texts that are written after evaluations, by rank 0 alone, or by all that keep parts of parameters. */
static void open_texts(Training *r)
{
    Trainer *t = r->t;
    Tokenizer *k = r->data.tokenizer;
    const bool together = shards_parameters(t);
    bool texts = r->evaluates && t->recipe.eval_generate, drawn = find_entry(t->model, ENTRY_sample);
    bool samples = wants_samples(t) && (together ? !drawn && !t->model->device : !is_follower(t));
    if (together && wants_samples(t) && !samples)
        note("no samples: writing them takes all parameters at once, and no rank has them (--shard-parameters); "
             "generate from a checkpoint");
    if (together && samples) tell_gathered_texts(t, "samples", "samples=");
    if (together && texts) tell_gathered_texts(t, "texts to evaluate", "eval_generate=0");
    Text_writer *w = NULL;
    if (texts || (samples && !drawn)) w = open_text_writer(writing_of(t), &r->memory, k, "samples");
    if (samples) r->samples = open_samples(t, &r->memory, k, w);
    if (texts) r->texts = open_text_eval(t, evaluated(&r->data)->reading, w, k, t->recipe.eval_generate, false);
}

const Entry *entries_of_run(const Trainer *t)
{
    static const Entry without[] = {ENTRY_train,     ENTRY_eval,      ENTRY_score, ENTRY_predict,
                                    ENTRY_reference, ENTRY_direction, NO_ENTRY},
                       texts[] = {ENTRY_train,  ENTRY_eval,    ENTRY_score,     ENTRY_predict,   ENTRY_encode,
                                  ENTRY_decode, ENTRY_prefill, ENTRY_reference, ENTRY_direction, NO_ENTRY};
    return lathe_writes_texts(&t->recipe, find_entry(t->model, ENTRY_sample)) ? texts : without;
}

void prepare_training(Training *r, Trainer *t)
{
    r->t = t;
    r->entry = need_entry(t->model, ENTRY_train);
    check_ranks(t);
    if (!is_follower(t)) check_run_trace(t);
    check_memory(t);
    find_start(r);
    settle_val_data(t);
    open_run_data(&r->data, t, true);
    if (t->resume) continue_items(&r->data, &r->from);
    if (t->memory_limit && r->data.row) check_data_memory(t, data_heap(&r->data), data_grows(&r->data));
    open_val_data(&r->data, t);
    settle_origin(t, r->data.tokenizer);
    check_teacher_data(t, &r->data);
    r->items = gpus_of(t) * r->entry->rows;
    settle_steps(r);
    check_steps(r);
    leave_samples_out(t);
    settle_evaluation(r);
    start_ranks(t);
    check_alike(t, &r->data, r->at.step);
    wait_for_first_gpu(t);
    use_threads(t);
    take_memory(&r->memory, t, true, true, entries_of_run(t));
    fill_arrays(r);
    if (t->resume) read_reference(&r->data, t, t->weights);
    else compute_reference(&r->data, t, &r->memory);
    if (!is_follower(t) || shares_steps(t)) open_texts(r);
    if (r->data.epochs) start_epochs(r->data.epochs, t->resume ? &r->from : NULL);
}

void start_training(Training *r)
{
    open_run(r);
    r->t->saver = r->saver;
    r->record = open_data_record(r->t, &r->data, r->items);
    r->profile = open_run_profile(r->t, &r->turns, &r->memory);
}

Trial trial_of(Training *r)
{
    return (Trial){r->t,       &r->data, &r->memory, &r->turns,    r->entry,
                   r->samples, r->texts, r->items,   r->evaluates, r->record};
}

/* --overfit, --dry-run */
int try_training(Training *r)
{
    Trainer *t = r->t;
    Trial c = trial_of(r);
    if (t->overfit && t->dry_run) fail(EXIT_USAGE, NULL, "--overfit and --dry-run are different trials; give one");
    print_banner(&(Report){.t = t, .data = &r->data, .items_per_step = r->items, .steps = t->recipe.steps});
    return t->overfit ? overfit(&c) : dry_run(&c);
}
