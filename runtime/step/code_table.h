/* code_table.h: tables of moments in 8 bits (step/coded.h), for a CPU and a GPU. */
#ifndef LATHE_STEP_CODE_TABLE_H
#define LATHE_STEP_CODE_TABLE_H

#include "interface/coded.h"
#include "step/optim.h"

enum { CODES = 256 };

/* Cells of numbers with the same sign, exponent and first 7 bits: at most one middle lies in each.  Those nearer to 0 than
 * 2^-24 are in the first cell of their sign, those from 2 on in the last. */
enum { CELL_BITS = 7, FIRST_CELL = (127 - 24) << CELL_BITS, CELLS = 25 << CELL_BITS };

typedef struct Codes {
    float value[CODES];       /* ascending */
    float middle[CODES];      /* between a value and the next; the last is infinite */
    int32_t zero;             /* the code of 0 */
} Codes;

typedef struct Code_table {
    Codes codes;
    int32_t cell[2 * CELLS];  /* the code of the lowest number of each; negative numbers in the second half */
} Code_table;

/* A contiguous run of one copy of a parameter. */
typedef struct Piece {
    int64_t begin, n;         /* elements of the flat arrays */
    int64_t first;            /* of its codes, or plain numbers, in their arrays */
    int64_t scale;            /* number of its first block's largest magnitude */
    int64_t block;            /* number of its first block among those of all pieces */
    enum Piece_kind { CODED, PLAIN, MOMENTLESS } kind; /* MOMENTLESS: directed */
    Rule rule;
} Piece;

typedef struct Coded {
    Code_table table[2];      /* of the means; of the squares */
    Lathe_coded sizes;        /* of one moment */
    void *plain[2];           /* of type `real` */
    float *largest[2];
    uint8_t *code[2];
    int pieces;
    Piece *piece;             /* ascending */
    int64_t blocks;           /* of all pieces */
} Coded;

#endif
