/* nest.h: how a kernel runs: what the passes of a schedule decide, for each kernel, and what the emitter prints.
 *
 * A kernel's axes are those of its space (ROWS); of what picks by ids: batch, ids, after, the picked one; of what goes
 * along an axis: the others, then that one.  A nest walks over them in loops of C, or by CUDA's threads. */
#ifndef SCHEDULE_NEST_H
#define SCHEDULE_NEST_H

#include "kernels/kernels.h"

/* Axes that are walked, each made of neighbours among the kernel's, and what the kernel touches as seen over them. */
typedef struct Space {
    Shape own, shape;     /* the kernel's, those that are walked */
    unsigned of[MAXRANK]; /* each: which of the kernel's axes, bit by bit; an axis of extent 1 may be in none */
    VEC(View *) views;
} Space;

/* x[batch…][id][after…] and y[batch…][ids…][after…], ids[batch…][ids…] saying which id.  Axes: batch ones, among them
 * those between them and the picked axis, which the ids may not have; ids; after; the picked axis. */
typedef struct Picked {
    int batch, ids, after, id; /* how many axes; `id`: the picked axis's number, the last */
    View x, y, by, old;        /* the addressed tensor, the other one, the ids; what an overwrite starts from */
    bool starts;               /* x gets values before those that are picked */
    bool old_is_other;         /* an overwrite that starts from another buffer */
} Picked;

/* Rows along an axis, which is the last one. */
typedef struct Lengthwise {
    int rows, axis;
    View x, y[2];
} Lengthwise;

/* CUDA: where a thread's sums of columns run, over the rows of a block. */
#define COLUMN_LIST(X)                                                                                                 \
    X(NO_COLUMN_SUMS, "none") X(IN_SHARED, "shared") X(IN_REGISTERS, "registers") X(IN_PARTIALS, "partials")           \
    X(APART, "apart")
typedef enum Column_sums { COLUMN_LIST(LIST_MEMBER) } Column_sums;

enum { MOST_WIDE = 64 };

#define WAIT_LIST(X) X(NO_WAIT, "none") X(OF_THREADS, "threads") X(OF_BLOCKS, "blocks")
typedef enum Wait { WAIT_LIST(LIST_MEMBER) } Wait;

/* Threads of a row, as in lathe_cuda.cuh; of elements: each thread takes some.  NO_TEAM: not decided. */
#define TEAM_LIST(X)                                                                                                   \
    X(TEAM_OF_ELEMENTS, "elements", -1) X(TEAM_OF_ONE, "one", 1) X(TEAM_OF_WARP, "warp", 32)                           \
    X(TEAM_OF_BLOCK, "block", 256)
#define TEAM_SIZE(member, word, size) member = size,
enum { NO_TEAM, TEAM_LIST(TEAM_SIZE) };

/* CUDA: what one launch of a kernel runs: all of it, or what it starts from, or the sums of its blocks' sums of columns,
 * or what takes the place of the one before where that is wrong on some machine. */
#define LAUNCH_LIST(X)                                                                                                 \
    X(LAUNCHED_ALL, "all") X(LAUNCHED_START, "start") X(LAUNCHED_COLUMNS, "columns") X(LAUNCHED_PLAIN, "plain")
typedef enum Launched { LAUNCH_LIST(LIST_MEMBER) } Launched;

/* Inside a loop that is one launch: a step of it. */
typedef struct Launch {
    Launched what;
    int64_t blocks; /* of threads */
    int64_t shared; /* bytes of shared memory of a block: of arrays that it declares */
    int64_t room;   /* and of rows that it keeps, for which the launch asks */
} Launch;

/* Loops of C: how a product's a and b lie in memory, each row by row (n), or column by column (t); c lies row by row. */
#define DENSE_LIST(X)                                                                                                  \
    X(STRIDED, "strided") X(DENSE_NN, "nn") X(DENSE_NT, "nt") X(DENSE_TN, "tn") X(DENSE_TT, "tt")
typedef enum Dense { DENSE_LIST(LIST_MEMBER) } Dense;

