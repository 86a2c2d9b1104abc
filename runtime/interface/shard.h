/* shard.h: the elements of the flat arrays that each of several GPUs updates, and keeps moments for.  For C and C++,
 * the compiler's plan and the trainer.
 *
 * The arrays are cut into buckets; rank r of n has the r-th of n equal parts of each, and the last rank also the rest,
 * fewer than n · LATHE_SHARD_ALIGN elements.  A rank's moments are contiguous, in the order of buckets.  Parts begin at
 * multiples of LATHE_SHARD_ALIGN.  One GPU has all elements. */
#ifndef LATHE_INTERFACE_SHARD_H
#define LATHE_INTERFACE_SHARD_H

#include <stdint.h>

enum { LATHE_MOST_GPUS = 64, LATHE_SHARD_ALIGN = 16, LATHE_MOST_BUCKETS = 64, LATHE_RANK_SUM_BYTES = 16 };
enum { LATHE_BUCKET_BYTES = 8 << 20 };  /* of gradients reduced at a time, unless that gives too many buckets */

typedef struct Lathe_shards {
    int64_t n, body, bucket;    /* elements: in all, in buckets, of one */
    int gpus, buckets;
} Lathe_shards;

typedef struct Lathe_part { /* elements first … first + count - 1; moments: index of the first's among the rank's */
    int64_t first, count, moments;
} Lathe_part;

static inline Lathe_shards lathe_shards(int64_t n, int64_t bucket, int gpus)
{
    const int64_t unit = (int64_t)LATHE_SHARD_ALIGN * gpus, body = n / unit * unit;
    const int64_t least = (body + LATHE_MOST_BUCKETS - 1) / LATHE_MOST_BUCKETS;
    if (bucket < least) bucket = least;
    bucket = bucket < unit ? unit : (bucket + unit - 1) / unit * unit;
    const Lathe_shards s = {n, body, bucket, gpus, (int)((body + bucket - 1) / bucket)};
    return s;
}

/* All elements of bucket k; the last, k = buckets, is the rest. */
static inline Lathe_part lathe_bucket(const Lathe_shards *s, int k)
{
    const int64_t first = k < s->buckets ? k * s->bucket : s->body;
    const int64_t end = k + 1 < s->buckets ? first + s->bucket : k < s->buckets ? s->body : s->n;
    const Lathe_part p = {first, end - first, first / s->gpus};
    return p;
}

/* The rank's part of bucket k; only the last rank has the rest. */
static inline Lathe_part lathe_shard(const Lathe_shards *s, int k, int rank)
{
    Lathe_part p = lathe_bucket(s, k);
    if (k < s->buckets) p.count /= s->gpus, p.first += rank * p.count;
    else if (rank < s->gpus - 1) p.count = 0;
    return p;
}

/* Elements of one moment for which every rank has room. */
static inline int64_t lathe_shard_elements(int64_t n, int gpus)
{
    const int64_t unit = (int64_t)LATHE_SHARD_ALIGN * gpus;
    return n / unit * LATHE_SHARD_ALIGN + n % unit;
}

#endif
