/* test_halving.c: rungs, their steps, who goes on; what 27 trials cost. */
#include "sweep/sweep.h"

#include <math.h>

static int failures;
#define holds(c) ((c) ? (void)0 : (void)(failures++, printf("%s:%d: %s\n", __FILE__, __LINE__, #c)))

static int64_t cost(int trials, int64_t steps)
{
    int rungs = rungs_for(trials, steps);
    int64_t sum = 0, done = 0;
    for (int rung = 0; rung < rungs; rung++, trials = go_on(trials)) {
        sum += trials * (steps_at(steps, rung, rungs) - done);
        done = steps_at(steps, rung, rungs);
    }
    holds(done == steps);
    return sum;
}

int main(void)
{
    holds(rungs_for(1, 1000) == 1 && rungs_for(3, 1000) == 2 && rungs_for(30, 1000) == 3 && rungs_for(1000, 1000) == 3);
    holds(rungs_for(30, 2) == 1 && rungs_for(30, 8) == 2);
    holds(steps_at(1000, 0, 3) == 112 && steps_at(1000, 1, 3) == 334 && steps_at(1000, 2, 3) == 1000);
    holds(go_on(30) == 10 && go_on(10) == 3 && go_on(2) == 1);
    holds(cost(27, 900) == 7 * 900);
    for (int n = 1; n < 40; n++) holds(cost(n, 90) <= n * 90);

    int order[6];
    const double score[6] = {2, NAN, 1, INFINITY, 2, -1};
    holds(order_best(score, 6, order) == 4);
    holds(order[0] == 5 && order[1] == 2 && order[2] == 0 && order[3] == 4 && order[4] == 1 && order[5] == 3);
    return failures > 0;
}
