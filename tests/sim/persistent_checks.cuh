/* persistent_checks.cuh: what the tests of loops in one launch share: what is asked of the simulator, for which nvcc has nothing; checks,
 * arrays on the device. */
#ifndef TEST_PERSISTENT_CHECKS_H
#define TEST_PERSISTENT_CHECKS_H

#include "cuda/persistent.cuh"
#include "kernels_checks.cuh"
#include <math.h>
#include <vector>
#ifdef __CUDACC__
static inline void set_processors(int) {}
static inline void set_refusals(const char *) {}
static inline void set_looks(bool) {}
#else
static inline void set_processors(int n) { sim_device.processors = n; }
static inline void set_refusals(const char *words)
{
    sim_device.refuses = words;
    (void)sim_refuses(NULL);
}
static inline void set_looks(bool looks) { sim_device.looks = looks; }
#endif

#define LOOP "a loop of the test"

template <class T> static inline T *device(const std::vector<T> &from)
{
    return device(from.data(), from.size());
}

template <class T> static inline void fetch(std::vector<T> *to, const T *at)
{
    cudaMemcpy(to->data(), at, to->size() * sizeof(T), cudaMemcpyDeviceToHost);
}

#endif
