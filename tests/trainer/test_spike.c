/* test_spike.c: the warning of a loss that jumps: noise and slow change are none, a jump is one, and so is the next. */
#include "base/words.h"
#include "trainer/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* About normal, of mean 0 and deviation 1. */
static double noise(void)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += (double)rand() / RAND_MAX;
    return sum - 6;
}

static double falling(int i) { return 2 + 8 * exp(-i / 300.0) + 0.05 * noise(); }

int main(void)
{
    Spike s = {0};
    int bad = 0;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        bool jump = i > 0 && i % 1000 == 0;
        double score = spike_score(&s, falling(i) + (jump ? 3 : 0));
        if (jump != (score > SPIKE)) bad++, printf("FAILED: step %d: score %g\n", i, score);
    }
    Spike flat = {0};
    for (int i = 0; i < 1000; i++)
        if (spike_score(&flat, 2 + 1e-7 * (i % 7)) > SPIKE) bad++, printf("FAILED: flat, step %d\n", i);
    Spike first = {0};
    for (int i = 0; i < 30; i++)
        if (spike_score(&first, i % 2 ? 9 : 1) > SPIKE) bad++, printf("FAILED: among the first, step %d\n", i);
    if (!bad) printf("ok\n");
    return bad != 0;
}
