/* rows_ops.h: what ops are made of that say how they depend on rows. */
#ifndef GRAPH_ROWS_OPS_H
#define GRAPH_ROWS_OPS_H

#include "graph/rows.h"

Row_fact row_input(const Row_pair *p, int k);
Row_fact row_join(const Row_pair *p, Row_fact a, Row_fact b);
Row_fact row_sum_of(Rows *r, Row_pair *p, int i, int k);
Row_fact row_reshaped(const Rows *r, const Row_pair *p, Row_fact f, Shape old, Shape new);
Row_fact row_total_of(const Rows *r, Row_fact a, Row_fact b); /* of their products, summed over rows */
Row_fact row_product(Rows *r, Row_pair *p); /* of inputs 0 and 1, as to powers and totals */

#endif
