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
    bool several; /* it has several running values */
} Total;          /* a reduction that is running */

/* A reduction over all rows. */
typedef struct Column {
    const Node *node;
    int partial; /* use of its partial sums */
    /* CUDA: the sums of the teams in shared memory, or of a thread; NULL: they are the partial sums */
    const char *sums;
    bool add;  /* its result is added to what is there */
    int store; /* the use of its result */
} Column;
typedef struct Columns {
    Column *at;
    int n, cap;
} Columns;

typedef struct Phase_uses { /* for each operand of a phase: its use in the function */
    int *row_store, *store, *column_store, *partial;
    const char **running; /* where each column is added up along the inner axis; NULL: in its partial result */
} Phase_uses;

typedef struct Rows {
    Function *f;
    const Kernel *k; /* its axes are those of the nest */
    const Nest *n;
    int inner, rows;   /* numbers of axes: the inner one; row axes are 0 … rows - 1 */
    int block;         /* the axis of blocks of rows, or -1 */
    int *load;         /* the use of each load */
    Phase_uses *uses;  /* for each phase */
    VEC(Known) known;  /* values that have an expression now; each sweep removes its own */
    const char **kept; /* the local array of each kept value */
    const char **drawn; /* that of the bits of each of Nest.draws; NULL: not yet drawn for this row */
    Table needed;       /* where bits are drawn: the values that the sweep itself needs */
    Values values;     /* where values come from */
    struct Found {     /* emit/words.c: for a value: the first titled value that is made of it; its buffer */
        Table users, places, added; /* added: values that are not only factors */
    } found;
    VEC(Total) totals;
    const Phase *phase; /* the one that is printed */
    bool sweeping;

    /* what only one target uses */
    const char *kept_count, *kept_at; /* the size of kept arrays and the subscript of an element; NULL: as the axis */
    const char *running_at; /* the subscript of an element of Phase_uses.running; NULL: as the axis */
    const char **wide;      /* CUDA: for each bit of Nest.wide: the local that has the elements of a turn, or NULL */
    bool wide_given;        /* CUDA: the local is a parameter, one element */
    const char **kept_load; /* CUDA: for each load: the row in shared memory that has it, or NULL; NULL: none has */
    /* CUDA: the index of a turn, and the number of turns; NULL: a thread keeps nothing of its row */
    const char *turn, *turns;
    /* CUDA: a condition that is true in the first thread of a row; how its threads meet; or NULL */
    const char *first, *meet;
    int team;         /* CUDA: the number of threads of a row */
    int beside;       /* CUDA: the number of elements that a thread takes side by side */
    const char *four; /* CUDA: the index of the first of those */
} Rows;

/* emit/rows.c: what both targets share */
const Phase_uses *uses_now(const Rows *r); /* of the current phase */
void one_row(Rows *r);                     /* all phases */
void row_without_sweeps(Rows *r);          /* its values and stores; its reductions are known */
/* The body of the sweep. Reductions that have several running values use the one at [lane]. */
void one_element(Rows *r, const char *lane);
bool has_sweep(const Rows *r);
int64_t row_count(const Rows *r);
const char *row_count_text(const Rows *r);
void row_indices(Rows *r, const char *row);    /* if there are several row axes: from the number of the row */
int partial_of(const Rows *r, const Node **n); /* the use of its partial results; *n becomes the column itself */
const char *start_of(const Node *n);           /* the first running value of a reduction */
const char *end_of(const Node *n);             /* "sum", "max" or "min": the word of its last step */

/* emit/sweep.c: the loops over the inner axis of a row */
void sweep(Rows *r);                             /* of the phase; afterwards its reductions are known */
const char *short_mark(const Rows *r, int axis); /* "SHORT ", if the compiler must not unroll the loop over the axis */
const char *row_name(Rows *r);                   /* emit/rows.c: the name of the index of a row, or of its number */

/* emit/draws.c: random bits that are drawn for a whole row */
void draw_bits(Rows *r); /* those of the phase, before its sweep */
bool is_drawn(const Rows *r, const Node *n);
bool is_needed(const Rows *r, const Node *n); /* by the sweep, apart from what was drawn before it */
Expr drawn_bits(const Rows *r, const Node *n); /* of the element */

/* emit/totals.c: the reductions of a sweep */
bool any_in_lanes(const Rows *r);
void start_totals(Rows *r, const char *many); /* declares running values; many: how many, if there are several */
/* Their values are known from then on. at: the running value of the row, if reductions go across rows. */
void finish_totals(Rows *r, const char *at);

/* emit/words.c: names of values */
void find_users(Rows *r);                                 /* call it before the others */
const char *word_for(Page *page, const Node *n);          /* its title */
const char *word_of(const Rows *r, const Node *n);        /* its title, or how it is made, or what it is a part of */
const char *word_for_total(const Rows *r, const Node *n); /* for a reduction */
const char *many_of(const Node *n);                       /* "sums", "maxima" or "minima" */
const char *word_for_lanes(const Rows *r, const Node *n); /* for the lanes of a reduction */
const char *name_told_apart(Rows *r, const Node *n, const char *word); /* the word, with more words if it is taken */
const char *name_for(Rows *r, const Node *n);             /* the same for its own word */

void nest_of_loops(Rows *r);   /* emit/nest.c: in C */
void rows_by_threads(Rows *r); /* emit/threads.c: in CUDA */
/* emit/rows.c: prints what one launch runs; body returns the number of blocks. */
void print_part(Rows *r, const char *remark, const char *(*body)(Rows *));

/* emit/columns.c: a kernel that reduces over all rows */
void sums_over_rows(Rows *r);
/* The text of the sum for a turn of the team. */
const char *sum_at(const Rows *r, const Column *column, const char *team);

/* emit/persistent.c: CUDA: the elements of a slice of columns, in a loop that is one launch; returns the number of
 * slices */
const char *map_of_slice(Rows *r);

/* emit/across.c: C: several rows at once */
void rows_across(Rows *r);

/* emit/values.c: the values of the current phase as expressions */
int phase_number(const Rows *r);              /* of the current phase */
int sweep_uses(const Rows *r, const Node *n); /* how often the sweep of the phase reads n */
/* A value of a row gets a name if a sweep reads it or if it is read twice. */
bool row_named(const Rows *r, const Node *n);
Known *known(Rows *r, const Node *n);
void know(Rows *r, const Node *n, Expr e);
int kept_number(const Rows *r, const Node *n); /* -1: not kept */
char *kept_element(const Rows *r, int i);
Expr share_text(Page *page, const Node *n, double x, Expr number);
/* Is the value in the array of another one that the kernel makes: d_ln_2 in d_attended? */
bool is_another(const Rows *r, int load);
const char *load_name(Rows *r, int load);
/* A name for an element of an array after which a parameter may be called. */
const char *name_of_one(const Rows *r, const char *array);
Expr declare(Rows *r, const Node *n, const char *name, Expr e);
Expr computed_here(Rows *r, const Node *n);
Expr value_of(Rows *r, const Node *n);
Expr load_at(Rows *r, int load);             /* the element, from where the block keeps the row, if it does */
bool is_local_load(const Rows *r, int load); /* a thread or a block has a copy of it */
char *store_at(const Rows *r, int store);    /* the element to which a store of the phase writes */

#endif
