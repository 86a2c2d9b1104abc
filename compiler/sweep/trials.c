/* trials.c: which values a trial has, and what its runs gave.
 *
 * The values of a trial depend on the seed, on its number, and with TPE on the results of trials whose numbers are
 * lower by TPE_LAG at least: never on how fast runs are.  So a sweep that was killed proposes the same again. */
#include "sweep/sweep.h"

#include <math.h>

enum { TRIES = 64 };

const char *trial_folder(const Sweep *s, int trial, int seed)
{
    const char *folder = format("%s/trial-%03d", s->folder, trial + 1);
    return s->seeds > 1 ? format("%s-seed-%lld", folder, (long long)s->seed + seed) : folder;
}

const char *settings_text(const Sweep *s, const Sweep_trial *t)
{
    Text text = {0};
    for (int i = 0; i < s->over.n; i++) say(&text, "%s%s=%s", i ? " " : "", s->over.at[i].key, t->value[i]);
    return text.at;
}

bool has_ended(const Sweep *s, int trial, int rung)
{
    for (int k = 0; k < s->seeds; k++)
        if (s->trial[trial].run[k][rung].how == NOT_ENDED) return false;
    return true;
}

/* Over the seeds; spread: the standard deviation of one run.  NAN: a run gave nothing. */
double mean_of(const Sweep *s, int trial, int rung, double *spread)
{
    const Sweep_trial *t = &s->trial[trial];
    double mean = 0, squares = 0;
    for (int k = 0; k < s->seeds; k++)
        mean += t->run[k][rung].how == DONE ? t->run[k][rung].value / (double)s->seeds : NAN;
    for (int k = 0; k < s->seeds; k++) squares += (t->run[k][rung].value - mean) * (t->run[k][rung].value - mean);
    *spread = s->seeds > 1 ? sqrt(squares / (double)(s->seeds - 1)) : 0;
    return mean;
}

double score_of(const Sweep *s, int trial, int rung)
{
    double spread, mean = mean_of(s, trial, rung, &spread);
    return isnan(mean) ? INFINITY : s->lower ? mean : -mean;
}

/* ------------------------------------------------------------------ proposing */

static bool is_there_already(const Sweep *s, int trial, const char *const *value)
{
    for (int i = 0; i < trial; i++) {
        bool equal = true;
        for (int k = 0; k < s->over.n; k++) equal &= same(s->trial[i].value[k], value[k]);
        if (equal) return true;
    }
    return false;
}

static void draw_point(const Sweep *s, const Seen *seen, int n, Draw *draw, const char **to)
{
    if (s->method == BY_TPE && n >= TPE_START) tpe_point(&s->over, seen, n, draw, to);
    else random_point(&s->over, draw, to);
}

static int trials_to_see(const Sweep *s, int trial)
{
    if (s->method != BY_TPE || trial < TPE_START) return 0;
    return (int)max64(TPE_START, trial - TPE_LAG + 1);
}

static void draw_trial(Sweep *s, int trial, int n)
{
    Seen *seen = NEW_ARRAY(Seen, n + 1);
    Draw draw = draws_of_trial(s->seed, trial);
    for (int i = 0; i < n; i++) seen[i] = (Seen){s->trial[i].value, score_of(s, i, 0)};
    for (int i = 0; i < TRIES; i++) {
        draw_point(s, seen, n, &draw, s->trial[trial].value);
        if (!is_there_already(s, trial, s->trial[trial].value)) return;
    }
    for (int i = 0; i < TRIES && is_there_already(s, trial, s->trial[trial].value); i++)
        random_point(&s->over, &draw, s->trial[trial].value);
}

bool propose(Sweep *s, int trial)
{
    Sweep_trial *t = &s->trial[trial];
    int n = trials_to_see(s, trial);
    for (int i = 0; i < n; i++)
        if (!has_ended(s, i, 0)) return false;
    t->value = NEW_ARRAY(const char *, s->over.n);
    if (s->method == BY_GRID) grid_point(&s->over, trial, t->value);
    else draw_trial(s, trial, n);
    return true;
}
