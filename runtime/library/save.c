/* save.c: an instance as safetensors (model/safetensors.c describes the format). */
#include "interface/version.h"
#include "library/saved.h"
#include "model/tables.h"
#include "step/entry.h"
#include "step/statistics.h"

#include <stdio.h>
#include <string.h>

static void sink_bytes(Saved_sink *s, const void *from, size_t n)
{
    if (s->put) s->put(s, from, n);
    s->used += n;
}

static void sink_word(Saved_sink *s, const char *text) { sink_bytes(s, text, strlen(text)); }

/* In quotes. */
static void sink_name(Saved_sink *s, const char *name)
{
    sink_word(s, "\"");
    for (; *name; name++) {
        char hex[8];
        if (*name == '"' || *name == '\\') sink_word(s, "\\");
        if ((unsigned char)*name >= ' ') sink_bytes(s, name, 1);
        else sink_bytes(s, hex, (size_t)snprintf(hex, sizeof hex, "\\u%04x", *name));
    }
    sink_word(s, "\"");
}

static void sink_number(Saved_sink *s, int64_t n)
{
    char digits[24];
    sink_bytes(s, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)n));
}

static void put_note_of(Saved_sink *s, const char *key, const char *before, int64_t n)
{
    sink_word(s, before);
    sink_name(s, key);
    sink_word(s, ":\"");
    sink_number(s, n);
    sink_word(s, "\"");
}

static Progress progress_of(const Library *l)
{
    const Loss_scale *scale = &l->turns.at[0].optimizer.loss_scale;
    return (Progress){l->step, l->seed, (int64_t)scale->scale, scale->good, scale->skipped};
}

static void put_progress(Saved_sink *s, const Library *l, const char *checksum)
{
    const Progress p = progress_of(l);
    sink_word(s, ",\"source\":");
    sink_name(s, l->model->source_hash);
    put_note_of(s, "format_version", ",", LATHE_CHECKPOINT_MAJOR);
    put_note_of(s, "step", ",", p.step);
    put_note_of(s, "seed", ",", p.seed);
    put_note_of(s, "loss_scale", ",", p.scale);
    put_note_of(s, "good_steps", ",", p.good);
    put_note_of(s, "skipped_steps", ",", p.skipped);
    sink_word(s, ",\"checksum\":");
    sink_name(s, checksum);
}

typedef struct Header {
    Saved_sink *to;
    const char *before;
    int64_t offset;
} Header;

static bool put_entry_of(void *with, const Saved *t)
{
    Header *h = with;
    sink_word(h->to, h->before);
    h->before = ",";
    sink_name(h->to, t->name);
    sink_word(h->to, ":{\"dtype\":");
    sink_name(h->to, saved_type(t->type));
    sink_word(h->to, ",\"shape\":[");
    for (int k = 0; k < t->rank; k++) {
        if (k) sink_word(h->to, ",");
        sink_number(h->to, t->dim[k]);
    }
    sink_word(h->to, "],\"data_offsets\":[");
    sink_number(h->to, h->offset);
    sink_word(h->to, ",");
    sink_number(h->to, h->offset += saved_bytes_of(t));
    sink_word(h->to, "]}");
    return true;
}

static void sink_header(Saved_sink *s, Library *l, bool all, const char *checksum)
{
    Header h = {s, ",", 0};
    sink_word(s, "{\"__metadata__\":{\"format\":\"pt\""); /* the layout is PyTorch's */
    if (checksum) put_progress(s, l, checksum);
    sink_word(s, "}");
    each_saved(l, all, put_entry_of, &h);
    sink_word(s, "}");
}

static bool sink_tensor(void *with, const Saved *t)
{
    const int64_t size = dtype_size(t->type), n = saved_bytes_of(t) / size, run = saved_run(t);
    for (int64_t e = 0; e < n; e += run) sink_bytes(with, saved_piece(t, e), (size_t)(run * size));
    return true;
}

typedef struct Hashing {
    Saved_sink sink;
    Hash hash;
} Hashing;

static void put_in_hash(Saved_sink *s, const void *from, size_t n) { hash_add(&((Hashing *)s)->hash, from, n); }

static void sum_up(Library *l, char to[CHECKSUM_DIGITS + 1])
{
    Hashing h = {.sink.put = put_in_hash};
    const Progress p = progress_of(l);
    hash_start(&h.hash);
    each_saved(l, true, sink_tensor, &h);
    write_checksum(to, &h.hash, &p);
}

/* Its length, padded so that the data starts at a multiple of 8, is in front. */
static void sink_all(Saved_sink *s, Library *l, bool all)
{
    Saved_sink counted = {0};
    unsigned char first[8];
    char digits[CHECKSUM_DIGITS + 1] = "0123456789abcdef"; /* which a count does not depend on */
    const char *checksum = all && is_trained_here(l->model) ? digits : NULL;
    if (checksum && s->put) sum_up(l, digits);
    sink_header(&counted, l, all, checksum);
    const size_t padded = (counted.used + 7) & ~(size_t)7;
    for (int i = 0; i < 8; i++) first[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    sink_bytes(s, first, 8);
    sink_header(s, l, all, checksum);
    sink_bytes(s, "       ", padded - counted.used);
    each_saved(l, all, sink_tensor, s);
}

int save_into(Library *l, Saved_sink *s, bool all)
{
    if (!l->loaded) return fail_library(l, LIBRARY_USAGE, "save: there are no weights yet: load() takes some");
    copy_statistics(l->model, &l->memory);
    if (!all) show_mean(l, true);
    sink_all(s, l, all);
    if (!all) show_mean(l, false);
    return LIBRARY_FINE;
}

/* ------------------------------------------------------------------ to memory */

static void put_in_memory(Saved_sink *s, const void *from, size_t n)
{
    if (s->used <= s->room && n <= s->room - s->used) memcpy(s->at + s->used, from, n);
}

static int save_open(Library *l, void *to, size_t bytes, size_t *used, bool all)
{
    Saved_sink s = {to ? put_in_memory : NULL, 0, to, bytes};
    const int code = save_into(l, &s, all);
    if (used) *used = s.used;
    if (code || !to || s.used <= bytes) return code;
    return fail_library(l, LIBRARY_USAGE, "save: expected room for %lld bytes, found %lld; nothing was saved",
                        (long long)s.used, (long long)bytes);
}

int save_library(Library *l, void *to, size_t bytes, size_t *used, bool all)
{
    int code = begin_library_call(l);
    return code ? code : end_library_call(l, save_open(l, to, bytes, used, all));
}
