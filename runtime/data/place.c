/* place.c: the position of a run in its documents or rows: saved in a checkpoint, and resumed from there. */
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "model/tables.h"
#include "source/source.h"
#include "step/state.h"

#include <stdlib.h>
#include <string.h>

static json_t *place_json(const Epoch_source *from, const Place *p)
{
    if (p->file < 0) return json_null();
    return json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:o}", "path", utf8_of(from->files->file[p->file].path), "file",
                     (int)p->file, "offset", (json_int_t)p->offset, "record", (json_int_t)p->record, "line",
                     (json_int_t)p->line, "inside", (json_int_t)p->inside, "hash", hash_json(p->hash));
}

static const struct {
    const char *name;
    size_t at;
} pair_members[] = {
#define MEMBER(name) {#name, offsetof(Pair_sum, name)},
    MEMBER(pairs) MEMBER(source) MEMBER(target) MEMBER(least_source) MEMBER(most_source) MEMBER(least_target)
        MEMBER(most_target) MEMBER(cut) MEMBER(skipped) MEMBER(places) MEMBER(drawn) MEMBER(bucketed)};
enum { PAIR_MEMBERS = sizeof pair_members / sizeof *pair_members };

static json_t *pair_sum_json(const Pair_sum *s)
{
    json_t *all = json_object();
    for (int i = 0; i < PAIR_MEMBERS; i++)
        put_json(all, pair_members[i].name, json_integer(*(const int64_t *)((const char *)s + pair_members[i].at)));
    return all;
}

static Pair_sum stored_pair_sum(const json_t *from)
{
    Pair_sum s = {0};
    for (int i = 0; i < PAIR_MEMBERS; i++)
        *(int64_t *)((char *)&s + pair_members[i].at) = json_integer_value(json_object_get(from, pair_members[i].name));
    return s;
}

static json_t *stream_json(const Epoch_source *from, const Mix_part *p)
{
    const Stream_sum *s = &p->at.before;
    json_t *sum = json_pack("{s:I, s:I, s:I, s:I}", "documents", (json_int_t)s->documents, "tokens",
                            (json_int_t)s->tokens, "rows", (json_int_t)s->rows, "predicted", (json_int_t)s->predicted);
    if (s->pairs.pairs) put_json(sum, "pairs", pair_sum_json(&s->pairs));
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "epoch", (json_int_t)p->at.epoch, "block",
                     (json_int_t)p->at.block, "used", (json_int_t)p->at.used, "taken", (json_int_t)p->at.taken, "mixed",
                     (json_int_t)p->mixed, "predicted", (json_int_t)p->at.predicted, "first_tokens",
                     (json_int_t)from->order.first_tokens, "block_tokens", (json_int_t)from->order.block_tokens, "from",
                     place_json(from, &p->at.from), "before", sum);
}

/* A list if it is a mixture. */
json_t *epochs_json(const Epochs *e)
{
    json_t *all = json_array();
    for (int i = 0; i < e->n; i++) {
        Mix_part p = e->rows ? mixture_part(e->rows, i) : (Mix_part){.at.from.file = -1};
        json_t *one = stream_json(&e->source[i], &p);
        if (e->n == 1) {
            json_decref(all);
            return one;
        }
        add_json(all, one);
    }
    return all;
}

static Place stored_place(const Epoch_source *of, const State *s, const json_t *from)
{
    Place p = {.file = -1};
    if (!json_is_object(from)) return p;
    const char *path = json_string_value(json_object_get(from, "path"));
    int64_t file = whole_member(s, from, "file", 0);
    if (file >= of->files->n || !path || strcmp(path, utf8_of(of->files->file[file].path)) != 0)
        fail(EXIT_DATA, s->path,
             "the run stopped in %s, file %lld of the data, which is now another file; give the same --data, or start "
             "a new run from the weights with --init",
             path ? path : "a file", (long long)file + 1);
    p = (Place){.file = (int32_t)file,
                .offset = whole_member(s, from, "offset", 0),
                .record = whole_member(s, from, "record", 0),
                .line = whole_member(s, from, "line", 0),
                .inside = whole_member(s, from, "inside", 0)};
    const char *hash = json_string_value(json_object_get(from, "hash"));
    p.hash = hash ? strtoull(hash, NULL, 16) : 0;
    return p;
}

