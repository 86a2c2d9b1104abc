/* index.h: an index kernel while it is printed: it addresses by ids, or walks along an axis. */
#ifndef EMIT_INDEX_H
#define EMIT_INDEX_H

#include "emit/rows.h"

/* A kernel by ids. The fields are those of Picked. */
typedef struct Picking {
    const Kernel *k;
    const Nest *n;
    int batch, ids, after, id;
    View x, y, by;
    int ux, uy, uby, uold; /* uses; uold is -1 if x starts as it is, or from zero */
    bool blocks;           /* x is in blocks, of neighbours along the last axis but that of ids */
} Picking;

/* Rows along an axis, which is the last of the function. */
typedef struct Along {
    const Nest *n;
    int rows, axis;
    View x;
    int ux, uy[2];
    /* CUDA: the first element of a lane, and its step; NULL: one thread takes the whole row */
    const char *first, *step;
} Along;

/* Axes that are walked, one inside another. */
typedef struct Walk {
    int axis[MAXRANK], n;
    int shared;               /* CUDA: the number of leading axes that threads share; each thread walks the others */
    bool threads;             /* C: threads share the outermost loop */
    bool inside;              /* there is such a loop around it */
    bool by_blocks;           /* the last one in steps of LATHE_BLOCK */
    const struct Picking *by; /* whose id is declared as soon as its indices are known; NULL: no id is */
} Walk;
void walk_axes(Walk *w, int from, int to);         /* adds the axes from … to - 1 */
void share_axes(Walk *w, int from, int to);        /* the same; then all axes are shared */
const char *open_walk(Function *f, const Walk *w); /* CUDA: returns the number of blocks */

/* emit/index.c: what both targets share */
bool loops_over(const Function *f, const View *v, int j);
/* const int id = ids[…]; from then on it is the index along the picked axis */
void declare_id(Function *f, const Picking *g);
void forget_id(Function *f, const Picking *g);
void use_id(Function *f, const char *y, const char *x); /* says so if neither text does */
void say_picked(Function *f, const Picking *g, bool y_is_result, bool add); /* y = x[id], or x[id] = y */
/* the same for all ids; returns the number of blocks */
const char *walk_ids(Function *f, const Picking *g, Walk w, bool y_is_result, bool add);

/* emit/index_threads.c: CUDA threads, as the nest says */
void gather_side_by_side(Function *f, Picking *g); /* a thread takes elements side by side */
/* a block takes an id; add: adds up equal ids, else the last one wins */
void ids_by_blocks(Function *f, Picking *g, bool add);
void gather_plainly(Function *f, Picking *g); /* as plain loops */
void scatter_plainly(Function *f, Picking *g, bool add);
typedef void (*One_row)(Function *f, Along *a, const Kernel *k);
void largest_by_warp(Function *f, Along *a, One_row row, const Kernel *k); /* of argmax */

#endif
