/* lathe.h: what the compiler's files share, in reading order: graph, description, kernels, target, prototypes by file. */
#ifndef LATHE_H
#define LATHE_H

#include "base/util.h"
#include "runtime/lathe_model.h"

/* ------------------------------------------------------------------ graph: what is computed */

enum { MAXRANK = 8 };

/* A traced graph knows F32; pass_precision makes F64.  BF16 and F16 are how values are stored, made and read by cast alone. */
typedef enum DType { BOOL, I32, F32, F64, BF16, F16, DTYPES } DType;

typedef struct Shape {
    int rank;
    int64_t dim[MAXRANK];
    uint16_t axis[MAXRANK];     /* what each axis is (graph/axis.c); 0: not known.  Shapes that differ in it alone are the same */
} Shape;

typedef enum Op {
#define MAP1(name, ...) OP_##name,
#define MAP2(name, ...) OP_##name,
#define CMP2(name, ...) OP_##name,
#define LOGIC1(name, ...) OP_##name,
#define LOGIC2(name, ...) OP_##name,
#define MAPX(name, ...) OP_##name,
#define RED(name, ...) OP_##name,
#define OWN(name, ...) OP_##name,
#define WHOLE_OP(name, ...) OP_##name,
#include "graph/ops_default.h"
#include "graph/ops.def"
    OPS
} Op;

typedef enum OpKind { MAP, REDUCE, LEAF, MOVE, DOT, INDEX, LOOP, WHOLE } OpKind;

typedef struct OpInfo {
    const char *name;
    OpKind kind;
    int arity;                  /* -1: any number */
    const char *text;           /* MAP: one element; REDUCE: the step */
    const char *start;          /* REDUCE: the first running value */
    const char *class;          /* MAP: "REAL", "NUM", "INT"; "CMP", "LOGIC", "" for the mixed ones */
    const char *domain;         /* MAP: where property tests draw inputs */
    const char *ints;           /* what node->ints mean */
    const char *doc;
} OpInfo;
extern const OpInfo op_info[OPS];

typedef struct Node Node;
struct Grad_level;
struct Desc;
typedef struct Loop Loop;
typedef struct Param Param;
typedef VEC(Node *) Nodes;

/* From weak to strong: a parameter of the library's functions, a short local (x), what a layer gives, a local of a word
 * (gates), a named output. */
typedef enum { NO_TITLE, TITLE_ARGUMENT, TITLE_LETTER, TITLE_LAYER, TITLE_WORD, TITLE_OUTPUT } Title_rank;

/* One operation.  Equal nodes are the same pointer: everything above the line is the key. */
struct Node {
    Op op;
    DType dtype;
    Shape shape;
    int nin, nints;
    Node **in;
    int64_t *ints;              /* see graph/ops.def */
    double value;               /* constant: its value (shape of rank 0) */
    const double *data;         /* constant array: its elements in order */
    int counts;                 /* constant: the axis whose extent, or 1 / extent, it is; 0: it is a number */
    const char *name;           /* input, parameter, state */
    Loop *loop;                 /* loop, loop_arg */
    int phase;                  /* 0 forward; 1 backward and what is recomputed for it, so that it is not merged back */
    /* ---- not part of the key; the first maker wins */
    int id;                     /* order of making: an input's is smaller, but for loop bodies and late loop outputs */
    Loop *in_loop;              /* the innermost loop whose arguments it reaches; NULL at the top */
    Where where;
    int known;                  /* it depends on constants alone: 1 + the steps from them to it; else 0 (graph/known.c) */
    unsigned weak;              /* by axis: its name is another's, perhaps (graph/axis.c) */
    bool recompute;             /* made inside nn.checkpoint: never saved for backward */
    bool gradient, again;       /* of what the title says; a forward value that the backward part computes once more */
    Title_rank title_rank;
    const Node *of;             /* a gradient's: of what, where that has no title */
    const char *title, *layer;  /* what it is called, and the layer path of who named it (graph/title.c); NULL: nothing */
};

/* loop_arg ints[0], pick ints[0] */
enum { ARG_INDEX, ARG_CARRY, ARG_X };
enum { PICK_CARRY, PICK_STACK };

