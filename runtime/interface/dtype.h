/* dtype.h: the types of numbers in memory, among them those in blocks (`lathe --frozen q8_0`). */
#ifndef LATHE_INTERFACE_DTYPE_H
#define LATHE_INTERFACE_DTYPE_H

#include <stdint.h>

enum { LATHE_BLOCK = 32 };  /* neighbours along the last axis that share a scale */

/* Types in blocks: member, word, and the name of all that belongs to it: Lathe_q8_0; from_q8_0() (math/math.h); to_q8_0(),
 * widen_q8_0() (math/blocks.h); vector_of_q8_0() (math/gemm_blocks.h, which math/gemm.c includes for each). */
#define LATHE_BLOCK_TYPES(X) X(Q8_0, "q8_0", q8_0) X(Q4_0, "q4_0", q4_0)

/* The same bytes as a block of GGUF's types of these names, on a machine that is little-endian.  scale: IEEE binary16. */
typedef struct Lathe_q8_0 { /* element i: scale · code[i] */
    uint16_t scale;
    int8_t code[LATHE_BLOCK];
} Lathe_q8_0;

typedef struct Lathe_q4_0 { /* element i: scale · (code - 8); byte i: lower half of element i, upper half of 16 + i */
    uint16_t scale;
    uint8_t codes[LATHE_BLOCK / 2];
} Lathe_q4_0;

#define LATHE_MEMBER(member, ...) LATHE_##member,
typedef enum Lathe_dtype { /* as DType */
    LATHE_BOOL, LATHE_I32, LATHE_F32, LATHE_F64, LATHE_BF16, LATHE_F16, LATHE_BLOCK_TYPES(LATHE_MEMBER) LATHE_DTYPES
} Lathe_dtype;

/* Bytes of a block; 0: the type has none. */
static inline int64_t lathe_bytes_of_block(Lathe_dtype t)
{
    switch (t) {
#define LATHE_BYTES(member, word, name) case LATHE_##member: return (int64_t)sizeof(Lathe_##name);
        LATHE_BLOCK_TYPES(LATHE_BYTES)
    default: return 0;
    }
}

#endif
