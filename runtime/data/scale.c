/* scale.c: scales the numbers of a column by its mean and deviation in the training part. */
#include "base/words.h"
#include "data/scale.h"

#include <math.h>

void start_scale(Scale *s) { *s = (Scale){.low = INFINITY, .high = -INFINITY}; }

void see_number(Scale *s, double x)
{
    if (isnan(x)) return;
    s->sum += x;
    s->low = fmin(s->low, x);
    s->high = fmax(s->high, x);
    s->count++;
}

double mean_of_scale(const Scale *s) { return !s->count ? 0 : s->low == s->high ? s->low : s->sum / (double)s->count; }

void see_deviation(Scale *s, double x, double mean)
{
    if (!isnan(x) && s->low < s->high) s->squares += (x - mean) * (x - mean);
}

double deviation_of_scale(const Scale *s, const char *column, double mean)
{
    if (!s->count || s->low == s->high) return 0;
    double deviation = sqrt(s->squares / (double)s->count);
    if (!isfinite(mean) || !isfinite(deviation))
        fail(EXIT_DATA, text_of("column \"%.60s\"", column),
             "its numbers are too large to be scaled, up to %g; mend them, or leave the column out (drop)",
             fmax(fabs(s->low), fabs(s->high)));
    return deviation;
}

void learn_scale(const char *column, const Learned *l, const double *x, int step, double *mean, double *deviation)
{
    Scale s;
    start_scale(&s);
    for (int64_t i = 0; i < l->n; i++) see_number(&s, x[l->row[i] * (int64_t)step]);
    *mean = mean_of_scale(&s);
    for (int64_t i = 0; i < l->n; i++) see_deviation(&s, x[l->row[i] * (int64_t)step], *mean);
    *deviation = deviation_of_scale(&s, column, *mean);
}

double scaled(double x, double mean, double deviation)
{
    return isnan(x) || !(deviation > 0) ? 0 : (x - mean) / deviation;
}
