/* batches.c: the batches of an evaluation: all by one rank, or shared by ranks on processors, and by GPUs that keep
 * only parts of parameters.
 *
 * Ranks work in rounds.  In a round each runs a few batches, and rank 0 then gets their results and takes them in the
 * order of batches, as if it had run them all.  Rounds grow until they take long enough to be worth their messages, and
 * stay short enough for signals. */
#include "trainer/batches.h"
#include "base/words.h"
#include "trainer/ranks.h"
#include "trainer/shards.h"
#include "trainer/shared.h"
#include "trainer/trial.h"

#include <stdlib.h>
#include <string.h>

/* Of a round: the most batches of a rank, and bytes of rank 0 if a rank has several. */
enum { MOST_EACH = 64, RESULTS_ROOM = 1 << 20, SIGNAL = sizeof(int64_t) };

static int64_t bytes_of_results(const Batches *b)
{
    int64_t bytes = 0;
    for (int i = 0; i < b->results; i++) bytes += b->result[i].bytes;
    return bytes;
}

static void copy_results(const Batches *b, char *row, bool back)
{
    for (int i = 0; i < b->results; i++) {
        const Result *r = &b->result[i];
        memcpy(back ? r->at : row, back ? row : r->at, (size_t)r->bytes);
        row += r->bytes;
    }
}

static double took[SHARES]; /* seconds of a batch when rank 0 last ran one of that kind; 0: none yet */

/* Messages take longer than what the others could do meanwhile. */
static bool is_soon_done(const Batches *b)
{
    const double worth = 0.005; /* seconds */
    return b->n == 0 || (took[b->share] > 0 && (double)b->n * took[b->share] < worth);
}

static void run_timed(const Batches *b, int64_t k)
{
    const double from = seconds_now();
    b->run(b->with, k);
    took[b->share] = seconds_now() - from;
}

/* ------------------------------------------------------------------ a round */

typedef struct Round { /* batches first … first + ranks · each - 1; the k-th of them is for rank k mod ranks */
    const Batches *b;
    int ranks, rank;
    int64_t first, each, row; /* row: bytes of a batch's results */
    char *own, *all;          /* of a rank: the signal that it has got, or 0, and rows; on rank 0 those of all ranks */
    bool together;
} Round;

static int64_t bytes_of_rank(const Round *r) { return SIGNAL + r->each * r->row; }

/* Ranks that keep parts of the parameters run as many batches as rank 0: a rank with none left runs the last one again.
 */
static void run_share(const Round *r)
{
    char *row = r->own + SIGNAL;
    const int64_t last = r->b->n - 1;
    for (int64_t k = r->first, i = 0; i < r->each && k <= last; i++, k += r->ranks, row += r->row) {
        const bool own = k + r->rank <= last;
        if (!own && !r->together) break;
        run_timed(r->b, own ? k + r->rank : last);
        if (own) copy_results(r->b, row, false);
    }
    memcpy(r->own, &(int64_t){interrupted}, SIGNAL);
}

static void take_all(const Round *r)
{
    for (int64_t k = 0; k < r->ranks * r->each && r->first + k < r->b->n; k++) {
        char *of_rank = r->all + k % r->ranks * bytes_of_rank(r);
        copy_results(r->b, of_rank + SIGNAL + k / r->ranks * r->row, true);
        r->b->take(r->b->with, r->first + k);
    }
    for (int k = 0; k < r->ranks && !interrupted; k++) {
        int64_t signal;
        memcpy(&signal, r->all + k * bytes_of_rank(r), SIGNAL);
        interrupted = (int)signal;
    }
}

/* After a round of `each` batches on each rank; that of rank 0 counts. */
static int64_t next_each(int64_t each, double seconds, int64_t most)
{
    const double short_round = 0.05, long_round = 0.2;
    if (interrupted) return 0;
    if (seconds < short_round && 2 * each <= most) return 2 * each;
    return seconds > long_round && each > 1 ? each / 2 : each;
}

static void check_items(const Trainer *t, const Batches *b)
{
    int64_t items = b->items;
    from_first(&items, sizeof items);
    if (items != b->items)
        fail(EXIT_DATA, NULL,
             "rank %d of %d can read %lld of the items to evaluate, and rank 0 %lld; give all ranks the same files",
             t->rank, gpus_of(t), (long long)b->items, (long long)items);
}

static Round first_round(const Batches *b, const Trainer *t, int64_t *most)
{
    Round r = {.b = b,
               .ranks = gpus_of(t),
               .rank = t->rank,
               .each = !interrupted,
               .row = bytes_of_results(b),
               .together = shards_parameters(t)};
    const int64_t room = RESULTS_ROOM / r.ranks / (r.row + 1);
    *most = room < 1 ? 1 : room < MOST_EACH ? room : MOST_EACH;
    const size_t own = (size_t)(SIGNAL + *most * r.row);
    r.own = must_alloc(own);
    r.all = must_alloc(is_follower(t) ? 1 : own * (size_t)r.ranks);
    return r;
}

static bool share_batches(const Batches *b, const Trainer *t)
{
    int64_t most;
    Round r = first_round(b, t, &most);
    check_items(t, b);
    while (r.first < b->n) {
        const double from = seconds_now();
        from_first(&r.each, sizeof r.each);
        if (!r.each) break;
        run_share(&r);
        gather_bytes(r.own, r.all, bytes_of_rank(&r));
        if (!is_follower(t)) take_all(&r);
        r.first += r.ranks * r.each;
        r.each = next_each(r.each, seconds_now() - from, most);
    }
    free(r.own), free(r.all);
    return r.first >= b->n;
}

/* A batch of texts runs as many entries as they are long.  Where every rank runs every entry, all write all texts. */
static bool run_alike(const Batches *b, const Trainer *t)
{
    check_items(t, b);
    for (int64_t k = 0; k < b->n; k++) {
        int64_t goes_on = !interrupted;
        from_first(&goes_on, sizeof goes_on);
        if (!goes_on) return false;
        run_timed(b, k);
        b->take(b->with, k);
    }
    return true;
}

/* ------------------------------------------------------------------ by one rank, or by all */

bool run_batches(const Batches *b, const Trainer *t)
{
    if (t && (shares_steps(t) || shards_parameters(t)) &&
        (is_follower(t) || shards_parameters(t) || !is_soon_done(b))) {
        if (!is_follower(t) && !b->ordered) order_share(t, b->share, b->number);
        return shards_parameters(t) && b->share == SHARE_TEXTS ? run_alike(b, t) : share_batches(b, t);
    }
    for (int64_t k = 0; k < b->n; k++) {
        if (t && interrupted) return false;
        run_timed(b, k);
        b->take(b->with, k);
    }
    return true;
}
