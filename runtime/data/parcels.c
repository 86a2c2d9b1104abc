/* parcels.c: one thread reads documents into parcels, others encode them, and the parcels are returned in the order in
 * which they were read.  A failure in a thread is stored with its parcel, so that all parcels before it are still
 * returned.
 *
 * Parcel k is in slot k % slots.  The reader fills the next one when its slot is free, an encoder takes the first that
 * no other has taken, and next_part() waits for the one after the last it has used up.  A parcel has up to PART_BYTES
 * of text and PARCEL_PARTS parts, so that threads rarely wait for each other, even with short documents. */
#include "base/thread.h"
#include "base/words.h"
#include "data/chats.h"
#include "data/kept.h"
#include "data/parcel.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "math/random.h"
#include "source/source.h"
#include "token/tokenizer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_SITE = 0x7fff0005 };

typedef struct Worker { /* a thread that encodes */
    Parcels *p;
    Parcel *parcel; /* the one it encodes */
    Encoder *encoder;
    pthread_t thread;
} Worker;

struct Parcels {
    const Sources *sources;
    const Tokenizer *tokenizer;
    Order o;
    Stream_at start;
    int slots, encoders;
    Parcel *slot;
    int64_t filled, taken, used;  /* parcels: by the reader, by encoders, by the caller */
    int next;                     /* part of the parcel in use */
    bool filling, all_read, stop; /* filling: the reader has begun a parcel */
    pthread_mutex_t lock;
    pthread_cond_t room, work, ready;
    pthread_t reader_thread;
    Reader *reader;
    Encoder *cutter;
    Kept *kept;     /* NULL: nothing is cached */
    Worker *worker; /* [encoders] */
    int32_t *files; /* of the current epoch, in its order */
    char *failure;  /* of the reader, after the last parcel */
    int code;
};

_Static_assert(PART_BYTES + sizeof(Document_part) * PARCEL_PARTS + sizeof(int32_t) * PART_BYTES <= LATHE_PARCEL_BYTES,
               "planned");

int64_t parcels_bytes(const Order *o, const Tokenizer *t, int encoders)
{
    int64_t tables = t ? encoder_heap(t) : 0;
    bug_if(tables > LATHE_ENCODER_BYTES);
    return lathe_reading_bytes(tables == 0, o->pairs, encoders);
}

static Parcel *parcel(Parcels *p, int64_t number) { return &p->slot[number % p->slots]; }

/* ------------------------------------------------------------------ reading */

/* Waits for a free slot; if the pipeline is closed meanwhile, the thread ends. */
static Parcel *free_parcel(Parcels *p)
{
    pthread_mutex_lock(&p->lock);
    while (p->filled - p->used == p->slots && !p->stop) pthread_cond_wait(&p->room, &p->lock);
    bool stop = p->stop;
    Parcel *q = parcel(p, p->filled);
    pthread_mutex_unlock(&p->lock);
    if (stop) pthread_exit(NULL);
    return q;
}

static void hand_on(Parcels *p)
{
    pthread_mutex_lock(&p->lock);
    p->filled++;
    p->filling = false;
    pthread_cond_signal(&p->work);
    pthread_mutex_unlock(&p->lock);
}

static Parcel *empty_parcel(Parcels *p)
{
    Parcel *q = free_parcel(p);
    q->bytes = q->ids.n = q->parts = 0;
    q->failure = NULL;
    q->ends_epoch = q->ready = q->kept = false;
    p->filling = true;
    return q;
}

/* Decides by the hash of the first bytes, so that a document is always in the same part. */
bool is_held(double val_fraction, uint64_t hash) { return val_fraction >= 1 || (double)hash * 0x1p-64 < val_fraction; }

static bool is_part_wanted(const Order *o, uint64_t hash) { return is_held(o->val_fraction, hash) == o->validation; }

static Parcel *room_for_part(Parcels *p, Parcel *q, int64_t bytes, int64_t ids, bool kept)
{
    bool full = q->parts == PARCEL_PARTS || q->bytes + bytes > PART_BYTES || q->ids.n + ids > PART_BYTES;
    if (full || (q->parts && q->kept != kept)) {
        hand_on(p);
        q = empty_parcel(p);
    }
    q->kept = kept;
    return q;
}

/* Copies a part's text or ids into a parcel with room for them. */
static Parcel *add_part_to(Parcels *p, Parcel *q, const void *at, Document_part part)
{
    bug_if(part.bytes > PART_BYTES);
    q = room_for_part(p, q, part.bytes, 0, false);
    if (part.bytes) memcpy(q->text + q->bytes, at, (size_t)part.bytes);
    part.begin = q->bytes;
    q->part[q->parts++] = part;
    q->bytes += (part.bytes + 3) & ~INT64_C(3);
    return q;
}

