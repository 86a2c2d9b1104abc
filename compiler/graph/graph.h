/* graph.h: what is computed: nodes, loops, graphs, and what makes, walks, prints and checks them. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/util.h"
#include "graph/entry.h"

enum { MAXRANK = 8 };

/* A traced graph knows F32; pass_precision makes F64.  BF16 and F16 are how values are stored, made and read by cast alone. */
#define DTYPE_LIST(X) X(BOOL, "bool", 1) X(I32, "i32", 4) X(F32, "f32", 4) X(F64, "f64", 8) X(BF16, "bf16", 2) X(F16, "f16", 2)
typedef enum DType { DTYPE_LIST(LIST_MEMBER) DTYPES } DType;        /* the words of texts; bytes */

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
#define CORE(name, ...) OP_##name,
#define OWN(name, ...) OP_##name,
#define WHOLE_OP(name, ...) OP_##name,
#include "graph/ops_default.h"
#include "graph/ops.def"
    OPS
} Op;

#define OP_KINDS(X) \
    X(MAP, "map") X(REDUCE, "reduce") X(LEAF, "leaf") X(MOVE, "move") X(DOT, "dot") X(INDEX, "index") X(LOOP, "loop") X(WHOLE, "whole")
typedef enum OpKind { OP_KINDS(LIST_MEMBER) } OpKind;

/* Of ops with a file of their own, what passes ask. */
typedef enum Op_facts {
    NO_FACTS,
    ROUNDS = 1,                 /* its elements are rounded to the nearest number of their type */
    LOOKS_UP = 2,               /* entries of input 0 picked by input 1; ints: axis, nbatch */
    UPDATES = 4,                /* input 0 with some entries replaced */
    IN_FULL = 8,                /* never kept in 16 bits */
    OF_RANKS = 16               /* what other processes have is part of it */
} Op_facts;

typedef struct OpInfo {
    const char *name;
    OpKind kind;
    int arity;                  /* -1: any number */
    const char *text;           /* MAP: one element; REDUCE: the step */
    const char *start;          /* REDUCE: the first running value */
    const char *class;          /* MAP: "REAL", "NUM", "INT"; "CMP", "LOGIC", "" for the mixed ones */
    const char *domain;         /* MAP: where property tests draw inputs */
    int results;                /* 2: it has several, always so many; loops and whole ops have as many as they have */
    unsigned facts;             /* Op_facts */
    const char *ints;           /* what node->ints mean */
    const char *doc;
} OpInfo;
extern const OpInfo op_info[OPS];

typedef struct Node Node;
struct Grad_level;
struct Desc;
typedef struct Loop Loop;
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

/* A whole op: the functions of ops/NAME.c, NAME_results and so on.  Its inputs and ints are its own affair. */
enum { MOST_RESULTS = 8 };
typedef struct Type { DType dtype; Shape shape; } Type;
typedef struct Whole {
    const char *(*fault)(const Node *n);                    /* what is wrong with its inputs and ints; NULL: nothing */
    int (*results)(const Node *n, Type *out);             /* their number and types; the node's dtype is the first's */
    Node *(*define)(Node *n, int k);                        /* result k in primitives over n's inputs: the meaning */
    void (*gradient)(struct Grad_level *lv, Node *n, Node *const *g);    /* contributes to n's inputs; see ops/grad.h */
    Node *(*part)(Node *n);                                 /* an op whose results are the first ones of n; NULL: none */
    /* pass_whole: what takes the place of the wanted results, or false: it stays whole, for kernels */
    bool (*expand)(Node *n, const bool *wanted, Node **results, const struct Desc *d);
} Whole;
extern const Whole whole_info[OPS];

#define OUT_KINDS(X) X(OUT_VALUE, "value") X(OUT_GRAD, "grad") X(OUT_STATE, "state")
typedef enum OutKind { OUT_KINDS(LIST_MEMBER) } OutKind;

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
    const char *name;           /* the entry's; of texts it may be another */
    Entry entry;
    bool training;              /* dropout on */
    bool wants_grads;           /* see Entry_info.gradients */
    Loop *micro;                /* accumulation: the open loop over micro-batches that loss lives in, or NULL */
    VEC(Output) outs;           /* outs.at[0] is the loss where there is one */
    Made_leaves leaves;         /* of a trace */
    VEC(const char *) meeting;  /* of those the names whose rows depend on the other rows of the batch */
    const char *file;           /* that it came from as text; NULL: from a description */
    struct Table *lines;        /* there: by node */
    struct Defined *defined;    /* ops/whole.c: the last answer of defined() */
} Graph;

