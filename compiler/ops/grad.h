/* grad.h: what the files of differentiation share: levels, forward values, contributions. */
#ifndef GRAD_H
#define GRAD_H

#include "desc/desc.h"

typedef struct Grad { /* facts about the forward graph */
    const struct Desc *desc;
    const struct Graph *graph;
    Table order;      /* loop's index -> Nodes *: its body, inputs first */
    Table active;     /* nodes that a parameter reaches along differentiable inputs */
    Table reached;    /* active nodes that the loss depends on along differentiable inputs */
    Table regions;    /* memo of region_ends() */
    Table reduced;    /* memo of widest_reduced(): elements, as pointers */
} Grad;

/* Where gradients are being made: beside the loss (the base), or in the reversed loop of some forward loop. */
typedef struct Grad_level {
    struct Grad_level *up; /* the level around it; NULL at the base */
    Grad *all;
    Loop *forward;       /* whose body is differentiated (or copied); NULL at the base */
    Loop *backward;      /* its reversed loop (or its copy) */
    struct Grad_level *copy;  /* forward under recompute: the level of its copy, which gives the saved values */
    bool replayed;       /* forward or a loop around it has a copy */
    bool copying;        /* this level is such a copy: carries stay carries, nothing is saved */
    Table values;        /* forward node -> what stands for it here */
    Table contributions; /* forward node -> Nodes *: parts of its gradient in the order of making */
    Nodes outside;       /* nodes outside `forward` that have contributions, in the order of the first */
    Nodes picks;         /* loop results with contributions, until their loop's turn */
    VEC(struct Grad_level *) copies;
} Grad_level;

/* passes/grad.c */
bool grad_active(const Grad_level *lv, const Node *v);
void contribute(Grad_level *lv, Node *v, Node *part);
Node *gradient(Grad_level *lv, Node *v); /* the sum of the parts, or NULL */
void differentiate(Grad_level *lv, const Nodes *body);
void differentiate_node(Grad_level *lv, Node *n, Node *g);
Nodes *body_of(Grad *all, Loop *l);
void grad_definition(Grad_level *lv, Node *n, Node *const *g);   /* of whole op n by way of its definition; g[k]: of result k, or NULL */

/* passes/grad_ops.c: what n's gradient g contributes to the inputs of n; false: not one of theirs */
bool grad_op(Grad_level *lv, Node *n, Node *g);
Node *sum_of(const Nodes *parts);

/* passes/grad_loop.c */
Node *value(Grad_level *lv, Node *v); /* what stands for the forward node v at this level */
void grad_loop(Grad_level *lv, Node *node);
bool region_ends(Grad *all, const Node *v); /* not under recompute, but made from costly values that are: worth saving */
bool sums_columns(const Node *v); /* into far fewer, along other axes than the last ones: a sweep of its own over memory */

#endif
