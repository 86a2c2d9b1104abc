/* parts.h: the parts of an operation with a file of its own (the OWN rows of graph/ops.def, and whole ops): all that it
 * means to the stages.  They are in compiler/ops/NAME.c and called NAME_fault, NAME_eval, ….  ops/parts.c makes the table
 * from the rows, so that a part which a row names and its file lacks is an error of the linker. */
#ifndef GRAPH_PARTS_H
#define GRAPH_PARTS_H

#include "graph/graph.h"

struct Row_fact; /* graph/rows.h */
struct Row_pair;
struct Rows;
struct Range;       /* desc/range.h */
struct Trips;       /* ops/trips.h */
struct Kernel_part; /* kernels/kernel.h */

/* Of a view: an element of the result has, along an axis of the input, the index start + step · its index along `axis`
 * of the result.  Outside of the input there are zeros.  axis -1: it follows from several. */
typedef struct Place {
    int axis;
    int64_t start, step;
} Place;

/* Every OWN row has these three.  What is wrong with its inputs and ints, or NULL and the types of its results: */
typedef const char *Part_fault(const Node *n, Type *results);
typedef void Part_eval(const Node *n, const Value *in, Value *out); /* in doubles; out: each result, with its shape */
typedef struct Row_fact Part_rows(struct Rows *r, struct Row_pair *p); /* how it depends on the rows of the batch */

/* These are in the row if it has them.  Without: */
typedef struct Range Part_range(const Node *n, int result, const struct Range *in); /* it may be any integer */
typedef void Part_gradient(struct Grad_level *lv, Node *n, Node *g);                /* no gradient flows */
typedef Node *Part_split(const Node *n, const struct Trips *in, int64_t trip);      /* it stays in its loop */
typedef bool Part_splits(const Node *n);                                            /* it may be, if it has split */
typedef Node *Part_total(const Node *n, const struct Trips *in, int64_t trip);      /* sums over trips are of a stack */
typedef int64_t Part_terms(const Node *n);                                          /* as many as it has elements */
typedef Node *Part_normal(const Node *n, Node *const *in);                          /* nothing simpler is known */
typedef const struct Kernel_part Part_kernel;                                       /* no kernel of an index kind */
typedef struct Place Part_place(const Node *n, int axis);                           /* it is no view */
typedef void Part_axes(Node *n);                                                    /* its maker says its axes */

/* range: of a result, from the ranges of the first two inputs.  gradient: n is the node, or the pick of a result; it
 * contributes to the node's inputs.  split: n for all trips of a loop at once, [trip, …]; one input at least varies.
 * splits: whether n may be.  total: the sum of n over all trips, where in[1] varies.  terms: how many terms a trip adds
 * to it.  normal: what takes its place over new inputs, or NULL.  place: of an axis of its input.  axes: what they are
 * called, when n is made. */
typedef struct Parts {
    Part_fault *fault;
    Part_eval *eval;
    Part_rows *rows;
    Part_range *range;
    Part_gradient *gradient;
    Part_splits *splits;
    Part_split *split;
    Part_total *total;
    Part_terms *terms;
    Part_normal *normal;
    Part_kernel *kernel;
    Part_place *place;
    Part_axes *axes;
} Parts;
extern const Parts op_parts[OPS]; /* all NULL of maps, reductions, leaves and loops */

#endif
