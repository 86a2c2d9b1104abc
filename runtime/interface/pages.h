/* pages.h: where a GPU has the parameters and gradients that an entry needs, if each of several GPUs keeps only its own
 * (--shard-parameters; ZeRO-3, Rajbhandari et al. 2020).  For C and C++, the compiler's plan and the trainer.
 *
 * Entries see whole arrays.  Each page of their addresses is mapped once, before the first step, to a room: a page of
 * memory.  Buckets (shard.h) that are at hand at the same time in any entry never share a room, others may.  So nothing
 * is mapped while steps run, and they stay graphs.  Buckets need not begin at pages: a page may have the end of one and
 * the beginning of the next. */
#ifndef LATHE_INTERFACE_PAGES_H
#define LATHE_INTERFACE_PAGES_H

#include "held.h"
#include "shard.h"

enum { LATHE_PAGE_BYTES = 2 << 20, LATHE_SET_WORDS = 3 };

typedef struct Lathe_set { /* of buckets */
    uint64_t word[LATHE_SET_WORDS];
} Lathe_set;

static inline bool lathe_has(const Lathe_set *s, int k) { return s->word[k / 64] >> k % 64 & 1; }
static inline void lathe_add(Lathe_set *s, int k) { s->word[k / 64] |= (uint64_t)1 << k % 64; }
static inline void lathe_remove(Lathe_set *s, int k) { s->word[k / 64] &= ~((uint64_t)1 << k % 64); }

static inline void lathe_unite(Lathe_set *s, const Lathe_set *with)
{
    for (int i = 0; i < LATHE_SET_WORDS; i++) s->word[i] |= with->word[i];
}

static inline bool lathe_meet(const Lathe_set *a, const Lathe_set *b)
{
    bool meet = false;
    for (int i = 0; i < LATHE_SET_WORDS; i++) meet |= (a->word[i] & b->word[i]) != 0;
    return meet;
}

/* Those with elements first … end - 1; parameters begin at multiples of 16 elements (dealt.h). */
static inline Lathe_part lathe_in_bucket(const Lathe_shards *s, int k, int64_t first, int64_t end)
{
    Lathe_part p = lathe_bucket(s, k);
    const int64_t whole = (end + 15) / 16 * 16, last = p.first + p.count;
    if (first > p.first) p.first = first;
    p.count = (whole < last ? whole : last) - p.first;
    return p;
}

static inline Lathe_set lathe_buckets_with(const Lathe_shards *s, const Lathe_said *piece)
{
    Lathe_set set = {{0}};
    for (int k = 0; k < s->buckets; k++)
        if (lathe_in_bucket(s, k, piece->first, piece->first + piece->count).count > 0) lathe_add(&set, k);
    return set;
}

/* ---- parameters: what is at hand after what an entry has said */

typedef struct Lathe_reads {
    const Lathe_shards *shards;
    const Lathe_said *said;
    int sayings;
    Lathe_held held;
    Lathe_set here;             /* buckets: needed, or fetched ahead */
} Lathe_reads;

/* room: [sayings] */
static inline void lathe_begin_reads(Lathe_reads *r, const Lathe_shards *s, const Lathe_said *said, int sayings, Lathe_said *room)
{
    const Lathe_reads begin = {s, said, sayings, {room, 0}, {{0}}};
    *r = begin;
}

static inline Lathe_set lathe_needed(const Lathe_reads *r)
{
    Lathe_set set = {{0}};
    for (int i = 0; i < r->held.n; i++) {
        const Lathe_set more = lathe_buckets_with(r->shards, &r->held.at[i]);
        lathe_unite(&set, &more);
    }
    return set;
}

/* Into order, behind the n that it has: buckets of the piece that are not in `wanted`, which then has them. */
static inline int lathe_want(const Lathe_reads *r, const Lathe_said *piece, Lathe_set *wanted, int *order, int n, int most)
{
    const Lathe_set set = lathe_buckets_with(r->shards, piece);
    for (int k = 0; k < r->shards->buckets && n < most; k++) {
        if (!lathe_has(&set, k) || lathe_has(wanted, k)) continue;
        lathe_add(wanted, k);
        order[n++] = k;
    }
    return n;
}

/* The i-th thing is said.  The buckets to fetch, in this order: what is needed now, then what is needed next.  Returns
 * their number. */
static inline int lathe_read(Lathe_reads *r, int i, int *fetch)
{
    const Lathe_said *s = &r->said[i];
    Lathe_set wanted;
    int n = 0, ahead[LATHE_BUCKETS_AHEAD], next = 0;
    if (s->what == LATHE_NEEDED) {
        lathe_hold(&r->held, *s);
        n = lathe_want(r, s, &r->here, fetch, 0, r->shards->buckets);
    } else if (s->what == LATHE_DROPPED) lathe_let_go(&r->held, *s);
    else return 0;
    wanted = lathe_needed(r);
    for (int k = i + 1; k < r->sayings && next < LATHE_BUCKETS_AHEAD; k++)
        if (r->said[k].what == LATHE_NEEDED) next = lathe_want(r, &r->said[k], &wanted, ahead, next, LATHE_BUCKETS_AHEAD);
    for (int k = 0; k < r->shards->buckets; k++)
        if (!lathe_has(&wanted, k)) lathe_remove(&r->here, k);
    for (int k = 0; k < next && s->what == LATHE_NEEDED; k++) {
        if (lathe_has(&r->here, ahead[k])) continue;
        lathe_add(&r->here, ahead[k]);
        fetch[n++] = ahead[k];
    }
    return n;
}

