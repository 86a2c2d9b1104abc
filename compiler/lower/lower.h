/* lower.h: what the files that cut a graph into kernels share: view algebra, levels, groups, places. */
#ifndef LOWER_H
#define LOWER_H

#include "kernels/kernels.h"
#include "kernels/view.h"
#include "passes/passes.h"

/* ---- one level: the top of a graph, or the body of one loop */
#define ROLE_LIST(X) X(FULL, "full") X(PER_ROW, "per row") X(ROW_SUM, "row sum") X(COLUMN_SUM, "column sum")
typedef enum Role { ROLE_LIST(LIST_MEMBER) } Role;

typedef struct Extent { int64_t all, inner; } Extent;          /* elements of a space, of its inner axis (0: free) */

typedef struct Group {          /* nodes that become one ROWS kernel */
    Nodes nodes;                /* in topological order */
    Role *role;                 /* one each, once groups are made */
    Shape space;                /* row axes, then the inner axis */
    Extent extent;
    Shape rows;                 /* the row axes alone */
    int sums;                   /* reductions among its nodes */
    bool forced;                /* it is a copy */
    bool first, second;         /* it has a node of that half (lower/sides.c) */
    int number;                 /* for dumps: its turn among its graph's */
    struct Unit *unit;          /* lower/order.h */
} Group;

typedef VEC(Group *) Groups;
typedef VEC(struct Unit *) Units;

typedef struct Copy {           /* what could not be made where it is wanted */
    struct Level *level;
    Node *node;
    View to, from;              /* from.buffer NULL: the node's own place */
    struct Sum *sum, *zero_of;  /* zero_of: the zero that starts this sum, if it has to start here */
    bool aside;                 /* saves what other copies overwrite, so it comes first */
    Node *owner;                /* copy before this loop starts, or where this concat runs; NULL: at the level's end */
} Copy;

typedef VEC(Copy *) Copies;

typedef struct Level {
    Loop *loop;                 /* NULL: the top */
    Nodes roots, nodes;         /* what must be computed; all nodes of this level, in topological order */
    VEC(struct Level *) inside; /* of its loop nodes, in their order */
    Copies copies;              /* at its end */
} Level;

/* A value that several kernels add up in one place: the first one that is lowered sets it, the others add to it. */
typedef struct Sum {
    bool begun;
} Sum;

/* What lowering knows of a node. */
typedef VEC(struct Info *) Infos;
typedef struct Info {
    const Node *node;
    int order;                  /* position in its level's nodes */
    int uses;                   /* readings by ops that are no views, loop ends and outputs included */
    bool forced;                /* a view that is copied into a buffer of its own */
    bool solid;                 /* a map that could be free, but is not affine over the space of a reader */
    bool grouped;               /* a free map that somebody reads from memory all the same */
    bool absorbed;              /* an add without a kernel of its own: its inputs' kernels add to its place */
    bool stands;                /* and has a place of its own, for any reader */
    bool reads_some;            /* no free map, for certain */
    int free_size, free_round;  /* lower/reading.c: free_size() */
    bool memory;                /* somebody reads it from memory */
    const Node *layout;         /* dot: the permutation that it is laid out for */
    Node *twin;                 /* the same value of the forward phase, where both meet in one kernel */
    Nodes needs;                /* a loop's: what its body reads of its level; cap 0: not asked yet */
    Nodes sources;              /* what it reads, free maps looked through; likewise */
    struct Unit *unit;          /* while its level is being fused: itself or its group */
    Infos feeds;                /* likewise: what it reads of its level, views looked through */
    int64_t met;                /* the last search that came by */
    Group *group;
    bool emitted;               /* its kernel exists */
    bool placed;
    bool fleeting;              /* its place is a carry's, which the loop overwrites: good for its one reader only */
    Sum *sum;                   /* its place is that of a sum; NULL: it has its own, and its kernel sets it */
    Node *product, *sums_up;    /* a sum over rows: the dot that makes it too; of that dot: the sum, */
    int summed;                 /* over the rows of which operand */
    Node *before_gelu;          /* a dot that ends in gelu: the dot without it, which it makes too; of that: product */
    Level *body;                /* a loop's */
    Nodes picks;                /* a loop's, a topk's: those of its results that are read */
    Copies copies;              /* before this loop starts, or where this concat runs */
    Loop *afresh;               /* a dot that adds up over this loop, from zero: its first iteration may set */
    View place;                 /* of its own shape */
} Info;