/* What a product ends with; the target says which of them its products have: ENDS_… */
enum { ENDS_BIAS = 1, ENDS_SUM = 2, ENDS_GELU = 4 };
#define PRODUCT_ENDS(X)                                                                                                \
    X(END_NONE, "none", 0)                                                                                             \
    X(END_BIAS, "bias", ENDS_BIAS)                  /* adds vector[N] to all rows */                                   \
    X(END_GELU, "gelu", ENDS_GELU)                  /* gelu of it, in the tanh form; vector as before, if there is */  \
                                                    /* one; aux[M][N]: what gelu is of, if wanted */                   \
    X(END_GELU_BACK, "gelu_back", ENDS_GELU)        /* times gelu'(aux[M][N]) */                                       \
    X(END_SUM_A, "sum_a", ENDS_SUM)                 /* makes the sums over K of a, vector[M]; added where c is */      \
    X(END_SUM_B, "sum_b", ENDS_SUM)                 /* or of b, vector[N] */
typedef enum Product_end { PRODUCT_ENDS(LIST_MEMBER) } Product_end;

/* ------------------------------------------------------------------ prototypes, by file */

/* graph/entry.c */
Graph *graph_of(Entry entry);                               /* an empty one */
const Entry_info *entry_of(const Graph *g);

/* graph/intern.c */
typedef struct Making {         /* what every new node is made with */
    Where where;                /* where the user wrote it */
    int phase;                  /* part of the key of all but leaves */
    bool recompute;             /* it is in a region that backward computes again */
} Making;
Making making(void);                                        /* as it is now */
Making making_of(const Node *n);
void make_with(Making m);                                   /* from now on; also ends what the next ones begin */
void make_at(Where where);                                  /* from now on, in the same phase and region */
#define MUST_END __attribute__((warn_unused_result))        /* by make_with(what is returned): what there was before */
MUST_END Making make_as(const Node *n);                     /* where n is, in its phase, in its region */
MUST_END Making make_beside(const Node *n);                 /* where n is, in its phase */
MUST_END Making make_on_line_of(const Node *n);
MUST_END Making make_in_phase(int phase);
MUST_END Making make_recomputed(bool recompute);
void note_leaves(Made_leaves *leaves);                      /* of the trace that runs; NULL: no more */
Node *intern(Node key);                                     /* key.in and key.ints are copied when new */
int node_count(void);                                       /* ids of nodes are below this */
int new_loop_id(void);                                      /* above those of all loops */

/* graph/graph.c: making nodes.  All constructors check shapes and types by must(); the front end has told the user before. */
Node *node_of(Op op, DType dtype, Shape shape, int nin, Node *const *in, int nints, const int64_t *ints);
Shape shape_of(int rank, const int64_t *dim);
Shape shape_behind(Shape s);                                /* without its first axis */
bool same_shape(Shape a, Shape b);
int64_t elements(Shape s);
void dense_strides(Shape s, int64_t *stride);               /* of an array without gaps, in elements */
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

/* ops/NAME.c */
Node *gather(Node *x, Node *ids, int axis, int nbatch);
Node *scatter_add(Node *updates, Node *ids, Shape s, int axis, int nbatch);
Node *overwrite(Node *x, Node *ids, Node *updates, int axis, int nbatch);
Node *argmax(Node *x, int axis);
Node *scanned(Op op, Node *x, int axis, bool backwards);     /* cumsum, …: running values (ops/lines.c) */
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

/* graph/check.c: die() with the node's text where an invariant fails; stage names a pass for the message */
void check_graph(const Graph *g, const char *stage);
const char *graph_fault(const Graph *g);                    /* what is wrong with it; NULL: nothing */
const char *node_fault(const Node *n);                      /* of a node by itself, inputs taken as they are */

/* graph/eval.c: the interpreter.  Values are doubles whatever the dtype. */
typedef struct Value { Shape shape; double *at; } Value;
typedef Value (*Feed)(void *user, const Node *leaf);        /* input, parameter, state */
void eval_graph(const Graph *g, Feed feed, void *user, Value *outs);      /* one value an output */
/* With every result that rounds off by up to `off` of itself: what rounding may do to the outputs, magnified. */
void eval_graph_off(const Graph *g, Feed feed, void *user, double off, Value *outs);

/* graph/known.c: v: what n is whatever is fed; false: that depends on an input, a parameter, a state or a loop */
bool known_values(Node *n, Value *v);

#endif
