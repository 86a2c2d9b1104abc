/* sums.h: sums over ranks, in one fixed order. */
#ifndef LATHE_RANKS_SUMS_H
#define LATHE_RANKS_SUMS_H

#include "interface/dtype.h"

#include <stdint.h>

/* to[i] = (((x0 + x1) + (x2 + x3)) + …) · scale for n reals of a type; x[ranks], which are changed; `to` may be one of
 * them.  For any number of ranks, neighbours are added first, so that powers of two give parts of one tree. */
void add_over_ranks(Lathe_dtype type, void *to, void *const *x, int ranks, int64_t n, double scale);
double sum_over_ranks(Lathe_dtype type, double *x, int ranks, double scale); /* of numbers that are of that type */

#endif
