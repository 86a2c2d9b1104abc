/* verify_tensors.c: tensors that are not what they were: which, which of their elements, and since when. */
#include "base/hash.h"
#include "base/json_text.h"
#include "base/words.h"
#include "model/run.h"
#include "model/tables.h"
#include "step/statistics.h"
#include "trainer/memory.h"
#include "trainer/verify.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ an element */

/* "h.0.bias (toy.lua:3)" */
static char *tensor_text(const Kept_tensor *k)
{
    return *k->where ? text_of("%s (%s)", k->name, k->where) : text_of("%s", k->name);
}

/* "[3][17]" */
static char *subscripts_of(const Kept_tensor *k, int64_t element)
{
    const Lathe_param *p = k->param;
    char *all = text_of("%s", "");
    if (!p || size_of_number(k) == 1) return text_of("[%lld]", (long long)element);
    for (int d = p->rank - 1; d >= p->loops; d--) {
        char *more = text_of("[%lld]%s", (long long)(element % p->dim[d]), all);
        element /= p->dim[d];
        free(all);
        all = more;
    }
    return all;
}

static int bits_apart(uint64_t a, uint64_t b) { return __builtin_popcountll(a ^ b); }

/* "element [3][17] is 0.25, and was 0.5 (bit 23 is flipped)"; was: what the other number is. */
static char *element_text(const Kept_tensor *k, int64_t element, const void *now, const void *before, const char *was)
{
    uint64_t a = 0, b = 0;
    memcpy(&a, now, (size_t)size_of_number(k));
    memcpy(&b, before, (size_t)size_of_number(k));
    char *place = subscripts_of(k, element), *flipped = text_of("%s", "");
    if (bits_apart(a, b) == 1) flipped = text_of(" (bit %d is flipped)", __builtin_ctzll(a ^ b));
    char *all = text_of("element %s is %.9g, %s %.9g%s", place, number_of_tensor(k, now), was,
                        number_of_tensor(k, before), flipped);
    free(place);
    free(flipped);
    return all;
}

typedef struct Sought {    /* a number of a tensor, by its place in files */
    int64_t bytes, before; /* of the number; of the runs so far */
    void *at;              /* NULL: not yet found */
} Sought;

static void seek_number(void *sought, void *at, int64_t bytes)
{
    Sought *s = sought;
    if (!s->at && s->bytes < s->before + bytes) s->at = (char *)at + (s->bytes - s->before);
    s->before += bytes;
}

/* The one element that makes the tensor's sums what they are now, if it is one alone: putting back what it was gives
 * the tensor its hash again.  NULL: it is not one alone. */
static char *sole_change(Kept_tensors *all, int i, const Sums *was, const char *short_hash)
{
    Kept_tensor *k = &all->at[i];
    uint64_t place, by, now = 0;
    const size_t size = (size_t)size_of_number(k);
    if (!place_of_change(was, &k->sums, &place, &by) || place > (uint64_t)(bytes_of_tensor(k) / (int64_t)size))
        return NULL;
    Sought s = {.bytes = (int64_t)((place - 1) * size)};
    each_run(all, k, seek_number, &s);
    memcpy(&now, s.at, size);
    uint64_t before = taken_back(now, by);
    if (size < 8 && before >> (8 * size)) return NULL;
    char digits[SHA256_DIGITS + 1], *text = element_text(k, (int64_t)place - 1, &now, &before, "and was");
    memcpy(s.at, &before, size);
    k->known = false;
    hash_tensors(all, i, i + 1, true);
    digest_text(&k->digest, digits);
    memcpy(s.at, &now, size);
    k->known = false;
    if (memcmp(digits, short_hash, strlen("01234567")) == 0) return text;
    free(text);
    return NULL;
}

/* ------------------------------------------------------------------ by their hashes */

enum { SHORT = 8 };

static const char *word_in(const json_t *record, const char *name, size_t bytes)
{
    const char *word = json_string_value(json_object_get(record, name));
    return word && strlen(word) == bytes ? word : NULL;
}

