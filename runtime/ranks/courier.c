/* courier.c: the thread that owns the carrier: it carries out exchanges in order, and keeps up the words between ranks
 * (beats.c).
 *
 * Exchanges of a line start in their order on every rank, so that the k-th message from one rank to another is the same
 * on both sides.  An exchange whose memory an earlier one still uses waits for that one; later ones then wait, too.
 * There are two lines: of pieces of arrays, and of what somebody waits for, which overtakes those. */
#include "ranks/courier.h"
#include "base/thread.h"
#include "base/words.h"
#include "ranks/beats.h"
#include "ranks/carrier.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_BEGUN = 256, ENDED = -1 };
enum { OF_WORK, OF_SOON, LINES };

typedef struct Exchange {
    Piece *piece;  /* [ranks] */
    int *out, *in; /* [ranks]: messages; ENDED */
    int64_t after;
    void (*finish)(void *);
    void *with;
} Exchange;

typedef struct Line {
    Channel channel;
    Exchange all[MOST_BEGUN];
    int64_t begun, started, ended; /* exchanges */
} Line;

static struct Courier {
    const Carrier *carrier;
    const Carrier *(*open)(void *, const char **);
    void *with;
    const char *refusal;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t told, changed; /* the thread has something to do; an exchange has ended, or this rank has failed */
    Line lines[LINES];
    bool (*tell)(int code, const char *text);
    double closing;                      /* since then; another rank that hangs can hinder it */
    bool closed, opened, ending, failed; /* failed: this rank has, and has told */
} courier = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .told = PTHREAD_COND_INITIALIZER,
             .changed = PTHREAD_COND_INITIALIZER,
             .lines = {{.channel = CHANNEL_WORK}, {.channel = CHANNEL_SOON}}};

const Carrier *carrier_in_use(void) { return courier.carrier; }

/* ------------------------------------------------------------------ messages */

static Exchange *exchange_at(Line *l, int64_t number) { return &l->all[number % MOST_BEGUN]; }

static void start_messages(Exchange *x, Channel channel)
{
    const Carrier *c = courier.carrier;
    for (int k = 0; k < c->ranks; k++) {
        const Piece *p = &x->piece[k];
        x->in[k] = k != c->rank && p->in_bytes ? c->receive(k, channel, p->in, p->in_bytes) : ENDED;
    }
    for (int i = 1; i < c->ranks; i++) { /* each begins with another one */
        const int k = (c->rank + i) % c->ranks;
        const Piece *p = &x->piece[k];
        x->out[k] = p->out_bytes ? c->send(k, channel, p->out, p->out_bytes) : ENDED;
    }
    x->out[c->rank] = ENDED;
}

static bool all_have_ended(Exchange *x)
{
    const Carrier *c = courier.carrier;
    bool all = true;
    for (int k = 0; k < c->ranks; k++) {
        if (x->in[k] != ENDED && c->ended(x->in[k])) x->in[k] = ENDED;
        if (x->out[k] != ENDED && c->ended(x->out[k])) x->out[k] = ENDED;
        all &= x->in[k] == ENDED && x->out[k] == ENDED;
    }
    return all;
}

static int64_t begun_of(const Line *l)
{
    pthread_mutex_lock(&courier.lock);
    const int64_t begun = l->begun;
    pthread_mutex_unlock(&courier.lock);
    return begun;
}

/* Returns whether anything is under way. */
static bool carry_on(Line *l)
{
    const int64_t begun = begun_of(l);
    while (l->started < begun && exchange_at(l, l->started + 1)->after <= l->ended) {
        l->started++;
        start_messages(exchange_at(l, l->started), l->channel);
    }
    while (l->ended < l->started && all_have_ended(exchange_at(l, l->ended + 1))) {
        Exchange *x = exchange_at(l, l->ended + 1);
        if (x->finish) x->finish(x->with);
        pthread_mutex_lock(&courier.lock);
        l->ended++;
        pthread_cond_broadcast(&courier.changed);
        pthread_mutex_unlock(&courier.lock);
    }
    return l->ended < begun;
}

static bool carry_all(void)
{
    bool busy = false;
    for (int k = LINES - 1; k >= 0; k--) busy |= carry_on(&courier.lines[k]);
    return busy;
}

/* ------------------------------------------------------------------ the thread */

/* Nothing is under way: sleeps until something is, or the next beat is due. */
static void wait_for_work(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&courier.lock);
    bool busy = courier.ending;
    for (int k = 0; k < LINES; k++) busy |= courier.lines[k].begun > courier.lines[k].ended;
    if (!busy) pthread_cond_timedwait(&courier.told, &courier.lock, &until);
    pthread_mutex_unlock(&courier.lock);
}

static bool is_ending(void)
{
    pthread_mutex_lock(&courier.lock);
    const bool ending = courier.ending;
    pthread_mutex_unlock(&courier.lock);
    return ending;
}

static void make_exchanges(void)
{
    const size_t n = (size_t)courier.carrier->ranks;
    for (int i = 0; i < LINES * MOST_BEGUN; i++) {
        Exchange *x = &courier.lines[i / MOST_BEGUN].all[i % MOST_BEGUN];
        x->piece = must_alloc(n * sizeof *x->piece);
        x->out = must_alloc(n * sizeof *x->out);
        x->in = must_alloc(n * sizeof *x->in);
    }
}

