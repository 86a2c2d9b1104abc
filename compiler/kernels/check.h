/* check.h: what the checks of programs share.  None of them asks a pass: what they need to know they find out by
 * walking through the kernels, in the order in which these run, and by looking for the points that lie at a byte. */
#ifndef KERNELS_CHECK_H
#define KERNELS_CHECK_H

#include "kernels/kernels.h"

/* ------------------------------------------------------------------ points.c */

enum { POINT_AXES = 2 * MAXRANK };

/* The place of a buffer's first byte: bytes of different spaces never overlap. */
typedef struct Place {
    const void *space;
    int64_t byte;
} Place;

/* The elements that a view shows, or that a kernel reads or writes by it, as points of some bytes each, at
 *     start + Σ step[k] · i_k,  low[k] <= i_k < high[k]
 * of a space.  A point has the number of its row, row + Σ rows[k] · i_k, and of its column within that; `together` rows
 * count as one. */
typedef struct Points {
    const void *space;
    bool nothing;               /* there is none */
    int n;
    int64_t size, start, row, column, together;
    int64_t step[POINT_AXES], low[POINT_AXES], high[POINT_AXES], rows[POINT_AXES], columns[POINT_AXES];
    int64_t from[POINT_AXES + 1], to[POINT_AXES + 1];   /* what axes k, k + 1, … add at least, at most */
} Points;

typedef struct Point { int64_t byte, row, column; } Point;
typedef bool (*Fits)(void *user, const Point *p);

Points points_at(Place at, const View *v);                 /* without its axes and loops: those are added */
void add_axis(Points *p, int64_t step, int64_t low, int64_t high, int64_t rows, int64_t columns);   /* step: elements */
void add_shape(Points *p, const View *v);                  /* all its axes */
void end_points(Points *p);                                /* when all are added */
bool may_meet(const Points *a, const Points *b);           /* false: their bytes are apart, as a look at the ends tells */
bool is_solid(const Points *p);                            /* all bytes between the first and the last */
bool lies_in(const Points *p, const Points *of);           /* between these */
bool are_same_points(const Points *a, const Points *b);    /* each byte is of one point, and that has the same indices in both */
bool each_sample(const Points *p, Fits fits, void *user);  /* first, middle and last of each axis */
bool each_point_at(const Points *p, int64_t byte, int64_t size, Fits fits, void *user);    /* that has some of these bytes */
bool none(void *user, const Point *p);                     /* a Fits: there should be no point at all */

/* ------------------------------------------------------------------ run.c: the program as it runs */

/* A loop's or a panels' body: steps first … last. */
typedef struct Body {
    const Kernel *kernel;       /* NULL: the program */
    int first, last;
    const struct Body *out;
} Body;

typedef struct Access {
    const Kernel *kernel;
    const Operand *operand;     /* NULL: partial sums, a barrier */
    const View *view;           /* of those all of the buffer */
    const Body *body;           /* the innermost */
    int step, next;             /* next: of the same buffer, its number in Run.all; -1: the last */
    bool reads, writes, adds;
} Access;

typedef struct Touched { int first, last, writes; } Touched;   /* in Run.all, -1: none; how many write */

typedef struct Run {
    const Program *program;
    const char *stage;
    bool ordered, planned;      /* have pass_order and pass_plan run */
    VEC(Access) all;            /* of a kernel: first what it reads */
    VEC(Touched) buffers;       /* by Buffer.number */
    int steps;
} Run;

Run run_of(const Program *p, const char *stage);
/* Refuses the program: a mistake in the text that it was read from, or ours. */
_Noreturn void unsound(const Run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const Buffer *origin(const Buffer *b);                     /* the first of a chain of buffers that each take over the bytes of the one before */
Place bytes_at(const Run *r, const Buffer *b);
const Body *loop_around(const Body *b);                    /* b, or the nearest one around it that is a loop; NULL */
bool inside(const Body *b, const Body *of);                /* the same, or further in */
/* The points of two views as they are in the same iteration of the loops from `both` outwards, whichever of others: for
 * some iterations.  a and b have all other axes. */
typedef bool (*Pair)(void *user, const Points *a, const Points *b);
bool each_iteration(const View *v, const Points *a, const View *w, const Points *b, const Body *both, Pair pair, void *user);
Points all_points(const Run *r, const Access *a);          /* all that it comes by, in whatever iteration */

void check_order(const Run *r);                            /* check_order.c: what is read was written before */

/* check_lives.c */
const Body *own_loop(const Run *r, const Buffer *b);       /* the innermost in each of whose iterations it is made anew; NULL */
void check_lives(const Run *r);                            /* values live as long as they are needed, apart */

void check_done(const Run *r, const Desc *d);              /* check_done.c: gradients that are done are touched no more */
void check_needed(const Run *r, const Desc *d);              /* check_needed.c: what is read is needed, and not dropped */
void check_bytes(const Run *r);                            /* check_bytes.c: within a kernel, and a group in panels */

#endif
