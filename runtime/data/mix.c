/* mix.c: combines several streams of rows into one, by weights.
 *
 * The next source is chosen by the rule of R. Tijdeman, The chairman assignment problem, Discrete Mathematics 32 (1980)
 * 323-330: of the sources that are at least 1 / (2n - 2) of a row behind their shares, the one that would be too far
 * behind first.  After any number of rows, each of n sources is within 1 - 1 / (2n - 2) of a row of its share; no rule
 * does better for all weights, and random draws would be off by hundreds of rows after a million.  All arithmetic is in
 * integers, so the choice depends only on the weights and the number of the row.  Only a source's own stream draws:
 * which of its rows come next. */
#include "base/words.h"
#include "data/stream.h"
#include "interface/lathe_model.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ turns */

/* lag: how far a source is behind its share, in units of 1 / `all` of a row. */
void start_turns(Turns *t, const int64_t *weight, const int64_t *had, int n)
{
    int64_t rows = 0;
    *t = (Turns){.n = n};
    for (int i = 0; i < n; i++) t->weight[i] = weight[i], t->all += weight[i], rows += had[i];
    for (int i = 0; i < n; i++) t->lag[i] = (int64_t)((__int128)weight[i] * rows - (__int128)t->all * had[i]);
}

/* The number of rows, with this one, after which the source would be 1 - 1 / (2n - 2) of a row behind. */
static int64_t rows_left(const Turns *t, int i)
{
    int64_t parts = 2 * t->n - 2, step = parts * t->weight[i];
    return ((parts - 1) * t->all - parts * t->lag[i] + step - 1) / step;
}

int next_turn(Turns *t)
{
    int chosen = -1;
    int64_t parts = 2 * t->n - 2, soonest = 0;
    for (int i = 0; i < t->n; i++) {
        int64_t left = t->n > 1 ? rows_left(t, i) : 0;
        bool may = t->n == 1 || parts * (t->lag[i] + t->weight[i]) >= t->all;
        if (!may || (chosen >= 0 && left >= soonest)) continue;
        chosen = i;
        soonest = left;
    }
    bug_if(chosen < 0); /* lags add up to 0: one is not behind only if another is */
    for (int i = 0; i < t->n; i++) t->lag[i] += t->weight[i];
    t->lag[chosen] -= t->all;
    return chosen;
}

/* ------------------------------------------------------------------ rows */

struct Mixture {
    int n, failed; /* failed: the source that ran out of rows */
    Turns turns;
    Mix_part part[LATHE_SOURCES]; /* places after the last call that got all its rows */
    bool ended[LATHE_SOURCES];    /* an epoch that has not been reported */
    Stream_sum sum[LATHE_SOURCES];
};

Mixture *open_mixture(const Mix_part *part, int n)
{
    Mixture *m = must_alloc(sizeof *m);
    int64_t weight[LATHE_SOURCES], had[LATHE_SOURCES];
    bug_if(n < 1 || n > LATHE_SOURCES);
    *m = (Mixture){.n = n};
    for (int i = 0; i < n; i++) {
        m->part[i] = part[i];
        m->part[i].at = stream_at(part[i].stream);
        weight[i] = part[i].weight;
        had[i] = part[i].mixed;
    }
    start_turns(&m->turns, weight, had, n);
    return m;
}

void close_mixture(Mixture *m)
{
    for (int i = 0; i < m->n; i++) close_stream(m->part[i].stream);
    free(m);
}

static bool take_row(Mixture *m, const Rows *to, int64_t row)
{
    int i = next_turn(&m->turns);
    Row_stream *s = m->part[i].stream;
    Stream_sum sum;
    m->failed = i;
    Rows one = to ? *to : (Rows){0};
    one.n = 1;
    one.from = row;
    if (to && !stream_rows(s, &one)) return false;
    if (!to && !skip_rows(s, 1)) return false;
    if (epoch_ended(s, &sum)) {
        m->ended[i] = true;
        m->sum[i] = sum;
    }
    m->part[i].mixed++;
    return true;
}

/* Takes n rows; those from `first` on go to `to`. */
static bool take_rows(Mixture *m, int64_t n, const Rows *to, int64_t first)
{
    int64_t mixed[LATHE_SOURCES];
    for (int i = 0; i < m->n; i++) mixed[i] = m->part[i].mixed;
    for (int64_t r = 0; r < n; r++) {
        bool wanted = to && r >= first && r < first + to->n;
        if (take_row(m, wanted ? to : NULL, r - first)) continue;
        for (int i = 0; i < m->n; i++) m->part[i].mixed = mixed[i];
        return false;
    }
    for (int i = 0; i < m->n; i++) m->part[i].at = stream_at(m->part[i].stream);
    return true;
}

bool mixture_rows(Mixture *m, const Rows *to, int64_t n, int64_t first) { return take_rows(m, n, to, first); }
bool skip_mixture(Mixture *m, int64_t n) { return take_rows(m, n, NULL, 0); }

/* ------------------------------------------------------------------ what is known */

Mix_part mixture_part(const Mixture *m, int i) { return m->part[i]; }
const Block *mixture_block(const Mixture *m, int i) { return block_in_use(m->part[i].stream); }

int64_t mixture_taken(const Mixture *m)
{
    int64_t taken = 0;
    for (int i = 0; i < m->n; i++) taken += m->part[i].at.taken;
    return taken;
}

int64_t mixture_predicted(const Mixture *m)
{
    int64_t targets = 0;
    for (int i = 0; i < m->n; i++) targets += m->part[i].at.predicted;
    return targets;
}

const char *mixture_failure(Mixture *m, int *code) { return stream_failure(m->part[m->failed].stream, code); }

bool mixture_epoch_ended(const Mixture *m)
{
    for (int i = 0; i < m->n; i++)
        if (m->ended[i]) return true;
    return false;
}

bool mixture_epoch(Mixture *m, int *source, Stream_sum *of)
{
    for (int i = 0; i < m->n; i++) {
        if (!m->ended[i]) continue;
        m->ended[i] = false;
        *source = i;
        *of = m->sum[i];
        return true;
    }
    return false;
}

double mixture_fill(Mixture *m)
{
    double least = 1;
    for (int i = 0; i < m->n; i++) {
        double fill = stream_fill(m->part[i].stream);
        least = fill < least ? fill : least;
    }
    return least;
}
