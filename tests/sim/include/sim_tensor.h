/* sim_tensor.h: the words of cuda/machine.cuh in the simulator: what PTX calls mma, ldmatrix and cp.async.  They are laid out as
 * the PTX manual draws them (mma.m16n8k16, 16-bit types; ldmatrix.m8n8), by sim_tensor.cc. */
#ifndef SIM_TENSOR_H
#define SIM_TENSOR_H

#include <cuda_runtime.h>

/* All lanes of a warp together: d += a · b, sums in some order. */
void sim_mma(Sim_place at, float *d, const uint32_t *a, const uint32_t *b, bool fp16);

/* Lane l gives the place of row l % 8 of matrix l / 8 in shared memory. */
void sim_ldmatrix(Sim_place at, uint32_t *to, const void *row, bool transposed);

/* Brought when its thread waits, and then seen by itself; by others after a barrier. */
void sim_copy_async(void *to, const void *from, bool there);
void sim_copy_commit(void);
void sim_copy_wait(int left); /* until so many groups are left */

#endif
