/* eval_walk.c: the elements of a tensor in order, and where each is. */
#include "graph/eval.h"

Walk walk(Shape s) { return (Walk){.shape = s, .n = elements(s)}; }

void step(Walk *w)
{
    w->i++;
    for (int k = w->shape.rank; k-- > 0;) {
        if (++w->at[k] < w->shape.dim[k]) return;
        w->at[k] = 0;
    }
}

void strides_of(Shape s, int64_t *stride)
{
    int64_t n = 1;
    for (int k = s.rank; k-- > 0; n *= s.dim[k]) stride[k] = n;
}

int64_t offset_at(Shape s, const int64_t *at)
{
    int64_t offset = 0;
    for (int k = 0; k < s.rank; k++) offset = offset * s.dim[k] + at[k];
    return offset;
}
