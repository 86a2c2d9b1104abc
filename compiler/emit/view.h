/* view.h: how the axes of an array take the indices of a view (view.c). */
#ifndef EMIT_VIEW_H
#define EMIT_VIEW_H

#include "emit/emit.h"

/* The array to which a view is fitted: the axes of the buffer, or merged ones. */
typedef struct Dims {
    int n;
    int64_t extent[MAXRANK], stride[MAXRANK];
} Dims;

Dims dims_of_buffer(const Buffer *b);
/* Gives each index of v to an axis of d. false: only a flat pointer can address it. crowded: an axis whose end is
 * crossed, or -1. */
bool fits_subscripts(const Function *f, const View *v, const Dims *d, Index *sub, int *crowded);
Index elements_of(const Buffer *b, int from, int to, Index x); /* x, as a number of elements of axes from … to - 1 */

#endif
