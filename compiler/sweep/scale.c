/* scale.c: `lathe scale`: the law of a family of sizes that a grid has trained, and what it says of a budget. */
#include "runtime/base/words.h"
#include "runtime/interface/growth.h"
#include "runtime/math/double.h"
#include "sweep/law.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_SIZES = 4 };

typedef struct Size {
    double n, loss, seconds, flop; /* parameters; the best trial's loss; a run's time and operations */
} Size;
typedef VEC(Size) Size_list;

/* A number with s, m, h or d is a time; without, it is in floating point operations. */
void parse_budget(Sweep *s, const char *text)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    size_t n = strlen(text);
    double factor = 0;
    for (int i = 0; n && i < COUNT_OF(units); i++)
        if (text[n - 1] == units[i].unit) factor = units[i].seconds;
    const char *number = factor ? copy_bytes_as_string(text, n - 1) : text;
    if (!parse_real(number, &s->budget) || s->budget <= 0)
        usage_error("--budget %s: expected a time such as 30m or 2h, or floating point operations such as 1e15", text);
    s->budget_of_time = factor > 0;
    if (factor) s->budget *= factor;
}

/* ------------------------------------------------------------------ the sizes */

static Size trial_size(Sweep *s, int trial)
{
    double spread;
    const Sweep_trial *t = &s->trial[trial];
    const Sweep_build *b = t->build;
    Size z = {.n = (double)b->parameters, .loss = mean_of(s, trial, 0, &spread)};
    for (int k = 0; k < s->seeds; k++) {
        z.seconds += t->run[k][0].seconds / (double)s->seeds;
        z.flop += (double)lathe_micro_batches(&b->steps, t->run[k][0].steps) * b->flop / (double)s->seeds;
    }
    return z;
}

static void take_size(Size_list *all, Size z)
{
    for (int i = 0; i < all->n; i++) {
        if (all->at[i].n != z.n) continue;
        if (z.loss < all->at[i].loss) all->at[i] = z;
        return;
    }
    push(all, z);
}

static int by_parameters(const void *a, const void *b)
{
    double x = ((const Size *)a)->n, y = ((const Size *)b)->n;
    return (x > y) - (x < y);
}

/* Of trials of the same size the best counts. */
static Size_list sizes_of_trials(Sweep *s)
{
    Size_list all = {0};
    for (int i = 0; i < s->trials; i++) {
        if (!isfinite(score_of(s, i, 0))) continue;
        if (!s->trial[i].build) resolve(s, i); /* an earlier sweep has run it */
        Sweep_build *b = s->trial[i].build;
        if (b && !b->ready && !b->fault) start_build(s, b);
        if (b && b->ready) take_size(&all, trial_size(s, i));
    }
    qsort(all.at, (size_t)all.n, sizeof *all.at, by_parameters);
    return all;
}

/* ------------------------------------------------------------------ what it says */

typedef struct Fitted {
    Law law, *without;
    double *n, *loss, *cost; /* cost: of a run, in what the budget is in */
    int count;
} Fitted;

static Fitted fitted(const Sweep *s, const Size_list *sizes)
{
    int count = sizes->n;
    Fitted f = {.n = NEW_ARRAY(double, count),
                .loss = NEW_ARRAY(double, count),
                .cost = NEW_ARRAY(double, count),
                .count = count};
    f.without = NEW_ARRAY(Law, count);
    for (int i = 0; i < count; i++) {
        f.n[i] = sizes->at[i].n;
        f.loss[i] = sizes->at[i].loss;
        f.cost[i] = s->budget_of_time ? sizes->at[i].seconds : sizes->at[i].flop;
    }
    f.law = fit_law(f.n, f.loss, count, f.without);
    return f;
}

static void print_law(const Sweep *s, const Fitted *f)
{
    show(stdout, "\n%14s  %8s  %8s\n", "parameters", s->metric, "the law");
    for (int i = 0; i < f->count; i++)
        show(stdout, "%14s  %8.4f  %8.4f\n", grouped_text((int64_t)f->n[i]), f->loss[i], law_value(&f->law, f->n[i]));
    show(stdout, "\nlaw: %s = %.4f + %.4g / parameters^%.3f, after as many steps as here\n", s->metric, f->law.e,
         f->law.a, f->law.alpha);
}

/* Time and operations grow as a power of the size. */
static void print_budget(const Sweep *s, const Fitted *f)
{
    double factor, exponent, largest = f->n[f->count - 1];
    fit_power(f->n, f->cost, f->count, &factor, &exponent);
    const char *what = s->budget_of_time ? format("%g s", s->budget) : format("%g flop", s->budget);
    if (exponent < 0.1) {
        show(stdout, "%s: runs of larger models did not take longer here; train larger ones, or for longer\n", what);
        return;
    }
    double n = pow_f64(s->budget / factor, 1 / exponent);
    show(stdout, "%s: a model of about %.3g parameters, %s %.4f ± %.4f\n", what, n, s->metric, law_value(&f->law, n),
         jackknife(f->without, f->count, n));
    if (n > 10 * largest)
        show(stdout, "note: that is %.0f times the largest that was trained; train larger ones to be surer\n",
             n / largest);
}

int tell_law(Sweep *s)
{
    Size_list sizes = sizes_of_trials(s);
    if (!s->lower) fail(EXIT_ERROR, s->folder, "a law is of a loss, and of %s higher values are better", s->metric);
    if (sizes.n < LEAST_SIZES)
        fail(EXIT_ERROR, s->folder, "%d sizes have a result, and a law needs %d: more values with --over", sizes.n,
             LEAST_SIZES);
    for (int i = 0; i < sizes.n; i++)
        if (sizes.at[i].loss <= 0)
            fail(EXIT_ERROR, s->folder, "a law is of a loss above 0, found %g", sizes.at[i].loss);
    Fitted f = fitted(s, &sizes);
    print_law(s, &f);
    if (s->budget) print_budget(s, &f);
    return 0;
}
