/* train_state.c: state.json of a checkpoint: what a run is beside its arrays, where it came from, and the checksums of
 * the files beside it.
 *
 * Its last member is the checksum of all text before that member, so that a flipped bit anywhere is found.  Random
 * numbers and batches are functions of seed and step (data.c), so these two are the whole random state. */
#include "trainer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_STATE = 1 << 24 }; /* bytes */

static json_t *hash_json(uint64_t hash)
{
    char digits[17];
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)hash);
    return json_string(digits);
}

/* ------------------------------------------------------------------ where a run comes from */

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

/* Of what decides the order of sums: layout, kernels, the arena, the engine of products. */
static uint64_t plan_hash(const Lathe_model *m)
{
    Hash h;
    hash_start(&h);
    add_text(&h, text_of("%s %s %lld %lld\n", m->precision, gemm_engine(), (long long)m->batch, (long long)m->seq));
    for (int i = 0; i < m->params; i++) {
        const Lathe_param *p = &m->param[i];
        add_text(&h, text_of("%s %lld", p->export_name, (long long)p->offset));
        for (int k = 0; k < p->rank; k++)
            add_text(&h, text_of(" %lld/%lld", (long long)p->dim[k], (long long)p->stride[k]));
    }
    for (int i = 0; i < m->entries; i++) add_entry(&h, &m->entry[i]);
    return hash_end(&h);
}

static uint64_t data_hash(const Data *d) { return d->text ? text_hash(d->text) : csv_hash(d->csv); }

static json_t *origin_json(const Trainer *t, const Data *d)
{
    json_t *all = json_object();
    json_object_set_new(all, "description", json_string(t->model->source_hash));
    json_object_set_new(all, "plan", hash_json(plan_hash(t->model)));
    json_object_set_new(all, "data", hash_json(data_hash(d)));
    return all;
}

/* ------------------------------------------------------------------ out */

static json_t *data_json(const Trainer *t, const Data *d, int64_t position)
{
    json_t *paths = json_array();
    for (int i = 0; i < t->data.n; i++) json_array_append_new(paths, json_string(t->data.at[i]));
    return json_pack("{s:o, s:s, s:I, s:I}", "paths", paths, "unit", item_word(d), "position", (json_int_t)position,
                     "epoch", (json_int_t)(position / d->train_items));
}

static json_t *evaluation_json(const Progress *p)
{
    json_t *all = json_pack("{s:I}", "step", (json_int_t)p->evaluated);
    json_object_set_new(all, "best_step", json_integer(p->best_step));
    json_object_set_new(all, "best_loss", p->best_step >= 0 ? json_real(p->best_loss) : json_null());
    return all;
}

json_t *state_json(const Trainer *t, Data *d, const Progress *p, int64_t items_per_step)
{
    const Lathe_model *m = t->model;
    json_t *all = json_pack("{s:i, s:s, s:s, s:s, s:I, s:i, s:f}", "format", 1, "model", m->name, "config",
                            m->config ? m->config : "", "precision", m->precision, "step", (json_int_t)p->step, "seed",
                            (int)t->seed, "elapsed_s", p->elapsed);
    if (!d->origin) d->origin = origin_json(t, d);
    json_object_set_new(
        all, "schedule",
        json_pack("{s:I, s:f}", "steps", (json_int_t)t->recipe.steps, "next_lr", rate_at(&t->recipe, p->step)));
    json_object_set_new(all, "recipe", recipe_json(&t->recipe));
    json_object_set_new(all, "data", data_json(t, d, p->step * items_per_step));
    json_object_set_new(all, "evaluation", evaluation_json(p));
    json_object_set_new(all, "provenance", json_deep_copy(d->origin));
    json_object_set_new(all, "files", json_object());
    return all;
}

void add_mark(json_t *state, const char *file, Mark m)
{
    json_t *mark = json_pack("{s:I, s:o}", "bytes", (json_int_t)m.bytes, "xxh64", hash_json(m.hash));
    json_object_set_new(json_object_get(state, "files"), file, mark);
}

static char *last_line(const char *body, size_t bytes)
{
    return text_of(",\n \"xxh64\": \"%016llx\"\n}\n", (unsigned long long)hash_of(body, bytes));
}