/* The body of a loop node.  A body node is any node that reaches one of the loop's arguments; what reaches none is
 * outside by construction (invariant).  Iteration i = 0 … trip-1, or trip-1 … 0 if reverse; ARG_INDEX yields i,
 * ARG_X k yields xs[k].outer[i], result PICK_STACK k holds at [i] the value of ys[k].  Loops are not interned; xs,
 * carries and ys may be appended while tracing and differentiating. */
struct Loop {
    int id;                     /* an inner loop's is larger than an outer one's */
    int64_t trip;
    int axis;                   /* what its iterations are */
    bool reverse;
    bool keeps;                 /* is there to save memory: pass_split leaves it as it is */
    const char *name;           /* what it runs over, for index names: "layer", "time", "micro", "copy" */
    Loop *parent;               /* innermost loop that the loop node itself depends on; set by loop_close */
    Node *index;                /* ARG_INDEX, i32 [] */
    VEC(struct Carry { Node *init, *arg, *next; }) carries;
    VEC(struct Stacked { Node *outer, *arg; }) xs;      /* outer [trip, …] */
    Nodes ys;                   /* body values stacked */
    Node *node;                 /* the loop node; its results are pick()ed */
};

/* A whole op: the functions of op_NAME.c, NAME_results and so on.  Its inputs and ints are its own affair. */
enum { MOST_RESULTS = 8 };
typedef struct Type { DType dtype; Shape shape; } Type;
typedef struct Whole {
    const char *(*fault)(const Node *n);                    /* what is wrong with its inputs and ints; NULL: nothing */
    int (*results)(const Node *n, Type *out);             /* their number and types; the node's dtype is the first's */
    Node *(*define)(Node *n, int k);                        /* result k in primitives over n's inputs: the meaning */
    void (*gradient)(struct Grad_level *lv, Node *n, Node *const *g);    /* contributes to n's inputs; see passes/grad.h */
    Node *(*part)(Node *n);                                 /* an op whose results are the first ones of n; NULL: none */
    /* pass_whole: what takes the place of the wanted results, or false: it stays whole, for kernels */
    bool (*expand)(Node *n, const bool *wanted, Node **results, const struct Desc *d);
} Whole;
extern const Whole whole_info[OPS];

typedef enum OutKind { OUT_VALUE, OUT_GRAD, OUT_STATE } OutKind;

typedef struct Output {
    OutKind kind;
    const char *name;           /* value: "loss", "logits"; grad: the parameter's; state: the state's */
    Node *node;
} Output;

/* Constants and iotas in the order in which forward makes them: equal ones of several lines are one node. */
typedef VEC(struct Made_leaf {
    Node *node;
    Where where;
}) Made_leaves;

/* One entry: what is wanted, and thereby what is computed. */
typedef struct Graph {
    const char *name;           /* train, grad, eval, score, encode, decode */
    bool training;              /* dropout on */
    bool wants_grads;           /* pass_grad adds an OUT_GRAD for every parameter that loss depends on */
    Loop *micro;                /* accumulation: the open loop over micro-batches that loss lives in, or NULL */
    VEC(Output) outs;           /* outs.at[0] is the loss where there is one */
    Made_leaves leaves;         /* of a trace */
    VEC(const char *) meeting;  /* of those the names whose rows depend on the other rows of the batch */
    const char *file;           /* that it came from as text; NULL: from a description */
    struct Table *lines;        /* there: by node */
} Graph;

/* ------------------------------------------------------------------ description: what the Lua file says */

struct Param {
    const char *name;           /* layer path and own name: "layer.attn.qkv.weight" */
    const char *export_name;    /* "h.%d.attn.c_attn.weight": one %d for each leading loop axis */
    int loops;                  /* leading axes that are copies made by nn.stack / nn.map */
    const char *stack;          /* path of the innermost of those: "layer"; NULL where there are none */
    Shape shape;                /* with the loop axes */
    Lathe_init init;
    double init_a, init_b;      /* see Lathe_init */
    bool decay;                 /* weight decay applies */
    int64_t zero_row;           /* 1 + the row of each copy that is always zero; 0: none */
    Where where;
    /* set by layout_parameters(): */
    int64_t offset;             /* elements, in each of the flat arrays */
    int64_t stride[MAXRANK];    /* elements */
    /* set by pass_merge: */
    Param *wide;                /* a wide parameter that begins with this one; further ones follow by the same field */
    Param *first;               /* of a wide parameter: the one it begins with; NULL: it is a parameter itself */
    int number;                 /* set by name_parameters(): in the order of offsets */
};

