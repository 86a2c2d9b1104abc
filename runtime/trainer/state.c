/* state.c: the contents of state.json: the state of a run apart from its arrays, and its origin (step/state.c has its
 * text).
 *
 * Random numbers and batches are functions of seed and step (data/data.c), so these two are the whole random state. */
#include "base/file.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "interface/lathe_model.h"
#include "interface/version.h"
#include "math/engine.h"
#include "model/gguf.h"
#include "step/direction.h"
#include "step/optim.h"
#include "step/state.h"
#include "token/tokenizer.h"
#include "trainer/checkpoint.h"
#include "trainer/eval.h"
#include "trainer/knobs.h"
#include "trainer/ranks.h"
#include "trainer/state.h"
#include "trainer/teacher.h"
#include "trainer/trainer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ the origin of a run */

static void add_text(Hash *h, char *text)
{
    hash_add(h, text, strlen(text));
    free(text);
}

static void add_entry(Hash *h, const Lathe_entry *e)
{
    add_text(h, text_of("%s %lld %lld %lld\n", e->name, (long long)e->work_bytes, (long long)e->in_bytes,
                        (long long)e->out_bytes));
    for (int k = 0; k < e->kernels; k++)
        add_text(h, text_of("%s %s %g %g\n", e->kernel[k].name, e->kernel[k].formula, e->kernel[k].flops,
                            e->kernel[k].bytes));
}

/* A hash of everything that decides the order of sums: layout, kernels, arena, engine of products. */
static uint64_t plan_hash(const Trainer *t, const char *engine)
{
    const Lathe_model *m = t->model;
    Hash h;
    hash_start(&h);
    add_text(&h, text_of("%s %s %lld %lld\n", m->precision, engine, (long long)m->batch, (long long)m->seq));
    if (gpus_of(t) > 1 && !m->exact_rows)
        add_text(&h, text_of("%d %s\n", gpus_of(t), t->model->device ? "GPUs" : "ranks"));
    for (int i = 0; i < m->params; i++) {
        const Lathe_param *p = &m->param[i];
        add_text(&h, text_of("%s %lld", p->export_name, (long long)p->offset));
        for (int k = 0; k < p->rank; k++)
            add_text(&h, text_of(" %lld/%lld", (long long)p->dim[k], (long long)p->stride[k]));
    }
    for (int i = 0; i < m->entries; i++) add_entry(&h, &m->entry[i]);
    return hash_end(&h);
}

json_t *program_json(const Trainer *t)
{
    return hash_json(plan_hash(t, strcmp(gemm_engine(), "openblas") == 0 ? "openblas" : "own"));
}

static uint64_t data_hash(const Data *d)
{
    if (d->epochs) return epochs_hash(d->epochs);
    if (d->preferences) return preferences_hash(d->preferences);
    if (d->text) return text_hash(d->text);
    if (d->rows) return rows_hash(d->rows);
    if (d->files) return file_index_hash(index_of_files(d->files));
    if (d->sentences) return sentences_hash(d->sentences);
    if (d->series) return series_hash(d->series);
    return d->table ? table_hash(d->table) : csv_hash(d->csv);
}

static json_t *origin_json(const Trainer *t, const Data *d)
{
    json_t *all = json_object();
    put_json(all, "description", word_json(t->model->source_hash));
    put_json(all, "plan", hash_json(plan_hash(t, gemm_engine())));
    put_json(all, "data", hash_json(data_hash(d)));
    if (d->held) put_json(all, "val_data", hash_json(data_hash(d->held)));
    if (t->recipe.tokenizer == LATHE_TOKENIZER_FILE && !t->tokenizer && t->recipe.tokenizer_file)
        put_json(all, "tokenizer", word_json(t->recipe.tokenizer_file));
    return all;
}

/* ------------------------------------------------------------------ out */

static json_t *paths_json(const Words *paths)
{
    json_t *all = json_array();
    for (int i = 0; i < paths->n; i++) add_json(all, word_json(paths->at[i]));
    return all;
}

static json_t *data_json(const Trainer *t, const Data *d, int64_t position)
{
    json_t *all = json_pack("{s:o, s:s, s:I}", "paths", paths_json(&t->data), "unit", item_word(d), "position",
                            (json_int_t)position);
    if (t->val_data.n) put_json(all, "val_paths", paths_json(&t->val_data));
    if (d->epochs) put_json(all, "stream", epochs_json(d->epochs));
    else put_json(all, "epoch", json_integer(position / d->train_items));
    return all;
}

static json_t *evaluation_json(const Progress *p, const Lathe_recipe *r)
{
    json_t *all = json_pack("{s:I}", "step", (json_int_t)p->evaluated);
    put_json(all, "best_step", json_integer(p->best_step));
    put_json(all, "best_metric", word_json(metric_name(r)));
    put_json(all, "best_value", p->best_step >= 0 ? real_json(p->best_value) : json_null());
    put_json(all, "since_best", json_integer(p->stale));
    return all;
}

