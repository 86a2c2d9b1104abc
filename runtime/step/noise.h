/* noise.h: the gradient noise scale of a run (compiler/decisions/054-noise-scale.md). */
#ifndef LATHE_STEP_NOISE_H
#define LATHE_STEP_NOISE_H

#include <stdint.h>

typedef struct Noise {    /* running means, both with one decay from 0 on */
    int64_t steps;        /* that were measured */
    double signal, noise; /* |G|² of the true gradient; the trace of the covariance of one row's */
} Noise;

/* whole: |g|² of the batch's gradient; part: the mean of those of its parts, each as if it were the batch. */
void note_noise(Noise *n, double whole, double part, int64_t rows, int64_t parts);
double noise_scale(const Noise *n); /* noise / signal, in rows; NAN: nothing is known yet */

#endif
