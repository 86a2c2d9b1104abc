/* npy_file.c: the head of a .npy file of an output's rows. */
#include "base/words.h"
#include "trainer/predict.h"

#include <stdlib.h>
#include <string.h>

static const char *npy_type(const Lathe_tensor *t)
{
    switch (t->dtype) {
    case LATHE_BOOL: return "|b1";
    case LATHE_I32: return "<i4";
    case LATHE_F64: return "<f8";
    default: return "<f4";
    }
}

char *npy_head(const Lathe_tensor *t, int64_t rows, size_t *bytes)
{
    char *shape = text_of("(%lld,", (long long)rows);
    for (int k = 1; k < t->rank; k++) shape = text_of("%s %lld,", shape, (long long)t->dim[k]);
    char *header = text_of("{'descr': '%s', 'fortran_order': False, 'shape': %s), }", npy_type(t), shape);
    int n = (int)strlen(header) + 1, padded = (n + 10 + 63) / 64 * 64 - 10; /* elements begin at a multiple of 64 */
    char *all = must_alloc((size_t)padded + 11);
    memcpy(all, "\x93NUMPY\1\0", 8);
    all[8] = (char)(padded & 255);
    all[9] = (char)(padded >> 8);
    snprintf(all + 10, (size_t)padded + 1, "%-*s\n", padded - 1, header);
    *bytes = (size_t)padded + 10;
    free(shape);
    free(header);
    return all;
}
