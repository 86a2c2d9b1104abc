/* order.h: the order of groups and nodes of a level while they are being fused. */
#ifndef KERNELS_ORDER_H
#define KERNELS_ORDER_H

#include "lower/lower.h"

typedef struct Unit { /* a group, or a node in none */
    Node *node;
    Group *group;
    int64_t number;             /* rises along the list */
    struct Unit *before, *next; /* the last of the list stands for its end */
    int64_t search;             /* the last one that came by */
    Infos feeds;                /* of a group of several nodes: what it reads of others, each once */
} Unit;

void order_level(Cut *cut, Level *level);                           /* gives every node its unit */
bool apart(Cut *cut, Loop *level, const Group *a, const Group *b);  /* no path between them leads through others */
void join_units(Cut *cut, Group *a, const Group *b);                /* right after apart(); a has all nodes by now */
bool come_before(Cut *cut, Loop *level, Node *n, const Group *g);   /* true: nothing that n is made of reads g; g may read n from now on */

#endif
