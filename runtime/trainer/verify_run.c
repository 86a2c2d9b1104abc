/* verify_run.c: what the run was that is verified: its command, its head, its data, and where to start. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "model/import.h"
#include "model/run.h"
#include "trainer/hashes.h"
#include "trainer/knobs.h"
#include "trainer/verify.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ the steps */

static bool is_of(const Link *l, const char *split) { return strcmp(l->split, split) == 0; }

static void read_own_chain(Verify *v)
{
    char *path = text_of("%s/" HASHES_FILE, v->folder), *why;
    v->chained = read_chain(&v->chain, path, &why);
    if (why)
        fail(EXIT_DATA, path,
             "%s; without this file, losses and checkpoints alone can be compared: copy the run, and "
             "leave the file out",
             why);
    free(path);
}

/* The last step that metrics.jsonl tells of; -1: none. */
static int64_t last_of_metrics(const char *folder)
{
    char *path = text_of("%s/metrics.jsonl", folder), *line = NULL;
    size_t room = 0;
    ssize_t n;
    int64_t last = -1;
    FILE *f = open_stream_to_read(path);
    while (f && (n = getline(&line, &room, f)) > 0) {
        json_t *all = json_loadb(line, (size_t)n, 0, NULL);
        const json_t *step = json_object_get(all, "step");
        if (json_is_integer(step)) last = json_integer_value(step);
        json_decref(all);
    }
    if (f) fclose(f);
    free(line);
    free(path);
    return last;
}

static int64_t last_step(const Verify *v)
{
    if (!v->chained) return last_of_metrics(v->folder);
    int64_t last = 0;
    for (int64_t i = 0; i < v->chain.n; i++)
        if (is_of(&v->chain.link[i], "train")) last = v->chain.link[i].step;
    return last;
}

/* "400..500", "400..", "..500", "400"; NULL: all. */
static void parse_range(Verify *v, const char *text, int64_t last)
{
    const char *dots = text ? strstr(text, "..") : NULL;
    char *begin = text_of("%.*s", dots ? (int)(dots - text) : text ? (int)strlen(text) : 0, text ? text : "");
    const char *end = dots ? dots + 2 : begin;
    v->first = 1;
    v->last = last;
    bool fine = (!*begin && (dots || !text)) || parse_count(begin, &v->first);
    fine = fine && (!*end || parse_count(end, &v->last));
    if (!fine || v->first < 1 || v->last < v->first)
        fail(EXIT_USAGE, NULL,
             "--steps %s: expected steps such as 400..500, the first from 1 on and not behind the last", text);
    if (v->last > last)
        fail(EXIT_USAGE, NULL, "--steps %s: %s has %lld step%s; give steps up to that", text, v->folder,
             (long long)last, last == 1 ? "" : "s");
    free(begin);
}

/* ------------------------------------------------------------------ where to start */

static int64_t first_step_of_chain(const Verify *v) { return v->chained ? v->chain.link[0].step : 0; }

/* Behind a step the run had other settings or data. */
static void cut_piece(Verify *v, int64_t step)
{
    if (step < v->first)
        fail(EXIT_DATA, v->folder,
             "from step %lld on the run had other settings or data, and the nearest checkpoint is of step %lld: "
             "these steps need one of step %lld or later",
             (long long)step + 1, (long long)v->from, (long long)step);
    if (step < v->last) v->last = step;
}

static void find_head(Verify *v)
{
    const Chain *c = &v->chain;
    v->head = 0;
    for (int64_t i = 0; i < c->n && c->link[i].step <= v->from; i++) {
        if (is_of(&c->link[i], "head")) v->head = i;
        v->next = i + 1;
    }
    for (int64_t i = v->next; i < c->n && c->link[i].step <= v->last; i++) {
        if (!is_of(&c->link[i], "head") || c->link[i].step >= v->last) continue;
        cut_piece(v, c->link[i].step);
    }
    v->said = link_json(&c->link[v->head]);
}

static json_t *read_object(const char *folder, const char *file)
{
    char *path = text_of("%s/%s", folder, file);
    json_t *all = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    free(path);
    if (json_is_object(all)) return all;
    json_decref(all);
    return NULL;
}

