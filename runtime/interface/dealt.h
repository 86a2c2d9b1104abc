/* dealt.h: which elements of the flat arrays each of several ranks on processors adds up, updates and keeps moments of.
 *
 * The arrays are cut into buckets of whole chunks (LATHE_STEP_CHUNK elements), and each bucket's chunks are dealt to the
 * ranks in order: no chunk is shared, so sums of squares by chunk do not depend on the number of ranks.  A rank's
 * moments are contiguous, in the order of buckets. */
#ifndef LATHE_INTERFACE_DEALT_H
#define LATHE_INTERFACE_DEALT_H

#include "lathe_model.h"

enum { LATHE_MOST_RANKS = 1024, LATHE_MOST_DEALT = 64, LATHE_DEALT_BYTES = 8 << 20, LATHE_BUCKETS_UNDER_WAY = 3 };

typedef struct Lathe_deal {
    int64_t n, moments, each;   /* elements; the first of them that have moments; chunks of a bucket */
    int ranks, buckets;
} Lathe_deal;

/* bytes: of a bucket, about, of elements of `element` bytes.  A small model has smaller ones, down to 1 MB: only the last
 * bucket's way is not hidden behind the backward pass.  With many ranks they are larger: each rank has a chunk of each. */
static inline Lathe_deal lathe_deal(int64_t n, int64_t moments, int64_t element, int64_t bytes, int ranks)
{
    const int64_t chunks = lathe_step_chunks(n), least = (chunks + LATHE_MOST_DEALT - 1) / LATHE_MOST_DEALT;
    const int64_t small = (1 << 20) / (element * LATHE_STEP_CHUNK);
    int64_t each = bytes / (element * LATHE_STEP_CHUNK);
    const int64_t few = chunks / 16 > small ? chunks / 16 : small;
    if (each > few) each = few;
    if (each < least) each = least;
    if (each < ranks) each = ranks;
    if (each > chunks) each = chunks;
    if (each < 1) each = 1;
    const Lathe_deal d = {n, moments, each, ranks, (int)((chunks + each - 1) / each)};
    return d;
}

static inline int64_t lathe_dealt_end(const Lathe_deal *d, int64_t chunk)
{
    return chunk * LATHE_STEP_CHUNK < d->n ? chunk * LATHE_STEP_CHUNK : d->n;
}

/* The rank's elements of bucket k.  Rank 0 of 1: all of them. */
static inline Lathe_part lathe_dealt_to(const Lathe_deal *d, int k, int64_t rank, int64_t ranks)
{
    const int64_t first = k * d->each, all = lathe_step_chunks(d->n), end = first + d->each < all ? first + d->each : all;
    const int64_t from = first + (end - first) * rank / ranks, to = first + (end - first) * (rank + 1) / ranks;
    const Lathe_part p = {from * LATHE_STEP_CHUNK, to > from ? lathe_dealt_end(d, to) - from * LATHE_STEP_CHUNK : 0, 0};
    return p;
}

/* Parameters begin at multiples of 16 elements: what fills the last 16 belongs to the one before. */
static inline int64_t lathe_dealt_piece_end(const Lathe_deal *d, int64_t end)
{
    const int64_t whole = (end + 15) / 16 * 16;
    return whole < d->n ? whole : d->n;
}

static inline int64_t lathe_dealt_below(const Lathe_part *p, int64_t limit)
{
    const int64_t n = limit - p->first;
    return n < 0 ? 0 : n < p->count ? n : p->count;
}

/* The rank's elements below a limit, in buckets before k. */
static inline int64_t lathe_dealt_before(const Lathe_deal *d, int k, int rank, int64_t limit)
{
    int64_t n = 0;
    for (int i = 0; i < k; i++) {
        const Lathe_part p = lathe_dealt_to(d, i, rank, d->ranks);
        n += lathe_dealt_below(&p, limit);
    }
    return n;
}

/* The rank that has an element of the arrays, and its part of that bucket. */
typedef struct Lathe_owner {
    int bucket, rank;
    Lathe_part part;
} Lathe_owner;