typedef struct Naming {         /* what names are made of */
    Table user;                 /* of a node without a title: who has one, and is made of it */
    Strings number;             /* of a title: 1 + its place in `layers` */
    Strings pairs;              /* "layer title" that are noted */
    Table next;                 /* of the next value of a carry, or another form of it: the carry */
    VEC(struct Paths) layers;   /* that use a title */
} Naming;

/* ---- lower/cut.c: a graph on its way to kernels */
enum { PAGE = 128 };
typedef struct Info_page {      /* of a table by ids: these count on from graph to graph, so that a whole one for each cut would grow */
    Info *at[PAGE];
} Info_page;
struct Cut {
    Graph *graph;
    const Desc *desc;
    Level *top;
    Nodes roots;                /* the outputs */
    Program *program;           /* what becomes of it; from `place` on */
    Infos infos;                /* of nodes that were asked about */
    VEC(Info *) blocks;         /* where they lie */
    Info_page **pages;          /* the same by the nodes' ids */
    int npages;
    Table readers;              /* lower/readers.c */
    Naming names;               /* lower/names.c */
    const char *forward;        /* lower/sides.c: by a node's id: is it of the forward part; NULL: no gradients */
    const char *halves;         /* lower/sides.c; NULL: the entry is whole */
    int round;                  /* how often readings have been looked at for what bends */
    int straightened;           /* copies and layouts, once readings have settled */
    int groups;                 /* the last one's number */
    int64_t visits;             /* lower/order.c: units that all searches came by since a level was ordered */
    int64_t search;             /* the last one's number */
    Units seen;                 /* what it came by */
};
Cut *new_cut(Graph *g, const Desc *d);
void print_cut(Text *t, Cut *c);                                /* lower/cut_text.c: the graph, and what is known of its nodes */
void check_cutting(Cut *c, const char *stage);                  /* lower/cut_check.c */
Info *new_info(Cut *c, const Node *n);
static inline Info *info(Cut *cut, const Node *n)               /* asked all the time */
{
    int page = n->id / PAGE;
    Info *of = page < cut->npages && cut->pages[page] ? cut->pages[page]->at[n->id % PAGE] : NULL;
    return of ? of : new_info(cut, n);
}
typedef void (*Visit)(Cut *, Level *, Node *);
void each_level(Cut *cut, Level *level, Visit visit);           /* level by level, outer ones first */
Cut *trial_cut(Graph *g, const Desc *d);                        /* the groups that kernels would be made of now; ends with: */
void drop_cut(Cut *c);                                          /* nothing is asked about its nodes any more */

/* ---- lower/reading.c */
/* A node's reading through views: the value that it shows, and how. */
typedef struct Reading {
    Node *source;               /* no view, or a forced one */
    View view;                  /* over the node's shape, as if the source lay where it will (buffer NULL until placed) */
} Reading;
Reading reading(Cut *cut, Node *n);                             /* forces copies where a view is not affine */
Reading reading_beneath(Cut *cut, Node *copied);                /* of a view that is copied: below the copy */
Node *source_of(Cut *cut, Node *n);                             /* a reading's source, once readings have settled */
void find_free(Cut *cut, Level *level);                         /* asks is_free() of all, in an order in which no chain is long */
bool by_value(Cut *cut, const Node *n);                         /* an iota or a loop's index: an expression, not memory */
View value_view(const Node *n);
bool has_address(Cut *cut, Node *n);                            /* it shows memory: no constant, no value, not a slice of one either */
bool widens(Cut *cut, const Node *n);                           /* a cast of what is kept in 16 bits */
bool is_free(Cut *cut, const Node *n);                          /* that, or a map that reads no memory but parameters in 16 bits: computed wherever it is read */
bool in_rows(Cut *cut, const Node *n);                          /* lands in a ROWS kernel: maps, reductions, forced views, … */

/* ---- lower/straighten.c */
int count_straightened(Cut *cut);

/* ---- lower/absorb.c */
Node *beneath(Cut *cut, Node *n);                               /* what reshapes and permutes of it show */
Node *added_to(Cut *cut, const struct Carry *c);                /* the x of an absorbed next = add(carry, x); NULL: next is another value */
bool adds_up_from_zero(Cut *cut, const Node *n);                /* the end of such a carry that starts as zero */
bool can_be_added(const Node *dot);                             /* to what is there */

/* ---- lower/order.c */
void needs_at(Cut *cut, Loop *level, const Node *n, Nodes *out); /* the nodes of this level that n reads, bodies included */

/* ---- lower/readers.c */
typedef struct In_loop { Loop *loop; int k; } In_loop;          /* its y or x number k */
typedef struct Readers {        /* who reads a node */
    Nodes nodes;                /* that have it as input */
    VEC(In_loop) ys, xs;        /* what stacks it; what goes through it */
    bool else_too;              /* an output, a carry */
} Readers;
void note_readers(Cut *c);                                      /* of all that there is now */
Readers *readers(Cut *cut, const Node *n);

