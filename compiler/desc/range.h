/* range.h: which values an i32 node can have. */
#ifndef DESC_RANGE_H
#define DESC_RANGE_H

#include "desc/desc.h"
#include "runtime/interface/no_label.h"

typedef struct Range {
    int64_t low, high;
} Range;

/* Of an input, as the trainer fills it; INT32_MIN … INT32_MAX: it may be anything. */
Range range_of_input(const Desc *d, const Node *input);
Range range_union(Range a, Range b);
Range range_product(Range a, Range b); /* of two numbers from them, as if there were integers without end */

/* Whether it is the input of data.sentences with labels of words, and NO_LABEL where there is none. */
bool is_label_of_words(const Desc *d, const char *name);

#endif
