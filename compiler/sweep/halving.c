/* halving.c: successive halving (Jamieson, Talwalkar 2016), with thirds: all trials do a few steps, the best third goes
 * on to three times as many, and so forth.  All trials of a rung end before the next begins, so that nothing depends on
 * how fast they are.
 *
 * There are at most three rungs: a ninth of the steps, a third, all.  Fewer steps than a ninth tell little of a
 * schedule that warms up; with three rungs 27 trials take 7/27 of the steps of a search without. */
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>

int rungs_for(int trials, int64_t steps)
{
    int rungs = 1;
    for (int n = ETA; rungs < MOST_RUNGS && n <= trials && n <= steps; n *= ETA) rungs++;
    return rungs;
}

int64_t steps_at(int64_t steps, int rung, int rungs)
{
    int64_t parts = 1;
    for (int i = rung + 1; i < rungs; i++) parts *= ETA;
    return (steps + parts - 1) / parts;
}

int go_on(int trials) { return (int)max64(1, trials / ETA); }

typedef struct Scored {
    double score;
    int index;
} Scored;

static int by_score(const void *a, const void *b)
{
    const Scored *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

int order_best(const double *score, int n, int *order)
{
    int finite = 0;
    Scored *all = NEW_ARRAY(Scored, n);
    for (int i = 0; i < n; i++) {
        all[i] = (Scored){isnan(score[i]) ? INFINITY : score[i], i};
        finite += isfinite(score[i]) != 0;
    }
    qsort(all, (size_t)n, sizeof *all, by_score);
    for (int i = 0; i < n; i++) order[i] = all[i].index;
    return finite;
}
