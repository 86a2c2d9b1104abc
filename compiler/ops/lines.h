/* lines.h: what operations share that walk along an axis, ints[0], in order; and what scans share. */
#ifndef OPS_LINES_H
#define OPS_LINES_H

#include "ops/parts.h"

/* The lines of a tensor along one axis: element k of line (i, j) is at[(i · extent + k) · inner + j]. */
typedef struct Lines {
    int64_t outer, extent, inner;
} Lines;
Lines lines_along(Shape s, int axis);

const char *line_fault(const Node *n, int nints); /* it has so many ints, ints[0] is an axis, in[0] is of numbers */
Row_fact rows_along(const Row_pair *p, Row_fact f, const char *why); /* f; where the lines go along rows, they meet */

/* Scans: ints are axis, 1 to run backwards; element k of the result is a running value over elements 0 … k. */
const char *scan_fault(const Node *n, Type *results);
void scan_eval(const Node *n, const Value *in, Value *out, double start, Op step);
Node *scan_split(const Node *n, const Trips *in);

#endif
