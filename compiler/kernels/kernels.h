/* kernels.h: what is asked of kernels, by file. */
#ifndef KERNELS_H
#define KERNELS_H

#include "kernels/kernel.h"

/* text.c, parse.c: a program with its graph as text */
void print_kernels(Text *t, const Program *p);
void print_kernels_in_brief(Text *t, const Program *p);     /* of each kernel a line */
Module *parse_kernels(const char *file, const char *text, Desc *d);      /* of this description, which is filled if it has no graphs */
const char *kernel_kind(const Kernel *k);                   /* "rows", "gemm", … */

/* check.c */
void check_program(const Program *p, const char *stage, const Desc *d);     /* die() where it is not sound; of a text err() */

/* fault.c: what no kernel can be; NULL: it may be one */
const char *kernel_fault(const Kernel *k, const Target *t);
const char *gemm_fault(const Kernel *k);                    /* the matrices of a product lie in their buffers */
const char *view_fault(const View *v);                      /* every element that it shows lies in its buffer */

/* sayings.c: in order; a loop over copies as often as it runs, others once */
Sayings sayings_of(const Program *p);

/* flat.c */
int64_t elements_in_blocks(const Flat *f);                  /* the last of the array; 0: none */
int64_t flat_bytes_before(const Flat *f, DType weights, int64_t e);      /* of its first e elements; weights: type of those in no blocks */

/* walk.c */
typedef void (*Visit_operand)(Operand *, bool writes, void *user);
void each_operand(Kernel *k, Visit_operand visit, void *user);     /* of k itself, not of its body; partials are none */
int64_t kernel_rows(const Kernel *k);                       /* that it runs over, one after another; 0: it has no such order */
int64_t rows_each(const Kernel *k);                         /* in panels: of its rows, how many are one of theirs */
bool are_of_samples(const Kernel *const *k, int n);         /* is a convolution among them: the rows of their panels are samples */
void own_touches(const Kernel *k, Touches *t);
void touches_of(const Kernel *k, Touches *t);               /* its body's as well */
bool sums_up(Product_end end);                              /* does it make sums beside the product */
Buffer *bytes_of(const Buffer *b);                          /* the buffer whose bytes it has taken over; itself */
bool conflict(const Touches *a, const Touches *b);          /* one writes what the other touches */

#endif
