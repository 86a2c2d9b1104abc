/* trips.c: what operations share that are done for all trips of a loop at once. */
#include "ops/trips.h"

Shape in_front(int64_t trip, Shape s)
{
    Shape r = {.rank = 1, .dim = {trip}};
    for (int i = 0; i < s.rank; i++) r = with_axis(r, s, i);
    return r;
}

Node *spread_trips(Trips v, int64_t trip)
{
    return v.varies ? v.node : broadcast(v.node, in_front(trip, v.node->shape));
}

Node *to_front(Node *v, int from)
{
    int perm[MAXRANK] = {from};
    for (int i = 0; i < v->shape.rank; i++)
        if (i != from) perm[i < from ? i + 1 : i] = i;
    return permute(v, perm);
}
