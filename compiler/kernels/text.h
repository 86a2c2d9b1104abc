/* text.h: the words of the text form of kernels, which text.c prints and parse.c reads. */
#ifndef KERNELS_TEXT_H
#define KERNELS_TEXT_H

#include "graph/text.h"
#include "kernels/kernel.h"
#include "kernels/kernels.h"

enum {
    KINDS = 0 KERNEL_KINDS(LIST_ONE),
    HOMES = 0 HOME_LIST(LIST_ONE),
    ENDS = 0 PRODUCT_ENDS(LIST_ONE),
    SHARES = 0 SHARE_LIST(LIST_ONE)
};
extern const char *const kind_words[KINDS], *const home_words[HOMES], *const end_words[ENDS], *const share_words[SHARES],
    *const saying_words[SAYINGS];

const Shape *shape_seen(const Kernel *k, const Operand *o); /* of its view, where the text says nothing else */
/* ---- kernels/text.c */
void say_view(Text *t, const int *number, const View *v, const Shape *expected);     /* h(64*i0 + i1); expected: a shape that goes without saying */
void say_brief(Text *t, int depth, const Kernel *k);

#endif
