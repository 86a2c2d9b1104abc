/* step.h: parts of an optimizer's step shared by a CPU (step/optim.c) and a GPU (cuda/optim.cu). */
#ifndef LATHE_STEP_STEP_H
#define LATHE_STEP_STEP_H

#include "math/math.h"
#include "step/optim.h"

/* The segment of an element. */
MATH int segment_at(const Segment *segment, int segments, int64_t element)
{
    int low = 0, high = segments - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (segment[middle].end > element) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* x^n by squaring: a CPU and a GPU get the same bits, unlike with pow. */
MATH double power_of(double x, int64_t n)
{
    double all = 1;
    for (; n > 0; n /= 2, x *= x)
        if (n % 2) all *= x;
    return all;
}

/* The share of the new weights in a running mean of them (EMA) at an update, from 0: 1 - min(decay, (1 + t) / (10 + t)),
 * so that early means forget the first weights. */
MATH double ema_share(double decay, int64_t update)
{
    const double warm = (double)(1 + update) / (double)(10 + update);
    return 1 - (decay < warm ? decay : warm);
}

/* The factor of gradients that limits their norm to clip; 1 if clip is 0: torch's clip_grad_norm_. */
MATH double clip_scale(double norm, double clip) { return clip > 0 ? min_f64(1, clip / (norm + 1e-6)) : 1; }

#endif