/* "optim.muon": the optimizer written in Lua that updates parameters; NULL: there is none, or turns have theirs. */
static const char *directing(const Lathe_model *m) { return m->directed_elements ? m->direction.name : NULL; }

const json_t *origin_of_run(const Trainer *t, Data *d)
{
    if (!d->origin) d->origin = origin_json(t, d);
    return d->origin;
}

static int64_t rows_of_step(const Data *d, int64_t step) { return items_before(d, step + 1) - items_before(d, step); }

int64_t ranks_of_state(const json_t *state)
{
    const int64_t ranks = json_integer_value(json_object_get(state, "ranks"));
    return ranks > 1 ? ranks : 1;
}

json_t *state_json(const Trainer *t, Data *d, const Progress *p)
{
    const Lathe_model *m = t->model;
    json_t *all = json_pack("{s:i, s:i, s:s, s:s, s:s, s:s, s:I, s:i, s:f}", "format", LATHE_CHECKPOINT_MAJOR, "minor",
                            LATHE_CHECKPOINT_MINOR, "lathe", LATHE_VERSION, "model", utf8_of(m->name), "config",
                            m->config ? utf8_of(m->config) : "", "precision", m->precision, "step", (json_int_t)p->step,
                            "seed", (int)t->seed, "elapsed_s", p->elapsed);
    if (gpus_of(t) > 1) put_json(all, "ranks", json_integer(gpus_of(t)));
    if (m->exact_rows) put_json(all, "exact_rows", json_integer(m->exact_rows));
    if (gpus_of(t) > 1 || m->exact_rows) put_json(all, "step_rows", json_integer(rows_of_step(d, p->step)));
    (void)origin_of_run(t, d);
    put_json(all, "schedule",
             json_pack("{s:I, s:f}", "steps", (json_int_t)t->recipe.steps, "next_lr", rate_at(&t->recipe, p->step)));
    put_json(all, "recipe", recipe_json(&t->recipe));
    if (directing(m)) put_json(all, "direction", word_json(directing(m)));
    if (m->turns) put_json(all, "turns", turns_json(t));
    if (teacher_json(t)) put_json(all, "teacher", teacher_json(t));
    put_json(all, "data", data_json(t, d, items_before(d, p->step)));
    put_json(all, "evaluation", evaluation_json(p, &t->recipe));
    if (d->epochs)
        put_json(all, "epoch",
                 json_pack("{s:I, s:o, s:I}", "steps", (json_int_t)p->epoch_steps, "loss", real_json(p->epoch_loss),
                           "ended", (json_int_t)p->epochs));
    if (p->loss_scale.scale > 0 || p->loss_scale.skipped)
        put_json(all, "loss_scale",
                 json_pack("{s:I, s:I, s:I}", "scale", (json_int_t)p->loss_scale.scale, "good",
                           (json_int_t)p->loss_scale.good, "skipped", (json_int_t)p->loss_scale.skipped));
    if (p->noise.steps)
        put_json(all, "noise_scale",
                 json_pack("{s:I, s:o, s:o}", "steps", (json_int_t)p->noise.steps, "signal", real_json(p->noise.signal),
                           "noise", real_json(p->noise.noise)));
    put_json(all, "provenance", json_deep_copy(d->origin));
    put_json(all, "files", json_object());
    return all;
}

void renew_evaluation(State *s, const Progress *p, const Lathe_recipe *r, Fault *f)
{
    put_json(s->all, "evaluation", evaluation_json(p, r));
    json_object_del(s->all, "xxh64");
    char *text = state_text(s->all);
    replace_text(s->path, text, f);
    free(text);
}

/* ------------------------------------------------------------------ resuming */

static void take_paths(Words *to, const State *s, const char *key)
{
    const json_t *paths = json_object_get(json_object_get(s->all, "data"), key), *path;
    size_t i;
    json_array_foreach(paths, i, path) if (json_is_string(path)) add_word(to, word_of_json(path));
}

/* Takes the paths of the data for evaluation, unless the command line gives other data for it. */
static void take_val_paths(Trainer *t, const State *s)
{
    if (!t->val_data.n && !was_set(t, "val_fraction")) take_paths(&t->val_data, s, "val_paths");
}

/* Settings that say which rows are evaluated. */
static const char *const of_split[] = {"split", "group", "fold", "val_fraction", NULL};

static char *split_value(const json_t *value)
{
    if (json_is_string(value)) return word_of_json(value);
    return json_is_null(value) || !value ? text_of("none") : text_of("%g", json_number_value(value));
}