/* The thread that failed goes on when the words about it are said; otherwise this process ends here. */
static void end_with_failure(void)
{
    int code;
    end_failed(courier.tell);
    if (!fails_by_itself() && ranks_failure(&code)) courier.carrier->leave(code);
    pthread_mutex_lock(&courier.lock);
    courier.failed = true;
    pthread_cond_broadcast(&courier.changed);
    pthread_mutex_unlock(&courier.lock);
}

static void note_close(double since, bool closed)
{
    pthread_mutex_lock(&courier.lock);
    courier.closing = since;
    courier.closed = closed;
    pthread_cond_broadcast(&courier.changed);
    pthread_mutex_unlock(&courier.lock);
}

static void close_carrier(void)
{
    note_close(seconds_now(), false);
    courier.carrier->close();
}

/* The lock is held.  Until something has changed, or a while has passed. */
static void wait_a_while(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_cond_timedwait(&courier.changed, &courier.lock, &until);
}

static void *carry(void *unused)
{
    const char *refusal = NULL;
    const Carrier *c = courier.open(courier.with, &refusal);
    courier.carrier = c;
    if (c) make_exchanges(), start_beats(c);
    pthread_mutex_lock(&courier.lock);
    courier.refusal = refusal;
    courier.opened = true;
    pthread_cond_broadcast(&courier.changed);
    pthread_mutex_unlock(&courier.lock);
    if (!c) return unused;
    for (bool busy = true;;) {
        if (!is_ending() || busy) busy = carry_all();
        const Beat_state state = beat(is_ending() && !busy);
        if (state == BEATS_FAILED) end_with_failure(), pthread_detach(pthread_self());
        if (state == BEATS_ENDED) close_carrier();
        if (state == BEATS_FAILED || state == BEATS_ENDED || state == BEATS_PARTED) break;
        if (busy) c->pause(0.001);
        else wait_for_work();
    }
    note_close(0, true);
    return unused;
}

const char *start_courier(const Carrier *(*open)(void *with, const char **refusal), void *with)
{
    courier.open = open;
    courier.with = with;
    if (!start_thread(&courier.thread, carry, NULL)) return "the system refused a thread";
    const double from = seconds_now(), most = 8 * ranks_patience();
    pthread_mutex_lock(&courier.lock);
    while (!courier.opened && seconds_now() - from < most) wait_a_while();
    const bool opened = courier.opened;
    pthread_mutex_unlock(&courier.lock);
    if (!opened) return text_of("the ranks have not found each other for %.0f s; one may hang, or its machine", most);
    if (!courier.carrier) pthread_join(courier.thread, NULL);
    return courier.carrier ? NULL : courier.refusal;
}

void end_courier(void)
{
    if (!courier.carrier) return;
    pthread_mutex_lock(&courier.lock);
    courier.ending = true;
    pthread_cond_signal(&courier.told);
    while (!courier.closed && !(courier.closing > 0 && seconds_now() - courier.closing > ranks_patience()))
        wait_a_while();
    const bool closed = courier.closed, failed = courier.failed; /* then it has detached itself */
    pthread_mutex_unlock(&courier.lock);
    if (failed) return;
    if (closed) pthread_join(courier.thread, NULL);
    else pthread_detach(courier.thread);
}

/* ------------------------------------------------------------------ what others call */

static int64_t begin_in(Line *l, const Piece *piece, int64_t after, void (*finish)(void *with), void *with)
{
    pthread_mutex_lock(&courier.lock);
    while (l->begun - l->ended >= MOST_BEGUN - 1 && !courier.failed) pthread_cond_wait(&courier.changed, &courier.lock);
    const int64_t number = l->begun + 1;
    Exchange *x = exchange_at(l, number);
    memcpy(x->piece, piece, (size_t)courier.carrier->ranks * sizeof *piece);
    x->after = after;
    x->finish = finish;
    x->with = with;
    l->begun = number;
    pthread_cond_signal(&courier.told);
    pthread_mutex_unlock(&courier.lock);
    return number;
}

static bool wait_in(Line *l, int64_t number)
{
    pthread_mutex_lock(&courier.lock);
    while (l->ended < number && !courier.failed) pthread_cond_wait(&courier.changed, &courier.lock);
    const bool fine = l->ended >= number;
    pthread_mutex_unlock(&courier.lock);
    return fine;
}

int64_t begin_exchange(const Piece *piece, int64_t after, void (*finish)(void *with), void *with)
{
    return begin_in(&courier.lines[OF_WORK], piece, after, finish, with);
}

bool wait_for_exchange(int64_t number) { return wait_in(&courier.lines[OF_WORK], number); }

bool exchange(const Piece *piece)
{
    Line *l = &courier.lines[OF_SOON];
    return wait_in(l, begin_in(l, piece, 0, NULL, NULL));
}

void when_ranks_fail(bool (*tell)(int code, const char *text)) { courier.tell = tell; }

bool tell_own_failure(int code, const char *text)
{
    int before;
    if (!courier.carrier || pthread_equal(pthread_self(), courier.thread)) return false;
    if (!ranks_failure(&before)) fail_by_itself(code, text);
    pthread_mutex_lock(&courier.lock);
    while (!courier.failed) pthread_cond_wait(&courier.changed, &courier.lock);
    pthread_mutex_unlock(&courier.lock);
    return failure_was_told();
}
