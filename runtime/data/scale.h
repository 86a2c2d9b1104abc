/* scale.h: numbers of a column with mean 0 and deviation 1 in the training part. */
#ifndef LATHE_DATA_SCALE_H
#define LATHE_DATA_SCALE_H

#include <stdint.h>

typedef struct Learned { /* the rows that columns are learned from */
    const int32_t *row;
    int64_t n;
} Learned;

/* Mean and deviation of a column's numbers, which are `step` apart; those that are missing (NAN) do not count.  Equal
 * numbers have deviation 0, not the rounding of their mean. */
void learn_scale(const char *column, const Learned *l, const double *x, int step, double *mean, double *deviation);
double scaled(double x, double mean, double deviation); /* NAN, or deviation 0: 0, the mean */

#endif