/* Adds the parts of one place: the halves of a pair, or the messages of a chat. */
static Parcel *add_pair(Parcels *p, Parcel *q, const Document *d)
{
    q = add_part_to(
        p, q, d->text,
        (Document_part){.at = d->at, .kind = PART_SOURCE, .bytes = d->bytes, .first = true, .goes_on = true});
    return add_part_to(
        p, q, d->target,
        (Document_part){.at = d->at, .kind = PART_TARGET, .bytes = d->target_bytes, .last = true, .counts = true});
}

static Parcel *add_chat(Parcels *p, Parcel *q, const Document *d)
{
    const char *at = d->text;
    for (int from = 0, end; from < d->spans; from = end) {
        Document_part part = {.at = d->at, .kind = PART_CHAT, .counts = d->span[from].counts, .first = from == 0};
        end = spans_together(p->tokenizer, at, d->span, d->spans, from, &part.plain);
        for (int k = from; k < end; k++) part.bytes += d->span[k].bytes;
        part.last = end == d->spans;
        part.goes_on = !part.last;
        q = add_part_to(p, q, at, part);
        at += part.bytes;
    }
    return q;
}

/* Refuses kinds of documents that the model cannot use. */
static void refuse_kind(const Parcels *p, const Document *d)
{
    if (p->o.pairs && !d->target)
        fail(EXIT_DATA, source_place(p->sources, &d->at),
             "expected a pair of source and target, found a text; give JSON lines or a table with both; if they have "
             "other names, give --set text_field=NAME --set target_field=NAME");
    if (d->span && p->sources->options.unknown_chat)
        fail(EXIT_DATA, source_place(p->sources, &d->at), "is a chat, and %s", p->sources->options.unknown_chat);
    if ((d->target || d->span) && !p->o.targets_only && !p->o.pairs && !p->o.all_count)
        fail(EXIT_DATA, source_place(p->sources, &d->at),
             "expected a text, found a %s, but this model was built to count every token; build it with --set "
             "loss_on=target, or give --set loss_on=all",
             d->target ? "pair of source and target" : "chat");
}

static Parcel *add_document(Parcels *p, Parcel *q, const Document *d, uint64_t keep)
{
    refuse_kind(p, d);
    if (d->target) return add_pair(p, q, d);
    if (d->span) return add_chat(p, q, d);
    return add_part_to(p, q, d->id_size ? d->ids : d->text,
                       (Document_part){.at = d->at,
                                       .bytes = d->id_size ? d->n_ids * d->id_size : d->bytes,
                                       .id_size = d->id_size,
                                       .counts = true,
                                       .first = d->first,
                                       .last = d->last,
                                       .hash = d->hash,
                                       .keep = keep,
                                       .skipped = !is_part_wanted(&p->o, d->hash)});
}

/* Draws the order of the files in an epoch. */
static void draw_files(Parcels *p, int64_t epoch)
{
    int n = p->sources->n;
    for (int i = 0; i < n; i++) p->files[i] = i;
    for (int i = n - 1; i > 0 && p->o.shuffle; i--) {
        int k = (int)uniform_below(p->o.seed, epoch, FILE_SITE, i, i + 1), swap = p->files[i];
        p->files[i] = p->files[k];
        p->files[k] = swap;
    }
}

/* Adds parts that an earlier run has cached; last: the place of the last. */
static Parcel *add_kept_parts(Parcels *p, Parcel *q, Place *last, bool *whole)
{
    Document_part part;
    Got_kept got;
    while ((got = next_kept(p->kept, &part)) == KEPT_PART) {
        *last = part.at;
        if (!is_part_wanted(&p->o, part.hash)) continue;
        q = room_for_part(p, q, 0, part.n, true);
        memcpy(q->ids.at + q->ids.n, part.id, sizeof *part.id * (size_t)part.n);
        q->ids.n += part.n;
        q->part[q->parts++] = part;
    }
    *whole = got == KEPT_END;
    return q;
}

/* Pairs and chats are not cached; *texts: there were only texts. */
static Parcel *add_documents(Parcels *p, Parcel *q, uint64_t keep, bool *texts)
{
    Document d;
    while (next_document(p->reader, &d)) {
        if (d.target || d.span) *texts = false;
        if ((keep && *texts) || is_part_wanted(&p->o, d.hash)) q = add_document(p, q, &d, *texts ? keep : 0);
    }
    return q;
}

