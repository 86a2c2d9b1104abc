/* shard.h: the elements of the flat arrays that each of several GPUs updates, and keeps moments for.  For C and C++,
 * the compiler's plan and the trainer.
 *
 * The arrays are cut into buckets; rank r of n has the r-th of n equal parts of each, and the last rank also the rest,
 * fewer than n · LATHE_SHARD_ALIGN elements.  A rank's moments are contiguous, in the order of buckets; so is its mean of
 * the weights, which elements without moments have, too.  Parts begin at
 * multiples of LATHE_SHARD_ALIGN.  One GPU has all elements. */
#ifndef LATHE_INTERFACE_SHARD_H
#define LATHE_INTERFACE_SHARD_H

#include <stdint.h>

enum { LATHE_MOST_GPUS = 64, LATHE_SHARD_ALIGN = 16, LATHE_MOST_BUCKETS = 64, LATHE_RANK_SUM_BYTES = 16 };
enum { LATHE_BUCKET_BYTES = 8 << 20 };  /* of gradients reduced at a time, unless that gives too many buckets */

typedef struct Lathe_cut {      /* of a range of elements */
    int64_t first, n, body, bucket; /* elements: before it, of it, of those in buckets, of one */
    int buckets;
} Lathe_cut;

/* Elements with moments; then those that the entry direction updates, whose gradients all ranks have, since a direction
 * takes the whole of a matrix. */
typedef struct Lathe_shards {
    Lathe_cut cut[2];
    int gpus, buckets;          /* buckets: of all, with the rests */
} Lathe_shards;

typedef struct Lathe_part { /* elements first … first + count - 1; moments: index of the first's among the rank's */
    int64_t first, count, moments;
} Lathe_part;

/* Elements of one moment for which every rank has room. */
static inline int64_t lathe_shard_elements(int64_t n, int gpus)
{
    const int64_t unit = (int64_t)LATHE_SHARD_ALIGN * gpus;
    return n / unit * LATHE_SHARD_ALIGN + n % unit;
}

static inline Lathe_cut lathe_cut(int64_t first, int64_t n, int64_t bucket, int gpus)
{
    const int64_t unit = (int64_t)LATHE_SHARD_ALIGN * gpus, body = n / unit * unit;
    const int64_t least = (body + LATHE_MOST_BUCKETS - 1) / LATHE_MOST_BUCKETS;
    if (bucket < least) bucket = least;
    bucket = bucket < unit ? unit : (bucket + unit - 1) / unit * unit;
    const Lathe_cut c = {first, n, body, bucket, (int)((body + bucket - 1) / bucket)};
    return c;
}

/* n: elements in all; directed: the last of them. */
static inline Lathe_shards lathe_shards(int64_t n, int64_t directed, int64_t bucket, int gpus)
{
    Lathe_shards s = {{lathe_cut(0, n - directed, bucket, gpus), lathe_cut(n - directed, directed, bucket, gpus)}, gpus, 0};
    s.buckets = s.cut[0].buckets + 1 + (directed ? s.cut[1].buckets + 1 : 0);
    return s;
}

static inline int lathe_is_directed(const Lathe_shards *s, int k) { return k > s->cut[0].buckets; }

/* The last bucket of a cut has the rest of its elements, which only the last rank updates. */
static inline int lathe_is_rest(const Lathe_shards *s, int k) { return k == s->cut[0].buckets || k == s->buckets - 1; }

/* All elements of bucket k. */
static inline Lathe_part lathe_bucket(const Lathe_shards *s, int k)
{
    const int second = lathe_is_directed(s, k), at = k - second * (s->cut[0].buckets + 1);
    const Lathe_cut *c = &s->cut[second];
    const int64_t first = at < c->buckets ? at * c->bucket : c->body;
    const int64_t end = at + 1 < c->buckets ? first + c->bucket : at < c->buckets ? c->body : c->n;
    const int64_t before = second ? lathe_shard_elements(s->cut[0].n, s->gpus) : 0;
    const Lathe_part p = {c->first + first, end - first, before + first / s->gpus};
    return p;
}

/* The rank's part of bucket k. */
static inline Lathe_part lathe_shard(const Lathe_shards *s, int k, int rank)
{
    Lathe_part p = lathe_bucket(s, k);
    if (!lathe_is_rest(s, k)) p.count /= s->gpus, p.first += rank * p.count;
    else if (rank < s->gpus - 1) p.count = 0;
    return p;
}

#endif
