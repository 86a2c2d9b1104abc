/* scale.c: scales the numbers of a column by its mean and deviation in the training part. */
#include "base/words.h"
#include "data/scale.h"

#include <math.h>

void learn_scale(const char *column, const Learned *l, const double *x, int step, double *mean, double *deviation)
{
    double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
    int64_t count = 0;
    for (int64_t i = 0; i < l->n; i++) {
        double y = x[l->row[i] * (int64_t)step];
        if (!isnan(y)) sum += y, low = fmin(low, y), high = fmax(high, y), count++;
    }
    *mean = !count ? 0 : low == high ? low : sum / (double)count;
    *deviation = 0;
    if (!count || low == high) return;
    for (int64_t i = 0; i < l->n; i++) {
        double y = x[l->row[i] * (int64_t)step];
        if (!isnan(y)) squares += (y - *mean) * (y - *mean);
    }
    *deviation = sqrt(squares / (double)count);
    if (!isfinite(*mean) || !isfinite(*deviation))
        fail(EXIT_DATA, text_of("column \"%.60s\"", column),
             "its numbers are too large to be scaled, up to %g; mend them, or leave the column out (drop)",
             fmax(fabs(low), fabs(high)));
}

double scaled(double x, double mean, double deviation)
{
    return isnan(x) || !(deviation > 0) ? 0 : (x - mean) / deviation;
}