/* The name of a setting that is given and says otherwise than theirs; NULL: there is none. */
static const char *other_split(const Trainer *t, const json_t *theirs, char **own, char **their)
{
    json_t *all = recipe_json(&t->recipe);
    const char *found = NULL;
    for (const char *const *name = of_split; *name && !found; name++) {
        const json_t *a = json_object_get(all, *name), *b = json_object_get(theirs, *name);
        *own = split_value(a);
        *their =
            b || strcmp(*name, "split") != 0 ? split_value(b) : text_of("last"); /* of runs older than the setting */
        if (was_set(t, *name) && strcmp(*own, *their) != 0) found = *name;
    }
    json_decref(all);
    return found;
}

/* With another split, a resumed run would evaluate rows that it was trained on. */
static void refuse_other_split(Trainer *t, const json_t *theirs)
{
    char *own, *their;
    const char *name = lathe_reads_rows(&t->recipe) ? other_split(t, theirs, &own, &their) : NULL;
    if (name)
        fail(
            EXIT_USAGE, NULL,
            "--resume: %s is %s as given, and %s in the checkpoint, so rows that it was trained on would be evaluated; "
            "leave it out, or start a new run (--init takes weights)",
            name, own, their);
    if (!json_object_get(theirs, "split") && !was_set(t, "split")) t->recipe.split = LATHE_LAST_PART;
}

static void tell_other_split(const Trainer *t, const json_t *theirs)
{
    char *own, *their;
    bool whole = was_set(t, "val_fraction") && t->recipe.val_fraction >= 1; /* asked for */
    const char *name = lathe_reads_rows(&t->recipe) && !whole ? other_split(t, theirs, &own, &their) : NULL;
    if (name)
        note("%s is %s as given; it was %s in training: rows that were trained on may be evaluated", name, own, their);
}

/* By which the checkpoint was trained: those before `direction` was noted have the file of its states. */
static char *saved_direction(const State *s)
{
    const json_t *name = json_object_get(s->all, "direction");
    if (json_is_string(name)) return word_of_json(name);
    const json_t *states = json_object_get(json_object_get(s->all, "files"), "directions.safetensors");
    return states ? text_of("an optimizer written in Lua") : NULL;
}

/* An optimizer written in Lua keeps other states than any other; --set does not change it. */
static void compare_directions(const Trainer *t, const State *s)
{
    const char *own = directing(t->model), *recipe = optimizer_word(t->recipe.optimizer);
    char *theirs = saved_direction(s);
    const bool named = theirs && json_object_get(s->all, "direction");
    if (t->model->turns || json_object_get(s->all, "turns") || (!own && !theirs)) return;
    if (own && theirs && (!named || strcmp(own, theirs) == 0)) return free(theirs);
    if (own && !theirs && !model_directs(t->model)) return; /* it keeps nothing, and the checkpoint may be older */
    if (!theirs) theirs = split_value(json_object_get(json_object_get(s->all, "recipe"), "optimizer"));
    fail(EXIT_DATA, s->path,
         "expected a run of %s, which this trainer was built with, found one of %s, and neither goes on with what the "
         "other keeps; resume it with a trainer of its own optimizer (in the description's train table), or start a "
         "new run from its weights: --init %s",
         own ? own : recipe, theirs, folder_of(s->path));
}

void resume_settings(Trainer *t, const State *s)
{
    int64_t seed = whole_member(s, s->all, "seed", 0);
    refuse_other_split(t, json_object_get(s->all, "recipe"));
    compare_directions(t, s);
    take_recipe(t, json_object_get(s->all, "recipe"));
    compare_turns(t, json_object_get(s->all, "turns"), s->path);
    if (seed > INT32_MAX) fail(EXIT_DATA, s->path, "expected a seed below 2147483648; the file is damaged");
    if (!t->seed_given) t->seed = (int32_t)seed;
    else if (t->seed != seed) note("the seed is %d as given; it was %d in the checkpoint", (int)t->seed, (int)seed);
    if (!t->data.n) take_paths(&t->data, s, "paths");
    take_val_paths(t, s);
}

void take_evaluations(Progress *p, const Trainer *t, const State *s)
{
    const char *theirs = json_string_value(json_object_get(json_object_get(s->all, "evaluation"), "best_metric"));
    if (!theirs || strcmp(theirs, metric_name(&t->recipe)) == 0) return;
    note("the best checkpoint is now chosen by %s as given; it was by %s, so none is the best yet",
         metric_name(&t->recipe), theirs);
    p->best_step = -1;
    p->stale = 0;
}

