/* fuzz_npy.c: arrays of NumPy: rows that the header promises can be read. */
#include "fuzz.h"
#include "base/words.h"
#include "source/source.h"

#include <stdlib.h>

void fuzz_one(const char *path, const char *text, size_t n)
{
    (void)text, (void)n;
    Npy *a = open_npy(path);
    int64_t rows = npy_rank(a) ? npy_dim(a)[0] : 1;
    bug_if(rows > 0 && npy_width(a) > (int64_t)n);
    double *out = must_alloc(sizeof *out * (size_t)(npy_width(a) * (rows < 2 ? rows : 2)));
    if (rows > 0) read_npy(a, rows - (rows < 2 ? rows : 2), rows < 2 ? rows : 2, out);
    free(out);
    close_npy(a);
}