typedef struct Tensor_spec {    /* an input or a state */
    const char *name;
    DType dtype;
    Shape shape;
    Lathe_role role;
    Where where;
    int rows_axis;              /* of a state: as in Lathe_tensor */
    bool fixed;
} Tensor_spec;

typedef struct Knob { const char *name, *value; } Knob;     /* resolved configuration, printed as Lua would */

typedef struct Desc {
    const struct Options *options;          /* what it is compiled with */
    const char *file, *model, *config;      /* models/gpt.lua, gpt, char */
    VEC(Knob) knobs;
    VEC(Param *) params;                    /* in order of first use */
    VEC(Tensor_spec) inputs;                /* of all entries, by name */
    VEC(Tensor_spec) states;                /* of encode and decode */
    VEC(Graph *) graphs;                    /* train, grad, eval, [encode], [decode], [sample], [score] */
    Lathe_recipe recipe;                    /* train = {…} and data = {…} */
    VEC(Lathe_group) groups;                /* of parameters, as train says */
    const char *hf;                         /* how Hugging Face knows it, as JSON (front/hf.c); NULL: it does not */
    int64_t batch, seq, source_seq, vocab;              /* 0 where it has none */
    const char *uncut, *one_gpu;            /* why --memory, several GPUs may not cut the batch, with the line; NULL: they may */
    uint64_t source_hash;                   /* of every Lua file read and every override */
    struct Param_names *param_names;        /* find_param() */
} Desc;

/* ------------------------------------------------------------------ kernels: how it is computed */

typedef enum Home { PARAMETERS, GRADIENTS, STATES, INPUTS, OUTPUTS, WORK, TABLES } Home;   /* TABLES: constant arrays */

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

typedef enum KernelKind {
    ROWS, GEMM, ATTENTION, GATHER, SCATTER, OVERWRITE, ARGMAX, CUMSUM, TOPK, OVER_RANKS, PACK, REPEAT, PANELS
} KernelKind;

/* What of a kernel is done where it stands: inside PANELS only some rows (ROWS with columns: the partial sums of their
 * blocks), and after it the column results. */
typedef enum Share { ALL_ROWS, SOME_ROWS, COLUMN_SUMS } Share;

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

/* What a product ends with; the target says which of them its products have. */
typedef enum Product_end {
    END_NONE,
    END_BIAS,                   /* adds vector[N] to all rows */
    END_GELU,                   /* gelu of it, in the tanh form; vector as before, if there is one; aux[M][N]: what gelu is of, if wanted */
    END_GELU_BACK,              /* times gelu'(aux[M][N]) */
    END_SUM_A, END_SUM_B        /* makes the sums over K of a, vector[M], or of b, vector[N]; added where c is */
} Product_end;
enum { ENDS_BIAS = 1, ENDS_SUM = 2, ENDS_GELU = 4 };

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
    int64_t rows, unit, highest;    /* PANELS: of each kernel; panels are multiples of so many; and at most so high */
    struct Kernel *panels;          /* the PANELS kernel that it is part of, or NULL */
    int part;                       /* Side (lower/lower.h), once find_parts() has been asked */
    Buffer *barrier;                /* REPEAT: all of it is one launch, whose blocks meet by this; NULL: a launch a kernel */
    struct Kernel *persistent;      /* the REPEAT of that sort that it is part of, or NULL */
    int axis_period;
    int64_t period, wide;           /* such a REPEAT: slices of `wide` of every `period` columns, each a block's; 0: none */
    bool sliced;                    /* a kernel in it: it runs by these */
    Share share;
    struct Nest *nest;              /* how it runs (schedule/nest.h); NULL before pass axes */
} Kernel;

typedef VEC(Kernel *) Kernels;

