/* records.c: the records of a chain of hashes (examples/training.md#hashes of a run, for others).
 *
 * Nothing in them depends on threads, time or place.  Numbers are written as the bits they have, so that no rounding
 * hides a difference.  Parameters are hashed every few steps, what the optimizer keeps where a checkpoint is due. */
#include "trainer/records.h"
#include "base/json_text.h"
#include "base/sha256.h"
#include "base/words.h"
#include "interface/given.h"
#include "model/tables.h"
#include "trainer/knobs.h"
#include "trainer/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_DIGITS = 8 }; /* of the hash of each tensor, to tell them apart */

void open_recorder(Recorder *r, const Trainer *t, Data *d, const Memory *m, Step_turns *turns, int64_t every)
{
    *r = (Recorder){.t = t, .data = d, .every = every, .tensors = tensors_of_run(t, m, saved_optimizer(turns))};
}

void close_recorder(Recorder *r)
{
    free_tensors(&r->tensors);
    json_decref(r->now);
    free(r->item);
}

static json_t *digest_json(const Digest *d)
{
    char text[SHA256_DIGITS + 1];
    digest_text(d, text);
    return json_string(text);
}

/* The bits of a double; all that are not a number are one. */
static json_t *bits_json(double x)
{
    uint64_t bits = UINT64_C(0x7ff8000000000000);
    char text[17];
    if (!isnan(x)) memcpy(&bits, &x, sizeof bits);
    snprintf(text, sizeof text, "%016llx", (unsigned long long)bits);
    return json_string(text);
}

static json_t *record_of(int64_t step, const char *split)
{
    return json_pack("{s:I, s:s}", "step", (json_int_t)step, "split", split);
}

/* ------------------------------------------------------------------ the head */

static json_t *names_json(const Kept_tensors *all, int from, int to)
{
    json_t *names = json_array();
    for (int i = from; i < to; i++) add_json(names, word_json(all->at[i].name));
    return names;
}

json_t *head_record(const Recorder *r, int64_t step)
{
    const Lathe_model *m = r->t->model;
    const Kept_tensors *k = &r->tensors;
    json_t *all = record_of(step, "head");
    put_json(all, "form", json_integer(1));
    put_json(all, "model", word_json(m->name));
    put_json(all, "config", word_json(m->config ? m->config : ""));
    put_json(all, "precision", word_json(m->precision));
    put_json(all, "description", word_json(m->source_hash));
    put_json(all, "program", program_json(r->t));
    put_json(all, "seed", json_integer(r->t->seed));
    put_json(all, "settings", recipe_json(&r->t->recipe));
    if (m->turns) put_json(all, "turns", turns_json(r->t));
    if (r->t->teacher_hash) put_json(all, "teacher", word_json(r->t->teacher_hash));
    put_json(all, "every", json_integer(r->every));
    put_json(all, "tensors", names_json(k, 0, k->parameters));
    put_json(all, "states", names_json(k, k->parameters, k->n));
    return all;
}

/* ------------------------------------------------------------------ tensors */

/* The first digits of the hash of each. */
static json_t *short_hashes(const Kept_tensors *k, int from, int to)
{
    char *all = must_alloc((size_t)(to - from) * SHORT_DIGITS + 1), text[SHA256_DIGITS + 1];
    for (int i = from; i < to; i++) {
        digest_text(&k->at[i].digest, text);
        memcpy(all + (i - from) * SHORT_DIGITS, text, SHORT_DIGITS);
    }
    json_t *word = json_string(all);
    free(all);
    return word;
}

static json_t *all_sums(const Kept_tensors *k)
{
    char *all = must_alloc((size_t)k->n * SUMS_DIGITS + 1);
    for (int i = 0; i < k->n; i++) sums_text(&k->at[i].sums, all + i * SUMS_DIGITS);
    json_t *word = json_string(all);
    free(all);
    return word;
}

static void put_tensors(Recorder *r, json_t *all, bool states)
{
    Kept_tensors *k = &r->tensors;
    hash_tensors(k, 0, states ? k->n : k->parameters, states);
    Digest parameters = digest_of_tensors(k, 0, k->parameters), kept = digest_of_tensors(k, k->parameters, k->n);
    put_json(all, "parameters", digest_json(&parameters));
    put_json(all, "each", short_hashes(k, 0, k->parameters));
    if (!states) return;
    put_json(all, "state", digest_json(&kept));
    put_json(all, "each_state", short_hashes(k, k->parameters, k->n));
    put_json(all, "sums", all_sums(k));
}

json_t *start_record(Recorder *r, int64_t step)
{
    json_t *all = record_of(step, "start");
    put_tensors(r, all, true);
    return all;
}

/* ------------------------------------------------------------------ a step */

/* Which rows of the data, as 64-bit whole numbers; documents in epochs have no numbers. */
static void put_rows(Recorder *r, const Lathe_entry *e, int64_t step)
{
    if (r->data->epochs) return;
    if (r->room < e->rows) {
        r->room = e->rows;
        r->item = must_grow(r->item, sizeof *r->item * (size_t)r->room);
    }
    train_items(r->data, step, e->rows, r->item);
    Digest d = sha256_of(r->item, sizeof *r->item * (size_t)e->rows);
    put_json(r->now, "rows", digest_json(&d));
}

/* The inputs that come from the data, one after the other. */
static Digest digest_of_batch(const Lathe_entry *e, const char *in)
{
    Sha256 h;
    sha256_start(&h);
    for (const Lathe_tensor *i = e->input; i < e->input + e->inputs; i++)
        if (lathe_is_given(i->role)) sha256_add(&h, in + i->offset, (size_t)(tensor_size(i) * dtype_size(i->dtype)));
    return sha256_end(&h);
}

void begin_record(Recorder *r, const Lathe_entry *e, const char *in, int64_t step)
{
    Digest d = digest_of_batch(e, in);
    json_decref(r->now);
    r->now = record_of(step + 1, "train");
    put_rows(r, e, step);
    put_json(r->now, "batch", digest_json(&d));
}

/* Turns of a step have lists. */
static void put_bits(Recorder *r, const char *name, double x)
{
    if (!r->t->model->turns) {
        put_json(r->now, name, bits_json(x));
        return;
    }
    json_t *list = json_object_get(r->now, name);
    if (!list) put_json(r->now, name, list = json_array());
    add_json(list, bits_json(x));
}

void record_turn(Recorder *r, const Step *s)
{
    put_bits(r, "loss", s->loss);
    put_bits(r, "norm", s->norm);
}

static bool falls_on(int64_t step, int64_t every) { return every > 0 && step % every == 0; }

json_t *step_record(Recorder *r)
{
    const Lathe_recipe *recipe = &r->t->recipe;
    json_t *all = r->now;
    const int64_t step = json_integer_value(json_object_get(all, "step"));
    bool states = falls_on(step, recipe->save_every) || step == recipe->steps;
    r->now = NULL;
    if (states || falls_on(step, r->every) || falls_on(step, recipe->eval_every)) put_tensors(r, all, states);
    return all;
}

json_t *scores_record(const Scores *s, int64_t step)
{
    json_t *all = record_of(step, "val"), *scores = json_object();
    for (int i = 0; i < s->n; i++) put_json(scores, s->name[i], bits_json(s->value[i]));
    put_json(all, "scores", scores);
    return all;
}
