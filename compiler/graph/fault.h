/* fault.h: for checks of types. */
#ifndef GRAPH_FAULT_H
#define GRAPH_FAULT_H

#include "graph/graph.h"

/* Limits that prevent overflow in products of sizes. */
#define MOST_ELEMENTS ((int64_t)1 << 48)

bool valid_shape(Shape s);
/* Are ints[first … first + n) axes below rank, each once, and ascending if asked? */
bool valid_axes(const Node *n, int first, int count, int rank, bool ascending);

#endif