typedef struct Touch { Buffer *buffer; bool writes; } Touch;
typedef VEC(Touch) Touches;     /* each buffer once */

typedef struct Program {        /* a lowered entry */
    Graph *graph;
    const char *file;           /* of the text that it was read from; NULL: none */
    const char *after;          /* the pass that it comes out of */
    Kernels kernels;
    VEC(Buffer *) buffers;      /* all, WORK ones with their offsets */
    Strings names;              /* of these */
    VEC(const char *) panels_met;           /* groups of kernels that could be panels, taken or not */
    int steps;
    int carried, taken_over;    /* carries made where they lie; buffers made over an input's bytes */
    int64_t work_bytes;         /* of the arena */
    int64_t lower_bound;        /* largest sum of live WORK bytes */
    int64_t unshared_bytes;     /* sum of all WORK buffers */
} Program;

typedef struct Plan {           /* bytes by category; total = persistent + the largest entry of a run (all but grad) */
    int64_t parameters, gradients, optimizer, states, inputs, outputs, work, blas, data, generation;
    int64_t step, workspace;    /* of a device's: for its optimizer's step, its libraries */
    int gpus;                   /* so many devices, each with what is said here; but for: */
    int64_t shared;             /* of the host's memory: by the processes of several, for checkpoints */
    int64_t image, pinned;      /* of the host's memory then, as data is: pages of the block that it touches; buffers of copies */
    int64_t total, lower_bound;
    int64_t parameter_count;    /* elements without padding */
    int64_t flat_elements;      /* of each flat array, with padding */
} Plan;

typedef struct Cut Cut;         /* a graph that is being cut into kernels: lower/lower.h */

typedef struct Module {
    Desc *desc;
    VEC(Cut *) cuts;            /* while it is cut */
    VEC(Program *) programs;
    Plan plan;
    double flops_per_step;      /* of the train entry */
} Module;

/* ------------------------------------------------------------------ target and options */

typedef struct Target {         /* limits that passes read; spellings that the emitter reads */
    const char *name;
    int64_t row_budget;         /* bytes of live row vectors in a ROWS kernel */
    int64_t column_blocks;      /* at most so many blocks of column partials */
    int64_t columns_alone;      /* so many columns are work for all: where rows are not reduced they stay one block */
    int64_t row_bytes;          /* rows of a product's matrices begin at multiples of it, where they can; 0: anywhere */
    int64_t narrow;             /* an inner axis below it may become one with the rows of plain maps */
    bool panels;                /* kernels may run panel by panel */
    int ends;                   /* ENDS_…: what products of fp32 may end with */
    bool packs;                 /* products in a loop read what was packed before it */
    bool persists;              /* a loop of small kernels may be one launch */
    int64_t (*shared)(const struct Kernel *);   /* bytes of a block's shared memory that its sums take: of one launch all together */
    bool narrow_products;       /* products and attention take operands of 16 bits */
    bool by_value;              /* a kernel takes a single number as such: what called it can read it */
    const char *call, *first_argument;              /* what begins a kernel's call, and its arguments: "", "" in C */
    const char *interface;      /* the header of the runtime that model.h includes */
    const char *stream, *entry, *run;               /* the first parameter of entries, and what stands before them and before what
                                 * the trainer calls: "", "", "static" in C */
    const char *untyped, *table, *table_at, *fill_work;     /* a cast that fits any pointer; what begins a constant array, and where it
                                 * lies; NaN into so many bytes of c->work */
    const char *device;         /* by which the trainer knows where entries run (train_device.h); NULL: on its processor */
    const char *over_ranks;     /* a call: to, from, bytes */
    bool tells_gradients;       /* train says which gradients are done */
    char *(*product)(const struct Kernel *), *(*attention)(const struct Kernel *);      /* the call */
    const char *const *quick;   /* words of graph/ops.def that are quick_… of floats where a model keeps values in 16 bits; ends in NULL; NULL: none */
    const char *const *words;   /* that kernels and what they name must not be called, beside C's; ends in NULL */
    bool loops;                 /* kernels are loops of C; else CUDA's threads */
    const struct Nests *nests;  /* emit/index.h: how those are written */
} Target;

