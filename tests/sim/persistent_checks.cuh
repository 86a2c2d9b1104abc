/* persistent_checks.cuh: what the tests of loops in one launch share: what is asked of the simulator, for which nvcc has nothing; checks,
 * arrays on the device. */
#ifndef TEST_PERSISTENT_CHECKS_H
#define TEST_PERSISTENT_CHECKS_H

#include "cuda/persistent.cuh"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>
#ifdef __CUDACC__
static const char *sim_report(void) { return ""; }
enum Sim_order { SIM_FORWARD, SIM_BACKWARD, SIM_SHUFFLED };
static inline void sim_order(Sim_order, unsigned) {}
static inline void set_processors(int) {}
static inline void set_refusals(const char *) {}
static inline void set_looks(bool) {}
#else
#include "sim.h"
static inline void set_processors(int n) { sim_device.processors = n; }
static inline void set_refusals(const char *words)
{
    sim_device.refuses = words;
    (void)sim_refuses(NULL);
}
static inline void set_looks(bool looks) { sim_device.looks = looks; }
#endif

#define LOOP "a loop of the test"

static int failed;

static inline void expect(bool holds, const char *what, const char *said = "")
{
    if (holds) return;
    failed++;
    printf("failed: %s%s%s\n", what, *said ? ": " : "", said);
}

template <class T> static inline T *device(const std::vector<T> &from)
{
    T *at;
    cudaMalloc(&at, from.size() * sizeof(T));
    cudaMemcpy(at, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice);
    return at;
}

template <class T> static inline void fetch(std::vector<T> *to, const T *at)
{
    cudaMemcpy(to->data(), at, to->size() * sizeof(T), cudaMemcpyDeviceToHost);
}

#endif
