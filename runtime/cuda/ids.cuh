/* ids.cuh: checks of ids in kernels; for model.cu alone, which has the record of a bad id.
 *
 * The kernel continues with id 0, which always exists, so nothing is read out of bounds.  The trainer checks the record
 * when it reads the loss, and ends the program. */
#ifndef LATHE_CUDA_IDS_CUH
#define LATHE_CUDA_IDS_CUH

#include "cuda/ids.h"
#include "lathe_cuda.cuh"
#include <limits.h>

DEVICE_MEMORY Cuda_bad_id found_bad_id;

extern "C" void *cuda_bad_id(void)
{
    void *at = NULL;
    (void)cudaGetSymbolAddress(&at, found_bad_id);
    return at;
}

template <int n> UNWATCHED DEVICE void copy_text(char (&to)[n], const char *from)
{
    for (int i = 0; i + 1 < n && from[i]; i++) to[i] = from[i];
}

/* The first thread of a check writes its texts; different checks have different texts. */
UNWATCHED static __noinline__ __device__ int bad_id(int id, int below, bool data, const char *place, const char *what)
{
    Cuda_bad_id *bad = &found_bad_id;
    const unsigned long long check = (size_t)place * 31 + (size_t)what;
    const unsigned long long first = atomicCAS(&bad->check, 0ull, check);
    if (first == 0) {
        bad->below = below;
        bad->data = data;
        copy_text(bad->place, place);
        copy_text(bad->what, what);
    }
    if (first == 0 || first == check) atomicMax(&bad->over, (unsigned)INT_MAX - (unsigned)id);
    return 0;
}

/* Returns the id if it is in 0 … below - 1, else 0 (lathe_rt.h). */
DEVICE int data_id(int id, int below, const char *place, const char *what)
{
    return (unsigned)id < (unsigned)below ? id : bad_id(id, below, true, place, what);
}
DEVICE int computed_id(int id, int below, const char *place, const char *what)
{
    return (unsigned)id < (unsigned)below ? id : bad_id(id, below, false, place, what);
}

#endif