static bool starts_at(const json_t *starts, int64_t step)
{
    const json_t *start;
    size_t i;
    json_array_foreach(starts, i, start) if (json_integer_value(json_object_get(start, "step")) == step) return true;
    return false;
}

/* The settings of the steps up to one: of the checkpoint next before it; NULL: none tells of steps behind `from`. */
static json_t *settings_until(const Verify *v, const json_t *starts, int64_t step)
{
    const int64_t at = newest_checkpoint(v->folder, step + 1);
    if (at < v->from || (at == v->from && starts_at(starts, at))) return NULL;
    char *path = checkpoint_path(v->folder, at);
    json_t *state = read_object(path, "state.json"), *settings = json_incref(json_object_get(state, "recipe"));
    json_decref(state);
    free(path);
    return settings;
}

/* config.json is of the last start; a start before it may have had others. */
static void find_settings(Verify *v, json_t *last)
{
    json_t *about = read_object(v->folder, "run.json"), *starts = json_object_get(about, "starts"), *own = NULL;
    int64_t end = -1;
    for (size_t i = 0; i <= json_array_size(starts); i++) {
        const json_t *start = json_array_get(starts, i);
        const int64_t step = start ? json_integer_value(json_object_get(start, "step")) : INT64_MAX - 1;
        json_t *settings = step <= v->from ? NULL : start ? settings_until(v, starts, step) : json_incref(last);
        if (start && step > v->from && !settings) v->unknown = step;
        if (own && settings && !json_equal(own, settings)) {
            cut_piece(v, end);
            i = json_array_size(starts);
        } else if (settings) {
            json_decref(own);
            own = json_incref(settings);
            end = step;
        }
        json_decref(settings);
    }
    json_object_set_new(v->said, "settings", own);
    json_decref(about);
}