/* ---- lower/gelu.c */
bool makes_gelu(Cut *cut, const Node *x);                       /* will x's kernel, there for nothing but the gelu of it, go */

/* ---- lower/place.c: buffers and places */
View place_of(Cut *cut, Node *source);                          /* the place of a source, in its own shape */
View final_view(Cut *cut, Node *n);                             /* place and views composed */
bool adds_to(Sum *s);                                           /* asked once by each kernel that has a part in it */

/* ---- lower/sides.c: forward or backward */
Side first_part(const Kernel *k);                               /* after pass sides: of a loop, that of the first kernel in it */
Side last_part(const Kernel *k);
bool has_forward(const Kernel *k);                              /* itself or, of a loop, any kernel in it */
enum { EITHER_HALF, FIRST_HALF, SECOND_HALF };
const char *halves_of(const Graph *g);                          /* by a node's id; NULL: the entry is whole */
Side part_of(const Kernel *k, const char *forward);             /* of one that is being made; forward: Cut */

/* ---- lower/names.c */
void name_values(Cut *c);                                       /* before any of: */
const char *value_name(const Cut *cut, const Node *n);
const char *carry_name(const Cut *cut, const struct Carry *c);
const char *name_of_copy(const Cut *cut, const Node *n);        /* of a view that is copied into a buffer of its own */
bool meets_its_next(const Kernel *k, const Operand *load);      /* it is a carry, or a state, before what k makes of it: cell_before */
const char *rows_kernel_name(const Cut *cut, const Kernel *k, const Nodes *nodes);
const char *copy_kernel_name(const Cut *cut, const Node *n, const Buffer *to, bool add);
const char *product_name(const Cut *cut, const Node *n);
const char *whole_kernel_name(const Cut *cut, const Node *n, const Node *result);
const char *attention_kernel_name(const Cut *cut, const Kernel *k);
const char *convolution_kernel_name(const Cut *cut, const Kernel *k);
const char *by_ids_kernel_name(const Cut *cut, const Kernel *k);

/* ---- lower/buffers.c */
Buffer *new_buffer(Cut *cut, Loop *level, const char *name, Home home, DType t, Shape s, Node *value);

/* ---- lower/pad.c: needs note_readers() */
Shape own_shape(Cut *cut, Node *n, const View *own);            /* of its buffer; own: as its readers expect it */

/* ---- lower/gemm.c, lower/kernels.c */
bool fill_gemm(const Node *dot, const View *a, const View *b, const View *c, struct Gemm *g);   /* false: no product can */
bool is_matrix(const View *v, int64_t rows, int64_t columns);   /* elements of a row side by side */
void fill_gemm_kernel(Cut *cut, Node *dot, Kernel *k);
bool is_plain(Cut *cut, const Node *dot);                       /* one that may end in something: a matrix, no batches */
bool sum_up(Cut *cut, Kernel *k);                               /* false: it cannot make the sum that it was to */
bool gemm_fits_at(Cut *cut, Node *dot, const View *c);          /* can the product be made there */
bool gemm_fits(Cut *cut, Node *dot);                            /* forces copies of operands that BLAS cannot address */

/* ---- lower/whole.c */
const char *whole_result_name(const Node *result);              /* "lse" */
void straighten_whole(Cut *cut, Node *n);                       /* forces copies of operands that it cannot read */
bool whole_fits_at(const Node *result, const View *v);          /* can the result be made there */
Kernel *whole_kernel(Cut *cut, Node *n);
bool neighbours(const View *v);                                 /* are elements along the last axis side by side */

/* ---- lower/attention.c, lower/convolution.c, lower/by_ids.c: the same for each */
const char *attention_result_name(const Node *result);
void straighten_attention(Cut *cut, Node *n);
bool attention_fits_at(const Node *result, const View *v);
void fill_attention(Cut *cut, Node *n, Kernel *k);              /* reads, flops */
void straighten_convolution(Cut *cut, Node *n);
bool convolution_fits_at(const Node *result, const View *v);
void fill_convolution(Cut *cut, Node *n, Kernel *k);
void straighten_by_ids(Cut *cut, Node *n);
bool by_ids_fits_at(const Node *result, const View *v);
void fill_by_ids(Cut *cut, Node *n, Kernel *k);
bool rows_of_two(const View *v, View *over);                    /* [rows…][width] as [outer][inner][width]; false: it is no such */

#endif
