/* coded.h: moments in 8 bits (Dettmers et al. 2022, "8-bit Optimizers via Block-wise Quantization", as the package
 * bitsandbytes has them).
 *
 * A tensor is cut into blocks of 256 neighbours.  An element is code · largest: largest, fp32, is the largest magnitude of
 * its block, and code one of 256 values, which are closer together the smaller they are: for i of 0 … 6, the middles of
 * 2^i equal parts of 0.1 … 1, times 10^(i - 6), of either sign; 0; and 1.  Squares have no sign, and twice the parts. */
#ifndef LATHE_STEP_CODED_H
#define LATHE_STEP_CODED_H

#include "step/code_table.h"

typedef struct Store Store;
typedef struct Store_writer Store_writer;

void make_code_table(Code_table *t, bool has_sign);
/* Of one block.  What is negative stays negative, and a square above 0 stays above 0, however small it is. */
void code_block_f32(const Code_table *t, const float *x, int64_t n, uint8_t *code, float *largest);
void code_block_f64(const Code_table *t, const double *x, int64_t n, uint8_t *code, float *largest);
void decode_block_f32(const Code_table *t, const uint8_t *code, float largest, int64_t n, float *x);
void decode_block_f64(const Code_table *t, const uint8_t *code, float largest, int64_t n, double *x);

bool codes_moments(const Lathe_recipe *r);
Lathe_coded coded_sizes(const Lathe_model *m);
/* memory: lathe_coded_bytes() bytes; tables: coded_table_bytes(); both 64-byte aligned. */
Coded *open_coded(const Lathe_model *m, const Lathe_recipe *r, void *memory, void *tables);
int64_t coded_table_bytes(const Lathe_model *m);
bool has_moments(const Lathe_model *m, const Lathe_param *p);
Lathe_runs_of runs_of_copies(const Lathe_param *p);
void coded_up(const Optimizer *o); /* a run's first codes, to a device; o may have none */
const Piece *piece_of_block(const Coded *c, int64_t block);

/* Checkpoints: KIND.NAME, U8 of the tensor's shape, and largest.KIND.NAME, F32 [blocks]; of plain ones KIND.NAME as ever. */
void put_coded(Store_writer *w, const Lathe_model *m, const Optimizer *o);
void load_coded(const Lathe_model *m, const Store *s, const Optimizer *o); /* ends the program (3) if it does not fit */
void check_coded(const Store *s, const Optimizer *o, const char *checkpoint); /* whether both or neither are in 8 bits */

#endif
