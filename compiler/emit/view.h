/* view.h: how an array's axes take the indices of a view (view.c). */
#ifndef EMIT_VIEW_H
#define EMIT_VIEW_H

#include "emit/emit.h"

/* The array a view is fitted to: the buffer's axes, or merged ones. */
typedef struct Dims {
    int n;
    int64_t extent[MAXRANK], stride[MAXRANK];
} Dims;

Dims dims_of_buffer(const Buffer *b);
/* Each index of v to an axis of d; false: it has to be addressed through a flat pointer.  crowded: the axis over whose
 * end an index runs; -1: none. */
bool fits_subscripts(const Function *f, const View *v, const Dims *d, Index *sub, int *crowded);
Index elements_of(const Buffer *b, int from, int to, Index x); /* x counts along axes from … to - 1: as elements */

#endif