typedef struct Nest {
    Space space;
    Kernel *rows;      /* ROWS: the kernel with its views over the space */
    Picked *picked;    /* GATHER, SCATTER, OVERWRITE */
    Lengthwise *along; /* ARGMAX, SCAN, ARGSORT, TOPK */
    int64_t blocks;    /* of rows, where columns are reduced; else 0 */

    /* loops of C */
    int threads;       /* the number of outermost loops that threads share as one; 0: one thread runs it */
    bool sweep_shared; /* threads share the loop over the inner axis */
    bool by_columns;   /* by ids: each thread goes through all ids, and takes some columns of the last axis */
    bool start_shared; /* by ids: threads share the loop that writes the starting values */
    Nodes lanes;       /* reductions over the inner axis that run in LANES lanes */
    Nodes draws;       /* random bits that are drawn for a whole row before its sweep */
    int64_t across;    /* the number of rows that are reduced side by side; 0: one after another */
    unsigned rolled;   /* axes whose loops a compiler must not unroll, bit by bit */
    bool apart;        /* iterations of the innermost loop share nothing, which compilers do not see */
    Dense dense;       /* a product without gaps in memory, called by its sizes; STRIDED: any */

    /* CUDA */
    int team;      /* TEAM_OF_…: threads of a row */
    int beside;    /* elements side by side that a thread takes in one access */
    uint64_t wide; /* read or written as wholes of `beside` elements, a bit each: loads, then stores, phase by phase */
    bool rest;     /* some elements of the row are left over; threads take them one by one */
    Nodes kept;    /* loads of which a block copies its row into shared memory */
    Column_sums columns;
    bool by_warps;       /* partial sums of columns are added up by the warps of a block */
    bool tensor;         /* attention: on tensor cores */
    bool words;          /* a product in one launch reads two elements of 16 bits as a word */
    bool stays;          /* a product in one launch: b is copied into shared memory before the loop */
    Wait wait, wait_end; /* in one launch: before the kernel; of a loop: at the end of an iteration */
    bool wait_copied;    /* of a loop: the threads of a block wait for the copies made before it */
    bool plain;          /* there is a plain loop to fall back on */
    VEC(Launch) launches; /* in the order in which they run */
} Nest;

/* space.c: axes that become one */
View view_axes(View v, int n, const int *from);        /* axis k of the result is axis from[k] of v; -1: not used */
bool guarded_on(const View *v, int j, int64_t extent); /* is there an index of axis j at which it shows nothing */
bool may_merge(const Space *s, int j);                 /* may axes j and j + 1 be walked as one */
void merge_axis(Space *s, int j);                      /* they are, as axis j */
bool may_drop(const Space *s, int j);                  /* an axis of extent 1 that no view minds */
void drop_axis(Space *s, int j);
int64_t extent_of(const Space *s, int from, int to); /* of axes from … to - 1 together */

bool is_made_of(const Space *s, int j, int own); /* is walked axis j the kernel's own one, but for axes of extent 1 */

/* walk.c: what kernels touch, over their space */
bool is_picked(const Kernel *k);     /* by ids */
bool is_lengthwise(const Kernel *k); /* along an axis */
Nest *new_nest(const Kernel *k);     /* over the kernel's own axes; NULL: it has none */
void end_space(Nest *n);             /* when the axes are as they stay: which of them are whose */

typedef void (*Visit_nest)(Kernel *k, const Desc *d);
void each_nest(Program *p, Visit_nest visit, const Desc *d); /* of the kernels that have one */

/* columns.c */
int64_t shared_for_columns(const Kernel *k); /* bytes of a block's shared memory, of both stages */

/* waits.c: may they share bytes */
bool bytes_overlap(const Buffer *a, const Buffer *b);

/* teams.c: what accesses of 16 bytes need */
typedef VEC(const View *) Swept;
Swept swept_views(const Nest *n); /* what sweeps read and write: loads, then stores, phase by phase */
int number_of_store(const Nest *n, int phase, int store); /* among these */
bool shows_nothing(const Space *s, const View *v);
/* Do rows along an axis begin at multiples of 16 bytes, and of `many` elements, whatever the other indices? */
bool rows_are_aligned(const Space *s, const View *v, int along, int many);

/* values.c: where the values of a ROWS kernel come from */
typedef struct Values {
    const Kernel *k;
    Table loads, kept, rows; /* 1 + the number of a node's load, of its kept array, of the first phase that has it */
    Table *each, *sweep;     /* by phase: those of its elements; how often its sweep reads what */
    Table row_uses;          /* how often values per row and their stores do */
} Values;
Values values_of(const Nest *n);
const Node *value_meant(const Values *v, int phase, const Node *n); /* the value that n is there, seen through moves */
int load_of(const Values *v, const Node *n);                      /* -1: none */
int kept_of(const Values *v, const Node *n);                      /* -1: not kept */
bool is_per_row(const Values *v, int phase, const Node *n);
int uses_in_sweep(const Values *v, int phase, const Node *n); /* how often the phase's sweep reads n */
bool is_swept(const Values *v, const Node *n);                /* does any */
int uses_in_rows(const Values *v, const Node *n);

#endif
