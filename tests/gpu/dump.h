/* dump.h: a model's entry on the CPU, for machines that only have its CUDA text: named arrays, one after the other.
 *
 *     char name[64] · int32 type (Lathe_dtype), int32 0 · int64 elements · the elements
 *
 * "params", "grads": the flat arrays; "in.NAME": inputs of the entry train; "loss": its loss, one double. */
#ifndef GPU_DUMP_H
#define GPU_DUMP_H

#include "interface/lathe_model.h"

#include <stdio.h>

typedef struct Dump_head {
    char name[64];
    int32_t type, zero;
    int64_t elements;
} Dump_head;

static inline int64_t dump_bytes(int32_t type)
{
    return type == LATHE_F64 ? 8 : type == LATHE_BOOL ? 1 : type == LATHE_BF16 || type == LATHE_F16 ? 2 : 4;
}

static inline bool dump_array(FILE *to, const char *name, Lathe_dtype type, int64_t elements, const void *at)
{
    Dump_head h = {{0}, type, 0, elements};
    snprintf(h.name, sizeof h.name, "%s", name);
    return fwrite(&h, sizeof h, 1, to) == 1 &&
           fwrite(at, 1, (size_t)(elements * dump_bytes(type)), to) == (size_t)(elements * dump_bytes(type));
}

#endif