/* ---- gradients */

enum { LATHE_ALL_BUCKETS = 64 * LATHE_SET_WORDS };
typedef struct Lathe_writes {
    const Lathe_shards *shards;
    int64_t left[LATHE_ALL_BUCKETS]; /* elements that are not done */
    Lathe_set begun, here;      /* here: without those that have been done for a while */
    int done, order[LATHE_ALL_BUCKETS];
} Lathe_writes;

static inline void lathe_begin_writes(Lathe_writes *w, const Lathe_shards *s)
{
    const Lathe_set none = {{0}};
    w->shards = s;
    w->begun = w->here = none;
    w->done = 0;
    for (int k = 0; k < s->buckets; k++) w->left[k] = lathe_bucket(s, k).count;
}

static inline void lathe_bucket_is_done(Lathe_writes *w, int k)
{
    w->left[k] = 0;
    w->order[w->done++] = k;
    if (w->done > LATHE_BUCKETS_AHEAD) lathe_remove(&w->here, w->order[w->done - 1 - LATHE_BUCKETS_AHEAD]);
}

/* Something is said.  The buckets that begin, or that are done.  Returns their number. */
static inline int lathe_write(Lathe_writes *w, const Lathe_said *s, int *which)
{
    int n = 0;
    for (int k = 0; k < w->shards->buckets && (s->what == LATHE_BEGUN || s->what == LATHE_DONE); k++) {
        const Lathe_part p = lathe_in_bucket(w->shards, k, s->first, s->first + s->count);
        if (p.count <= 0 || (s->what == LATHE_BEGUN && lathe_has(&w->begun, k))) continue;
        if (s->what == LATHE_DONE && (w->left[k] -= p.count) > 0) continue;
        which[n++] = k;
        if (s->what == LATHE_DONE) lathe_bucket_is_done(w, k);
        else lathe_add(&w->begun, k), lathe_add(&w->here, k);
    }
    return n;
}

/* ---- rooms */

/* apart[k], [buckets]: those that are at hand when bucket k is, in any entry. */
static inline void lathe_begin_apart(const Lathe_shards *s, Lathe_set *apart)
{
    const Lathe_set none = {{0}};
    for (int k = 0; k < s->buckets; k++) apart[k] = none, lathe_add(&apart[k], k);
}

/* Of one more entry.  room: [sayings] */
static inline void lathe_set_apart(const Lathe_shards *s, const Lathe_said *said, int sayings, bool gradients, Lathe_said *room, Lathe_set *apart)
{
    Lathe_reads reads;
    Lathe_writes writes;
    int which[LATHE_ALL_BUCKETS];
    lathe_begin_reads(&reads, s, said, sayings, room);
    lathe_begin_writes(&writes, s);
    for (int i = 0; i < sayings; i++) {
        if (gradients) (void)lathe_write(&writes, &said[i], which);
        else (void)lathe_read(&reads, i, which);
        const Lathe_set here = gradients ? writes.here : reads.here;
        for (int k = 0; k < s->buckets; k++)
            if (lathe_has(&here, k)) lathe_unite(&apart[k], &here);
    }
}

static inline int lathe_pages_of(const Lathe_shards *s, int64_t element, int64_t page)
{
    return (int)(((s->cut[0].n + s->cut[1].n) * element + page - 1) / page);
}

/* room_of, in_room: [pages]; the room of each page, and the buckets in each room.  Returns the number of rooms. */
static inline int lathe_give_rooms(const Lathe_shards *s, const Lathe_set *apart, int64_t element, int64_t page, int *room_of, Lathe_set *in_room)
{
    const int pages = lathe_pages_of(s, element, page);
    const int64_t unit = page / element;
    int rooms = 0;
    for (int i = 0; i < pages; i++) {
        Lathe_set own = {{0}}, others = {{0}};
        int at = 0;
        for (int k = 0; k < s->buckets; k++) {
            if (lathe_in_bucket(s, k, i * unit, (i + 1) * unit).count <= 0) continue;
            lathe_add(&own, k);
            lathe_unite(&others, &apart[k]);
        }
        while (at < rooms && lathe_meet(&in_room[at], &others)) at++;
        if (at == rooms) in_room[rooms++] = own;
        else lathe_unite(&in_room[at], &own);
        room_of[i] = at;
    }
    return rooms;
}

/* Bytes of such an array in a GPU, beside the rooms: its own elements. */
static inline int64_t lathe_kept_bytes(const Lathe_shards *s, int64_t element)
{
    return (lathe_shard_elements(s->cut[0].n, s->gpus) * element + 63) / 64 * 64;
}

#endif
