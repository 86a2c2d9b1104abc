/* q8_0.h: how frozen weights are stored in 8 bits (`lathe --frozen q8_0`). */
#ifndef LATHE_INTERFACE_Q8_0_H
#define LATHE_INTERFACE_Q8_0_H

#include <stdint.h>

enum { LATHE_BLOCK = 32 };  /* neighbours along the last axis that share a scale */

/* Element i is scale · code[i].  The same bytes as a block of GGUF's Q8_0, on a machine that is little-endian. */
typedef struct Lathe_q8_0 {
    uint16_t scale;         /* IEEE binary16 */
    int8_t code[LATHE_BLOCK];
} Lathe_q8_0;

#endif
