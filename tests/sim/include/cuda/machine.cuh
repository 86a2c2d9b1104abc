/* machine.cuh: the words of runtime/cuda/machine.cuh in the simulator, whose -I comes first. */
#ifndef SIM_MACHINE_CUH
#define SIM_MACHINE_CUH

#include "lathe_cuda.cuh"
#include "sim_tensor.h"

template <bool FP16> DEVICE void multiply_matrices(float *d, const uint32_t *a, const uint32_t *b)
{
    sim_mma(SIM_HERE, d, a, b, FP16);
}
DEVICE void load_matrices(uint32_t *to, const void *row) { sim_ldmatrix(SIM_HERE, to, row, false); }
DEVICE void load_columns(uint32_t *to, const void *row) { sim_ldmatrix(SIM_HERE, to, row, true); }

DEVICE void copy_async(void *to, const void *from, bool there) { sim_copy_async(to, from, there); }
DEVICE void copy_commit(void) { sim_copy_commit(); }
template <int LEFT> DEVICE void copy_wait(void) { sim_copy_wait(LEFT); }

#define add_release(at, n) sim_add_release(at, n)
#define load_acquire(at)   sim_load_acquire(at, SIM_HERE)

constexpr unsigned MOST_LOOKS = 1000;
#define give_up(stuck, loop) sim_give_up(stuck, loop)

#endif
