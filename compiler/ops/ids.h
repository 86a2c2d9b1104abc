/* ids.h: what gather, scatter_add and overwrite share.  ints: axis, nbatch.  x is addressed along axis by ids, the first
 * nbatch axes of both run together; y is of shape x[:axis] + ids[nbatch:] + x[axis+1:]. */
#ifndef OPS_IDS_H
#define OPS_IDS_H

#include "ops/parts.h"

Shape shape_by_ids(Shape x, Shape ids, int axis, int nbatch);                   /* y's; must() fit */
const char *ids_fault(const Node *n, Shape x, const Node *ids, Shape *y);       /* what does not fit; else y's shape */
int64_t place_by_id(const Node *n, Shape x, const Value *ids, const int64_t *at); /* offset in x of y's element `at` */
Row_fact meets_by_ids(const Row_pair *p);
bool same_rows(Row_fact a, Row_fact b); /* one axis, cut alike */

#endif
