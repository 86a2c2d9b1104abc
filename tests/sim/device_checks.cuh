/* device_checks.cuh: what the two halves of the test of a device share: checks, a model of one number a block, a GPU that is opened
 * for it and closed. */
#ifndef TEST_DEVICE_CHECKS_H
#define TEST_DEVICE_CHECKS_H

#include "cuda/device.h"
#include "cuda/persistent.cuh"
#include "expect.cuh"
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string>

/* ------------------------------------------------------------------ a model of one number a block */

enum { MANY = 2048 }; /* numbers: of what is staged */
struct Block { /* the host's: parameters, inputs, outputs, work */
    float params[16], in[16], out[16], work[160], more[10 * MANY];
};
inline Block block;

inline __global__ void scale(float *y, const float *x, const float *rate) /* y = rate · x, sixteen numbers */
{
    y[threadIdx.x] = *rate * x[threadIdx.x];
}

inline __global__ void add_to(float *y, const float *x) { y[threadIdx.x] += x[threadIdx.x]; }

template <class... P, class... A> void start(const char *name, void (*kernel)(P...), cudaStream_t stream, A... arguments)
{
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(16);
    config.stream = stream;
    (void)cudaLaunchKernelEx(&config, kernel, arguments...);
    gpu_launched(name);
}

inline int enqueued;

/* work = in[0] · params; params += work; out = 2 · … is left to in[1] */
inline void train(void *, const Lathe_call *c)
{
    cudaStream_t stream = (cudaStream_t)c->stream;
    const float *in = (const float *)c->in;
    enqueued++;
    start("scale: toy.lua:1", scale, stream, (float *)c->work, (const float *)c->params, in);
    start("add_to: toy.lua:2", add_to, stream, (float *)c->params, (const float *)c->work);
    start("scale: toy.lua:3", scale, stream, (float *)c->out, (const float *)c->params, in + 1);
}

inline Gpu_needs needs(void)
{
    Gpu_needs n = {};
    n.command = "train";
    n.host = &block;
    n.bytes = sizeof block;
    n.workspace = 1256;
    n.ahead = 2 * LATHE_GPU_ALIGN;
    n.staged = MANY * sizeof(float);
    n.capability = 80;
    return n;
}

inline Lathe_call call(void)
{
    return {block.params, NULL, block.in, block.out, NULL, (char *)block.work, NULL};
}

inline void opened(void)
{
    Gpu_needs n = needs();
    const char *refusal = gpu_open(&n);
    EXPECT(!refusal, "%s", refusal);
    if (refusal) exit(1);
}

inline void closed(void)
{
    gpu_close();
    EXPECT(sim_allocated() == 0, "%zu bytes of the device are left", sim_allocated());
    std::string report = sim_report();
    EXPECT(report.empty(), "%s", report.c_str());
}

void test_failures(void); /* device_wrong.cu */
void test_stuck(void);
void test_refusals(void);

#endif
