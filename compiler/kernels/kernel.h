/* kernel.h: how it is computed: buffers, views, kernels, programs. */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include "desc/desc.h"

#define HOME_LIST(X)                                                                                                   \
    X(PARAMETERS, "parameters") X(GRADIENTS, "gradients") X(STATES, "states") X(INPUTS, "inputs")                      \
    X(OUTPUTS, "outputs") X(WORK, "work") X(TABLES, "tables") /* constant arrays */
typedef enum Home { HOME_LIST(LIST_MEMBER) } Home;

/* A value's place: an array of known size. */
typedef struct Buffer {
    const char *name;           /* a C identifier made of the layer path and op, unique in its entry */
    Home home;
    DType dtype;                /* storage */
    Shape shape;                /* of the whole array: a loop's stack has its slots in front */
    int64_t stride[MAXRANK];    /* elements; contiguous but for parameters and gradients in a struct layer[L] */
    int64_t bytes;
    int64_t offset;             /* bytes; WORK: into the arena, by pass_plan */
    Loop *level;                /* the loop in whose body it belongs (made anew each iteration); NULL: the top */
    int first, last;            /* WORK: steps (Kernel.step) between which it must be kept, inclusive */
    int begin, end;             /* the same, but inside PANELS the steps of the kernels themselves */
    Node *value;                /* what it holds first; its where and path name it in the plan */
    Param *param;               /* PARAMETERS, GRADIENTS */
    struct Buffer *in_place_of; /* shares that buffer's bytes (same offset); NULL: its own */
    struct Buffer *nearer;      /* bytes_of(): one that shares them too, nearer to the first; NULL: not known */
    bool given;                 /* another one has taken over its bytes */
    int number;                 /* among its program's, while a pass counts them */
    const void *noted_in;       /* the list of touches that it was last noted in, and where */
    int noted_at;
} Buffer;

/* How a kernel addresses a value of some shape: element (i0, i1, …) of it is element
 *     base + Σ stride[k] · i_k + Σ over loops (stride · iteration)      of the buffer,
 * and zero wherever some low[k] <= i_k < high[k] fails (guarded).  buffer NULL (loads of ROWS): the value is that sum
 * itself, which is how an iota or a loop's index is read. */
typedef struct View {
    Buffer *buffer;
    Shape shape;
    int64_t base;
    int64_t stride[MAXRANK];
    bool guarded;
    int64_t low[MAXRANK], high[MAXRANK];
    int nover;
    struct { Loop *loop; int64_t stride; } over[MAXRANK];
} View;

#define KERNEL_KINDS(X)                                                                                                \
    X(ROWS, "rows") X(GEMM, "gemm") X(ATTENTION, "attention") X(CONVOLUTION, "convolution") X(BY_IDS, "by_ids")        \
    X(GATHER, "gather") X(SCATTER, "scatter") X(OVERWRITE, "overwrite") X(ARGMAX, "argmax") X(SCAN, "scan")            \
    X(ARGSORT, "argsort")                                                                                              \
    X(TOPK, "topk") X(OVER_RANKS, "over_ranks") X(PACK, "pack") X(REPEAT, "repeat") X(PANELS, "panels")
typedef enum KernelKind { KERNEL_KINDS(LIST_MEMBER) } KernelKind;

/* Which part of a training step a kernel is of.  NO_SIDE: of an entry without gradients. */
typedef enum Side { NO_SIDE = -1, FORWARD, BACKWARD } Side;

/* How an operation with a file of its own (ops/NAME.c) is a kernel. */
typedef struct Kernel_part {
    KernelKind kind;            /* of GATHER … OVER_RANKS */
    const char *says;           /* the comment over it: {y} is what it makes, {x} what it reads first, {ids} second, {updates} third; {k} ints[1] */
    bool anywhere;              /* its result may be made at any place of its strides */
    bool adds;                  /* and added to what is there */
    bool dense;                 /* it reads without gaps */
    /* SCAN: an axis in order (ints: axis, backwards); `running`, declared as `start`, takes each element and is the result */
    const char *running, *start;
    const char *step, *wraps;   /* a statement; the same of an i32 that may be beyond 32 bits */
    bool places;                /* or it is the index of the largest so far, an i32 */
} Kernel_part;

/* The share of a kernel that runs at its place: inside PANELS only some rows (ROWS with columns: the partial sums of their
 * blocks), and after PANELS the column results. */
#define SHARE_LIST(X) X(ALL_ROWS, "all_rows") X(SOME_ROWS, "some_rows") X(COLUMN_SUMS, "column_sums")
typedef enum Share { SHARE_LIST(LIST_MEMBER) } Share;

