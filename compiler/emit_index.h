/* emit_index.h: an index kernel while it is printed: what addresses by ids, or walks along an axis. */
#ifndef EMIT_INDEX_H
#define EMIT_INDEX_H

#include "emit.h"

/* x[batch…][id][after…] and y[batch…][ids…][after…], ids[batch…][ids…] saying which id.  Axes of the function: batch
 * ones, among them those between them and the picked axis, which the ids may not have; ids; after; the picked axis. */
typedef struct Picking {
    const Kernel *k;
    int batch, ids, after, id; /* how many axes; `id`: the picked axis's number, the last */
    View x, y, by, old;        /* of the addressed tensor, the other one, the ids; of what an overwrite starts from */
    int ux, uy, uby, uold;     /* uses; uold -1: x starts as it is */
    bool add;                  /* to what is there: a gather's y, a scatter's x, which else starts from zero */
} Picking;

/* Rows along an axis, which is the last one of the function. */
typedef struct Along {
    int rows, axis;
    View x, y[2];
    int ux, uy[2];
    const char *first, *step; /* CUDA: how a lane takes its elements; NULL: one goes through the whole row */
} Along;

typedef void (*One_row)(Function *f, Along *a, const Kernel *k);

/* What runs over the space of an index kernel: loops, or threads. */
typedef struct Index_nests {
    void (*gather)(Function *f, Picking *g);
    void (*scatter)(Function *f, Picking *g);
    void (*overwrite)(Function *f, Picking *g);
    void (*rows)(Function *f, Along *a, One_row row, int work, const Kernel *k); /* work: operations an element */
    void (*largest)(Function *f, Along *a, One_row row, const Kernel *k);        /* likewise, of argmax */
} Index_nests;
extern const Index_nests index_loops, index_threads;

/* emit_index.c: what the kernels of every target have in common */
bool loops_over(const Function *f, const View *v, int j);
void declare_id(Function *f, const Picking *g); /* const int id = ids[…]; the picked axis's index from then on */
void forget_id(Function *f, const Picking *g);
void say_picked(Function *f, const Picking *g, bool y_is_result, bool add); /* y = x[id], or x[id] = y */
int axes_of_x(const Picking *g, int *axes);             /* batch, the picked axis, after: their number */
const char *first_value(Function *f, const Picking *g); /* of x's element before any y: 0, or the old one */

#endif
