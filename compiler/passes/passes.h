/* passes.h: what passes over graphs have for those that come after them. */
#ifndef PASSES_PASSES_H
#define PASSES_PASSES_H

#include "desc/passes.h"

Precision precision_of(const Options *o);                   /* an unknown one is the user's mistake */
void check_precision(const Options *o);                     /* refuses on a command line what only tests may ask for */
const char *needed_forward(const Graph *g);                 /* by a node's id: whether loss, metrics or states need it */
const char *needed_by_ranks(const Graph *g);                /* whether a sum over ranks needs it; NULL: there is none */
bool gradient_flows(const Node *n, int i);                  /* passes/grad.c: does a gradient of n give input i one? */
void add_part_squares(Graph *g);                            /* passes/grad_noise.c: after the gradients, Graph.micro still open */
void close_in_pairs(Graph *g);                              /* passes/grad_exact.c: Graph.micro, for --exact-sums */
Node *sum_in_pairs(Node *n);                                /* n: [a power of two, …], over its first axis */
void reached_parameters(const Graph *g, Strings *names);    /* of which the loss, outs[0], depends on differentiably */

#endif
