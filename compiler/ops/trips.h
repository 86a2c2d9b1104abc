/* trips.h: a loop's body seen from outside: its values for all trips at once, the iteration axis in front. */
#ifndef OPS_TRIPS_H
#define OPS_TRIPS_H

#include "graph/graph.h"

/* An operand: with the iteration axis in front, or the same in every trip. */
typedef struct Trips {
    Node *node;
    bool varies;
} Trips;

Shape in_front(int64_t trip, Shape s);         /* [trip, …] */
Node *spread_trips(Trips v, int64_t trip);     /* the same in every trip, repeated */
Node *to_front(Node *v, int from);             /* the axis `from` moved to the front */

#endif
