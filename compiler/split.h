/* split.h: what the files of loop splitting share: body values along the whole iteration axis. */
#ifndef SPLIT_H
#define SPLIT_H

#include "lathe.h"

/* A body operand seen from outside the loop: with the iteration axis in front, or the same in every iteration. */
typedef struct Along {
    Node *node;
    bool varies;
} Along;

/* split_ops.c */
bool has_along(const Node *n); /* whether op and rank allow it */
Node *along(const Node *n, const Along *in,
            int64_t trip);                       /* n for all iterations: [trip, …]; one input at least varies */
Node *total_dot(const Node *n, const Along *in); /* sums over the iterations, both inputs varying */
Node *total_sum(const Node *n, Node *in);
Node *total_scatter(const Node *n, const Along *in, int64_t trip);

#endif