extern const Target target_cpu, target_cuda;

typedef struct Options {        /* of a compilation */
    const char *model_file, *config, *precision, *parameters, *out_dir;    /* NULL where not given */
    VEC(const char *) sets;     /* k=v */
    VEC(const char *) for_run;  /* those of them that the trainer knows, and nobody before it (front/config.c) */
    bool runs;                  /* the trainer is started, and gets them */
    const Target *target;
    int64_t gpus;               /* plan: so many; 0: one */
    int64_t head_rows;          /* of linear_cross_entropy at a time; 0: what the plan allows */
    uint64_t without;           /* passes that are left out: 1 << PASS_fuse, … */
    const char *memory;         /* the budget, as given; NULL: none */
    double recompute;           /* share of what layers save that is computed again: 0 … 1 (budget.c) */
    int split;                  /* micro-batches that each of the description's is cut into; 0: as it is */
    const char *dump_after;     /* pass name; prints the stage and stops */
    bool check_stages, json, source;    /* source: nothing is compiled */
    bool bundle;                /* build: the folder gets the runtime's sources as well */
    bool brief;                 /* dumps of kernels: a line each */
    bool all_in_place;          /* test build: in entries as well whose arena is small enough without */
    bool instrument;            /* for `trainer replay`: a kernel an operation, and tables of what each touches */
    bool all_persist;           /* test build: every loop that can be one launch, whatever it costs */
    VEC(const char *) panels;   /* names of the groups of kernels that run in panels (compile.c) */
    bool all_panels;            /* test build: wherever it can be, in panels of single rows */
    bool poison;                /* test build: the arena is filled with NaN before each call of an entry */
} Options;
extern Options options;

typedef struct Precision {
    const char *name;           /* as --precision says */
    DType real, saved;          /* what is computed with; how values of forward are kept for backward */
    DType multiplied;           /* what products and attention take: real, or 16 bits where the target multiplies those */
    DType weights;              /* how parameters are stored: real, or 16 bits, updated by rounding at random (--parameters bf16) */
    bool tf32;                  /* products of F32 round their operands to 10 bits of fraction */
    bool scaled;                /* gradients are those of the loss times the input loss_scale */
} Precision;

/* ------------------------------------------------------------------ prototypes, by file */

/* graph/graph.c: making nodes.  All constructors check shapes and types by must(); the front end has told the user before. */
extern Where here;                                          /* given to every node made from now on */
extern int phase_now;                                       /* likewise the phase */
extern Made_leaves *leaves_made;                           /* where the trace that runs notes its leaves; NULL: nowhere */
extern bool recompute_now;
Node *intern(Node key);                                     /* key.in and key.ints are copied when new */
int node_count(void);                                       /* ids of nodes are below this */
Node *node_of(Op op, DType dtype, Shape shape, int nin, Node *const *in, int nints, const int64_t *ints);
Shape shape_of(int rank, const int64_t *dim);
Shape shape_behind(Shape s);                                /* without its first axis */
bool same_shape(Shape a, Shape b);
int64_t elements(Shape s);
char *shape_text(Shape s);                                  /* "[12, 64, 128]" */
const char *dtype_name(DType t);
int64_t dtype_bytes(DType t);
bool is_real(DType t);                                     /* what is computed with: F32, F64 */
bool is_stored(DType t);                                   /* BF16, F16 */
bool is_weight(const Node *n);                              /* what is computed with of a parameter stored in 16 bits, seen through views and loops */
Node *scalar(double value, DType t);
Node *filled(double value, DType t, Shape s);               /* an expanded scalar */
Node *refilled(const Node *n, Shape s);                     /* the scalar that n expands, over another shape */
Node *filled_for(double value, int axis, DType t, Shape s); /* likewise: of an axis its extent, or 1 / extent */
Node *counted(Shape of, DType t, Shape s);                  /* likewise: the number of of's elements */
bool is_cheap(const Node *n);                               /* a map, reduction or move: rather computed again than saved */
bool is_filled(const Node *n, double *value);               /* a constant scalar, seen through moves */
Node *input_node(const char *name, DType t, Shape s);
Node *parameter_node(const char *name, DType t, Shape s);
Node *state_node(const char *name, DType t, Shape s);
Node *iota(Shape s, int axis);
Node *map_op(Op op, int nin, Node *const *in);              /* MAP1, MAP2, CMP2, LOGIC: types by the op's class */
Node *map1(Op op, Node *a);
Node *map2(Op op, Node *a, Node *b);
Node *where_op(Node *condition, Node *yes, Node *no);
Node *cast_op(Node *a, DType t);
Node *philox(Node *seed, Node *step, Node *site, Node *row, Node *index);
Node *u01(Node *bits, DType t);
Node *class_id(Node *ids, int64_t classes, int64_t ignored); /* ignored: it counts for no class; 0: none */
Node *stop_gradient(Node *a);
Node *reduce(Op op, Node *a, int naxes, const int *axes);   /* any order; repeats are our mistake */
Node *pick(Node *n, int kind, int which);                   /* whole ops, topk: result `kind`, 0 */
bool has_several(const Node *n);                            /* results, which must be picked */