/* Only a whole file is cached, if it did not change meanwhile and has no faults; these are reported each time. */
static Parcel *read_and_keep(Parcels *p, Parcel *q, int file, uint64_t key)
{
    const Counts *c = reader_counts(p->reader);
    int64_t faults = c->bad_records + c->replaced;
    bool texts = true;
    reader_file(p->reader, file, NULL);
    q = add_documents(p, q, key, &texts);
    q = room_for_part(p, q, 0, 0, false);
    bool ok = texts && c->bad_records + c->replaced == faults && has_not_changed(p->kept, file);
    q->part[q->parts++] = (Document_part){.keep = key, .ends_file = true, .last = ok};
    return q;
}

static Parcel *read_documents(Parcels *p, Parcel *q, int file, const Place *from)
{
    Place last = {.file = -1};
    Document d;
    bool whole = false, texts = true;
    uint64_t key = p->kept ? kept_key(p->kept, file) : 0;
    if (key && find_kept(p->kept, file, key, from)) q = add_kept_parts(p, q, &last, &whole);
    if (whole) return q;
    if (key && !from && last.file < 0 && !p->o.validation) return read_and_keep(p, q, file, key);
    reader_file(p->reader, file, last.file < 0 ? from : &last);
    if (last.file >= 0) next_document(p->reader, &d); /* skips it: it was cached */
    return add_documents(p, q, 0, &texts);
}

/* Reports records that were skipped and characters that were replaced; they are the same in each epoch. */
static void tell_faults(const Parcels *p, int64_t epoch)
{
    const Counts *c = reader_counts(p->reader);
    if (p->o.validation || epoch != p->start.epoch) return;
    if (c->bad_records)
        note("%s malformed record%s skipped in an epoch, the first: %s", grouped_text(c->bad_records),
             c->bad_records == 1 ? " is" : "s are", c->first_bad);
    if (c->replaced) note("U+FFFD replaces bytes that are not UTF-8 %s times in an epoch", grouped_text(c->replaced));
}

static void read_epoch(Parcels *p, int64_t epoch, const Place *from)
{
    int i = 0;
    draw_files(p, epoch);
    while (from && p->files[i] != from->file) i++;
    Parcel *q = empty_parcel(p);
    count_again(p->reader);
    for (; i < p->sources->n; i++, from = NULL) q = read_documents(p, q, p->files[i], from);
    tell_faults(p, epoch);
    q->ends_epoch = true;
    hand_on(p);
}

static void end_reading(void *parcels, int code, char *failure)
{
    Parcels *p = parcels;
    if (p->filling) hand_on(p);
    pthread_mutex_lock(&p->lock);
    p->all_read = true;
    p->failure = failure;
    p->code = code;
    pthread_cond_broadcast(&p->work);
    pthread_cond_broadcast(&p->ready);
    pthread_mutex_unlock(&p->lock);
}

static void *read_files(void *parcels)
{
    Parcels *p = parcels;
    const Place *from = p->start.from.file >= 0 ? &p->start.from : NULL;
    catch_failures(end_reading, p);
    for (int64_t epoch = p->start.epoch; epoch == p->start.epoch || !p->o.once; epoch++, from = NULL)
        read_epoch(p, epoch, from);
    end_reading(p, 0, NULL);
    return NULL;
}

/* ------------------------------------------------------------------ encoding */

static Parcel *parcel_to_encode(Parcels *p)
{
    pthread_mutex_lock(&p->lock);
    while (p->taken == p->filled && !p->all_read && !p->stop) pthread_cond_wait(&p->work, &p->lock);
    Parcel *q = p->taken < p->filled && !p->stop ? parcel(p, p->taken++) : NULL;
    pthread_mutex_unlock(&p->lock);
    return q;
}

static void finish_parcel(void *worker, int code, char *failure)
{
    Worker *w = worker;
    pthread_mutex_lock(&w->p->lock);
    w->parcel->ready = true;
    w->parcel->failure = failure;
    w->parcel->code = code;
    pthread_cond_signal(&w->p->ready);
    pthread_mutex_unlock(&w->p->lock);
}

static void *encode_parcels(void *worker)
{
    Worker *w = worker;
    catch_failures(finish_parcel, w);
    while ((w->parcel = parcel_to_encode(w->p))) {
        encode_parcel(w->p->sources, w->p->o.ids, w->encoder, w->parcel);
        finish_parcel(w, 0, NULL);
    }
    return NULL;
}

/* ------------------------------------------------------------------ in order again */

