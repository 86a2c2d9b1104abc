/* view.h: views as affine maps (View in kernel.h). */
#ifndef KERNELS_VIEW_H
#define KERNELS_VIEW_H

#include "kernels/kernel.h"

View view_whole(Buffer *b);                                     /* all of a buffer, in its own shape */
View view_dense(Shape s);                                       /* contiguous, of no buffer yet: strides in elements */
bool view_move(View *v, const Node *move);                      /* false: not affine, v untouched */
bool view_reshape(const View *v, Shape s, View *out);           /* false: not affine */
View view_without_first(const View *v, Loop *l, int64_t slots_ahead);   /* v[iteration + slots_ahead] */
bool view_is_dense(const View *v);                              /* base 0, contiguous, no guard */
bool view_rows_dense(const View *v, int64_t inner);             /* value per row: dense over all but the inner axis, 0 there */
bool refine(Shape a, Shape b, Shape *out);                      /* the finest common axes of two shapes of equal size */
double view_bytes(const View *v);                               /* of the distinct elements read or written through it, once */
Shape squeezed(Shape s);                                        /* without unit axes */

#endif
