/* load.c: takes an instance's tensors from safetensors.  Everything is checked before anything is changed. */
#include "interface/version.h"
#include "library/header.h"
#include "library/saved.h"
#include "model/tables.h"
#include "step/average.h"
#include "step/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Loading {
    Library *l;
    Saved_source *from;
    int64_t data, bytes;                /* where its data begins, behind the header; how many there are */
    int64_t last;                       /* where the last tensor ends */
    const Described *d;                 /* the tensor that is looked for */
    int met, rest;                      /* weights that were met, and other tensors */
    bool unknown;                       /* one is not of the model; words say which */
    int weights, others;                /* how many there are */
    Progress notes;                     /* step -1: there are none */
    char checksum[CHECKSUM_DIGITS + 8]; /* that the notes say; empty: none, as in weights and in older files */
    int code;
} Loading;

/* ------------------------------------------------------------------ what is there */

static int refuse_described(Loading *x, const Saved *s)
{
    const Described *d = x->d;
    if (strcmp(d->dtype, saved_type(s->type)) != 0)
        return fail_library(x->l, LIBRARY_DATA, "load: tensor %s: expected %s, found %s", d->name, saved_type(s->type),
                            d->dtype);
    if (d->rank != s->rank)
        return fail_library(x->l, LIBRARY_DATA, "load: tensor %s: expected %d axes, found %d", d->name, s->rank,
                            d->rank);
    for (int k = 0; k < s->rank; k++)
        if (d->dim[k] != s->dim[k])
            return fail_library(x->l, LIBRARY_DATA, "load: tensor %s: expected %lld in axis %d, found %lld", d->name,
                                (long long)s->dim[k], k, (long long)d->dim[k]);
    if (d->begin > d->end || d->end > x->bytes || d->end - d->begin != saved_bytes_of(s))
        return fail_library(x->l, LIBRARY_DATA,
                            "load: tensor %s: its bytes %lld to %lld do not fit; it is cut off or "
                            "damaged",
                            d->name, (long long)d->begin, (long long)d->end);
    if (x->l->place[s->number] >= 0) return fail_library(x->l, LIBRARY_DATA, "load: tensor %s is there twice", d->name);
    return LIBRARY_FINE;
}

/* Ends the visit at the tensor that is looked for. */
static bool is_other(void *with, const Saved *s)
{
    Loading *x = with;
    if (strcmp(s->name, x->d->name) != 0) return true;
    x->code = refuse_described(x, s);
    if (!x->code) x->l->place[s->number] = x->d->begin;
    *(s->weight ? &x->met : &x->rest) += 1;
    return false;
}

/* What does not train passes over what training needs, which weights alone do not have. */
static bool take_described(void *with, const Described *d)
{
    Loading *x = with;
    x->d = d;
    if (d->end > x->last) x->last = d->end;
    if (d->begin > d->end || d->end > x->bytes)
        x->code =
            fail_library(x->l, LIBRARY_DATA, "load: tensor %s: its bytes %lld to %lld are not there; it is cut off",
                         d->name, (long long)d->begin, (long long)d->end);
    else if (each_saved(x->l, true, is_other, x)) {
        x->unknown = true;
        fail_library(x->l, LIBRARY_DATA, "load: tensor %s is not one of %s", d->name, x->l->model->name);
        if (is_trained_here(x->l->model)) x->code = LIBRARY_DATA;
    }
    return !x->code;
}

/* A whole number of least … most; another one is a mistake. */
static void take_whole_note(Loading *x, const char *key, const char *text, int64_t least, int64_t most, int64_t *to)
{
    char *end;
    const long long n = strtoll(text, &end, 10);
    if (*text && !*end && n >= least && n <= most) *to = n;
    else
        x->code = fail_library(x->l, LIBRARY_DATA, "load: %s: expected a whole number of %lld to %lld, found %.40s",
                               key, (long long)least, (long long)most, text);
}

static void check_version(Loading *x, const char *text)
{
    const long long major = strtoll(text, NULL, 10);
    if (major > LATHE_CHECKPOINT_MAJOR)
        x->code =
            fail_library(x->l, LIBRARY_DATA,
                         "load: expected format %d or an older one, found %lld: a library of a newer Lathe saved it",
                         LATHE_CHECKPOINT_MAJOR, major);
}

