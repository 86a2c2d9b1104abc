/* measure.h: best rates of this machine. */
#ifndef LATHE_MATH_MEASURE_H
#define LATHE_MATH_MEASURE_H

#include "interface/lathe_model.h"

double median_of(double *x, int64_t n); /* sorts x */

/* Best rates of this machine with all the program's threads.  copy_rate: bytes read and written per second by a copy
 * that uses `bytes` of memory, at most 256 MB.  product rates: flop per second of one large product by gemm_f32 or
 * gemm_f64, in the given memory if it is large enough, so that a bench needs no more memory than a run. */
double copy_rate(int64_t bytes);
double product_rate(Lathe_dtype real, void *room, int64_t bytes);
double curve_rate(void);    /* tanh of floats in cache, elements per second */
double call_seconds(void);  /* to wake all threads and to wait for them: the least median of some */
/* The same in about `seconds`, in a room whose contents are lost; the product is the largest for which there is room
 * and time.  0: too small a room. */
double copy_rate_in(char *room, int64_t bytes, double seconds);
double product_rate_in(Lathe_dtype real, char *room, int64_t bytes, double seconds);

#endif
