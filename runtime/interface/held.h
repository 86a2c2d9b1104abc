/* held.h: which parameters and gradients each of several ranks has at hand, built with --shard-parameters (ZeRO-3,
 * Rajbhandari et al. 2020).
 *
 * A rank keeps its own elements (dealt.h) of parameters and gradients.  Beside these it has rooms of one bucket each: of
 * every bucket of parameters that an entry needs now, and of every bucket of gradients from its first that is begun to
 * its last that is done.  What entries say is in their tables, so the plan and the trainer count the same rooms. */
#ifndef LATHE_INTERFACE_HELD_H
#define LATHE_INTERFACE_HELD_H

#include "dealt.h"

/* Buckets of parameters that are fetched before they are needed; of gradients that are on their way once done. */
enum { LATHE_BUCKETS_AHEAD = 2 };

/* Elements at hand: pieces in any order, some within others. */
typedef struct Lathe_held {
    Lathe_said *at; /* [as many as there are sayings] */
    int n;
} Lathe_held;

static inline bool lathe_within(const Lathe_said *a, const Lathe_said *b)
{
    return b->first <= a->first && a->first + a->count <= b->first + b->count;
}

static inline void lathe_hold(Lathe_held *h, Lathe_said piece)
{
    for (int i = 0; i < h->n; i++)
        if (lathe_within(&piece, &h->at[i])) return;
    h->at[h->n++] = piece;
}

static inline void lathe_let_go(Lathe_held *h, Lathe_said piece)
{
    int n = 0;
    for (int i = 0; i < h->n; i++)
        if (!lathe_within(&h->at[i], &piece)) h->at[n++] = h->at[i];
    h->n = n;
}

/* The buckets that have elements of a piece: *first … *end - 1.  Frozen parameters lie behind all of them. */
static inline void lathe_buckets_of(const Lathe_deal *d, Lathe_said piece, int *first, int *end)
{
    const int64_t each = d->each * LATHE_STEP_CHUNK, last = piece.first + piece.count < d->n ? piece.first + piece.count : d->n;
    *first = (int)(piece.first / each);
    *end = (int)((last + each - 1) / each);
}

static inline bool lathe_holds_bucket(const Lathe_held *h, const Lathe_deal *d, int k)
{
    int first, end;
    for (int i = 0; i < h->n; i++) {
        lathe_buckets_of(d, h->at[i], &first, &end);
        if (first <= k && k < end) return true;
    }
    return false;
}

static inline int lathe_buckets_held(const Lathe_held *h, const Lathe_deal *d)
{
    int n = 0;
    for (int k = 0; k < d->buckets; k++) n += lathe_holds_bucket(h, d, k);
    return n;
}

/* The most buckets of parameters at once in an entry.  room: [sayings]. */
static inline int lathe_most_needed(const Lathe_said *said, int sayings, const Lathe_deal *d, Lathe_said *room)
{
    Lathe_held h = {room, 0};
    int most = 0;
    for (const Lathe_said *s = said; s < said + sayings; s++) {
        if (s->what == LATHE_NEEDED) lathe_hold(&h, *s);
        if (s->what == LATHE_DROPPED) lathe_let_go(&h, *s);
        const int n = lathe_buckets_held(&h, d);
        if (n > most) most = n;
    }
    return most;
}

/* Of gradients. */
static inline int lathe_most_begun(const Lathe_said *said, int sayings, const Lathe_deal *d)
{
    const int64_t each = d->each * LATHE_STEP_CHUNK;
    int64_t left[LATHE_MOST_DEALT]; /* elements that are not done */
    bool begun[LATHE_MOST_DEALT] = {false};
    int n = 0, most = 0, first, end;
    for (int k = 0; k < d->buckets; k++) left[k] = lathe_dealt_to(d, k, 0, 1).count;
    for (const Lathe_said *s = said; s < said + sayings; s++) {
        if (s->what != LATHE_BEGUN && s->what != LATHE_DONE) continue;
        const int64_t to = lathe_dealt_piece_end(d, s->first + s->count);
        lathe_buckets_of(d, *s, &first, &end);
        for (int k = first; k < end; k++) {
            const int64_t from = k * each > s->first ? k * each : s->first, past = (k + 1) * each < to ? (k + 1) * each : to;
            if (s->what == LATHE_BEGUN) n += !begun[k], begun[k] = true;
            else left[k] -= past - from, n -= left[k] == 0;
        }
        if (n > most) most = n;
    }
    return most;
}

/* With what is fetched ahead, or on its way once it is done. */
static inline int lathe_rooms_for(const Lathe_deal *d, int most)
{
    return most + LATHE_BUCKETS_AHEAD < d->buckets ? most + LATHE_BUCKETS_AHEAD : d->buckets;
}

/* Bytes of such an array in a rank: its own elements, then the rooms. */
static inline int64_t lathe_own_bytes(const Lathe_deal *d, int64_t element)
{
    return (lathe_dealt_room(d, d->n) * element + 63) / 64 * 64;
}
static inline int64_t lathe_bucket_bytes(const Lathe_deal *d, int64_t element) { return d->each * LATHE_STEP_CHUNK * element; }
static inline int64_t lathe_held_bytes(const Lathe_deal *d, int rooms, int64_t element)
{
    return lathe_own_bytes(d, element) + rooms * lathe_bucket_bytes(d, element);
}

#endif
