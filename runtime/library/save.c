/* save.c: an instance as safetensors (model/safetensors.c describes the format). */
#include "library/saved.h"
#include "model/tables.h"
#include "step/average.h"
#include "step/entry.h"
#include "step/statistics.h"

#include <stdio.h>
#include <string.h>

typedef struct Sink { /* counts, and copies what there is room for */
    char *at;
    size_t room, used;
} Sink;

static void put_bytes(Sink *s, const void *from, size_t n)
{
    if (s->at && s->used <= s->room && n <= s->room - s->used) memcpy(s->at + s->used, from, n);
    s->used += n;
}

static void put_word(Sink *s, const char *text) { put_bytes(s, text, strlen(text)); }

/* In quotes. */
static void put_name(Sink *s, const char *name)
{
    put_word(s, "\"");
    for (; *name; name++) {
        char hex[8];
        if (*name == '"' || *name == '\\') put_word(s, "\\");
        if ((unsigned char)*name >= ' ') put_bytes(s, name, 1);
        else put_bytes(s, hex, (size_t)snprintf(hex, sizeof hex, "\\u%04x", *name));
    }
    put_word(s, "\"");
}

static void put_number(Sink *s, int64_t n)
{
    char digits[24];
    put_bytes(s, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)n));
}

static void put_note_of(Sink *s, const char *key, const char *before, int64_t n)
{
    put_word(s, before);
    put_name(s, key);
    put_word(s, ":\"");
    put_number(s, n);
    put_word(s, "\"");
}

/* How far the run is. */
static void put_progress(Sink *s, Library *l)
{
    const Loss_scale *scale = &l->turns.at[0].optimizer.loss_scale;
    put_word(s, ",\"source\":");
    put_name(s, l->model->source_hash);
    put_note_of(s, "step", ",", l->step);
    put_note_of(s, "seed", ",", l->seed);
    put_note_of(s, "loss_scale", ",", (int64_t)scale->scale);
    put_note_of(s, "good_steps", ",", scale->good);
    put_note_of(s, "skipped_steps", ",", scale->skipped);
}

typedef struct Header {
    Sink *to;
    const char *before;
    int64_t offset;
} Header;

static bool put_entry_of(void *with, const Saved *t)
{
    Header *h = with;
    put_word(h->to, h->before);
    h->before = ",";
    put_name(h->to, t->name);
    put_word(h->to, ":{\"dtype\":");
    put_name(h->to, saved_type(t->type));
    put_word(h->to, ",\"shape\":[");
    for (int k = 0; k < t->rank; k++) {
        if (k) put_word(h->to, ",");
        put_number(h->to, t->dim[k]);
    }
    put_word(h->to, "],\"data_offsets\":[");
    put_number(h->to, h->offset);
    put_word(h->to, ",");
    put_number(h->to, h->offset += saved_bytes_of(t));
    put_word(h->to, "]}");
    return true;
}

static void put_header(Sink *s, Library *l, bool all)
{
    Header h = {s, ",", 0};
    put_word(s, "{\"__metadata__\":{\"format\":\"pt\""); /* the layout is PyTorch's */
    if (all && l->turns.n) put_progress(s, l);
    put_word(s, "}");
    each_saved(l, all, put_entry_of, &h);
    put_word(s, "}");
}

static bool put_tensor(void *with, const Saved *t)
{
    const int64_t size = dtype_size(t->type), n = saved_bytes_of(t) / size, run = saved_run(t);
    for (int64_t e = 0; e < n; e += run) put_bytes(with, saved_piece(t, e), (size_t)(run * size));
    return true;
}

/* Its length, padded so that the data starts at a multiple of 8, is in front. */
static void put_all(Sink *s, Library *l, bool all)
{
    Sink counted = {0};
    unsigned char first[8];
    put_header(&counted, l, all);
    const size_t padded = (counted.used + 7) & ~(size_t)7;
    for (int i = 0; i < 8; i++) first[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    put_bytes(s, first, 8);
    put_header(s, l, all);
    put_bytes(s, "       ", padded - counted.used);
    each_saved(l, all, put_tensor, s);
}

static int save_open(Library *l, void *to, size_t bytes, size_t *used, bool all)
{
    Sink s = {to, bytes, 0};
    const Optimizer *o = all ? NULL : mean_of_library(l);
    copy_statistics(l->model, &l->memory);
    if (o) show_averages(o, l->memory.params, l->memory.grads);
    put_all(&s, l, all);
    if (o) show_trained(o, l->memory.params, l->memory.grads);
    if (used) *used = s.used;
    if (!to || s.used <= bytes) return LIBRARY_FINE;
    return fail_library(l, LIBRARY_USAGE, "save: expected room for %lld bytes, found %lld; nothing was saved",
                        (long long)s.used, (long long)bytes);
}

int save_library(Library *l, void *to, size_t bytes, size_t *used, bool all)
{
    int code = begin_library_call(l);
    return code ? code : end_library_call(l, save_open(l, to, bytes, used, all));
}
