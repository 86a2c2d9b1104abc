/* index.h: an index kernel while it is printed: what addresses by ids, or walks along an axis. */
#ifndef EMIT_INDEX_H
#define EMIT_INDEX_H

#include "emit/rows.h"

/* A kernel by ids: as in Picked. */
typedef struct Picking {
    const Kernel *k;
    const Nest *n;
    int batch, ids, after, id;
    View x, y, by;
    int ux, uy, uby, uold; /* uses; uold -1: x starts as it is, or from zero */
} Picking;

/* Rows along an axis, which is the last one of the function. */
typedef struct Along {
    const Nest *n;
    int rows, axis;
    View x;
    int ux, uy[2];
    const char *first, *step; /* CUDA: how a lane takes its elements; NULL: one goes through the whole row */
} Along;

typedef void (*One_row)(Function *f, Along *a, const Kernel *k);

/* What walks over the space of a kernel: loops, or threads. */
typedef struct Nests {
    void (*all_rows)(struct Rows *r);
    void (*gather)(Function *f, Picking *g);
    void (*scatter)(Function *f, Picking *g);
    void (*overwrite)(Function *f, Picking *g);
    void (*rows)(Function *f, Along *a, One_row row, const Kernel *k);
    void (*largest)(Function *f, Along *a, One_row row, const Kernel *k); /* of argmax */
} Nests;
extern const Nests loops_of_c, cuda_threads;

/* emit/index.c: what the kernels of every target have in common */
bool loops_over(const Function *f, const View *v, int j);
void declare_id(Function *f, const Picking *g); /* const int id = ids[…]; the picked axis's index from then on */
void forget_id(Function *f, const Picking *g);
void say_picked(Function *f, const Picking *g, bool y_is_result, bool add); /* y = x[id], or x[id] = y */
int axes_of_x(const Picking *g, int *axes);             /* batch, the picked axis, after: their number */
const char *first_value(Function *f, const Picking *g); /* of x's element before any y: 0, or the old one */

#endif
