/* blocks.h: numbers stored in blocks of a few bits each, as GGUF files have them. */
#ifndef LATHE_MODEL_BLOCKS_H
#define LATHE_MODEL_BLOCKS_H

enum { LARGEST_BLOCK = 256 };

typedef struct Block_form {
    const char *dtype; /* "Q4_K" */
    int elements, bytes; /* of a block */
    void (*values)(const unsigned char *block, double *to); /* [elements] */
} Block_form;

const Block_form *block_form(const char *dtype); /* NULL: not stored in blocks */
double half_value(unsigned bits);                /* of an F16 */
unsigned half_bits(double x);                    /* the nearest F16, of two the even one; infinite beyond 65,504 */
unsigned short_bits(double x);                   /* the same of a BF16, of what a float makes of x */

#endif