#include "graph/names.h" /* what axes and values are called */

/* ops/move.c */
Node *reshape(Node *a, Shape s);
Node *permute(Node *a, const int *perm);
Node *expand(Node *a, Shape s);
Node *slice(Node *a, const int64_t *start, const int64_t *extent, const int64_t *step);     /* step NULL: 1 */
Node *pad(Node *a, const int64_t *before, const int64_t *after);
Node *flip(Node *a, int naxes, const int *axes);
Node *concat(int n, Node *const *parts, int axis);
Node *broadcast(Node *a, Shape s);      /* numpy's rule: align to the right, unit axes repeat */

/* ops/dot.c */
typedef struct Dot_axes { int nb, nc, ab[MAXRANK], bb[MAXRANK], ac[MAXRANK], bc[MAXRANK]; } Dot_axes;
Node *dot(Node *a, Node *b, Dot_axes axes);
Node *dot_into(DType t, Node *a, Node *b, Dot_axes axes);  /* of stored operands: t is theirs, or F32 */
Dot_axes dot_axes(const Node *dot);
int dot_ints(const Node *dot);                              /* those that say its axes */
Product_end dot_end(const Node *dot);                       /* END_BIAS: in[2] is the row, END_GELU: if it has one; END_GELU_BACK: what gelu is of */
int64_t dot_columns(const Node *dot);                       /* elements of its row: its axes that b has alone */
Node *ended_dot(const Node *old, int nin, Node *const *in, Product_end end);    /* the same product, with other inputs */
int free_axes(int rank, int nb, const int *batch, int nc, const int *contracted, int *out);   /* returns their number */

/* ops/index.c */
Node *gather(Node *x, Node *ids, int axis, int nbatch);
Node *scatter_add(Node *updates, Node *ids, Shape s, int axis, int nbatch);
Node *overwrite(Node *x, Node *ids, Node *updates, int axis, int nbatch);
Node *argmax(Node *x, int axis);
Node *cumsum(Node *x, int axis, bool backwards);
Node *over_ranks(Node *x);                                  /* x: reals [n] */
Node *topk(Node *x, int axis, int64_t k);                   /* pick(n, 0, 0) values, pick(n, 1, 0) ids */

/* ops/whole.c */
Node *whole_op(Op op, int nin, Node *const *in, int nints, const int64_t *ints);
Node *whole_result(Node *n, int k);                         /* pick(n, k, 0), of n's phase */
Graph *defined(const Graph *g);                             /* a copy with the definitions of whole ops in their place */

