/* emit_rows.h: a ROWS kernel while it is printed. */
#ifndef EMIT_ROWS_H
#define EMIT_ROWS_H

#include "emit.h"

typedef struct Known {
    const Node *node;
    Expr expr;
} Known;

typedef struct Total {
    const Node *node;
    const char *name;
    bool lanes;
} Total; /* a reduction being fed */

typedef struct Rows {
    Function *f;
    const Kernel *k;
    int inner, rows;   /* axis numbers: the inner one; row axes are 0 … rows - 1 */
    int block;         /* axis of the blocks of rows, or -1 */
    int *load;         /* use of each load */
    VEC(Known) known;  /* values that have an expression now; sweeps pop theirs */
    const char **kept; /* the local array of each kept value */
    VEC(Total) totals;
    const Phase *phase; /* being printed */
    bool sweeping;
    bool threaded; /* inside PARALLEL */
} Rows;

/* emit_values.c: what the values of the phase being printed are in C */
bool is_among(const Nodes *s, const Node *n);
int sweep_uses(const Rows *r, const Phase *p, const Node *n); /* how often the phase's sweep reads n */
bool row_named(const Rows *r, const Node *n); /* a row's value is named if a sweep reads it or if it is read twice */
Known *known(Rows *r, const Node *n);
void know(Rows *r, const Node *n, Expr e);
int kept_number(const Rows *r, const Node *n); /* -1: not kept */
char *kept_element(const Rows *r, int i);
const char *word_for(const Node *n); /* a name that tells something: mean, diff, e */
const char *load_name(Rows *r);
Expr declare(Rows *r, const Node *n, const char *name, Expr e);
Expr computed_here(Rows *r, const Node *n);
Expr value_of(Rows *r, const Node *n);

#endif