static void take_from_checkpoint(Trainer *t, const char *weights, bool paths, const char *only)
{
    State s;
    char *folder = folder_of(weights), *state = text_of("%s/state.json", folder);
    if (access(state, F_OK) == 0 && !is_gguf(weights)) {
        open_checkpoint(&s, folder);
        if (paths) take_paths(&t->data, &s, "paths");
        if (paths) take_val_paths(t, &s);
        if (paths) tell_other_split(t, json_object_get(s.all, "recipe"));
        take_data_settings(t, json_object_get(s.all, "recipe"), only ? (const char *const[]){only, NULL} : NULL);
        const Words *own = t->val_data.n ? &t->val_data : &t->data;
        if (paths && own->n) note("using the run's own data: %s%s", own->at[0], own->n > 1 ? ", …" : "");
        close_state(&s);
        advise(NULL);
    }
    free(folder);
    free(state);
}

void take_own_data(Trainer *t, const char *weights)
{
    if (t->data.n == 0 && t->val_data.n == 0) take_from_checkpoint(t, weights, true, NULL);
}

void take_own_settings(Trainer *t, const char *weights, const char *only)
{
    take_from_checkpoint(t, weights, false, only);
}

/* A run that kept nothing back is evaluated on all of the files that eval is given. */
static void take_whole(Trainer *t, const State *s)
{
    Words own = {0};
    take_paths(&own, s, "paths");
    t->recipe.val_fraction = 1;
    for (int i = 0; i < t->data.n; i++)
        for (int k = 0; k < own.n; k++)
            if (strcmp(t->data.at[i], own.at[k]) == 0)
                note("all of %s is evaluated, and the run was trained on all of it", own.at[k]);
}

/* Of files that eval is given: the part that the weights were not trained on. */
void take_own_split(Trainer *t, const char *weights)
{
    char *folder = folder_of(weights), *state = text_of("%s/state.json", folder);
    if (t->data.n && access(state, F_OK) == 0 && !is_gguf(weights)) {
        State s;
        open_checkpoint(&s, folder);
        const json_t *recipe = json_object_get(s.all, "recipe"), *kept = json_object_get(recipe, "val_fraction");
        const double fraction = t->recipe.val_fraction;
        if (lathe_reads_rows(&t->recipe)) {
            tell_other_split(t, recipe);
            take_data_settings(t, recipe, of_split);
            if (!json_object_get(recipe, "split") && !was_set(t, "split")) t->recipe.split = LATHE_LAST_PART;
        }
        if (was_set(t, "fold")) t->recipe.val_fraction = fraction;
        else if (!t->recipe.fold && kept && json_number_value(kept) <= 0 && !was_set(t, "val_fraction"))
            take_whole(t, &s);
        close_state(&s);
        advise(NULL);
    }
    free(folder);
    free(state);
}

/* The checkpoint's tokenizer is a file whose checksum is its hash. */
static void compare_tokenizer(const Data *d, const State *s)
{
    const json_t *file = json_object_get(json_object_get(s->all, "files"), "tokenizer.json");
    json_t *own = d->tokenizer ? hash_json(tokenizer_hash(d->tokenizer)) : NULL;
    if (own && file && !json_equal(own, json_object_get(file, "xxh64")))
        note("the tokenizer is not the one that the checkpoint was trained with: ids now have other meanings");
    json_decref(own);
}

void compare_origin(const Trainer *t, Data *d, const State *s)
{
    static const struct {
        const char *key, *words;
    } parts[] = {
        {"description", "the description is not the one that the checkpoint was trained with"},
        {"plan", "this trainer adds in another order than the one that wrote the checkpoint (its plan differs, or the "
                 "number of GPUs or ranks): results differ in their last bits"},
        {"data", "the data is not what the checkpoint was trained on: this is another run"},
        {"val_data", "the data for evaluation is not the checkpoint's: do not compare with its evaluations"},
    };
    const json_t *theirs = json_object_get(s->all, "provenance");
    const int64_t rows = json_integer_value(json_object_get(s->all, "step_rows")), own = rows_of_step(d, s->at.step);
    if (rows && rows != own)
        note("a step now has %lld rows; those of the checkpoint had %lld, by %lld ranks", (long long)own,
             (long long)rows, (long long)ranks_of_state(s->all));
    /* Another batch has another plan: it adds in the same order (--exact-sums). */
    const int64_t exact = json_integer_value(json_object_get(s->all, "exact_rows"));
    const bool same_sums = exact && exact == t->model->exact_rows && rows == own;
    compare_tokenizer(d, s);
    (void)origin_of_run(t, d);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const json_t *a = json_object_get(theirs, parts[i].key), *b = json_object_get(d->origin, parts[i].key);
        if (!a && !b) continue; /* the last */
        if (same_sums && strcmp(parts[i].key, "plan") == 0) continue;
        if (!json_is_string(a) || !json_equal(a, b)) note("%s", parts[i].words);
    }
}