/* A value a kernel reads or writes.  view.buffer NULL (loads only): nothing is read, the i32 value is the affine expression
 * itself: an iota along some axis (stride 1 there), or the iteration number of a loop (view.over). */
typedef struct Operand {
    Node *node;                 /* what the reader names as its input; it may be a move of the value in the buffer */
    View view;                  /* ROWS: over the kernel's space (see Kernel); others: of the node's own shape */
    bool once_a_row;            /* ROWS: the view ignores the inner axis (its stride there is 0, the value per row) */
    bool add;                   /* store: add to what is there */
} Operand;

typedef VEC(Operand) Operands;

/* One sweep over the inner axis, for each row.  Order inside a row: `row` nodes, then the sweep computing `each` nodes,
 * storing, and feeding `sums`; the sums are complete after the sweep and may be used by later phases.
 * A node may stand in `each` of several phases: it is then recomputed.  How an input of a node is found: among this
 * phase's `each`, `row` of this and earlier phases, `sums` of earlier phases, the loads; a filled constant is itself; a
 * move that is none of these stands for its own input (the space has absorbed it). */
typedef struct Phase {
    Nodes row;                  /* values per row (of the shape without the inner axis), in order */
    Nodes each;                 /* values per element, in order */
    Nodes sums;                 /* reductions over the inner axis, fed with in[0] */
    Nodes columns;              /* reductions over all row axes, fed with in[0] */
    Operands stores;            /* in the sweep, when the value is made; each node is in `each`, or in loads (a copy), or a constant */
    Operands row_stores;        /* after the sweep: nodes of `row` or `sums` */
    Operands column_stores;     /* after the last row, from the partials, block after block; views over [inner] */
} Phase;

typedef struct Kernel {
    KernelKind kind;
    const char *name;           /* C identifier: what it does to what: bias_gelu, layernorm_back */
    Where where;
    Loop *in_loop;
    int text;                   /* 1 + the number of its function's text among the file's; 0: not known yet */
    const char *function;       /* its function's name, once that is printed; NULL before */
    int step;                   /* position in the order in which kernels run, bodies once */
    double flops, bytes;        /* per execution: 2 * multiply-adds of contractions; what it cannot help reading and writing */

    /* ROWS: space = row axes, then the inner axis (extent 1 if there is none).  All views in it are over this space. */
    Shape space;
    VEC(Phase) phases;          /* an input of a node is: a constant (is_filled) · computed in this kernel, perhaps seen through
                                   moves (only at its own element or row) · else in loads, found by the input node itself */
    Operands loads;
    Nodes kept;                 /* costly `each` values needed by several phases: the first that lists one also stores it in
                                   a local array over the inner axis, from which later phases (which do not list it) read */
    int64_t block;              /* rows in a block of column partials; 0: no columns */
    VEC(Buffer *) partials;     /* one [blocks][inner] for each column reduction, phase by phase */

    /* GEMM: c[batch…][M][N] (+)= a[batch…][M][K] · b[batch…][K][N], strides in elements */
    struct Gemm {
        Operand a, b, c, vector, aux;   /* vector, aux: of its end; of no node where it has none */
        Product_end end;
        int nbatch;
        int64_t batch[MAXRANK], a_batch[MAXRANK], b_batch[MAXRANK], c_batch[MAXRANK];   /* extents, strides */
        int64_t M, N, K;
        int axis_m, axis_n, axis_k;     /* what they are */
        Loop *afresh;               /* c.add, but this loop's first iteration sets */
        int64_t a_m, a_k, b_k, b_n, c_m, c_n;   /* strides; one of each pair is 1 (or its extent is) */
        int64_t aux_m;              /* from a row of aux to the next */
        bool packed;                /* b is a PACK kernel's result; b_k and b_n say how it lay before */
    } gemm;

    /* PACK: gemm.b, K, N, b_k, b_n, what is packed; reads and writes say it again.
     * The index kinds: operands in the order of the op's inputs, then results; node->ints say the rest */
    Node *node;
    Operands reads, writes;
    const struct Kernel *product;   /* PACK: who reads it packed, or the first of them */

    /* REPEAT: loop; PANELS: the body runs over some rows, then over the next, panels shared by the threads */
    Loop *loop;
    VEC(struct Kernel *) body;
    int axis_rows;                  /* what they are */
    int64_t rows, unit, highest;    /* PANELS: rows of each kernel; a panel's rows are a multiple of `unit`, and at most `highest` */
    struct Kernel *panels;          /* the PANELS kernel that it is part of, or NULL */
    Side part;                      /* by pass sides */
    Buffer *barrier;                /* REPEAT: all of it is one launch, whose blocks meet by this; NULL: a launch a kernel */
    struct Kernel *persistent;      /* the REPEAT of that sort that it is part of, or NULL */
    int axis_period;
    int64_t period, wide;           /* such a REPEAT: slices of `wide` of every `period` columns, each a block's; 0: none */
    bool sliced;                    /* a kernel in it: it runs by these */
    Share share;
    struct Nest *nest;              /* how it runs (kernels/nest.h); NULL before pass axes */
} Kernel;