char *state_text(const json_t *state)
{
    char *body = json_dumps(state, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    size_t bytes = strlen(body) - strlen("\n}");
    char *last = last_line(body, bytes), *text = text_of("%.*s%s", (int)bytes, body, last);
    free(body);
    free(last);
    return text;
}

/* ------------------------------------------------------------------ in */

static char *read_text(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail(EXIT_DATA, path, "expected the state of a checkpoint, but it cannot be read: %s; check the path",
             error_text(errno));
    char *text = must_alloc(LARGEST_STATE);
    *bytes = fread(text, 1, LARGEST_STATE - 1, f);
    if (ferror(f) || !feof(f)) fail(EXIT_DATA, path, "expected the state of a checkpoint, but it cannot be read whole");
    fclose(f);
    return text;
}

static void check_text(const char *path, const char *text, size_t bytes)
{
    char *last = last_line("", 0);
    size_t length = strlen(last), body = bytes - length;
    free(last);
    if (bytes < length + 2) fail(EXIT_DATA, path, "is cut off: it has only %zu bytes", bytes);
    last = last_line(text, body);
    if (memcmp(text + body, last, length) != 0)
        fail(EXIT_DATA, path, "its text does not give the checksum in its last line: it is cut off or damaged");
    free(last);
}

static int64_t whole_member(const State *s, const json_t *from, const char *name, int64_t least)
{
    const json_t *value = json_object_get(from, name);
    if (!json_is_integer(value) || json_integer_value(value) < least)
        fail(EXIT_DATA, s->path, "expected \"%s\" to be a whole number of at least %lld; the file is damaged", name,
             (long long)least);
    return json_integer_value(value);
}

static double real_member(const json_t *from, const char *name)
{
    const json_t *value = json_object_get(from, name);
    return json_is_number(value) ? json_number_value(value) : 0;
}

void read_state(State *s, const char *checkpoint)
{
    json_error_t error;
    size_t bytes;
    *s = (State){.path = text_of("%s/state.json", checkpoint)};
    char *text = read_text(s->path, &bytes);
    check_text(s->path, text, bytes);
    s->all = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!json_is_object(s->all))
        fail(EXIT_DATA, s->path, "is not a JSON object (line %d): %s; the file is damaged", error.line, error.text);
    const json_t *evaluation = json_object_get(s->all, "evaluation");
    if (whole_member(s, s->all, "format", 1) != 1)
        fail(EXIT_DATA, s->path, "was written by a newer Lathe; build the trainer with that one");
    s->at = (Progress){.step = whole_member(s, s->all, "step", 0),
                       .evaluated = whole_member(s, evaluation, "step", -1),
                       .best_step = whole_member(s, evaluation, "best_step", -1),
                       .best_loss = real_member(evaluation, "best_loss"),
                       .elapsed = real_member(s->all, "elapsed_s")};
}

void close_state(State *s)
{
    free(s->path);
    json_decref(s->all);
    *s = (State){0};
}

void check_mark(const State *s, const char *file, const char *path, const void *at, size_t bytes)
{
    const json_t *mark = json_object_get(json_object_get(s->all, "files"), file);
    const char *wanted = json_string_value(json_object_get(mark, "xxh64"));
    int64_t size = whole_member(s, mark, "bytes", 0);
    json_t *found = hash_json(hash_of(at, bytes));
    if (size != (int64_t)bytes)
        fail(EXIT_DATA, path, "expected %lld bytes, as %s says, found %zu; it is cut off or of another checkpoint",
             (long long)size, s->path, bytes);
    if (!wanted || strcmp(wanted, json_string_value(found)) != 0)
        fail(EXIT_DATA, path,
             "expected the checksum %s, as %s says, found %s; a bit was flipped on the disk or on the way",
             wanted ? wanted : "(none)", s->path, json_string_value(found));
    json_decref(found);
}

/* ------------------------------------------------------------------ going on */

void resume_settings(Trainer *t, const State *s)
{
    int64_t seed = whole_member(s, s->all, "seed", 0);
    const json_t *paths = json_object_get(json_object_get(s->all, "data"), "paths"), *path;
    size_t i;
    take_recipe(t, json_object_get(s->all, "recipe"));
    if (seed > INT32_MAX) fail(EXIT_DATA, s->path, "expected a seed below 2147483648; the file is damaged");
    if (!t->seed_given) t->seed = (int32_t)seed;
    else if (t->seed != seed) note("the seed is %d as given; it was %d in the checkpoint", (int)t->seed, (int)seed);
    if (t->data.n) return;
    json_array_foreach(paths, i, path) if (json_is_string(path))
        add_word(&t->data, text_of("%s", json_string_value(path)));
}

void compare_origin(const Trainer *t, Data *d, const State *s)
{
    static const struct {
        const char *key, *words;
    } parts[] = {
        {"description", "the description is not the one that the checkpoint was trained with"},
        {"plan",
         "this trainer adds in another order than the one that wrote the checkpoint (its plan differs): going on "
         "gives other bits"},
        {"data", "the data is not the one that the checkpoint was trained on: going on gives another run"},
    };
    const json_t *theirs = json_object_get(s->all, "provenance");
    if (!d->origin) d->origin = origin_json(t, d);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const json_t *a = json_object_get(theirs, parts[i].key), *b = json_object_get(d->origin, parts[i].key);
        if (!json_is_string(a) || !json_equal(a, b)) note("%s", parts[i].words);
    }
}
