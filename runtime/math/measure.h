/* measure.h: what this machine can do at its best. */
#ifndef LATHE_MATH_MEASURE_H
#define LATHE_MATH_MEASURE_H

#include "interface/lathe_model.h"

double median_of(double *x, int64_t n); /* sorts x */

/* At its best on this machine, with all the program's threads: bytes read and written a second by a copy that takes so
 * many bytes of memory, 256 MB at most; flop a second of one large product through gemm_f32 or gemm_f64, in
 * memory that may be overwritten, where there is enough of it, so that a bench needs no more than a run. */
double copy_rate(int64_t bytes);
double product_rate(Lathe_dtype real, void *room, int64_t bytes);

#endif