static Parcel *parcel_to_use(Parcels *p)
{
    Parcel *q = parcel(p, p->used);
    pthread_mutex_lock(&p->lock);
    for (;;) {
        bool there = p->used < p->filled && q->ready, none = p->all_read && p->used == p->filled;
        if (there || none || p->stop) {
            pthread_mutex_unlock(&p->lock);
            return there && !q->failure ? q : NULL;
        }
        pthread_cond_wait(&p->ready, &p->lock);
    }
}

static void free_slot(Parcels *p)
{
    pthread_mutex_lock(&p->lock);
    p->used++;
    pthread_cond_signal(&p->room);
    pthread_mutex_unlock(&p->lock);
    p->next = 0;
}

Next next_part(Parcels *p, Document_part *part)
{
    for (;;) {
        Parcel *q = parcel_to_use(p);
        if (!q) return NEXT_NONE;
        while (p->next < q->parts) {
            *part = q->part[p->next++];
            if (part->keep) keep_part(p->kept, part);
            if (!part->skipped && !part->ends_file) return NEXT_PART;
        }
        bool ends = q->ends_epoch;
        free_slot(p);
        if (ends) return NEXT_EPOCH;
    }
}

char *parcels_failure(Parcels *p, int *code)
{
    const Parcel *q = parcel(p, p->used);
    pthread_mutex_lock(&p->lock);
    bool own = p->used < p->filled && q->ready && q->failure;
    char *text = own ? q->failure : p->used == p->filled ? p->failure : NULL;
    *code = own ? q->code : p->code;
    pthread_mutex_unlock(&p->lock);
    return text;
}

/* ------------------------------------------------------------------ opening and closing */

static int64_t cut_of_encoder(void *encoder, const char *text, int64_t n) { return safe_cut(encoder, text, n); }

static void make_slots(Parcels *p)
{
    p->slot = must_alloc(sizeof *p->slot * (size_t)p->slots);
    for (int i = 0; i < p->slots; i++) {
        p->slot[i].text = must_alloc(PART_BYTES);
        p->slot[i].part = must_alloc(sizeof(Document_part) * PARCEL_PARTS);
        p->slot[i].ids = (Ids){must_alloc(sizeof(int32_t) * PART_BYTES), 0, PART_BYTES};
    }
}

static void need_thread(pthread_t *thread, void *(*run)(void *), void *with)
{
    if (!start_thread(thread, run, with))
        fail(EXIT_ERROR, NULL, "a thread that prepares the data cannot be started; give fewer --readers");
}

static void start_threads(Parcels *p)
{
    p->kept = p->tokenizer && !p->o.pairs ? open_kept(p->sources, p->tokenizer) : NULL;
    p->cutter = p->tokenizer ? open_encoder(p->tokenizer) : NULL;
    p->reader = open_reader(p->sources, PART_BYTES, p->cutter ? cut_of_encoder : NULL, p->cutter);
    need_thread(&p->reader_thread, read_files, p);
    for (int i = 0; i < p->encoders; i++) {
        p->worker[i] = (Worker){.p = p, .encoder = p->tokenizer ? open_encoder(p->tokenizer) : NULL};
        need_thread(&p->worker[i].thread, encode_parcels, &p->worker[i]);
    }
}

Parcels *open_parcels(const Sources *from, const Tokenizer *t, const Order *o, int encoders, const Stream_at *at)
{
    Parcels *p = must_alloc(sizeof *p);
    *p = (Parcels){.sources = from, .tokenizer = t, .o = *o, .start = *at, .encoders = encoders};
    p->slots = (int)lathe_parcels(encoders);
    p->files = must_alloc(sizeof *p->files * (size_t)from->n);
    p->worker = must_alloc(sizeof *p->worker * (size_t)encoders);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->room, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->ready, NULL);
    make_slots(p);
    start_threads(p);
    return p;
}

void stop_parcels(Parcels *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->room);
    pthread_cond_broadcast(&p->work);
    pthread_cond_broadcast(&p->ready);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->reader_thread, NULL);
    for (int i = 0; i < p->encoders; i++) pthread_join(p->worker[i].thread, NULL);
}

void close_parcels(Parcels *p)
{
    for (int i = 0; i < p->slots; i++) {
        free(p->slot[i].text);
        free(p->slot[i].part);
        free_ids(&p->slot[i].ids);
    }
    for (int i = 0; i < p->encoders; i++)
        if (p->worker[i].encoder) close_encoder(p->worker[i].encoder);
    if (p->cutter) close_encoder(p->cutter);
    close_reader(p->reader);
    close_kept(p->kept);
    pthread_cond_destroy(&p->room);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->ready);
    pthread_mutex_destroy(&p->lock);
    void *const all[] = {p->slot, p->files, p->worker, p->failure, p};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}