/* Of tensors from … to - 1: those whose short hashes differ. */
static void tell_list(Verify *v, int64_t step, const json_t *was, const json_t *now, const char *list, int from, int to)
{
    Kept_tensors *all = &v->recorder.tensors;
    const size_t bytes = (size_t)(to - from) * SHORT;
    const char *before = word_in(was, list, bytes), *after = word_in(now, list, bytes);
    const char *sums = word_in(was, "sums", (size_t)all->n * SUMS_DIGITS);
    int first = -1, n = 0;
    for (int i = from; before && after && i < to; i++) {
        if (memcmp(before + (i - from) * SHORT, after + (i - from) * SHORT, SHORT) == 0) continue;
        if (first < 0) first = i;
        n++;
    }
    if (first < 0) {
        differs_at(v, step, "tensor", "the hash of all %s differs", from ? "states of the optimizer" : "parameters");
        return;
    }
    Sums kept;
    char *name = tensor_text(&all->at[first]), *element = NULL;
    if (sums && parse_sums(sums + first * SUMS_DIGITS, &kept))
        element = sole_change(all, first, &kept, before + (first - from) * SHORT);
    char *more = n > 1 ? text_of(", the first of %d of %d tensors that differ", n, to - from) : text_of("%s", "");
    differs_at(v, step, "tensor", "%s, in %s%s%s%s", name, all->at[first].file, more, element ? ": " : "",
               element ? element : "");
    free(name);
    free(more);
    free(element);
}

static bool both_differ(const json_t *was, const json_t *now, const char *name)
{
    const json_t *a = json_object_get(was, name), *b = json_object_get(now, name);
    return a && b && !json_equal(a, b);
}

void tell_changed_tensors(Verify *v, int64_t step, const json_t *was, const json_t *now)
{
    const Kept_tensors *all = &v->recorder.tensors;
    if (both_differ(was, now, "parameters")) tell_list(v, step, was, now, "each", 0, all->parameters);
    if (both_differ(was, now, "state")) tell_list(v, step, was, now, "each_state", all->parameters, all->n);
}

/* ------------------------------------------------------------------ the checkpoint to start from */

static bool has_its_mark(const State *s, const char *path, const char *file)
{
    const char *digits =
        json_string_value(json_object_get(json_object_get(json_object_get(s->all, "files"), file), "xxh64"));
    char room[1 << 12], own[17];
    size_t n;
    Hash h;
    hash_start(&h);
    FILE *f = open_stream_to_read(path);
    while (f && (n = fread(room, 1, sizeof room, f)) > 0) hash_add(&h, room, n);
    if (f) fclose(f);
    snprintf(own, sizeof own, "%016llx", (unsigned long long)hash_end(&h));
    return digits && strcmp(own, digits) == 0;
}

/* The checksums in state.json: they name files alone. */
static bool compare_marks(Verify *v, const State *s, const char *checkpoint, int64_t step)
{
    const char *file;
    json_t *mark;
    bool same = true;
    json_object_foreach(json_object_get(s->all, "files"), file, mark)
    {
        char *path = text_of("%s/%s", checkpoint, file);
        if (!has_its_mark(s, path, file)) {
            differs_at(v, step, "checkpoint", "%s does not have the checksum in its state.json: it was changed%s", path,
                       v->from == step ? "; verify from an earlier checkpoint to see which of its tensors" : "");
            same = false;
        }
        free(path);
    }
    return same;
}

/* The last record of the start that has tensors. */
static json_t *record_of_tensors(const Verify *v)
{
    for (int64_t i = v->next - 1; i >= 0 && v->chain.link[i].step == v->from; i--) {
        json_t *record = link_json(&v->chain.link[i]);
        if (json_object_get(record, "each")) return record;
        json_decref(record);
    }
    return NULL;
}

bool compare_start(Verify *v)
{
    json_t *was = v->chained ? record_of_tensors(v) : NULL;
    const size_t before = json_array_size(v->differences);
    if (was) {
        json_t *now = start_record(&v->recorder, v->from);
        tell_changed_tensors(v, v->from, was, now);
        json_decref(now);
        json_decref(was);
    }
    if (v->checkpoint && json_array_size(v->differences) == before)
        compare_marks(v, &v->run.from, v->checkpoint, v->from);
    return json_array_size(v->differences) == before;
}

