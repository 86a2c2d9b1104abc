/* buckets.c: batches of pairs of similar lengths: functions of lengths and a seed alone. */
#include "data/pack.h"
#include "math/random.h"

#include <string.h>

enum { BATCH_SITE = 0x7fff0006 };

int64_t bucket_scratch(int64_t n, int64_t longest) { return (n + longest + 2) * (int64_t)sizeof(int32_t); }

static int32_t pair_length(const Pair_lengths *of, int32_t row, bool target)
{
    return target ? of[row].target : of[row].source;
}

/* A stable counting sort. */
static void sort_by(const Pair_lengths *of, bool target, int64_t longest, int32_t *order, int64_t n, int32_t *scratch)
{
    int32_t *begin = scratch, *sorted = scratch + longest + 2;
    memset(begin, 0, sizeof *begin * (size_t)(longest + 2));
    for (int64_t i = 0; i < n; i++) begin[pair_length(of, order[i], target) + 1]++;
    for (int64_t l = 0; l <= longest; l++) begin[l + 1] += begin[l];
    for (int64_t i = 0; i < n; i++) sorted[begin[pair_length(of, order[i], target)]++] = order[i];
    memcpy(order, sorted, sizeof *order * (size_t)n);
}

/* Fisher and Yates's shuffle of whole batches. */
static void shuffle_batches(const Bucketing *how, int32_t *order, int64_t batches)
{
    for (int64_t i = batches - 1; i > 0; i--) {
        int64_t k = uniform_below(how->seed, how->which, BATCH_SITE, i, i + 1);
        for (int64_t r = 0; r < how->batch; r++) {
            int32_t *a = &order[i * how->batch + r], *b = &order[k * how->batch + r], swap = *a;
            *a = *b;
            *b = swap;
        }
    }
}

/* The number of rows that complete a batch begun before. */
static int64_t rows_in_front(const Bucketing *how, int64_t n)
{
    int64_t front = (how->batch - how->phase) % how->batch;
    return front < n ? front : n;
}

void bucket_rows(const Bucketing *how, const Pair_lengths *of, int32_t *order, int64_t n, void *scratch)
{
    int64_t front = rows_in_front(how, n), pool = how->buckets * how->batch;
    if (how->buckets == 0) return;
    for (int64_t at = front; at < n; at += pool) {
        int64_t rows = n - at < pool ? n - at : pool;
        sort_by(of, true, how->longest, order + at, rows, scratch);
        sort_by(of, false, how->longest, order + at, rows, scratch);
    }
    shuffle_batches(how, order + front, (n - front) / how->batch);
}

int64_t bucket_places(const Bucketing *how, const Pair_lengths *of, const int32_t *order, int64_t n)
{
    int64_t all = 0, rows = rows_in_front(how, n);
    for (int64_t at = 0; at < n; at += rows, rows = n - at < how->batch ? n - at : how->batch) {
        Pair_lengths most = {0, 0};
        if (rows == 0) rows = n < how->batch ? n : how->batch;
        for (int64_t i = at; i < at + rows; i++) {
            const Pair_lengths *p = &of[order[i]];
            if (p->source > most.source) most.source = p->source;
            if (p->target > most.target) most.target = p->target;
        }
        all += rows * (most.source + most.target);
    }
    return all;
}
