/* parts.h: the parts of an operation with its own file (the OWN rows of graph/ops.def, and whole ops): what each stage
 * needs of it.  They are in compiler/ops/NAME.c, called NAME_fault, NAME_eval, ….  ops/parts.c makes the table from the
 * rows: a part that a row names but the file lacks is a linker error. */
#ifndef GRAPH_PARTS_H
#define GRAPH_PARTS_H

#include "graph/graph.h"

struct Row_fact; /* graph/rows.h */
struct Row_pair;
struct Rows;
struct Range;       /* desc/range.h */
struct Trips;       /* ops/trips.h */
struct Kernel_part; /* kernels/kernel.h */

/* Of a view: the element at index i of `axis` of the result has, along one axis of the input, the index start + step · i.
 * Outside of the input there are zeros.  axis -1: several axes of the result determine it. */
typedef struct Place {
    int axis;
    int64_t start, step;
} Place;

/* Required in OWN rows.  Part_fault: what is wrong with inputs and ints; NULL: nothing, and the types of the results. */
typedef const char *Part_fault(const Node *n, Type *results);
typedef void Part_eval(const Node *n, const Value *in, Value *out); /* in doubles; out: results with shapes */
typedef struct Row_fact Part_rows(struct Rows *r, struct Row_pair *p); /* how it depends on rows of the batch */

/* Optional, named in the row.  If it is missing: */
typedef struct Range Part_range(const Node *n, int result, const struct Range *in); /* any integer is possible */
typedef void Part_gradient(struct Grad_level *lv, Node *n, Node *g);                /* no gradient flows */
typedef Node *Part_split(const Node *n, const struct Trips *in, int64_t trip);      /* the op stays in its loop */
typedef bool Part_splits(const Node *n);                                            /* every node of the op may be split */
typedef Node *Part_total(const Node *n, const struct Trips *in, int64_t trip);      /* sums over trips sum a stack */
typedef int64_t Part_terms(const Node *n);                                          /* as many as it has elements */
typedef Node *Part_normal(const Node *n, Node *const *in);                          /* there is no simpler form */
typedef const struct Kernel_part Part_kernel;                                       /* no kernel of an index kind */
typedef struct Place Part_place(const Node *n, int axis);                           /* it is no view */
typedef void Part_axes(Node *n);                                                    /* its maker says its axes */

/* range: of a result, from the ranges of the first two inputs.  gradient: adds to the gradients of the node's inputs;
 * n: the node, or the pick of a result.  split: n for all trips of a loop at once, [trip, …]; at least one input varies.
 * splits: may n be split?  total: the sum of n over all trips; in[1] varies.  terms: how many terms a trip adds to that
 * sum.  normal: the replacement over new inputs, or NULL.  place: of one axis of the input.  axes: names the axes of a
 * new n. */
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
extern const Parts op_parts[OPS]; /* maps, reductions, leaves and loops: all NULL */

#endif
