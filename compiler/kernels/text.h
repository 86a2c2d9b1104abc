/* text.h: the words of the text form of kernels, which text.c prints and parse.c reads. */
#ifndef KERNELS_TEXT_H
#define KERNELS_TEXT_H

#include "graph/text.h"
#include "kernels/kernel.h"
#include "kernels/kernels.h"

extern const char *const kind_words[], *const home_words[], *const end_words[], *const share_words[];
enum { KINDS = PANELS + 1, HOMES = TABLES + 1, ENDS = END_SUM_B + 1, SHARES = COLUMN_SUMS + 1 };

const Shape *shape_seen(const Kernel *k, const Operand *o); /* of its view, where the text says nothing else */
/* ---- kernels/text.c */
void say_view(Text *t, const int *number, const View *v, const Shape *expected);     /* h(64*i0 + i1); expected: a shape that goes without saying */
void say_brief(Text *t, int depth, const Kernel *k);

#endif
