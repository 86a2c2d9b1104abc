/* scale.h: numbers of a column with mean 0 and deviation 1 in the training part. */
#ifndef LATHE_DATA_SCALE_H
#define LATHE_DATA_SCALE_H

#include <stdint.h>

typedef struct Learned { /* the rows that columns are learned from */
    const int32_t *row;
    int64_t n;
} Learned;

/* Of numbers in the order of the rows, read twice: see_number() takes each for the mean, see_deviation() for the
 * deviation.  Those that are missing (NAN) do not count.  Equal numbers have deviation 0, not the rounding of their
 * mean. */
typedef struct Scale {
    double sum, squares, low, high;
    int64_t count;
} Scale;
void start_scale(Scale *s);
void see_number(Scale *s, double x);
double mean_of_scale(const Scale *s); /* once all are seen */
void see_deviation(Scale *s, double x, double mean);
double deviation_of_scale(const Scale *s, const char *column, double mean); /* ends the program (3) if it is not finite */
/* The same of numbers in memory, which are `step` apart. */
void learn_scale(const char *column, const Learned *l, const double *x, int step, double *mean, double *deviation);
double scaled(double x, double mean, double deviation); /* NAN, or deviation 0: 0, the mean */

#endif
