/* kernels_checks.cuh: what the tests of kernels written by hand share: launching, checks, arrays on the device; for the simulator and
 * for nvcc. */
#ifndef TEST_KERNELS_CHECKS_H
#define TEST_KERNELS_CHECKS_H

#include "cuda/tensor.cuh"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __CUDACC__
static const char *sim_report(void) { return ""; }
enum Sim_order { SIM_FORWARD, SIM_BACKWARD, SIM_SHUFFLED };
static inline void sim_order(Sim_order, unsigned) {}
#else
#include "sim.h"
#endif

#define FULL 0xffffffffu

template <class... P, class... A> static inline void run(void (*kernel)(P...), dim3 grid, dim3 block, size_t dynamic, A... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = dynamic;
    cudaLaunchKernelEx(&config, kernel, arguments...);
}

static int failed;

static inline void expect(bool holds, const char *what, const char *said = "")
{
    if (holds) return;
    failed++;
    printf("failed: %s%s%s\n", what, *said ? ": " : "", said);
}

template <class T> static inline T *device(const T *from, size_t n)
{
    T *at;
    cudaMalloc(&at, n * sizeof(T));
    if (from) cudaMemcpy(at, from, n * sizeof(T), cudaMemcpyHostToDevice);
    return at;
}

#endif
