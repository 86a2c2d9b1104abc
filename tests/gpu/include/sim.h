/* sim.h of tests/gpu: tests that were written for the simulator, on a GPU: what it would say is an error of CUDA's, and
 * nothing can be asked of it. */
#ifndef GPU_SIM_H
#define GPU_SIM_H

#include <cuda_runtime.h>

enum Sim_order { SIM_FORWARD, SIM_BACKWARD, SIM_SHUFFLED };

static inline void sim_order(Sim_order, unsigned) {}
static inline long sim_conflicts(void) { return 0; }
static inline const char *sim_report(void)
{
    cudaError_t error = cudaDeviceSynchronize();
    if (error == cudaSuccess) error = cudaGetLastError();
    return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

/* Only in tests that are left out on a GPU. */
struct Sim_device {
    const char *refuses = "";
};
static Sim_device sim_device __attribute__((unused));
static inline void fake_cublaslt_epilogues(bool, bool) {}

#endif
