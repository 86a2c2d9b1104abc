/* parse.h: the state of reading kernels as text, and what their lines are made of (parse_operand.c). */
#ifndef KERNELS_PARSE_H
#define KERNELS_PARSE_H

#include "kernels/text.h"

typedef struct Waiting { /* for a buffer or a kernel that comes later */
    Where at;
    Buffer *buffer;
    const char *over;
    Kernel *pack;
    int64_t product;
} Waiting;

typedef struct Reader {
    Parser q;
    Program *p;
    const Desc *desc;
    bool described;        /* by what is read */
    Table needed;          /* by the graph's outputs */
    Strings buffers;       /* 1 + their numbers */
    VEC(Kernel *) kernels; /* by number */
    VEC(Waiting) waiting;
    VEC(Loop *) loops; /* around what is read now, from the outermost */
    Kernel *panels, *persistent;
    int depth;
    Where program; /* the line that begins it */
    bool copied;   /* what is read is a PACK's copy of its product, which may be inside of further loops */
} Reader;

int read_one_of(Reader *r, const char *const *words, int n, const char *what);
int64_t read_count(Reader *r);
int64_t read_any(Reader *r);            /* a count, or less than 0 */
Node *read_ever(Reader *r);             /* %7, also of a body that has ended: kernels come after the graph */
Loop *read_loop(Reader *r);
bool is_around(const Reader *r, const Loop *l);
Buffer *buffer_named(Reader *r, const char *name);
Operand read_operand(Reader *r, const Kernel *k, bool writes);  /* "%5 from x(64*i0 + i1) once", after `load` */
bool is_extent(Shape s);                /* its elements can be counted in 64 bits, whatever one takes */
Where end_with_where(Reader *r);        /* what is left is a comment: where the user wrote it */

#endif
