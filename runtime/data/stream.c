/* stream.c: a stream of rows: a thread fills and cuts one block while the caller takes rows from the other.
 *
 * The caller's place (Stream_at) is in the block it takes rows from; blocks without rows are handed over too, because
 * an epoch may end with one.  The caller waits on a semaphore, because a signal handler may post one: a run that waits
 * for a silent pipe can still be ended. */
#include "base/thread.h"
#include "base/words.h"
#include "data/stream.h"
#include "source/source.h"
#include "token/tokenizer.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

struct Row_stream {
    Order o;
    const Sources *sources;
    Parcels *parcels;
    Block block[2];       /* the k-th block is block[k % 2] */
    int64_t filled, used; /* blocks: by the thread, by the caller */
    bool ended, stop;     /* ended: no block follows */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a block is free, or the stream is being closed */
    sem_t news;             /* a block is ready, or none follows: for the caller */
    pthread_t thread;
    int code; /* of the failure */
    char *failure;
    /* of the caller */
    Stream_at at;
    Block *now; /* the block that rows are taken from; NULL: none yet */
    bool resumed, epoch_ended;
    Stream_sum epoch; /* the epoch that has ended */
};

int64_t stream_bytes(const Order *o, const Tokenizer *t, int encoders)
{
    return parcels_bytes(o, t, encoders) + 2 * block_bytes(o);
}

/* ------------------------------------------------------------------ the thread */

static Block *free_block(Row_stream *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->filled - s->used == 2 && !s->stop) pthread_cond_wait(&s->changed, &s->lock);
    Block *b = s->stop ? NULL : &s->block[s->filled % 2];
    pthread_mutex_unlock(&s->lock);
    return b;
}

static void hand_over(Row_stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->filled++;
    pthread_mutex_unlock(&s->lock);
    sem_post(&s->news);
}

static void end_stream(void *stream, int code, char *text)
{
    Row_stream *s = stream;
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    s->code = code;
    s->failure = text;
    pthread_mutex_unlock(&s->lock);
    sem_post(&s->news);
}

/* False: there is no more data. */
static bool fill_block(Row_stream *s, Block *b, int64_t epoch, int64_t number, int64_t rows_before)
{
    Document_part part;
    Next next = NEXT_PART;
    bool within = false;
    start_rows(b);
    b->epoch = epoch;
    b->number = number;
    b->rows_before = rows_before;
    b->from = (Place){.file = -1};
    while ((within || !block_is_full(b, &s->o)) && (next = next_part(s->parcels, &part)) == NEXT_PART) {
        if (b->from.file < 0) b->from = part.at;
        add_part(b, &s->o, &part);
        within = part.goes_on;
    }
    b->last = next == NEXT_EPOCH;
    if (next == NEXT_NONE) return false;
    cut_rows(b, &s->o);
    return true;
}

static void refuse_no_rows(const Row_stream *s)
{
    fail(EXIT_DATA, s->sources->file[0].path,
         "expected %s with at least %lld tokens, found none%s; give more text, or rebuild with a shorter --set seq=N",
         s->o.pack ? "documents" : "data", s->o.pack ? 2LL : (long long)s->o.seq + 1,
         s->o.val_fraction <= 0 ? ""
         : s->o.validation      ? " among the documents for evaluation (--val-fraction)"
                                : " beside the documents for evaluation (--val-fraction)");
}

static void *fill_blocks(void *stream)
{
    Row_stream *s = stream;
    int64_t epoch = s->at.epoch, number = s->at.block, rows = number, all = s->at.taken - s->at.used;
    catch_failures(end_stream, s);
    for (Block *b; (b = free_block(s)) && fill_block(s, b, epoch, number, all);) {
        bool last = b->last;
        number++;
        rows += b->rows;
        all += b->rows;
        if (last && rows == 0 && !s->o.validation) refuse_no_rows(s);
        hand_over(s); /* from now on b may be filled again */
        if (!last) continue;
        epoch++;
        number = rows = 0;
    }
    int code;
    char *text = parcels_failure(s->parcels, &code);
    end_stream(s, code, text);
    return NULL;
}

/* ------------------------------------------------------------------ taking rows */

static void add_sum(Stream_sum *to, const Block *b)
{
    to->documents += b->documents;
    to->tokens += b->ids;
    to->rows += b->rows;
    to->predicted += b->predicted;
    add_pairs(&to->pairs, &b->sum);
}

static void end_epoch(Row_stream *s)
{
    s->epoch = s->at.before;
    s->epoch.epoch = s->now->epoch;
    add_sum(&s->epoch, s->now);
    s->epoch_ended = true;
}

/* Called after a block's last row. */
static void finish_block(Row_stream *s)
{
    if (s->now->last && s->now->rows == 0) end_epoch(s);
    if (s->now->last) s->at.before = (Stream_sum){0};
    else add_sum(&s->at.before, s->now);
}