static Stream_at stored_stream(const Epoch_source *of, const State *s, const json_t *all)
{
    const json_t *before = json_object_get(all, "before");
    return (Stream_at){.epoch = whole_member(s, all, "epoch", 0),
                       .block = whole_member(s, all, "block", 0),
                       .used = whole_member(s, all, "used", 0),
                       .taken = whole_member(s, all, "taken", 0),
                       .from = stored_place(of, s, json_object_get(all, "from")),
                       .before = {.documents = whole_member(s, before, "documents", 0),
                                  .tokens = whole_member(s, before, "tokens", 0),
                                  .rows = whole_member(s, before, "rows", 0),
                                  .predicted = whole_member(s, before, "predicted", 0),
                                  .pairs = stored_pair_sum(json_object_get(before, "pairs"))}};
}

/* The members of source i. */
static const json_t *stored_source(const Epochs *e, const State *s, int i)
{
    const json_t *all = json_object_get(json_object_get(s->all, "data"), "stream");
    int n = json_is_array(all) ? (int)json_array_size(all) : 1;
    if (!json_is_object(all) && !json_is_array(all))
        fail(EXIT_DATA, s->path,
             "the checkpoint has no position in documents; continue with --set order=windows, as it was trained, or "
             "start a new run from the weights with --init");
    if (e->order.once)
        fail(EXIT_USAGE, NULL,
             "standard input and pipes can be read only once, so a run on them cannot be resumed; write the data into "
             "files, or start a new run from the weights with --init");
    if (n != e->n)
        fail(EXIT_USAGE, NULL,
             "the checkpoint mixes %d source%s, but here %s %d; give the same --data and weights, or start a new run "
             "from the weights with --init",
             n, n == 1 ? "" : "s", e->n == 1 ? "is" : "are", e->n);
    return json_is_array(all) ? json_array_get(all, (size_t)i) : all;
}

/* Older checkpoints lack these members: their blocks all have one size, and their rows count as full. */
static void take_new_members(Epoch_source *of, const State *s, const json_t *all, Stream_at *at)
{
    bool old = !json_object_get(all, "first_tokens");
    of->order.first_tokens = old ? 0 : whole_member(s, all, "first_tokens", 0);
    at->predicted = old ? at->taken * of->order.seq : whole_member(s, all, "predicted", 0);
}

/* A source's part of shuffle_tokens stays when weights change, because its place is in a block of that size. */
static void take_block_tokens(const Epochs *e, Epoch_source *of, const State *s, const json_t *all)
{
    const json_t *shuffled = json_object_get(json_object_get(s->all, "recipe"), "shuffle_tokens");
    bool same = json_is_integer(shuffled) && json_integer_value(shuffled) == e->reading->recipe->shuffle_tokens;
    if (e->n > 1 && same) of->order.block_tokens = whole_member(s, all, "block_tokens", 1);
}

/* With other weights, shares start again: rows taken by the old weights are not compensated. */
static bool same_weights(const Epochs *e, const State *s)
{
    int64_t weight[LATHE_SOURCES];
    const char *mix = json_string_value(json_object_get(json_object_get(s->all, "recipe"), "mix"));
    if (lathe_mix(mix, weight) != e->n) return false;
    for (int i = 0; i < e->n; i++)
        if (weight[i] != e->source[i].weight) return false;
    return true;
}

Mixture *open_rows_of(const Epochs *e, const State *from)
{
    Mix_part *part = must_alloc(sizeof *part * LATHE_SOURCES);
    bool mixed = from && e->n > 1 && same_weights(e, from);
    for (int i = 0; i < e->n; i++) {
        Epoch_source *s = &e->source[i];
        const json_t *stored = from ? stored_source(e, from, i) : NULL;
        Stream_at at = {0};
        if (from) {
            at = stored_stream(s, from, stored);
            take_new_members(s, from, stored, &at);
            take_block_tokens(e, s, from, stored);
        }
        part[i] = (Mix_part){.weight = s->weight, .mixed = mixed ? whole_member(from, stored, "mixed", 0) : 0};
        part[i].stream = open_stream(s->files, e->tokenizer, &s->order, e->readers, from ? &at : NULL);
    }
    Mixture *rows = open_mixture(part, e->n);
    free(part);
    return rows;
}

void continue_items(Data *d, const State *from)
{
    const json_t *data = json_object_get(from->all, "data");
    if (json_object_get(data, "position"))
        d->more = whole_member(from, data, "position", 0) - items_before(d, from->at.step);
}

/* A run may be resumed with another number of rows per step. */
void start_epochs(Epochs *e, const State *from)
{
    e->rows = open_rows_of(e, from);
    e->more = from ? mixture_taken(e->rows) - rows_taken_before(e, from->at.step) : 0;
}