/* ------------------------------------------------------------------ a later checkpoint */

typedef struct Copy { /* of a tensor, in the order of files */
    char *at;
    int64_t bytes;
} Copy;

static void copy_out(void *copy, void *at, int64_t bytes)
{
    Copy *c = copy;
    memcpy(c->at + c->bytes, at, (size_t)bytes);
    c->bytes += bytes;
}

static void copy_back(void *copy, void *at, int64_t bytes)
{
    Copy *c = copy;
    memcpy(at, c->at + c->bytes, (size_t)bytes);
    c->bytes += bytes;
}

/* Whether the tensor has other numbers now than in the copy; tells the first. */
static bool tell_element(Verify *v, const Kept_tensor *k, const char *computed, const char *saved, const char *path,
                         int64_t step)
{
    const int64_t size = size_of_number(k), n = bytes_of_tensor(k) / size;
    int64_t first = -1, others = 0;
    for (int64_t e = 0; e < n; e++) {
        if (memcmp(computed + e * size, saved + e * size, (size_t)size) == 0) continue;
        if (first < 0) first = e;
        others++;
    }
    if (first < 0) return false;
    char *name = tensor_text(k),
         *element = element_text(k, first, saved + first * size, computed + first * size, "and computed again");
    differs_at(v, step, "tensor", "%s in %s/%s: %s%s", name, path, k->file, element,
               others > 1 ? text_of(", the first of %s elements", grouped_text(others)) : "");
    free(name);
    free(element);
    return true;
}

typedef struct Copies { /* of all tensors */
    char **of;
    int n;
} Copies;

static char *copy_tensor(const Kept_tensors *all, const Kept_tensor *k)
{
    Copy one = {must_alloc((size_t)bytes_of_tensor(k) + 1), 0};
    each_run(all, k, copy_out, &one);
    return one.at;
}

static int64_t bytes_of_copies(const Kept_tensors *all)
{
    int64_t sum = 0, most = 0;
    for (int i = 0; i < all->n; i++) {
        int64_t bytes = bytes_of_tensor(&all->at[i]);
        sum += bytes;
        if (bytes > most) most = bytes;
    }
    return sum + most;
}

static Copies copy_tensors(const Kept_tensors *all)
{
    Copies c = {must_alloc(sizeof *c.of * (size_t)(all->n + 1)), all->n};
    for (int i = 0; i < all->n; i++) { c.of[i] = copy_tensor(all, &all->at[i]); }
    return c;
}

static void put_tensors_back(const Kept_tensors *all, const Copies *c)
{
    for (int i = 0; i < all->n; i++) each_run(all, &all->at[i], copy_back, &(Copy){c->of[i], 0});
}

static void free_copies(Copies *c)
{
    for (int i = 0; i < c->n; i++) free(c->of[i]);
    free(c->of);
}

/* The arrays of the run hold the checkpoint's for a moment. */
void compare_checkpoint(Verify *v, int64_t step)
{
    const Kept_tensors *all = &v->recorder.tensors;
    Training *r = &v->run;
    char *path = checkpoint_path(v->folder, step);
    State s;
    const size_t before = json_array_size(v->differences);
    check_memory_beside(&v->trains, &r->memory, bytes_of_copies(all));
    Copies computed = copy_tensors(all);
    read_state(&s, path);
    s.unchecked = true;
    load_checkpoint(&v->trains, &s, path, &r->memory, saved_optimizer(&r->turns));
    weights_up(v->trains.model, &r->memory);
    bool told = false;
    for (int i = 0; i < all->n && !told; i++) {
        char *saved = copy_tensor(all, &all->at[i]);
        told = tell_element(v, &all->at[i], computed.of[i], saved, path, step);
        free(saved);
    }
    put_tensors_back(all, &computed);
    if (json_array_size(v->differences) == before) compare_marks(v, &s, path, step);
    v->checkpoints++;
    free_copies(&computed);
    close_state(&s);
    free(path);
}
