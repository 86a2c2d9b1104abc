/* batch.h: nested batch axes: how many samples there are, and where each begins. */
#ifndef LATHE_MATH_BATCH_H
#define LATHE_MATH_BATCH_H

#include <stdint.h>

static inline int64_t samples_in(int axes, const int64_t *extent)
{
    int64_t n = 1;
    for (int i = 0; i < axes; i++) n *= extent[i];
    return n;
}

/* The offset of the index-th sample, the last axis running fastest; stride in elements. */
static inline int64_t sample_offset(int axes, const int64_t *extent, const int64_t *stride, int64_t index)
{
    int64_t at = 0;
    for (int i = axes - 1; i >= 0; i--) {
        at += index % extent[i] * stride[i];
        index /= extent[i];
    }
    return at;
}

#endif
