/* graph.h: nodes, loops and graphs: what is computed; and making, walking, printing and checking them. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/util.h"
#include "graph/entry.h"
#include "runtime/interface/dtype.h"

enum { MAXRANK = 8 };

/* A traced graph has F32; pass_precision makes F64.  BF16 and F16 are storage types, written and read only by cast.  Types in
 * blocks (Q8_0, …) are those of frozen parameters (pass_quantise) and of what decode remembers (--cache): few bits each, and a
 * scale for 32 neighbours along the last axis; cast, dot, gather and attention read them, overwrite writes whole blocks. */
#define PLAIN_TYPES(X) X(BOOL, "bool", 1) X(I32, "i32", 4) X(F32, "f32", 4) X(F64, "f64", 8) X(BF16, "bf16", 2) X(F16, "f16", 2)
#define DTYPE_LIST(X) PLAIN_TYPES(X) LATHE_BLOCK_TYPES(X)
typedef enum DType { DTYPE_LIST(LIST_MEMBER) DTYPES } DType;        /* words in texts; bytes */

typedef struct Shape {
    int rank;
    int64_t dim[MAXRANK];
    uint16_t axis[MAXRANK];     /* what each axis is (graph/axis.c); 0: unknown.  Not part of same_shape() */
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
    X(MAP, "map") X(REDUCE, "reduce") X(LEAF, "leaf") X(MOVE, "move") X(JOIN, "join") X(DOT, "dot") X(INDEX, "index") X(LOOP, "loop") X(WHOLE, "whole")
typedef enum OpKind { OP_KINDS(LIST_MEMBER) } OpKind;

/* What passes ask of ops with their own file. */
typedef enum Op_facts {
    NO_FACTS,
    ROUNDS = 1,                 /* computing an element rounds to the nearest number of its type */
    LOOKS_UP = 2,               /* picks entries of input 0 by input 1; ints: axis, nbatch */
    UPDATES = 4,                /* replaces some entries of input 0 */
    IN_FULL = 8,                /* never stored in 16 bits */
    OF_RANKS = 16,              /* depends on values of other processes */
    REARRANGES = 32,            /* input 0's elements, each once, under other axes */
    REPEATS = 64,               /* input 0's elements, repeated along axes */
    PADS = 128,                 /* zeros around input 0 */
    MULTIPLIES = 256            /* linear in input 0 and in input 1 */
} Op_facts;

typedef struct OpInfo {
    const char *name;
    OpKind kind;
    int arity;                  /* -1: any number */
    const char *text;           /* MAP: one element; REDUCE: the step */
    const char *start;          /* REDUCE: the initial running value */
    const char *class;          /* MAP: "REAL", "NUM", "INT"; "CMP", "LOGIC", "" for the mixed ones */
    const char *domain;         /* MAP: for inputs of property tests */
    int results;                /* number of results, if it is fixed (not of loops and whole ops) */
    unsigned facts;             /* Op_facts */
    const char *ints;           /* meaning of node->ints */
    const char *doc;
} OpInfo;
extern const OpInfo op_info[OPS];

typedef struct Node Node;
struct Grad_level;
struct Desc;
typedef struct Loop Loop;
typedef VEC(Node *) Nodes;

/* From weak to strong: a parameter of a library function, a one-letter local (x), the result of a layer, a longer local
 * (gates), a named output. */
typedef enum { NO_TITLE, TITLE_ARGUMENT, TITLE_LETTER, TITLE_LAYER, TITLE_WORD, TITLE_OUTPUT } Title_rank;

/* One operation.  Equal nodes are one pointer: the members above the line are the key. */
struct Node {
    Op op;
    DType dtype;
    Shape shape;
    int nin, nints;
    Node **in;
    int64_t *ints;              /* see graph/ops.def */
    double value;               /* constant: its value (shape of rank 0) */
    const double *data;         /* constant array: its elements in order */
    int counts;                 /* constant: the axis whose extent or 1 / extent it is; 0: just a number */
    const char *name;           /* input, parameter, state */
    Loop *loop;                 /* loop, loop_arg */
    int phase;                  /* 0: forward; 1: backward, with the forward values that it recomputes */
    /* ---- not part of the key: set by the first maker */
    int id;                     /* rises from inputs to users, except for loop bodies and late loop outputs */
    Loop *in_loop;              /* the innermost loop whose arguments it reaches; NULL: the top */
    Where where;
    int known;                  /* depends only on constants: 1 + ops from them; else 0 (graph/known.c) */
    unsigned weak;              /* bit per axis: its name may be another user's (graph/axis.c) */
    bool recompute;             /* made inside nn.checkpoint: never saved for backward */
    bool gradient, again;       /* gradient of what the title names; forward value that backward recomputes */
    Title_rank title_rank;
    const Node *of;             /* gradient of a node without title: that node */
    const char *title, *layer;  /* its name, and the layer path where it was named (graph/title.c); may be NULL */
};

/* loop_arg ints[0], pick ints[0] */
enum { ARG_INDEX, ARG_CARRY, ARG_X };
enum { PICK_CARRY, PICK_STACK };

/* The body of a loop node.  The body is all nodes that reach one of the loop's arguments; other nodes are outside it.
 * Iteration i = 0 … trip-1, or trip-1 … 0 if reverse.  ARG_INDEX is i, ARG_X k is xs[k].outer[i]; result PICK_STACK k
 * has the value of ys[k] at [i].  Loops are not interned; tracing and differentiation append xs, carries and ys. */
struct Loop {
    int id;                     /* larger than those of outer loops */
    int64_t trip;
    int axis;                   /* what its iterations are */
    bool reverse;
    bool keeps;                 /* saves memory, so pass_split keeps it */
    bool apart;                 /* an iteration has its bits however many there are: it is computed alone, and complete when it is added */
    const char *name;           /* for index names: "layer", "time", "micro", "copy" */
    Loop *parent;               /* innermost loop that the loop node depends on; set by loop_close */
    Node *index;                /* ARG_INDEX, i32 [] */
    VEC(struct Carry { Node *init, *arg, *next; }) carries;
    VEC(struct Stacked { Node *outer, *arg; }) xs;      /* outer [trip, …] */
    Nodes ys;                   /* body values to stack */
    Node *node;                 /* the loop's node; its results are pick()ed */
};

/* The functions of a whole op in ops/NAME.c, NAME_results and so on; only they know its inputs and ints. */
enum { MOST_RESULTS = 8 };
typedef struct Type { DType dtype; Shape shape; } Type;
typedef struct Whole {
    const char *(*fault)(const Node *n);                    /* what is wrong with inputs and ints; NULL: nothing */
    int (*results)(const Node *n, Type *out);             /* number and types of results; the first has the node's dtype */
    Node *(*define)(Node *n, int k);                        /* result k in primitives over n's inputs */
    void (*gradient)(struct Grad_level *lv, Node *n, Node *const *g);    /* of n's inputs; see ops/grad.h */
    Node *(*part)(Node *n);                                 /* an op with only the first results of n; NULL: none */
    /* for pass_whole: replacements of the wanted results; false: it stays whole, for a kernel */
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

/* Constants and iotas in the order in which forward makes them, since equal ones of several lines are one node. */
typedef VEC(struct Made_leaf {
    Node *node;
    Where where;
}) Made_leaves;

/* One entry: its outputs, which determine what is computed. */
typedef struct Graph {
    const char *name;           /* the entry's; in texts it may be another */
    Entry entry;
    bool training;              /* dropout on */
    bool wants_grads;           /* see Entry_info.gradients */
    const char *turn, *of;      /* of a turn: its name, and the scopes of its parameters, "encoder, decoder"; NULL: it has all */
    int grown;                  /* of train: its number of micro-batches, where a run begins with fewer than it ends with; 0: the recipe's */
    Loop *micro;                /* accumulation: the open loop over micro-batches that loss lives in, or NULL */
    VEC(Output) outs;           /* outs.at[0] is the loss, if there is one */
    Made_leaves leaves;         /* of its trace */
    Nodes statistics;           /* of nn.batchnorm: those that it keeps, and in training those of its rows; all rows share them */
    VEC(const char *) meeting;  /* names of outputs whose rows depend on other rows of the batch */
    const char *file;           /* the text that it was read from; NULL: from a description */
    struct Table *lines;        /* lines in that text, by node */
    struct Defined *defined;    /* ops/whole.c: the last answer of defined() */
} Graph;

/* What a product may end with; the target says which ends its products have: ENDS_… */
enum { ENDS_BIAS = 1, ENDS_SUM = 2, ENDS_GELU = 4 };
#define PRODUCT_ENDS(X)                                                                                                \
    X(END_NONE, "none", 0)                                                                                             \
    X(END_BIAS, "bias", ENDS_BIAS)                  /* adds vector[N] to each row */                                   \
    X(END_GELU, "gelu", ENDS_GELU)                  /* gelu (tanh form), after adding vector[N] if there is one; */    \
                                                    /* aux[M][N]: the argument of gelu, if wanted */                   \
    X(END_GELU_BACK, "gelu_back", ENDS_GELU)        /* times gelu'(aux[M][N]) */                                       \
    X(END_SUM_A, "sum_a", ENDS_SUM)                 /* also the sums of a over K, vector[M]; added if c is */          \
    X(END_SUM_B, "sum_b", ENDS_SUM)                 /* or of b, vector[N] */
typedef enum Product_end { PRODUCT_ENDS(LIST_MEMBER) } Product_end;

/* ------------------------------------------------------------------ prototypes, by file */

/* graph/entry.c */
Graph *graph_of(Entry entry);                               /* an empty one */
const Entry_info *entry_of(const Graph *g);
bool trains(const Graph *g, const char *param);             /* whether its gradients are of this parameter too */
bool is_of_turn(const Graph *g, const char *turn);          /* NULL: of none */

/* graph/intern.c */
typedef struct Making {         /* of every new node */
    Where where;                /* where the user wrote it */
    int phase;                  /* part of the key of all but leaves */
    bool recompute;             /* it is in a region that backward recomputes */
} Making;
Making making(void);                                        /* the current one */
Making making_of(const Node *n);
void make_with(Making m);                                   /* from now on; also ends make_as() and so on */
void make_at(Where where);                                  /* from now on, in the same phase and region */
#define MUST_END __attribute__((warn_unused_result))        /* by make_with(the result), which was current before */
MUST_END Making make_as(const Node *n);                     /* line, phase and region of n */
MUST_END Making make_beside(const Node *n);                 /* line and phase of n */
MUST_END Making make_on_line_of(const Node *n);
MUST_END Making make_in_phase(int phase);
MUST_END Making make_recomputed(bool recompute);
void note_leaves(Made_leaves *leaves);                      /* collects new ones there; NULL: stops */
Node *intern(Node key);                                     /* key.in and key.ints are copied when new */
int node_count(void);                                       /* all node ids are below it */
int new_loop_id(void);                                      /* above all loop ids */

/* graph/graph.c: making nodes.  Constructors check shapes and types by must(); messages are the front end's. */
Node *node_of(Op op, DType dtype, Shape shape, int nin, Node *const *in, int nints, const int64_t *ints);
Shape shape_of(int rank, const int64_t *dim);
Shape shape_behind(Shape s);                                /* without its first axis */
bool same_shape(Shape a, Shape b);
int64_t elements(Shape s);
void dense_strides(Shape s, int64_t *stride);               /* of an array without gaps, in elements */
char *shape_text(Shape s);                                  /* "[12, 64, 128]" */
const char *dtype_name(DType t);
int64_t dtype_bytes(DType t);                              /* in blocks: at most */
int64_t bytes_of_elements(DType t, int64_t n);              /* in blocks: of whole ones */
bool is_real(DType t);                                     /* a type of arithmetic: F32, F64 */
bool is_stored(DType t);                                   /* BF16, F16, those in blocks */
bool in_blocks(DType t);
bool is_weight(const Node *n);                              /* a cast to real of a stored parameter, or of its view or slice */
Node *scalar(double value, DType t);
Node *filled(double value, DType t, Shape s);               /* an expanded scalar */
Node *refilled(const Node *n, Shape s);                     /* the scalar that n expands, over another shape */
Node *filled_for(double value, int axis, DType t, Shape s); /* likewise; value: the extent of the axis, or 1 / extent */
Node *counted(Shape of, DType t, Shape s);                  /* likewise: the number of of's elements */
bool is_view(const Node *n);                                /* its elements are its input's, or zeros */
bool is_move(const Node *n);                                /* a view or a join */
bool shows_all(const Node *n);                              /* a view without zeros */
bool adds_products(const Node *n);                          /* the sum of two products, which the second adds to the first */
bool is_cheap(const Node *n);                               /* to recompute: a map, reduction, view or join */
bool is_filled(const Node *n, double *value);               /* a constant scalar, seen through moves */
bool is_named_leaf(Op op);                                         /* a leaf with a name, whose value comes from outside */
bool is_replaced(const Node *n);                            /* a leaf whose memory an output of its name takes */
Node *leaf_replaced(const Graph *g, const Output *o);       /* that leaf; NULL: the output has memory of its own */
Node *input_node(const char *name, DType t, Shape s);
Node *parameter_node(const char *name, DType t, Shape s);
Node *frozen_node(const char *name, DType t, Shape s);      /* a parameter without a gradient, which training leaves as it is */
Node *parameter_like(const Node *old, const char *name, DType t, Shape s);  /* frozen if old is */
bool is_frozen_node(const Node *n);
Node *state_node(const char *name, DType t, Shape s);
Node *gradient_node(const char *name, DType t, Shape s);        /* of the parameter of that name */
Node *iota(Shape s, int axis);
Node *map_op(Op op, int nin, Node *const *in);              /* MAP1, MAP2, CMP2, LOGIC: types by the op's class */
Node *map1(Op op, Node *a);
Node *map2(Op op, Node *a, Node *b);
Node *where_op(Node *condition, Node *yes, Node *no);
Node *cast_op(Node *a, DType t);
Node *philox(Node *seed, Node *step, Node *site, Node *row, Node *index);
Node *u01(Node *bits, DType t);
Node *class_id(Node *ids, int64_t classes, int64_t ignored); /* ignored: an id that is allowed too; 0: none */
Node *stop_gradient(Node *a);
Node *reduce(Op op, Node *a, int naxes, const int *axes);   /* in any order, without repeats */
Node *pick(Node *n, int kind, int which);                   /* whole ops, topk: kind is the result, which 0 */
bool has_several(const Node *n);                            /* results, which must be picked */

#include "graph/names.h" /* names of axes and values */

/* ops/reshape.c, … */
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
int dot_ints(const Node *dot);                              /* number of ints for its axes */
Product_end dot_end(const Node *dot);                       /* in[2]: the row; of END_GELU_BACK the argument of gelu */
int64_t dot_columns(const Node *dot);                       /* elements of the row: the product of b's free axes */
Node *ended_dot(const Node *old, int nin, Node *const *in, Product_end end);    /* the same product, with other inputs */
int free_axes(int rank, int nb, const int *batch, int nc, const int *contracted, int *out);   /* returns their number */

/* ops/NAME.c */
Node *gather(Node *x, Node *ids, int axis, int nbatch);
Node *scatter_add(Node *updates, Node *ids, Shape s, int axis, int nbatch);
DType type_of_updates(const Node *x);                       /* which an overwrite takes for x */
Node *overwrite(Node *x, Node *ids, Node *updates, int axis, int nbatch);
Node *argmax(Node *x, int axis);
Node *scanned(Op op, Node *x, int axis, bool backwards);     /* cumsum, …: running values (ops/lines.c) */
Node *cumsum(Node *x, int axis, bool backwards);
Node *over_ranks(Node *x);                                  /* x: reals [n] */
Node *argsort(Node *x, int axis, bool falling);
Node *topk(Node *x, int axis, int64_t k);                   /* pick(n, 0, 0) values, pick(n, 1, 0) ids */

/* ops/whole.c */
Node *whole_op(Op op, int nin, Node *const *in, int nints, const int64_t *ints);
Node *whole_result(Node *n, int k);                         /* pick(n, k, 0), of n's phase */
Graph *defined(const Graph *g);                             /* a copy with whole ops replaced by their definitions */

/* ops/attention.c explains the parts; those without their flag are NULL */
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
Node *attention_dropped(const Attention *a, Node *p);          /* probabilities after dropout, as used for o */
Node *attention_back_op(const Attention *a);                   /* picks: gradients of 0 q, 1 k, 2 v */
Attention attention_of(const Node *n);                      /* either op's parts */
bool is_attention_number(const Node *n, int k);             /* one for all samples: scale, cap, offset, …? */
const char *attention_fault_of(const Attention *a);         /* for the user; parts may still be missing */

/* ops/convolution.c explains it; of x, y and w one is made of the other two */
typedef enum Side_of { TOWARDS_Y, TOWARDS_X, TOWARDS_W } Side_of;
enum { CONVOLVED = 3 };                                     /* axes at most */
typedef struct Convolved { int64_t kernel, stride, dilation, before, extent; } Convolved;
typedef struct Convolution {
    Side_of side;                                           /* what is made, and NULL below */
    int n;                                                  /* axes */
    int64_t groups, parts;
    Convolved axis[CONVOLVED];
    Node *x, *y, *w;                                        /* [batch…][X…][C], [batch…][Y…][O], [O][C / groups][K…] */
} Convolution;
Node *convolution_op(const Convolution *v);                 /* the side; parts are its own matter, and so are w's extents */
Convolution convolution_of(const Node *n);

/* ops/dot_by_ids.c: x [rows…][K], w [E][N][K] (across 2) or [E][K][N] (1), ids i32 [rows…]; result [rows…][N] */
Node *dot_by_ids(Node *x, Node *w, Node *ids, int across);
bool sums_by_ids(const Node *n);                            /* is it a sum over the rows of each matrix */

/* ops/loop.c: Loop *l = loop_open("layer", 12); x = loop_carry(l, x0); w = loop_x(l, stacked); loop_next(l, 0, y);
 * loop_close(l); y = loop_result(l, 0); s = loop_stack(l, body_value) */
Loop *loop_open(const char *name, int64_t trip, bool reverse);
Loop *loop_again(const Loop *l, bool reverse);              /* another one with the same trip, axis and name */
Node *loop_carry(Loop *l, Node *init);                      /* appends; its next is set later */
Node *loop_x(Loop *l, Node *stacked);                       /* appends, or finds an equal one */
Node *as_argument(Node *new, const Node *old);              /* of a loop made again: takes the old one's line */
void loop_next(Loop *l, int carry, Node *value);
Node *loop_close(Loop *l);                                  /* sets the parent; may be called again after additions */
Node *loop_result(Loop *l, int carry);
Node *loop_stack(Loop *l, Node *body_value);                /* [trip, …]; appends or finds; also after closing */
bool loop_stacks(const Loop *l, const Node *body_value);     /* is it in ys? */
void loop_yield(Loop *l, Node *body_value);                 /* appends to ys before closing, for loop_stack() */
bool loop_inside(const Loop *inner, const Loop *outer);     /* is inner outer or inside it?  NULL contains all */

/* graph/walk.c: the nodes directly in `level` that the roots need, inputs first (what a loop's body needs from this
 * level comes before the loop node).  The order depends only on the order of roots and inputs. */
void nodes_at(Loop *level, Node *const *roots, int nroots, Nodes *out);
/* The root and the nodes below it, inputs first, each once; does not go below nodes that `through` refuses. */
typedef bool (*Through)(void *user, const Node *n);
void nodes_through(Node *root, Through through, void *user, Nodes *out);
void loop_roots(const Loop *l, Nodes *out);                 /* what the body computes: nexts of carries, ys */
void loop_begins(const Loop *l, Nodes *out);                /* initial values of carries */
void loop_walks(const Loop *l, Nodes *out);                 /* its stacks (xs) */
void graph_roots(const Graph *g, Nodes *out);
void all_nodes(const Graph *g, Nodes *out);                 /* of all levels, inputs first */
int count_nodes(const Graph *g);
typedef struct Table {          /* node -> pointer; never iterated (addresses have no fixed order) or copied */
    const Node **key;
    void **value;
    int n, cap;
} Table;
void drop_table(Table *t);                                  /* empties it and frees its memory for others */
void **table_at(Table *t, const Node *key);                 /* the value's slot, NULL at first; valid until the next call */
void *table_get(const Table *t, const Node *key);
typedef struct Rewrite {        /* a copy of a graph with some nodes replaced; all functions may be NULL */
    Node *(*node)(struct Rewrite *, Node *old, Node *const *in);   /* replaces old; in: new inputs; NULL: the same op */
    Node *(*before)(struct Rewrite *, Node *old);           /* called first; its result, unless NULL, replaces old */
    void (*needs)(struct Rewrite *, const Node *old, Nodes *out);   /* nodes that `before` will rewrite */
    Node *(*slice)(struct Rewrite *, const Loop *old, int k, Loop *new);    /* replaces x k in the copy of old; NULL: an x */
    void *user;
    Table done;                 /* old -> new */
} Rewrite;
Node *rewritten(Rewrite *r, Node *old);
void loops_first(Rewrite *r, const Node *old, Nodes *out);  /* `needs` of rewrites that make loops themselves */
void rewrite_graph(Rewrite *r, Graph *g);                   /* all outputs, and micro */
Node *remade(const Node *old, Node *const *in);             /* the same op, ints, name over other inputs */

/* graph/text.c */
void print_graph(Text *t, const Graph *g);
Graph *parse_graph(const char *file, const char *text);     /* err() on bad text */
Where where_in_text(const Graph *g, const Node *n);         /* in the text that g was read from; else the user's line */
char *node_text(const Node *n);                             /* one line, with ids for names */

/* graph/check.c: check_graph() dies with the node's text if an invariant fails; stage: a pass, for the message */
void check_graph(const Graph *g, const char *stage);
const char *graph_fault(const Graph *g);                    /* what is wrong with it; NULL: nothing */
const char *node_fault(const Node *n);                      /* of one node; its inputs are not checked */

/* graph/eval.c: the interpreter.  Values are doubles whatever the dtype. */
typedef struct Value { Shape shape; double *at; } Value;
typedef Value (*Feed)(void *user, const Node *leaf);        /* input, parameter, state */
void eval_graph(const Graph *g, Feed feed, void *user, Value *outs);      /* one value per output */
/* Adds to each result that rounds a relative error up to `off`: shows the effect of rounding, magnified. */
void eval_graph_off(const Graph *g, Feed feed, void *user, double off, Value *outs);

/* graph/known.c: v: the value of n; false: it depends on an input, a parameter, a state or a loop */
bool known_values(Node *n, Value *v);

#endif
