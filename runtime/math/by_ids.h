/* by_ids.h: products of rows with matrices that ids choose, and the description of a call's operands.
 *
 *     y [outer][inner][N]    x [outer][inner][K]    w [E][N][K]    ids [outer][inner], without gaps
 *
 * dot_by_ids:  y[r][n] = Σ over k of x[r][k] · w[ids[r]][n][k]          r: outer and inner together
 * sum_by_ids:  w[e][n][k] = Σ over the rows r with ids[r] = e of y[r][n] · x[r][k], in the order of r; 0 without rows
 *
 * Strides count elements and may be 0; along the last axes of x and y they are 1, and one of w_n and w_k is. */
#ifndef LATHE_MATH_BY_IDS_H
#define LATHE_MATH_BY_IDS_H

#include "interface/lathe_model.h"

/* What bad_id() says; place NULL: all ids are certainly in range. */
typedef struct Lathe_id_check {
    bool data;
    const char *place, *what;
} Lathe_id_check;

typedef struct Lathe_by_ids {
    int64_t outer, inner, E, N, K;
    int64_t x_outer, x_inner, y_outer, y_inner, w_e, w_n, w_k;
    Lathe_id_check id;
    bool alike; /* a row of y has the bits that it has where no other row has its id (CPU) */
} Lathe_by_ids;

#endif