/* ops/attention.c: its head says what the parts are; those that the flags do not ask for are NULL */
enum { CAUSAL = 1, LENGTHS = 2, SEGMENTS = 4, DROPOUT = 8, PROBABILITIES = 16, TURNS = 32, SOFT_CAP = 64, SCORE_BIAS = 128 };
typedef struct Attention {
    Node *q, *k, *v;                                        /* [batch…][T][H][D], [batch…][S][G][D], [batch…][S][G][E] */
    Node *scale;                                            /* a constant [] */
    Node *o, *lse, *d_o;                                    /* attention_back: results, and the gradient of o */
    Node *offset;                                           /* CAUSAL or window: i32 [] */
    Node *lengths;                                          /* i32 [batch…] */
    Node *q_segments, *k_segments;                          /* i32 [batch…][T], [batch…][S] */
    Node *q_turns, *k_turns;                                /* TURNS: real [batch…][T][D], [batch…][S][D] */
    Node *cap;                                              /* SOFT_CAP: a constant [] */
    Node *bias;                                             /* SCORE_BIAS: real [batch…][H][T][S] */
    Node *keep, *seed, *step, *site, *row, *base;           /* DROPOUT: a constant []; i32 []; row, base [batch…] */
    int64_t flags, window, threshold;
} Attention;
Node *attention_op(const Attention *a);                        /* picks: 0 o, 1 lse, 2 probabilities (flag) */
Node *attention_dropped(const Attention *a, Node *p);          /* probabilities after dropout, as o is made of them */
Node *attention_back_op(const Attention *a);                   /* picks: gradients of 0 q, 1 k, 2 v */
Attention attention_of(const Node *n);                      /* either op's parts */
bool is_attention_number(const Node *n, int k);             /* its input k is one number for all samples: scale, cap, offset, … */
const char *attention_fault_of(const Attention *a);         /* what does not fit, in words for the user; parts may be missing yet */

/* ops/loop.c: Loop *l = loop_open("layer", 12); x = loop_carry(l, x0); w = loop_x(l, stacked); loop_next(l, 0, y);
 * loop_close(l); y = loop_result(l, 0); s = loop_stack(l, body_value) */
Loop *loop_open(const char *name, int64_t trip, bool reverse);
Loop *loop_again(const Loop *l, bool reverse);              /* another one that runs as often, over the same, for the same reason */
Node *loop_carry(Loop *l, Node *init);                      /* appends; its next is set later */
Node *loop_x(Loop *l, Node *stacked);                       /* appends, or finds the one already there */
Node *as_argument(Node *new, const Node *old);              /* of a loop made again: written where the old one was */
void loop_next(Loop *l, int carry, Node *value);
Node *loop_close(Loop *l);                                  /* finds the parent; may be called again after additions */
Node *loop_result(Loop *l, int carry);
Node *loop_stack(Loop *l, Node *body_value);                /* [trip, …]; appends, or finds; also after closing */
bool loop_stacks(const Loop *l, const Node *body_value);     /* is it among ys */
void loop_yield(Loop *l, Node *body_value);                 /* it is now; before closing, for loop_stack() after it */
bool loop_inside(const Loop *inner, const Loop *outer);     /* inner is outer or lies in it; everything lies in NULL */

/* graph/range.c */
bool may_wrap(const Node *n);                               /* an i32 sum, product, … that may be beyond what 32 bits hold */
bool ids_below(const Node *ids, int64_t n, const struct Desc *d);   /* all 0 … n - 1 for certain, data being as the trainer checks it */
int64_t largest_integer(const Node *n, const struct Desc *d);   /* the largest |value| that an i32 node may have; 0: anything */
bool classes_below(const Node *ids, int64_t n, int64_t ignored, const struct Desc *d);  /* or the one that counts for none */

/* graph/walk.c: the nodes that belong directly to `level` and that the roots need, inputs first (a loop node stands for its
 * body: what the body needs from this level precedes it).  Deterministic: by roots, then inputs in order. */
