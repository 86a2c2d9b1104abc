/* returns.c: parameters come back from the ranks that own them while the next step's forward pass runs.
 *
 * train says which parameters a kernel is the first to read (parameters_needed in lathe_rt.h); the bucket that has them
 * must then have arrived.  The first step finds out in which order that is, and later updates send buckets in that
 * order.  All ranks run the same kernels, so the order is the same.  Whatever else reads parameters waits for all. */
#include "trainer/returns.h"
#include "base/words.h"
#include "lathe_rt.h"
#include "trainer/shared.h"

static struct Returns {
    Lathe_deal deal;
    const char *params;
    int64_t element;
    int64_t exchange[LATHE_MOST_DEALT]; /* of each bucket, or 0: it is there */
    int order[LATHE_MOST_DEALT], n;     /* buckets as they were needed first */
    bool has_order[LATHE_MOST_DEALT];
    bool said[LATHE_MOST_DEALT]; /* train says when it is needed */
} returns;

static void await_bucket(int k)
{
    const int64_t exchange = returns.exchange[k];
    returns.exchange[k] = 0;
    if (exchange) wait_for_ranks_until(exchange);
}

static void note_order(int k)
{
    if (returns.has_order[k]) return;
    returns.has_order[k] = true;
    returns.order[returns.n++] = k;
}

static void needed_here(const void *first, int64_t bytes)
{
    const int64_t each = returns.deal.each * LATHE_STEP_CHUNK,
                  from = ((const char *)first - returns.params) / returns.element;
    int64_t to = from + bytes / returns.element;
    if (to > returns.deal.n) to = returns.deal.n; /* frozen ones lie behind */
    for (int64_t k = from / each; k * each < to; k++) {
        note_order((int)k);
        returns.said[k] = true;
        await_bucket((int)k);
    }
}

void open_returns(const Lathe_deal *d, const void *params, int64_t element)
{
    returns = (struct Returns){.deal = *d, .params = params, .element = element};
    rt_parameters_needed = needed_here;
}

int bucket_to_return(int i)
{
    for (int k = 0; returns.n < returns.deal.buckets && k < returns.deal.buckets; k++)
        if (i >= returns.n) note_order(k); /* those that no kernel reads */
    return returns.order[i];
}

void note_return(int bucket, int64_t exchange) { returns.exchange[bucket] = exchange; }

void await_unsaid(void)
{
    for (int k = 0; k < returns.deal.buckets; k++)
        if (!returns.said[k]) await_bucket(k);
}

void await_returns(void)
{
    for (int k = 0; k < returns.deal.buckets; k++) await_bucket(k);
}
