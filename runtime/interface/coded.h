/* coded.h: moments in 8 bits (optim.adamw { bits = 8 }; step/coded.h): whose they are, and their bytes. */
#ifndef LATHE_INTERFACE_CODED_H
#define LATHE_INTERFACE_CODED_H

#include <stdbool.h>
#include <stdint.h>

/* Neighbours in a tensor that share a largest magnitude; fewest elements of a tensor in 8 bits: as bitsandbytes has them. */
enum { LATHE_CODED_BLOCK = 256, LATHE_LEAST_CODED = 4096 };

typedef struct Lathe_coded {    /* of one moment of all parameters */
    int64_t codes, blocks;      /* elements in 8 bits; blocks of these, each with its largest magnitude in fp32 */
    int64_t plain;              /* the others, in the type of gradients */
} Lathe_coded;

/* Lengths of a parameter: of its copies, and of their contiguous runs. */
typedef struct Lathe_runs_of { int64_t copies, elements, run; } Lathe_runs_of;
static inline Lathe_runs_of lathe_runs_of(int rank, int loops, const int64_t *dim, const int64_t *stride)
{
    Lathe_runs_of r = {1, 1, 1};
    for (int k = 0; k < rank; k++) *(k < loops ? &r.copies : &r.elements) *= dim[k];
    for (int k = rank - 1; k >= loops && stride[k] == r.run; k--) r.run *= dim[k];
    return r;
}

/* Small tensors keep their type, and so do those that lie in pieces shorter than a block. */
static inline bool lathe_is_coded(Lathe_runs_of r)
{
    return r.elements >= LATHE_LEAST_CODED && r.run >= LATHE_CODED_BLOCK;
}

static inline int64_t lathe_coded_blocks(int64_t elements) { return (elements + LATHE_CODED_BLOCK - 1) / LATHE_CODED_BLOCK; }

/* Adds the moments of a parameter. */
static inline void lathe_add_coded(Lathe_coded *all, Lathe_runs_of r)
{
    const int64_t elements = r.copies * r.elements;
    if (elements == 0) return;
    if (!lathe_is_coded(r)) all->plain += elements;
    else all->codes += elements, all->blocks += elements / r.run * lathe_coded_blocks(r.run);
}

/* Bytes of the arrays: plain numbers of `real` bytes first, then largest magnitudes, then codes; of all moments; in whole
 * lines of 64. */
static inline int64_t lathe_coded_bytes(const Lathe_coded *one, int moments, int64_t real)
{
    return (moments * (one->plain * real + one->blocks * (int64_t)sizeof(float) + one->codes) + 63) / 64 * 64;
}

/* Tables of moments in 8 bits behind those of a step (cuda/coded.cu): two of codes, and the pieces of runs. */
enum { LATHE_CODES_BYTES = 2052, LATHE_PIECE_OF_RUN_BYTES = 72 };
static inline int64_t lathe_coded_step_bytes(int64_t runs)
{
    return (2 * LATHE_CODES_BYTES + 8 + runs * LATHE_PIECE_OF_RUN_BYTES + 63) / 64 * 64;
}

#endif
