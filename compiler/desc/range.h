/* range.h: which values an i32 node can have. */
#ifndef DESC_RANGE_H
#define DESC_RANGE_H

#include "base/util.h"

typedef struct Range {
    int64_t low, high;
} Range;

Range range_union(Range a, Range b);
Range range_product(Range a, Range b); /* of two numbers from them, as if there were integers without end */

#endif