typedef VEC(Kernel *) Kernels;

typedef struct Touch { Buffer *buffer; bool writes; } Touch;
typedef VEC(Touch) Touches;     /* each buffer once */

/* What an entry tells several ranks of a parameter, or of all of one struct of copies (Param.struct_of).
 *   needed    nothing reads it before, or since it was dropped
 *   dropped   nothing reads it until it is needed again
 *   begun     nothing touches its gradient before
 *   done      nothing touches its gradient after */
enum { SAYINGS = LATHE_DONE + 1 };
typedef struct Said {
    Lathe_saying what;
    const Param *param;         /* the first of a struct */
    const Kernel *at;           /* said before it (needed, begun), or behind it */
    int copies;                 /* one copy of this struct: that of the current iteration of these many loops: */
    const Loop *picks[MAXRANK];
    VEC(const Loop *) last;     /* done: only in the last iteration of these */
} Said;

static inline bool is_said_before(const Said *s) { return s->what == LATHE_NEEDED || s->what == LATHE_BEGUN; }
typedef VEC(Lathe_said) Sayings; /* as elements of the flat arrays */

typedef struct Program {        /* a lowered entry */
    Graph *graph;
    const char *file;           /* of the text that it was read from; NULL: none */
    const char *after;          /* the pass that it comes out of */
    Kernels kernels;
    VEC(Buffer *) buffers;      /* all, WORK ones with their offsets */
    Strings names;              /* of these */
    VEC(Said) said;             /* by pass done */
    VEC(const char *) panels_met;           /* groups of kernels that could be panels, taken or not */
    int steps;
    int half;                   /* of a layer: how many kernels its outputs need, which come first */
    int carried, taken_over;    /* carries made where they lie; buffers made over an input's bytes */
    int64_t work_bytes;         /* of the arena */
    int64_t lower_bound;        /* largest sum of live WORK bytes */
    int64_t unshared_bytes;     /* sum of all WORK buffers */
} Program;

/* Whether a row of a product has the same bits for any number of rows: what a slot answers does not depend on the others. */
static inline bool rows_alike(const Program *p) { return p->graph->entry == ENTRY_slots; }

/* An array of parameters: those that are trained, those that are frozen, of these last those in blocks, type by type. */
typedef struct Flat {
    int64_t count;              /* elements without padding */
    int64_t elements, trained;  /* with padding: of all, and of those that are trained */
    int64_t moments;            /* of those that are trained and have moments */
    int64_t in_blocks[DTYPES];  /* of those in blocks of each type, in the order of types */
} Flat;

typedef struct Plan {           /* bytes by category; total = persistent + the largest entry of a run (all but grad) */
    int64_t parameters, gradients, optimizer, states, inputs, outputs, work, blas, data, generation;
    int64_t mean, directed;     /* counted already: in optimizer the mean of the weights, in states what optimizers in Lua keep */
    int64_t slots;              /* states of slots, which no run of training takes */
    int64_t step, workspace;    /* on a device: for the optimizer's step, for its libraries */
    int ranks;                  /* processes that take a step together, each on a device if there is one; the figures here are for each, except: */
    int64_t between;            /* several on processors: what is on its way between them */
    int64_t frozen;             /* of parameters that ranks keep in parts: those that each has whole */
    int64_t shared;             /* for checkpoints, in all: host memory of several devices; memory of rank 0 on processors */
    int64_t image, pinned;      /* host memory on a device target, like data: touched pages of the block; buffers of copies */
    int64_t total, lower_bound;
    Flat flat;                  /* the array of parameters; gradients and moments have its trained elements alone */
    int64_t teacher;            /* bytes of a teacher's parameters (--distill), behind all of the above; 0: none */
    Flat taught;                /* its array */
} Plan;

typedef struct Cut Cut;         /* a graph that is being cut into kernels: lower/lower.h */

typedef struct Module {
    Desc *desc;
    VEC(Cut *) cuts;            /* while it is cut */
    VEC(Program *) programs;
    Plan plan;
    double flops_per_step;      /* of the train entry */
} Module;

#endif
