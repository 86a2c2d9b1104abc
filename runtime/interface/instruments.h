/* instruments.h: the operands of kernels and the loops around them, as tables of a program built with --instrument. */
#ifndef LATHE_INTERFACE_INSTRUMENTS_H
#define LATHE_INTERFACE_INSTRUMENTS_H

#include "dtype.h"

#include <stdbool.h>
#include <stdint.h>

enum { LATHE_MAXRANK = 8 };

typedef enum Lathe_home { LATHE_PARAMS, LATHE_GRADS, LATHE_STATES, LATHE_IN, LATHE_OUT, LATHE_WORK } Lathe_home;

typedef struct Lathe_loop {
    const char *name;           /* "layer" */
    int outer;                  /* the loop around it, -1: none */
    int64_t trip;
    bool reverse;               /* iterations trip - 1 … 0 */
} Lathe_loop;

/* Element (i0, i1, …) is element base + Σ stride[k] · i_k + Σ over[l] · iteration of loop l, of the array `offset`
 * bytes into its home; if guarded, it exists only if low[k] <= i_k < high[k] for all k. */
typedef struct Lathe_operand {
    int lap, loop;              /* its kernel; the innermost loop around that, -1: none */
    bool written;
    const char *name;
    Lathe_home home;
    Lathe_dtype dtype;
    int64_t offset, base;
    int rank;
    int64_t dim[LATHE_MAXRANK], stride[LATHE_MAXRANK];
    bool guarded;
    int64_t low[LATHE_MAXRANK], high[LATHE_MAXRANK];
    int overs;
    struct { int loop; int64_t stride; } over[LATHE_MAXRANK];
} Lathe_operand;

typedef struct Lathe_instruments {
    int loops, operands;
    const Lathe_loop *loop;
    const Lathe_operand *operand;       /* in the order of the kernels' text; a kernel's results come first */
} Lathe_instruments;

#endif
