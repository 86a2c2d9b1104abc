/* rows.h: a ROWS kernel while it is printed. */
#ifndef EMIT_ROWS_H
#define EMIT_ROWS_H

#include "emit/emit.h"

typedef struct Known {
    const Node *node;
    Expr expr;
} Known;

typedef struct Total {
    const Node *node;
    const char *name;
    bool several; /* running values side by side */
} Total; /* a reduction being fed */

/* A reduction over all rows. */
typedef struct Column {
    const Node *node;
    int partial;      /* use of its partial sums */
    const char *sums; /* CUDA: of the teams, in shared memory, or of a thread; NULL: in the partial sums */
    bool add;         /* of one that is stored: to what is there */
    int store;        /* and its use */
} Column;
typedef struct Columns {
    Column *at;
    int n, cap;
} Columns;

typedef struct Phase_uses { /* of each operand of a phase: its use in the function */
    int *row_store, *store, *column_store, *partial;
    const char **running; /* of each column, where it is added up along the inner axis; NULL: in its partial */
} Phase_uses;

typedef struct Rows {
    Function *f;
    const Kernel *k;   /* over the axes of its nest */
    const Nest *n;
    int inner, rows;   /* axis numbers: the inner one; row axes are 0 … rows - 1 */
    int block;         /* axis of the blocks of rows, or -1 */
    int *load;         /* use of each load */
    Phase_uses *uses;  /* by phase */
    VEC(Known) known;  /* values that have an expression now; sweeps pop theirs */
    const char **kept; /* the local array of each kept value */
    Values values;     /* where they come from */
    struct Found {     /* emit/words.c: of a value: who has another title, and is made of it; its buffer */
        Table users, places;
    } found;
    VEC(Total) totals;
    const Phase *phase; /* being printed */
    bool sweeping;

    /* the target's own */
    const char *kept_count, *kept_at; /* in the brackets of kept arrays, and of an element; NULL: as the axis */
    const char *running_at;           /* in the brackets of an element of Phase_uses.running; NULL: as the axis */
    const char **wide;                /* CUDA: of each bit of Nest.wide the local that has the elements of a thread's turn, or NULL */
    bool wide_given;                  /* CUDA: it is an element of those, a parameter */
    const char **kept_load;           /* CUDA: of each load, the row in shared memory that has it, or NULL; NULL: none has */
    const char *turn, *turns;         /* CUDA: over what a thread keeps of its row, how often; NULL: it keeps nothing */
    const char *first, *meet;         /* CUDA: true in the first thread of the row; how its threads meet; or NULL */
    int team;                         /* CUDA: threads of a row */
    int beside;                       /* CUDA: elements side by side that a thread takes, 1 or 4 */
    const char *four;                 /* CUDA: the index of the first of them */
} Rows;

/* emit/rows.c: what the kernels of every target have in common */
const Phase_uses *uses_now(const Rows *r); /* of the phase being printed */
void one_row(Rows *r);                     /* its phases */
void row_without_sweeps(Rows *r);          /* its values and stores, where the reductions are known */
void one_element(Rows *r, const char *lane); /* the sweep's body; totals that are several are fed at [lane] */
bool has_sweep(const Rows *r);
int64_t row_count(const Rows *r);
const char *row_count_text(const Rows *r);
void row_indices(Rows *r, const char *row);      /* of several row axes, from the number of the row */
int partial_of(const Rows *r, const Node **n);   /* use of the partial sums of a stored column; n: the column itself */
const char *start_of(const Node *n);             /* the first running value of a reduction */
const char *end_of(const Node *n);               /* "sum", "max" or "min": the word of its last step */

/* emit/sweep.c: the loops over the inner axis of a row */
void sweep(Rows *r);                             /* of the phase: its reductions are known from then on */
const char *short_mark(const Rows *r, int axis); /* of the loop over an axis that a compiler must not unroll */
const char *row_name(Rows *r);                   /* emit/rows.c: of the index of a row, or of its number */

/* emit/totals.c: the reductions of a sweep */
bool any_in_lanes(const Rows *r);
void start_totals(Rows *r, const char *many);    /* their running values; many: how many, where there are several */
void finish_totals(Rows *r, const char *at);     /* their values are known; at: which of those is the row's, across rows */

/* emit/words.c: what values are called */
void find_users(Rows *r);                                              /* before the others */
const char *word_for(Page *page, const Node *n);            /* its title */
const char *word_of(const Rows *r, const Node *n);                     /* that, or how it is made, or of what a part */
const char *word_for_total(const Rows *r, const Node *n);              /* of a reduction */
const char *many_of(const Node *n);                                    /* "sums", "maxima" or "minima" */
const char *word_for_lanes(const Rows *r, const Node *n);              /* of the lanes that it runs in */
const char *name_told_apart(Rows *r, const Node *n, const char *word); /* the word, and more if it is taken */
const char *name_for(Rows *r, const Node *n);                          /* likewise its own word */

void nest_of_loops(Rows *r);               /* emit/nest.c: in C */
void rows_by_threads(Rows *r);             /* emit/threads.c: in CUDA */
void print_part(Rows *r, const char *remark, const char *(*body)(Rows *)); /* emit/rows.c: what one launch runs; returns its blocks */

/* emit/columns.c: a kernel that reduces over all rows */
void sums_over_rows(Rows *r);
const char *sum_at(const Rows *r, const Column *column, const char *team); /* where a turn of the team has its sum */

/* emit/persistent.c: for CUDA: the elements of a slice of the columns, in a loop that is one launch; how many slices */
const char *map_of_slice(Rows *r);

/* emit/across.c: for C: rows side by side */
void rows_across(Rows *r);

/* emit/values.c: what the values of the phase being printed are in C */
int sweep_uses(const Rows *r, const Node *n); /* how often the phase's sweep reads n */
bool row_named(const Rows *r, const Node *n); /* a row's value is named if a sweep reads it or if it is read twice */
Known *known(Rows *r, const Node *n);
void know(Rows *r, const Node *n, Expr e);
int kept_number(const Rows *r, const Node *n); /* -1: not kept */
char *kept_element(const Rows *r, int i);
Expr share_text(Page *page, const Node *n, double x, Expr number);
bool is_another(const Rows *r, int load); /* a value that lies where the kernel puts another: d_ln_2 in d_attended */
const char *load_name(Rows *r, int load);
const char *name_of_one(const Rows *r, const char *array); /* one element of what a parameter may be called after */
Expr declare(Rows *r, const Node *n, const char *name, Expr e);
Expr computed_here(Rows *r, const Node *n);
Expr value_of(Rows *r, const Node *n);
Expr load_at(Rows *r, int load); /* the element that it reads, from where a block keeps its row if it does */
bool is_local_load(const Rows *r, int load); /* a thread, or a block, has a copy */
char *store_at(const Rows *r, int store);     /* the element that a store of the phase writes */

#endif