static inline Lathe_owner lathe_owner_of(const Lathe_deal *d, int64_t element)
{
    const int64_t chunk = element / LATHE_STEP_CHUNK, left = lathe_step_chunks(d->n) - chunk / d->each * d->each;
    Lathe_owner o = {(int)(chunk / d->each), (int)(chunk % d->each * d->ranks / (left < d->each ? left : d->each)), {0}};
    for (o.part = lathe_dealt_to(d, o.bucket, o.rank, d->ranks); element >= o.part.first + o.part.count;)
        o.part = lathe_dealt_to(d, o.bucket, ++o.rank, d->ranks);
    return o;
}

/* Elements below a limit for which every rank has room. */
static inline int64_t lathe_dealt_room(const Lathe_deal *d, int64_t limit)
{
    int64_t most = 0;
    for (int rank = 0; rank < d->ranks; rank++) {
        const int64_t n = lathe_dealt_before(d, d->buckets, rank, limit);
        if (n > most) most = n;
    }
    return most;
}

/* Elements of the optimizer that a rank has room for: its moments, and its part of a mean of the weights. */
static inline int64_t lathe_dealt_optimizer(const Lathe_deal *d, const Lathe_recipe *r)
{
    return lathe_moments(r) * lathe_dealt_room(d, d->moments) + (lathe_averages(r) ? lathe_dealt_room(d, d->n) : 0);
}

/* Elements of a room in which the other ranks' parts of a bucket arrive. */
static inline int64_t lathe_arriving(const Lathe_deal *d)
{
    return (d->ranks - 1) * ((d->each + d->ranks - 1) / d->ranks) * LATHE_STEP_CHUNK;
}

/* Bytes of a gradient, as ranks send it. */
static inline int64_t lathe_sent_bytes(const Lathe_recipe *r, int64_t element)
{
    return r->send_gradients == LATHE_SEND_BF16 ? 2 : element;
}

/* Bytes that gradients sent as bf16 take beside: what rounding left out, a bf16 for each; reals of a block of each rank. */
enum { LATHE_NARROW_ROOM = 1 << 16 };
static inline int64_t lathe_narrow_bytes(const Lathe_deal *d, const Lathe_recipe *r, int64_t element)
{
    return r->send_gradients == LATHE_SEND_BF16 ? LATHE_NARROW_ROOM * element + (2 * d->n + 63) / 64 * 64 : 0;
}

/* Bytes that a rank has beside its optimizer: rooms in which buckets arrive, sums of squares, numbers of each rank, counts. */
enum { LATHE_RANK_NUMBERS = 16, LATHE_COUNTS_BYTES = 4096 };
static inline int64_t lathe_shared_bytes(const Lathe_deal *d, int64_t element)
{
    const int64_t sums = 2 * lathe_step_chunks(d->n) + 2 * (d->ranks + 1) * LATHE_RANK_NUMBERS;
    return LATHE_BUCKETS_UNDER_WAY * lathe_arriving(d) * element + 8 * sums + d->ranks * LATHE_COUNTS_BYTES;
}

/* Bytes of steps that ranks take by themselves: parameters of the last meeting, and the rank's part of the outer velocity. */
static inline int64_t lathe_local_bytes(const Lathe_deal *d, const Lathe_recipe *r, int64_t element)
{
    return r->local_steps > 0 ? (d->n + lathe_dealt_room(d, d->n)) * element : 0;
}

/* Bytes of rank 0 in which it gathers, for checkpoints, what each rank keeps after steps that it took by itself; the velocity
 * is of all. */
static inline int64_t lathe_gathered_bytes(const Lathe_deal *d, const Lathe_recipe *r, int64_t element)
{
    const int64_t unsent = r->send_gradients == LATHE_SEND_BF16 ? d->ranks * 2 * d->n : 0;
    const int64_t own = (d->ranks - 1) * lathe_moments(r) * d->moments + d->n;
    return r->local_steps > 0 ? unsent + own * element : 0;
}

/* The same with what the recipe asks for: all that is in the plan for it. */
static inline int64_t lathe_rank_bytes(const Lathe_deal *d, const Lathe_recipe *r, int64_t element)
{
    return lathe_shared_bytes(d, lathe_sent_bytes(r, element)) + lathe_narrow_bytes(d, r, element) +
           lathe_local_bytes(d, r, element);
}

#endif
