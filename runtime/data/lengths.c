/* lengths.c: lengths of documents: a histogram whose size does not depend on their number. */
#include "base/words.h"
#include "data/pack.h"

/* Lengths below 2 · STEPS have a bin each; above, each power of two has STEPS bins. */
enum { STEP_BITS = 10, STEPS = 1 << STEP_BITS, BINS = STEPS * (64 - STEP_BITS) };

struct Lengths {
    int64_t n, sum, least, most;
    int64_t bin[BINS];
};

static int bin_of(int64_t n)
{
    int shift = n < 2 * STEPS ? 0 : 63 - STEP_BITS - __builtin_clzll((uint64_t)n);
    return shift * STEPS + (int)(n >> shift);
}

static int64_t least_in(int bin)
{
    int shift = bin < 2 * STEPS ? 0 : bin / STEPS - 1;
    return (int64_t)(bin - shift * STEPS) << shift;
}

Lengths *new_lengths(void) { return must_alloc(sizeof(Lengths)); }

void add_length(Lengths *h, int64_t n)
{
    if (h->n == 0 || n < h->least) h->least = n;
    if (n > h->most) h->most = n;
    h->n++;
    h->sum += n;
    h->bin[bin_of(n)]++;
}

int64_t length_count(const Lengths *h) { return h->n; }
int64_t length_sum(const Lengths *h) { return h->sum; }
int64_t length_least(const Lengths *h) { return h->least; }
int64_t length_most(const Lengths *h) { return h->most; }

int64_t length_quantile(const Lengths *h, double q)
{
    int64_t seen = 0;
    for (int b = 0; b < BINS; b++) {
        seen += h->bin[b];
        if (seen > 0 && (double)seen >= q * (double)h->n) return least_in(b) > h->least ? least_in(b) : h->least;
    }
    return h->most;
}

int64_t lengths_between(const Lengths *h, int64_t from, int64_t to)
{
    int64_t n = 0;
    for (int b = 0; b < BINS; b++)
        if (least_in(b) >= from && least_in(b) < to) n += h->bin[b];
    return n;
}