static void say_from_config(Verify *v)
{
    json_t *config = read_object(v->folder, "config.json");
    if (!config)
        fail(EXIT_DATA, v->folder,
             "expected a config.json, which says how the run was trained, found none that can be read");
    v->said = json_object();
    static const char *const same[] = {"seed", "model", "precision"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        json_object_set(v->said, same[i], json_object_get(config, same[i])); /* what is missing is told below */
    find_settings(v, json_object_get(config, "recipe"));
    json_t *settings = json_object_get(v->said, "settings");
    const char *optimizer = json_string_value(json_object_get(settings, "optimizer"));
    if (optimizer && strchr(optimizer, '.')) json_object_del(settings, "optimizer"); /* optim.muon */
    json_decref(config);
}

/* A trainer of another model is of no use. */
static void check_trainer(const Verify *v)
{
    const Lathe_model *m = v->asked->model;
    char *model = word_of_json(json_object_get(v->said, "model")),
         *precision = word_of_json(json_object_get(v->said, "precision"));
    if (model && precision && (strcmp(model, m->name) != 0 || strcmp(precision, m->precision) != 0))
        fail(EXIT_DATA, v->folder,
             "expected a trainer of %s in %s, as the run was, and this is one of %s in %s; `lathe verify "
             "RUN --trainer PATH` takes another",
             model, precision, m->name, m->precision);
    free(model);
    free(precision);
}

void find_piece(Verify *v)
{
    if (access(v->folder, F_OK) != 0) fail(EXIT_DATA, v->folder, "expected a run's folder, found nothing there");
    refuse_running(v->folder);
    read_own_chain(v);
    const int64_t last = last_step(v);
    if (last < 1)
        fail(EXIT_DATA, v->folder,
             "expected a run with at least a step in " HASHES_FILE " or metrics.jsonl, found none");
    parse_range(v, v->asked->range, last);
    v->end = v->last;
    v->from = newest_checkpoint(v->folder, v->first);
    if (v->from >= 0) v->checkpoint = checkpoint_path(v->folder, v->from);
    if (v->from < 0) v->from = 0;
    if (v->from < first_step_of_chain(v))
        fail(EXIT_DATA, v->folder,
             "the run's hashes begin behind step %lld, and no checkpoint between it and step %lld was "
             "kept; give later steps",
             (long long)first_step_of_chain(v), (long long)v->first);
    if (v->chained) find_head(v);
    else say_from_config(v);
    check_trainer(v);
    const json_t *seed = json_object_get(v->said, "seed");
    if (!json_is_object(json_object_get(v->said, "settings")) || !json_is_integer(seed) ||
        json_integer_value(seed) < 0 || json_integer_value(seed) > INT32_MAX)
        fail(EXIT_DATA, v->folder, "expected settings and a seed in %s, found none",
             v->chained ? HASHES_FILE : "config.json");
}

/* ------------------------------------------------------------------ the run's command */

/* The start of the run that made the first step: words of its command line, and the folder that it was given in. */
static json_t *recorded_start(const Verify *v)
{
    json_t *about = read_object(v->folder, "run.json"), *starts = json_object_get(about, "starts"), *found = NULL;
    for (size_t i = 0; i < json_array_size(starts); i++) {
        json_t *start = json_array_get(starts, i);
        if (json_integer_value(json_object_get(start, "step")) <= v->from) found = start;
    }
    json_incref(found);
    json_decref(about);
    return found;
}

static Words list_words(const json_t *list)
{
    Words all = {0};
    const json_t *word;
    size_t i;
    json_array_foreach(list, i, word) if (json_is_string(word)) add_word(&all, word_of_json(word));
    return all;
}

/* A path as the run's folder of work has it, if there is nothing of that name here. */
static const char *found_path(const char *path, const char *folder)
{
    const char *equals = strchr(path, '=');
    char *there = folder && *path != '/' ? text_of("%s/%s", folder, path) : NULL;
    if (access(path, F_OK) == 0 || !there) return path;
    if (access(there, F_OK) == 0) return there;
    if (equals && access(equals + 1, F_OK) != 0)
        return text_of("%.*s=%s", (int)(equals - path), path, found_path(equals + 1, folder));
    return path;
}

static void find_paths(Trainer *t, const char *folder)
{
    const char **const paths[] = {&t->weights, &t->tokenizer, &t->teacher, &t->adapter};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (*paths[i]) *paths[i] = found_path(*paths[i], folder);
    if (t->weights) t->weights = weights_file(t->weights);
    for (int i = 0; i < t->data.n; i++) t->data.at[i] = found_path(t->data.at[i], folder);
    for (int i = 0; i < t->val_data.n; i++) t->val_data.at[i] = found_path(t->val_data.at[i], folder);
}

/* Data that the command line of that start did not name, since it resumed another. */
static void take_paths_of_config(Verify *v)
{
    json_t *config = read_object(v->folder, "config.json");
    if (!v->trains.data.n) v->trains.data = list_words(json_object_get(config, "data"));
    if (!v->trains.val_data.n) v->trains.val_data = list_words(json_object_get(config, "val_data"));
    json_decref(config);
}

/* Data from a pipe is gone. */
static void need_files(const Trainer *t)
{
    for (int i = 0; i < t->data.n; i++)
        if (strcmp(t->data.at[i], "-") == 0)
            fail(EXIT_DATA, NULL,
                 "the run read its data from standard input, which is gone: its steps cannot be computed again");
}

void take_command(Verify *v)
{
    Trainer *t = &v->trains;
    const Trainer *asked = v->asked;
    json_t *start = recorded_start(v);
    Words words = list_words(json_object_get(start, "words"));
    *t = *asked;
    t->command = "train";
    if (words.n > 2 && strcmp(words.at[1], "train") == 0) take_command_words(t, &words);
    t->out = v->folder;
    t->resume = v->checkpoint;
    t->out_given = true;
    t->json = t->overfit = t->dry_run = false;
    t->threads = asked->threads;
    t->memory_limit = asked->memory_limit;
    t->log_hashes = NULL;
    t->verify = v;
    if (v->checkpoint) t->weights = t->init_except = t->adapter = NULL;
    take_paths_of_config(v);
    find_paths(t, json_string_value(json_object_get(start, "folder")));
    need_files(t);
    if (asked->data.n) t->data = asked->data;
    if (asked->val_data.n) t->val_data = asked->val_data;
    take_recipe(t, json_object_get(v->said, "settings"));
    t->seed = asked->seed_given ? asked->seed : (int32_t)json_integer_value(json_object_get(v->said, "seed"));
    t->seed_given = true;
    json_decref(start);
}

void take_verified(const Verify *v, State *s)
{
    put_json(s->all, "recipe", json_incref(json_object_get(v->said, "settings")));
    put_json(s->all, "seed", json_integer(v->trains.seed));
    s->unchecked = true;
}

/* ------------------------------------------------------------------ what it depends on */

/* The files of a head are the records behind it. */
void compare_files(Verify *v)
{
    Own_files files = files_of_run(&v->trains);
    int64_t n = 0;
    for (int64_t i = v->head + 1; i < v->chain.n && is_of(&v->chain.link[i], "file"); i++, n++) {
        json_t *was = link_json(&v->chain.link[i]);
        char *name = word_of_json(json_object_get(was, "name"));
        if (n >= files.n) {
            fail(EXIT_DATA, name,
                 "expected this file of the run's %s, found nothing there; --data PATH names where it is now",
                 json_string_value(json_object_get(was, "of")));
        }
        char *change = change_of_file(&files.at[n], was);
        if (change) differs_at(v, -1, "data", "%s (%s): %s", files.at[n].path, files.at[n].of, change);
        free(change);
        free(name);
        json_decref(was);
    }
    if (v->chained && n < files.n)
        differs_at(v, -1, "data", "%s (%s): the run had no such file", files.at[n].path, files.at[n].of);
    free_files(&files);
}

static char *shown_value(const json_t *value)
{
    return value ? json_written(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9)) : text_of("not there");
}