void nodes_at(Loop *level, Node *const *roots, int nroots, Nodes *out);
/* Root and what it is made of, inputs first, each once; inputs of a node only where `through` says so. */
typedef bool (*Through)(void *user, const Node *n);
void nodes_through(Node *root, Through through, void *user, Nodes *out);
void loop_roots(const Loop *l, Nodes *out);                 /* what the body must compute: nexts of carries, ys */
void loop_begins(const Loop *l, Nodes *out);                /* what its carries begin with */
void loop_walks(const Loop *l, Nodes *out);                 /* what it walks along */
void graph_roots(const Graph *g, Nodes *out);
void all_nodes(const Graph *g, Nodes *out);                 /* of all levels, inputs first */
int count_nodes(const Graph *g);
typedef struct Table {          /* node -> pointer; never gone through, so that nothing depends on addresses; never copied */
    const Node **key;
    void **value;
    int n, cap;
} Table;
void drop_table(Table *t);                                  /* empty again; its memory serves others */
void **table_at(Table *t, const Node *key);                 /* the value's slot, NULL at first; good until the next is made */
void *table_get(const Table *t, const Node *key);
typedef struct Rewrite {        /* a copy of a graph with some nodes replaced; loops are copied with their bodies */
    Node *(*node)(struct Rewrite *, Node *old, Node *const *in);   /* the new node for old, its inputs already new; NULL: keep op */
    Node *(*before)(struct Rewrite *, Node *old);           /* asked first; non-NULL ends the matter; may be NULL itself */
    void (*needs)(struct Rewrite *, const Node *old, Nodes *out);   /* what `before` will ask to be rewritten; may be NULL */
    Node *(*slice)(struct Rewrite *, const Loop *old, int k, Loop *new);    /* what stands for old's x k in its copy; NULL: an x */
    void *user;
    Table done;                 /* old -> new */
} Rewrite;
Node *rewritten(Rewrite *r, Node *old);
void loops_first(Rewrite *r, const Node *old, Nodes *out);  /* `needs` of what makes loops and their results itself */
void rewrite_graph(Rewrite *r, Graph *g);                   /* every output, and micro */
Node *remade(const Node *old, Node *const *in);             /* the same op, ints, name over other inputs */

/* graph/text.c */
void print_graph(Text *t, const Graph *g);
Graph *parse_graph(const char *file, const char *text);     /* err() on bad text */
Where where_in_text(const Graph *g, const Node *n);         /* its line in the text that g came as; else where the user wrote it */
char *node_text(const Node *n);                             /* one line; names are ids here */

/* graph/describe.c: of graphs that came as text: parameters, inputs, states */
Desc *parse_graphs(const char *file, const char *text);     /* of all that the text has */
Desc *describe(Graph *g, const char *file);                 /* g may be NULL */
void describe_also(Desc *d, Graph *g);

/* graph/check.c: die() with the node's text where an invariant fails; stage names a pass for the message */
void check_graph(const Graph *g, const char *stage);
void check_form(const Graph *g, const char *stage);            /* graph/form.c: after pass normal */
void refuse_text(const Desc *d, const char *first);             /* err() where a pass before the first would have changed it */
const char *graph_fault(const Graph *g);                    /* what is wrong with it; NULL: nothing */
const char *node_fault(const Node *n);                      /* of a node by itself, inputs taken as they are */

#include "kernels/kernels.h" /* what is asked of kernels: their text, their checks, what they touch */

/* graph/eval.c: the interpreter.  Values are doubles whatever the dtype. */
typedef struct Value { Shape shape; double *at; } Value;
typedef Value (*Feed)(void *user, const Node *leaf);        /* input, parameter, state */
void eval_graph(const Graph *g, Feed feed, void *user, Value *outs);      /* one value an output */
/* With every result that rounds off by up to `off` of itself: what rounding may do to the outputs, magnified. */
void eval_graph_off(const Graph *g, Feed feed, void *user, double off, Value *outs);

/* graph/known.c: v: what n is whatever is fed; false: that depends on an input, a parameter, a state or a loop */
bool known_values(Node *n, Value *v);

/* front/lua.c and its family */
Desc *front(const Options *o);                              /* traces every entry */
void front_stubs(const char *dir);

#include "passes.h" /* the pipeline */

/* emit/emit.c, emit/c.c */
void emit_c(const Module *m, const char *dir);              /* model.c, model.h, plan.txt, CMakeLists.txt */
void print_plan(Text *t, const Module *m);

/* emit/cuda.c: model.cu, tables.c, model.h, plan.txt */
void emit_cuda(const Module *m, const char *dir);

/* build/build.c: returns the path of the trainer */
const char *build(const Module *m, const char *dir);
const char *build_cuda(const char *dir);                    /* build/cuda.c: by nvcc */
const char *c_flags(void);                                  /* what generated C is compiled with, for tests */

#endif
