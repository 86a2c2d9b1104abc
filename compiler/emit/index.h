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

/* Axes that are walked, one inside another. */
typedef struct Walk {
    int axis[MAXRANK], n;
    int shared;                /* CUDA: the number of axes, the first, that threads share; each walks the others */
    bool threads;              /* C: the outermost loop is shared among threads; */
    bool inside;               /* or there is such a loop around it */
    const struct Picking *by;  /* whose id is declared as soon as its indices are known; NULL: none */
} Walk;
void walk_axes(Walk *w, int from, int to);   /* those from … to - 1, too */
void share_axes(Walk *w, int from, int to);  /* likewise; all of them are shared */
const char *open_walk(Function *f, const Walk *w); /* CUDA: returns the blocks */

/* emit/index.c: what the kernels of every target have in common */
bool loops_over(const Function *f, const View *v, int j);
void declare_id(Function *f, const Picking *g); /* const int id = ids[…]; the picked axis's index from then on */
void forget_id(Function *f, const Picking *g);
void say_picked(Function *f, const Picking *g, bool y_is_result, bool add); /* y = x[id], or x[id] = y */
const char *walk_ids(Function *f, const Picking *g, Walk w, bool y_is_result, bool add); /* that for all; the blocks */

/* emit/index_threads.c: by CUDA's threads, as nests say */
void gather_side_by_side(Function *f, Picking *g);    /* elements side by side */
void ids_by_blocks(Function *f, Picking *g, bool add); /* a block an id; add: else the last of them wins */
void gather_plainly(Function *f, Picking *g);   /* plain loops */
void scatter_plainly(Function *f, Picking *g, bool add);
typedef void (*One_row)(Function *f, Along *a, const Kernel *k);
void largest_by_warp(Function *f, Along *a, One_row row, const Kernel *k); /* of argmax */

#endif