static bool take_note_of(void *with, const char *key, const char *text)
{
    Loading *x = with;
    if (strcmp(key, "format_version") == 0) check_version(x, text);
    if (strcmp(key, "step") == 0) take_whole_note(x, key, text, 0, INT32_MAX, &x->notes.step);
    if (strcmp(key, "seed") == 0) take_whole_note(x, key, text, INT32_MIN, INT32_MAX, &x->notes.seed);
    if (strcmp(key, "loss_scale") == 0) take_whole_note(x, key, text, 0, 1 << 24, &x->notes.scale);
    if (strcmp(key, "good_steps") == 0) take_whole_note(x, key, text, 0, INT32_MAX, &x->notes.good);
    if (strcmp(key, "skipped_steps") == 0) take_whole_note(x, key, text, 0, INT32_MAX, &x->notes.skipped);
    if (strcmp(key, "checksum") == 0) snprintf(x->checksum, sizeof x->checksum, "%.20s", text);
    return !x->code;
}

/* The loss scale is a power of two where the model has one; each skipped step was one. */
static int check_progress(Loading *x)
{
    const bool scaled = is_trained_here(x->l->model) && x->l->turns.at[0].optimizer.loss_scale.scale > 0;
    if (x->notes.step < 0) return LIBRARY_FINE;
    if (x->notes.skipped > x->notes.step || (scaled && (x->notes.scale < 1 || (x->notes.scale & (x->notes.scale - 1)))))
        return fail_library(x->l, LIBRARY_DATA,
                            "load: loss scale %lld and %lld skipped of %lld steps cannot be; the notes are "
                            "damaged",
                            (long long)x->notes.scale, (long long)x->notes.skipped, (long long)x->notes.step);
    return LIBRARY_FINE;
}

static bool count_saved(void *with, const Saved *s)
{
    Loading *x = with;
    *(s->weight ? &x->weights : &x->others) += 1;
    x->l->place[s->number] = -1;
    return true;
}

static bool name_missing(void *with, const Saved *s)
{
    Library *l = with;
    if (l->place[s->number] >= 0) return true;
    fail_library(l, LIBRARY_DATA, "load: tensor %s is missing", s->name);
    return false;
}

/* The elements of a tensor, piece by piece: from element `first` on, `n` of them lie at `piece`. */
typedef bool Take_elements(Loading *x, const Saved *s, const char *piece, int64_t first, int64_t n);

static bool each_piece(Loading *x, const Saved *s, Take_elements *take)
{
    const int64_t size = dtype_size(s->type), all = saved_bytes_of(s);
    for (int64_t done = 0, n; done < all; done += n) {
        n = all - done;
        const char *piece = x->from->look(x->from, x->data + x->l->place[s->number] + done, &n);
        if (!piece || !take(x, s, piece, done / size, n / size)) return false;
    }
    return true;
}

static bool are_finite(Loading *x, const Saved *s, const char *piece, int64_t first, int64_t n)
{
    const size_t size = (size_t)dtype_size(s->type);
    for (int64_t i = 0; i < n; i++, piece += size) {
        double aligned;
        memcpy(&aligned, piece, size);
        if (isfinite(read_element(s->type, &aligned, 0))) continue;
        fail_library(x->l, LIBRARY_DATA,
                     "load: tensor %s: number %lld is not finite; it is damaged, or of a run that diverged", s->name,
                     (long long)(first + i));
        return false;
    }
    return true;
}

/* Ends the visit at a number that is not finite. */
static bool is_finite_saved(void *with, const Saved *s)
{
    return s->type == LATHE_I32 || each_piece(with, s, are_finite);
}

/* Of all tensors, also of those that an instance which only answers passes over. */
static int check_checksum(Loading *x)
{
    Hash hash;
    char found[CHECKSUM_DIGITS + 1];
    if (!*x->checksum) return LIBRARY_FINE;
    hash_start(&hash);
    for (int64_t done = 0, n; done < x->bytes; done += n) {
        n = x->bytes - done;
        const char *piece = x->from->look(x->from, x->data + done, &n);
        if (!piece) return LIBRARY_DATA; /* the source knows why */
        hash_add(&hash, piece, (size_t)n);
    }
    write_checksum(found, &hash, &x->notes);
    if (strcmp(found, x->checksum) == 0) return LIBRARY_FINE;
    return fail_library(x->l, LIBRARY_DATA, "load: expected the checksum %s, found %s: the file is damaged",
                        x->checksum, found);
}

/* How long the header is, which the first eight bytes say; 0: they are none. */
static int64_t length_of_header(Saved_source *from)
{
    int64_t n = 8;
    uint64_t length = 0;
    const char *first = from->bytes >= 8 ? from->look(from, 0, &n) : NULL;
    for (int i = 7; i >= 0 && first; i--) length = length << 8 | (unsigned char)first[i];
    return length >= 2 && from->bytes >= 8 && length <= (uint64_t)from->bytes - 8 ? (int64_t)length : 0;
}

