/* rows.h: how each value of an entry depends on the rows of the batch: found by following the batch axis through the
 * graph, whatever the layers are called.
 *
 * A graph may come with a second trace of the same description at twice the batch.  The two differ in extents and in
 * constants made of the batch's size; what a value is for a batch cut in `parts` is then known as a power of parts.
 * Without one (single) all that is known is what is a sum over rows, and what is divided by a count. */
#ifndef GRAPH_ROWS_H
#define GRAPH_ROWS_H

#include "graph/graph.h"

typedef enum Row_kind {
    ROWS_UNSEEN,
    ROWS_SAME,     /* depends on no row; or only on totals of the whole batch without parameters, such as counts */
    ROWS_EACH,     /* has the batch axis; row i depends on row i alone */
    ROWS_TOTAL,    /* linear in sums over rows of such values */
    ROWS_FUNCTION, /* another function of such sums, with parameters in them */
    ROWS_MEET      /* rows depend on each other in another way */
} Row_kind;

typedef struct Row_fault {
    Where where;
    const char *why;
} Row_fault;

typedef struct Row_fact {
    Row_kind kind;
    int axis; /* EACH: extent outer · batch · inner; the middle factor counts the rows */
    int64_t outer, inner;
    int power;              /* the whole batch has this value times parts^power; of a TOTAL: the mean over the parts */
    bool learned;           /* depends on a parameter */
    bool affine;            /* TOTAL: a value that is no sum over rows was added */
    bool counted;           /* depends on totals of the whole batch */
    const Row_fault *fault; /* FUNCTION, MEET */
} Row_fact;

/* What a node has to read instead of its input k, for the parts of a batch to be those of the whole. */
typedef struct Row_edit {
    bool whole; /* the total over all parts; of an affine one the mean */
    bool mean;
    int power; /* times parts^power, after that */
} Row_edit;

typedef struct Row_pair { /* a node, and the node of the wider trace that stands at its place */
    Node *node, *wider;
    int nin;
    struct Row_pair **in; /* NULL: of no interest */
    Row_edit *edit;
    Row_fact fact;
    bool misfit; /* the two are not alike */
    bool elided; /* the wider one repeats a value for rows of which there is one alone here */
    struct Row_pair *next;
} Row_pair;

typedef struct Rows {
    const Graph *graph, *wide; /* wide: may be the same graph, of one trace alone */
    bool single;               /* powers are not followed: a sum over rows has -1 until a count divides it */
    int64_t batch;             /* of wide, by whose extents axes are followed: they are 2 at least */
    Table by_node;             /* of wider nodes: Row_pair */
    VEC(Row_pair *) pairs;     /* inputs first */
    bool recording;            /* facts are final: edits are noted */
} Rows;

Rows *rows_of(const Graph *g, const Graph *wide, int64_t batch, bool single);
bool is_raw_total(const Row_fact *f);       /* single: linear in sums over rows, with no count in it */
Row_pair *row_output(const Rows *r, int k); /* of output k */
bool has_edits(const Row_pair *p);

/* rows_ops.c: p's fact from those of its inputs */
Row_fact row_fact(Rows *r, Row_pair *p);
Row_fact row_demand(Rows *r, Row_pair *p, int k); /* input k, as a value of the whole batch */
Row_fact row_meets(const Row_pair *p, const char *why);
Row_pair *find_pair(const Rows *r, const Node *node, const Node *wider);

#endif
