/* convolution.h: what a convolution is, and the description of a call's operands.
 *
 *     y [batch…][Y…][O]    x [batch…][X…][C]    w [O][C / groups][K…]      one to three axes; here, one:
 *     y[b][j][o] = Σ over k, c of x[b][j · stride + k · dilation - before][c] · w[o][c][k]
 *
 * x is zero where that index is outside.  With groups, output channel o reads the input channels of its group.
 * The other two calls are its derivatives: from y and w that towards x (a transposed convolution), and from x and y that
 * towards w.  The latter comes in parts whose sum it is: the batch and the first axis that is not 1 are rows, and part p
 * has rows p · R … (p + 1) · R - 1, where R is their number divided by `parts`, rounded up.
 *
 * Each element is one sum in a fixed order, which extents alone decide: first by blocks of 16 channels, then by the
 * kernel's places, then by channel (towards w: by runs of pixels).  Where a kernel reads three neighbours, the sum is made
 * of four sums, which serve two results (math/convolution_pairs.h); along two axes, of 16, which serve four
 * (math/convolution_squares.h). */
#ifndef LATHE_MATH_CONVOLUTION_H
#define LATHE_MATH_CONVOLUTION_H

#include "interface/lathe_model.h"

typedef struct Lathe_pixels {   /* strides in elements; along the channels: 1 */
    int64_t batch[LATHE_MAXRANK], axis[LATHE_CONVOLVED];
} Lathe_pixels;

typedef struct Lathe_convolution {
    int nbatch;
    int64_t batch[LATHE_MAXRANK], groups, C, O, parts;
    /* along each axis; axes that it lacks come first and have extent 1 */
    int64_t X[LATHE_CONVOLVED], Y[LATHE_CONVOLVED], K[LATHE_CONVOLVED];
    int64_t stride[LATHE_CONVOLVED], dilation[LATHE_CONVOLVED], before[LATHE_CONVOLVED];
    Lathe_pixels x, y;          /* w has no gaps */
} Lathe_convolution;

#endif