static int read_saved_model(Loading *x)
{
    Library *l = x->l;
    const int64_t length = length_of_header(x->from);
    if (!length)
        return fail_library(l, LIBRARY_DATA,
                            "load: expected safetensors, found %lld bytes that are cut off or of another "
                            "format",
                            (long long)x->from->bytes);
    Header_text h = {.from = x->from, .next = 8, .last = 8 + length};
    x->data = 8 + length;
    x->bytes = x->from->bytes - x->data;
    each_saved(l, true, count_saved, x);
    if (!read_library_header(&h, take_described, take_note_of, x))
        return x->code ? x->code
                       : fail_library(l, LIBRARY_DATA, "load: the header is damaged at byte %lld: %s",
                                      (long long)(h.next - (h.end - h.at)), h.wrong);
    if (x->code || (x->code = check_progress(x))) return x->code;
    if (x->unknown && x->notes.step < 0) return LIBRARY_DATA;
    const bool all = x->rest > 0 || x->notes.step >= 0;
    if (!each_saved(l, all, name_missing, l)) return LIBRARY_DATA;
    if (x->last < x->bytes)
        return fail_library(l, LIBRARY_DATA, "load: %lld bytes follow the last tensor",
                            (long long)(x->bytes - x->last));
    if ((x->code = check_checksum(x))) return x->code;
    return each_saved(l, all, is_finite_saved, x) ? LIBRARY_FINE : LIBRARY_DATA;
}

/* ------------------------------------------------------------------ taking it */

static bool take_loaded(Loading *x, const Saved *s, const char *piece, int64_t first, int64_t n)
{
    const int64_t size = dtype_size(s->type), run = saved_run(s);
    (void)x;
    for (int64_t e = first, some; e < first + n; e += some) {
        some = run - e % run < first + n - e ? run - e % run : first + n - e;
        memcpy(saved_piece(s, e), piece + (e - first) * size, (size_t)(some * size));
    }
    return true;
}

static bool load_tensor(void *with, const Saved *s) { return each_piece(with, s, take_loaded); }

/* Optimizers, means and states as those of a new instance. */
static void begin_anew(Library *l)
{
    if (l->memory.state) memset(l->memory.state, 0, (size_t)l->memory.state_bytes);
    l->step = 0;
    l->position = 0;
    if (!is_trained_here(l->model)) return;
    clear_moments(l->model, &l->model->recipe, l->memory.moments);
    place_turns(&l->turns, l->model, &l->model->recipe, l->memory.moments, l->memory.generation);
}

static void load_progress(Loading *x)
{
    Library *l = x->l;
    Loss_scale *scale = &l->turns.at[0].optimizer.loss_scale;
    l->step = x->notes.step;
    l->seed = (int32_t)x->notes.seed;
    if (scale->scale > 0) scale->scale = (float)x->notes.scale, scale->good = (int32_t)x->notes.good;
    scale->skipped = x->notes.skipped;
}

/* What was there a moment ago may be gone (a file on a network, a disk that fails): then there are no weights. */
int load_from(Library *l, Saved_source *s)
{
    Loading x = {.l = l, .notes.step = -1, .from = s};
    int code = read_saved_model(&x);
    if (code) return code;
    begin_anew(l);
    l->ticket = 0;
    l->loaded = each_saved(l, x.notes.step >= 0, load_tensor, &x);
    if (!l->loaded)
        return fail_library(l, LIBRARY_FILE, "load: it cannot be read any more; the instance needs weights again");
    weights_up(l->model, &l->memory);
    if (x.notes.step >= 0 && is_trained_here(l->model)) load_progress(&x);
    else if (is_trained_here(l->model)) begin_averages(&l->turns.at[0].optimizer, l->memory.params);
    return LIBRARY_FINE;
}

/* ------------------------------------------------------------------ from memory */

static const char *look_at_memory(Saved_source *s, int64_t at, int64_t *n)
{
    (void)n;
    return s->memory + at;
}

static int load_open(Library *l, const void *from, size_t bytes)
{
    if (!from) return fail_library(l, LIBRARY_USAGE, "load: the memory is NULL");
    return load_from(l, &(Saved_source){look_at_memory, (int64_t)bytes, from});
}

int load_instance(Library *l, const void *from, size_t bytes)
{
    int code = begin_library_call(l);
    return code ? code : end_library_call(l, load_open(l, from, bytes));
}
