/* slabs.h: which elements of a buffer a row of a group of kernels touches. */
#ifndef PLAN_SLABS_H
#define PLAN_SLABS_H

#include "kernels/kernels.h"

/* How a buffer is touched: row by row, S elements apart, or (S = 0) in some other way. */
typedef struct Slab {
    Buffer *buffer;
    int64_t S;
    bool writes;
} Slab;
typedef VEC(Slab) Slabs;

void slabs_of(const Kernel *k, int64_t R, Slabs *s);        /* adds what k touches if it is one of a group over R rows */
bool rows_apart(const Slabs *s);                            /* no two rows meet in what is written */

#endif
