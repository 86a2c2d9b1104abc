/* text.h: the words of the text form of kernels, which text.c prints and parse.c reads. */
#ifndef KERNELS_TEXT_H
#define KERNELS_TEXT_H

#include "graph/text.h"

extern const char *const kind_words[], *const home_words[], *const end_words[], *const share_words[];
enum { KINDS = PANELS + 1, HOMES = TABLES + 1, ENDS = END_SUM_B + 1, SHARES = COLUMN_SUMS + 1 };

const Shape *shape_seen(const Kernel *k, const Operand *o); /* of its view, where the text says nothing else */
void say_brief(Text *t, int depth, const Kernel *k);

#endif
