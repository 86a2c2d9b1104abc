/* flat.c: the flat array of parameters, of which the last elements are stored in blocks, type by type. */
#include "kernels/kernels.h"

int64_t elements_in_blocks(const Plan *plan)
{
    int64_t n = 0;
    for (DType t = 0; t < DTYPES; t++) n += plan->in_blocks[t];
    return n;
}

int64_t flat_bytes_before(const Plan *plan, DType weights, int64_t e)
{
    int64_t at = plan->flat_elements - elements_in_blocks(plan), bytes = bytes_of_elements(weights, min64(e, at));
    for (DType t = 0; t < DTYPES && e > at; t++) {
        bytes += bytes_of_elements(t, min64(e - at, plan->in_blocks[t]));
        at += plan->in_blocks[t];
    }
    return bytes;
}