static Row_stream *_Atomic waiting; /* the stream that the caller waits for */
static volatile sig_atomic_t waits_end;

void end_waits(void)
{
    waits_end = 1;
    Row_stream *s = waiting;
    if (s) sem_post(&s->news);
}

static void free_used_block(Row_stream *s)
{
    if (!s->now) return;
    pthread_mutex_lock(&s->lock);
    s->used++;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    s->now = NULL;
}

static bool find_block(Row_stream *s)
{
    pthread_mutex_lock(&s->lock);
    bool known = s->filled > s->used || s->ended;
    if (s->filled > s->used) s->now = &s->block[s->used % 2];
    pthread_mutex_unlock(&s->lock);
    return known;
}

static void wait_for_block(Row_stream *s)
{
    free_used_block(s);
    waiting = s;
    while (!find_block(s) && !waits_end) sem_wait(&s->news);
    waiting = NULL;
}

/* Checks a place from a checkpoint: changed files may have fewer rows in the block. */
static void check_place(const Row_stream *s)
{
    if (s->at.used <= s->now->rows) return;
    fail(EXIT_DATA, s->sources->file[0].path,
         "the checkpoint has used %lld sequences of a block that now has %lld: the data or its settings have changed; "
         "restore them, or start a new run from the weights with --init",
         (long long)s->at.used, (long long)s->now->rows);
}

static bool next_block(Row_stream *s)
{
    if (s->now) finish_block(s);
    wait_for_block(s);
    if (!s->now) return false;
    s->at.epoch = s->now->epoch;
    s->at.block = s->now->number;
    s->at.from = s->now->from;
    if (s->resumed) check_place(s);
    else s->at.used = 0;
    s->resumed = false;
    return true;
}

static bool next_row(Row_stream *s, int64_t *k)
{
    while (!s->now || s->at.used == s->now->rows)
        if (!next_block(s)) return false;
    *k = s->at.used++;
    s->at.taken++;
    s->at.predicted += row_targets(s->now, &s->o, *k);
    if (s->now->last && s->at.used == s->now->rows) end_epoch(s);
    return true;
}

static bool take_rows(Row_stream *s, int64_t n, const Rows *to)
{
    Stream_at before = s->at;
    for (int64_t r = 0, k; r < n; r++) {
        if (next_row(s, &k)) {
            if (to) read_row(s->now, &s->o, k, to, to->from + r);
            continue;
        }
        s->at = before;
        return false;
    }
    return true;
}

bool stream_rows(Row_stream *s, const Rows *to) { return take_rows(s, to->n, to); }
bool skip_rows(Row_stream *s, int64_t n) { return take_rows(s, n, NULL); }

bool take_block(Row_stream *s, Block *b)
{
    if (!next_block(s)) return false;
    *b = *s->now;
    *s->now = (Block){0};
    return true;
}

/* ------------------------------------------------------------------ state */

Stream_at stream_at(const Row_stream *s) { return s->at; }
const Block *block_in_use(const Row_stream *s) { return s->now; }

const char *stream_failure(Row_stream *s, int *code)
{
    pthread_mutex_lock(&s->lock);
    const char *text = s->failure;
    *code = s->code;
    pthread_mutex_unlock(&s->lock);
    return text;
}

bool epoch_ended(Row_stream *s, Stream_sum *of)
{
    bool ended = s->epoch_ended;
    *of = s->epoch;
    s->epoch_ended = false;
    return ended;
}

double stream_fill(Row_stream *s)
{
    if (!s->now || s->now->rows == 0) return 0;
    pthread_mutex_lock(&s->lock);
    int64_t ready = s->now->rows - s->at.used, most = 2 * s->now->rows;
    if (s->filled - s->used == 2) ready += s->block[(s->used + 1) % 2].rows;
    pthread_mutex_unlock(&s->lock);
    return ready < most ? (double)ready / (double)most : 1;
}

/* ------------------------------------------------------------------ opening and closing */

Row_stream *open_stream(const Sources *from, const Tokenizer *t, const Order *o, int encoders, const Stream_at *at)
{
    Row_stream *s = must_alloc(sizeof *s);
    *s = (Row_stream){.o = *o, .sources = from, .at.from.file = -1, .resumed = at != NULL};
    if (at) s->at = *at;
    for (int i = 0; i < 2; i++) open_rows(&s->block[i], o);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    sem_init(&s->news, 0, 0);
    s->parcels = open_parcels(from, t, o, encoders, &s->at);
    if (!start_thread(&s->thread, fill_blocks, s))
        fail(EXIT_ERROR, NULL, "the thread that packs the data cannot be started");
    return s;
}

void close_stream(Row_stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    stop_parcels(s->parcels);
    pthread_join(s->thread, NULL);
    close_parcels(s->parcels);
    for (int i = 0; i < 2; i++) close_rows(&s->block[i]);
    pthread_cond_destroy(&s->changed);
    sem_destroy(&s->news);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
