/* test_tpe.c: TPE proposes values that are allowed, the same each time, where results are good; over many seeds it
 * finds better points than random ones, also where a trial does not see the three before it, and where some fail. */
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define holds(c) ((c) ? (void)0 : (void)(failures++, printf("%s:%d: %s\n", __FILE__, __LINE__, #c)))
enum { TRIALS = 40, SEEDS = 60 };

static Dimensions some_keys(void)
{
    static const char *const texts[] = {"lr=1e-5..1", "decay=0..1", "warmup=0..50", "kind=a,b,c"};
    Dimensions over = {0};
    for (int i = 0; i < COUNT_OF(texts); i++) push(&over, parse_over(texts[i]));
    over.at[2].whole = true;
    return over;
}

/* Its least value, 0, is at lr = 0.01, decay = 0.3, warmup = 10, kind = b. */
static double objective(const char *const *value)
{
    double lr = log10(atof(value[0])) + 2, decay = atof(value[1]) - 0.3, warmup = (atof(value[2]) - 10) / 50;
    if (lr > 1.5) return INFINITY; /* it diverges */
    return lr * lr + decay * decay + warmup * warmup + (same(value[3], "b") ? 0 : 0.2);
}

static double best_of(const Dimensions *over, int seed, bool learns)
{
    Seen seen[TRIALS];
    double best = INFINITY;
    for (int t = 0; t < TRIALS; t++) {
        Draw draw = draws_of_trial(seed, t);
        const char **value = NEW_ARRAY(const char *, over->n);
        if (learns && t >= TPE_START) tpe_point(over, seen, t - TPE_LAG + 1, &draw, value);
        else random_point(over, &draw, value);
        seen[t] = (Seen){value, objective(value)};
        best = fmin(best, seen[t].score);
    }
    return best;
}

static void test_against_random(void)
{
    const Dimensions over = some_keys();
    double sum = 0;
    int wins = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
        double tpe = best_of(&over, seed, true), random = best_of(&over, seed, false);
        wins += tpe < random;
        sum += log(random / tpe);
    }
    printf("TPE was better for %d of %d seeds, by a factor of %.2f at the geometric mean\n", wins, SEEDS,
           exp(sum / SEEDS));
    holds(wins >= 45 && exp(sum / SEEDS) > 1.7);
}

/* Most proposals are near the good half of what was seen. */
static void test_where(void)
{
    const Dimensions over = some_keys();
    Seen seen[TRIALS];
    int near = 0, b = 0;
    for (int t = 0; t < TRIALS; t++) {
        bool good = t % 4 == 0;
        const char **value = NEW_ARRAY(const char *, over.n);
        value[0] = format("%g", good ? 0.01 + 0.0001 * t : pow(10, -5 + 5.0 * t / TRIALS));
        value[1] = value[2] = "0";
        value[3] = good ? "b" : t % 4 == 1 ? "a" : "c";
        seen[t] = (Seen){value, good ? 1 : 2};
    }
    for (int k = 0; k < 200; k++) {
        const char *to[4], *again[4];
        Draw draw = draws_of_trial(3, k), same_draw = draws_of_trial(3, k);
        tpe_point(&over, seen, TRIALS, &draw, to);
        tpe_point(&over, seen, TRIALS, &same_draw, again);
        double lr = atof(to[0]), warmup = atof(to[2]);
        for (int i = 0; i < 4; i++) holds(same(to[i], again[i]));
        holds(lr >= 1e-5 && lr <= 1 && warmup >= 0 && warmup <= 50 && warmup == floor(warmup));
        near += lr > 0.005 && lr < 0.03;
        b += same(to[3], "b");
    }
    printf("%d of 200 near the good rates, %d of the good kind\n", near, b);
    holds(near > 130 && b > 150);
}

int main(void)
{
    test_against_random();
    test_where();
    return failures > 0;
}
