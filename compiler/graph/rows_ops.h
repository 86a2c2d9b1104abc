/* rows_ops.h: for files that say how an op depends on rows: rows_ops.c and ops/NAME.c. */
#ifndef GRAPH_ROWS_OPS_H
#define GRAPH_ROWS_OPS_H

#include "graph/rows.h"

Row_fact row_input(const Row_pair *p, int k);
Row_fact row_join(const Row_pair *p, Row_fact a, Row_fact b);
Row_fact row_sum_of(Rows *r, Row_pair *p, int i, int k);
Row_fact row_reshaped(const Rows *r, const Row_pair *p, Row_fact f, Shape old, Shape new);
Row_fact row_total_of(const Rows *r, Row_fact a, Row_fact b); /* the sum over rows of their product */
Row_fact row_product(Rows *r, Row_pair *p); /* input 0 times input 1: powers and totals */

#endif
