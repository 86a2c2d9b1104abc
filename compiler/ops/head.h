/* head.h: a linear layer over classes and its cross entropy: as one op, and in primitives. */
#ifndef HEAD_H
#define HEAD_H

#include "desc/desc.h"

typedef struct Soft_targets {   /* each row also imitates a teacher, whose logits are x · weightᵀ + bias */
    Node *x, *weight, *bias;    /* [R][D]; [V][D] (across 1) or [D][V] (across 0); [V] or NULL */
    int across;
    double share, temperature;  /* share: of this loss; the rest is the target's */
} Soft_targets;

typedef struct Head {
    Node *x;                    /* [R][C] */
    Node *weight;               /* [V][C] (across 1) or [C][V] (across 0) */
    Node *ids;                  /* i32 [R] */
    Node *bias, *upstream;      /* [V]; [R]: what the loss changes by with each row's loss; or NULL */
    int across;                 /* the weight's axis along x */
    double smoothing;           /* of labels, 0 … 1 */
    bool ignores;               /* rows whose id is `ignored` have no loss */
    int64_t ignored;
    Soft_targets soft;          /* x NULL: none */
} Head;
typedef struct Head_results {
    Node *losses;               /* [R] */
    Node *predicted;            /* i32 [R]: the first class of the largest logit */
    Node *dx, *dweight, *dbias; /* of Σ upstream · losses; NULL without upstream (or bias) */
} Head_results;
Node *linear_cross_entropy(const Head *h);                                       /* its results are pick()ed: see ops/linear_cross_entropy.c */

int64_t most_head_rows(const Desc *d);                                         /* of any head in its graphs; 0: there is none */

/* ops/head_rows.c */
Head_results head_rows(const Head *h, Node *x, Node *ids, Node *upstream, Node *soft_x); /* for these rows of it; of those that are NULL: of none */
Head_results head_in_chunks(const Head *h, int64_t rows);                       /* about so many at a time; 0: all at once */

#endif
