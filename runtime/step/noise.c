/* noise.c: the gradient noise scale (McCandlish et al. 2018, "An Empirical Model of Large-Batch Training", appendix
 * A.1).
 *
 * The gradient of B rows has the expected squared norm |G|² + S / B, where G is the true gradient and S the trace of
 * the covariance of one row's.  Two sizes of batch, of which a step has the larger one and the mean of the smaller
 * ones, give an unbiased estimate of both.  The quotient of two estimates is biased, and a step's own may be negative,
 * so each is averaged over about a hundred steps first.  Both means begin at 0, which cancels in the quotient. */
#include "step/noise.h"

#include <math.h>

static const double kept = 0.99; /* of a mean, at each step */

void note_noise(Noise *n, double whole, double part, int64_t rows, int64_t parts)
{
    const double large = (double)rows, small = large / (double)parts;
    if (!isfinite(whole) || !isfinite(part)) return;
    const double signal = (large * whole - small * part) / (large - small);
    const double noise = (part - whole) / (1 / small - 1 / large);
    n->signal = kept * n->signal + (1 - kept) * signal;
    n->noise = kept * n->noise + (1 - kept) * noise;
    n->steps++;
}

double noise_scale(const Noise *n) { return n->signal > 0 ? fmax(n->noise, 0) / n->signal : NAN; }
