/* flat.c: an array of parameters, of which the last elements are stored in blocks, type by type. */
#include "kernels/kernels.h"

int64_t elements_in_blocks(const Flat *f)
{
    int64_t n = 0;
    for (DType t = 0; t < DTYPES; t++) n += f->in_blocks[t];
    return n;
}

int64_t flat_bytes_before(const Flat *f, DType weights, int64_t e)
{
    int64_t at = f->elements - elements_in_blocks(f), bytes = bytes_of_elements(weights, min64(e, at));
    for (DType t = 0; t < DTYPES && e > at; t++) {
        bytes += bytes_of_elements(t, min64(e - at, f->in_blocks[t]));
        at += f->in_blocks[t];
    }
    return bytes;
}