static void compare_members(Verify *v, const char *what, const json_t *was, const json_t *now)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)now, name, value)
    {
        const json_t *before = json_object_get(was, name);
        char *a = shown_value(before), *b = shown_value(value);
        if (before && !json_equal(before, value)) differs_at(v, -1, what, "%s is %s here, and was %s", name, b, a);
        free(a);
        free(b);
    }
}

/* The seed and the settings of the checkpoint: those of the head in whose time it was written. */
static void compare_checkpoints_words(Verify *v)
{
    const State *s = &v->run.from;
    json_t *own = read_object(v->checkpoint, "state.json");
    const Chain *c = &v->chain;
    int64_t head = 0, i = 0;
    for (; i < c->n && !(is_of(&c->link[i], "train") && c->link[i].step >= v->from); i++)
        if (is_of(&c->link[i], "head") && c->link[i].step < v->from) head = i;
    if (c->link[head].step >= v->from) return json_decref(own); /* the chain is younger */
    json_t *was = link_json(&c->link[head]);
    const json_t *seed = json_object_get(own, "seed"), *said = json_object_get(was, "seed");
    if (seed && !json_equal(seed, said))
        differs_at(v, -1, "seed", "%s says seed %s, and " HASHES_FILE " says %s", s->path, shown_value(seed),
                   shown_value(said));
    compare_members(v, "setting", json_object_get(was, "settings"), json_object_get(own, "recipe"));
    json_decref(own);
    json_decref(was);
}

void compare_head(Verify *v)
{
    const Trainer *t = &v->trains;
    const json_t *seed = json_object_get(v->said, "seed");
    if (json_integer_value(seed) != t->seed)
        differs_at(v, -1, "seed", "the seed is %d as given, and was %lld in the run", (int)t->seed,
                   (long long)json_integer_value(seed));
    if (!v->chained) return;
    json_t *now = head_record(&v->recorder, v->from);
    const size_t before = json_array_size(v->differences);
    if (v->checkpoint) compare_checkpoints_words(v);
    if (json_array_size(v->differences) == before)
        compare_members(v, "setting", json_object_get(v->said, "settings"), json_object_get(now, "settings"));
    static const char *const parts[][2] = {{"description", "the description has changed since the run"},
                                           {"program",
                                            "this trainer was built otherwise than the run's (its kernels, their "
                                            "order or its memory plan differ), and may add in another order"},
                                           {"teacher", "the teacher's weights are others"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!json_equal(json_object_get(now, parts[i][0]), json_object_get(v->said, parts[i][0])) && !v->asked->json &&
            (json_object_get(now, parts[i][0]) || json_object_get(v->said, parts[i][0])))
            show(stdout, "note: %s\n", parts[i][1]);
    json_decref(now);
}
