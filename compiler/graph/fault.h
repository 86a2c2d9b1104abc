/* fault.h: what checks of types share. */
#ifndef GRAPH_FAULT_H
#define GRAPH_FAULT_H

#include "graph/graph.h"

/* Limits that keep every product of sizes far from overflowing. */
#define MOST_ELEMENTS ((int64_t)1 << 48)

bool valid_shape(Shape s);
/* ints[first … first + n) are axes below rank, each once; ascending if so wished */
bool valid_axes(const Node *n, int first, int count, int rank, bool ascending);

#endif
