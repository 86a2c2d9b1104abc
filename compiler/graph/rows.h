/* rows.h: how each value of an entry depends on the rows of the batch, found by following the batch axis through the
 * graph.
 *
 * There may be a second trace of the same description at twice the batch.  It differs in extents and in constants that
 * depend on the batch size, which shows how a value scales when a batch is cut into `parts`: by a power of parts.
 * Without it (single), only sums over rows and divisions by a count are known. */
#ifndef GRAPH_ROWS_H
#define GRAPH_ROWS_H

#include "graph/graph.h"

typedef enum Row_kind {
    ROWS_UNSEEN,
    ROWS_SAME,     /* depends on no row, or only on parameter-free totals of the whole batch, such as counts */
    ROWS_EACH,     /* has the batch axis, and row i depends only on row i */
    ROWS_TOTAL,    /* linear in sums over rows of such values */
    ROWS_FUNCTION, /* another function of such sums, which depend on parameters */
    ROWS_MEET      /* rows depend on each other in another way */
} Row_kind;

typedef struct Row_fault {
    Where where;
    const char *why;
} Row_fault;

typedef struct Row_fact {
    Row_kind kind;
    int axis; /* EACH: its extent is outer · batch · inner */
    int64_t outer, inner;
    int power;              /* value for the whole batch = value for a part (TOTAL: mean over parts) · parts^power */
    bool learned;           /* depends on a parameter */
    bool affine;            /* TOTAL: plus a value that is not a sum over rows */
    bool counted;           /* depends on totals of the whole batch */
    const Row_fault *fault; /* FUNCTION, MEET */
} Row_fact;

/* What a node must read instead of its input k to compute the same for parts of a batch as for the whole. */
typedef struct Row_edit {
    bool whole; /* the total over all parts, or the mean if it is affine */
    bool mean;
    int power; /* then times parts^power */
} Row_edit;

typedef struct Row_pair { /* a node and its counterpart in the wider trace */
    Node *node, *wider;
    int nin;
    struct Row_pair **in; /* NULL: ignored */
    Row_edit *edit;
    Row_fact fact;
    bool misfit; /* the two differ in kind */
    bool elided; /* the wider one expands a value over rows, of which there is only one here */
    struct Row_pair *next;
} Row_pair;

typedef struct Rows {
    const Graph *graph, *wide; /* wide: the same graph if there is one trace */
    bool single;               /* a sum over rows has power 0; divided by the number of rows, as a mean, -1 */
    int64_t batch;             /* of wide, whose extents axes are followed by: at least 2 */
    Table by_node;             /* of wider nodes: Row_pair */
    Table statistics;          /* those of graph: the same for all rows, though made of them */
    VEC(Row_pair *) pairs;     /* inputs first */
    bool recording;            /* facts are final, so edits are noted */
} Rows;

Rows *rows_of(const Graph *g, const Graph *wide, int64_t batch, bool single);
bool is_raw_total(const Row_fact *f);       /* single: linear in sums over rows, without counts */
Row_pair *row_output(const Rows *r, int k); /* of output k */
bool has_edits(const Row_pair *p);

/* rows_ops.c: the fact of p from those of its inputs */
Row_fact row_fact(Rows *r, Row_pair *p);
Row_fact row_demand(Rows *r, Row_pair *p, int k); /* of input k, read as a value of the whole batch */
Row_fact row_meets(const Row_pair *p, const char *why);
Row_pair *find_pair(const Rows *r, const Node *node, const Node *wider);

#endif
