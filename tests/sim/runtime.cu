/* runtime.cu: the simulator's streams, events, graphs and pinned memory: programs that are right give the right numbers in every
 * order, and each mistake shows, in a number or in words. */
#include "cuda/gemm.h"
#include "expect.cuh"
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string>

static void said(const char *word) /* "": nothing */
{
    std::string report = sim_report();
    EXPECT(*word ? report.find(word) != report.npos : report.empty(), "\"%s\" should have been said, not \"%s\"", word, report.c_str());
}

template <class... P, class... A> static cudaError_t start(void (*kernel)(P...), cudaStream_t stream, A... arguments)
{
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(1);
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

__global__ void add_number(float *y, const float *x, float b) { *y = *x + b; }
__global__ void add(float *y, const float *x, const float *b) { *y = *x + *b; }
__global__ void twice(float *y) { *y = 2 * *y; }

struct Numbers { /* on the device, and a pinned one on the host */
    float *x, *pinned;
    Numbers(void)
    {
        cudaMalloc(&x, 8 * sizeof *x);
        cudaMallocHost(&pinned, 8 * sizeof *pinned);
        cudaMemset(x, 0, 8 * sizeof *x);
        memset(pinned, 0, 8 * sizeof *pinned);
    }
    ~Numbers()
    {
        cudaFree(x);
        cudaFreeHost(pinned);
    }
    float now(int i) const
    {
        float y;
        cudaMemcpy(&y, x + i, sizeof y, cudaMemcpyDeviceToHost);
        return y;
    }
    void set(int i, float y) { cudaMemcpy(x + i, &y, sizeof y, cudaMemcpyHostToDevice); }
};

/* ------------------------------------------------------------------ streams */

static void test_late(void)
{
    Numbers n;
    cudaStream_t s;
    cudaStreamCreate(&s);
    n.pinned[0] = 3;
    cudaMemcpyAsync(n.x, n.pinned, sizeof *n.x, cudaMemcpyHostToDevice, s);
    start(add_number, s, n.x + 1, (const float *)n.x, 4.0f);
    cudaMemcpyAsync(n.pinned + 1, n.x + 1, sizeof *n.x, cudaMemcpyDeviceToHost, s);
    EXPECT(n.pinned[1] == 0, "a copy is there before anyone waits");
    cudaStreamSynchronize(s);
    EXPECT(n.pinned[1] == 7, "%g, not 7", n.pinned[1]);

    cudaMemcpyAsync(n.x, n.pinned, sizeof *n.x, cudaMemcpyHostToDevice, s);
    n.pinned[0] = 100; /* too early */
    cudaStreamSynchronize(s);
    EXPECT(n.now(0) == 100, "a buffer overwritten before its copy does not show");
    float host = 5;
    cudaMemcpyAsync(n.x, &host, sizeof host, cudaMemcpyHostToDevice, s); /* not pinned: taken at once */
    host = 6;
    cudaStreamSynchronize(s);
    EXPECT(n.now(0) == 5, "%g, not 5", n.now(0));
    cudaStreamDestroy(s);
    said("");
    cudaStreamSynchronize(s);
    said("none (any more)");
}

/* b reads what a makes. */
static float two_streams(bool wait, bool non_blocking)
{
    Numbers n;
    cudaStream_t a, b;
    cudaEvent_t made;
    cudaStreamCreateWithFlags(&a, non_blocking ? cudaStreamNonBlocking : cudaStreamDefault);
    cudaStreamCreate(&b);
    cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
    start(add_number, a, n.x, (const float *)n.x, 1.0f);
    cudaEventRecord(made, a);
    if (wait) cudaStreamWaitEvent(b, made);
    start(add_number, b, n.x + 1, (const float *)n.x, 10.0f);
    cudaStreamSynchronize(b);
    float y = n.now(1);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    cudaEventDestroy(made);
    return y;
}

/* b overwrites what a still reads, long after it was asked to. */
static float overtaken(bool wait)
{
    Numbers n;
    cudaStream_t a, b;
    cudaEvent_t read;
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    cudaEventCreateWithFlags(&read, cudaEventDisableTiming);
    start(add_number, a, n.x + 1, (const float *)n.x, 10.0f);
    cudaEventRecord(read, a);
    if (wait) cudaStreamWaitEvent(b, read);
    start(add_number, b, n.x, (const float *)n.x, 2.0f);
    cudaEventSynchronize(read);
    float y = n.now(1);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    cudaEventDestroy(read);
    return y;
}

static void test_streams(Sim_order order)
{
    EXPECT(two_streams(true, false) == 11, "a stream that waits for another: %g", two_streams(true, false));
    if (order == SIM_FORWARD) EXPECT(two_streams(false, false) == 10, "a stream that does not wait for another does not show");
    if (order == SIM_BACKWARD) EXPECT(overtaken(false) == 12, "a stream that is overtaken does not show");
    EXPECT(overtaken(true) == 10, "a stream that another one waits for: %g", overtaken(true));
    Numbers n;
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    start(add_number, s, n.x, (const float *)n.x, 1.0f);
    EXPECT(n.now(0) == 0, "cudaMemcpy waits for a non-blocking stream");
    cudaDeviceSynchronize();
    EXPECT(n.now(0) == 1, "cudaDeviceSynchronize does not wait for it");
    cudaStreamDestroy(s);
    cudaStreamCreate(&s);
    start(add_number, s, n.x, (const float *)n.x, 1.0f);
    EXPECT(n.now(0) == 2, "cudaMemcpy does not wait for a stream");
    cudaEvent_t e;
    cudaEventCreate(&e);
    start(add_number, s, n.x, (const float *)n.x, 1.0f);
    cudaEventRecord(e, s);
    EXPECT(cudaEventQuery(e) == cudaErrorNotReady, "an event is reached before anyone waits");
    while (cudaEventQuery(e) == cudaErrorNotReady) {}
    EXPECT(cudaPeekAtLastError() == cudaErrorNotReady, "that it was not ready is forgotten");
    EXPECT(cudaGetLastError() == cudaErrorNotReady && cudaPeekAtLastError() == cudaSuccess, "it is not taken back");
    EXPECT(n.now(0) == 3, "%g, not 3", n.now(0));
    cudaEventDestroy(e);
    cudaStreamDestroy(s);
    said("");
}

/* ------------------------------------------------------------------ graphs */

static cudaGraphExec_t finished(cudaStream_t s)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec = NULL;
    if (cudaStreamEndCapture(s, &graph) == cudaSuccess) {
        cudaGraphInstantiate(&exec, graph);
        cudaGraphDestroy(graph);
    }
    return exec;
}

static void test_values(void)
{
    Numbers n;
    cudaStream_t s;
    cudaStreamCreate(&s);
    float rate = 1;
    n.set(1, rate);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    start(add_number, s, n.x, (const float *)n.x, rate);                    /* baked in */
    start(add, s, n.x + 2, (const float *)n.x + 2, (const float *)n.x + 1); /* read each time */
    cudaGraphExec_t exec = finished(s);
    said("");
    EXPECT(n.now(0) == 0, "a capture computes");
    cudaGraphLaunch(exec, s);
    rate = 5;
    n.set(1, rate);
    cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    EXPECT(n.now(0) == 2, "an argument is kept as it was: %g", n.now(0));
    EXPECT(n.now(2) == 6, "what lies on the device is read again: %g", n.now(2));
    cudaGraphExecDestroy(exec);

    float ms = 0;
    cudaEvent_t from, to;
    cudaEventCreate(&from), cudaEventCreate(&to);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaEventRecordWithFlags(from, s, cudaEventRecordExternal);
    start(twice, s, n.x);
    cudaEventRecordWithFlags(to, s, cudaEventRecordExternal);
    exec = finished(s);
    EXPECT(cudaEventElapsedTime(&ms, from, to) != cudaSuccess, "an event of a graph has a time before it is launched");
    said("without a time");
    for (int round = 0; round < 2; round++) {
        cudaGraphLaunch(exec, s);
        cudaStreamSynchronize(s);
        EXPECT(cudaEventElapsedTime(&ms, from, to) == cudaSuccess && ms > 0, "launch %d: %g ms", round, ms);
    }
    EXPECT(cudaEventRecordWithFlags(from, s, cudaEventRecordExternal) != cudaSuccess, "an external event outside of a capture");
    said("where nothing is captured");
    cudaEventDestroy(from), cudaEventDestroy(to);
    cudaGraphExecDestroy(exec);

    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    start(add, s, n.x, (const float *)n.x, (const float *)&rate); /* the host's stack */
    exec = finished(s);
    cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    said("where no memory of the device is");
    cudaGraphExecDestroy(exec);
    cudaStreamDestroy(s);
}

static void broken_by(const char *word, cudaError_t error, void (*what)(cudaStream_t, Numbers *))
{
    Numbers n;
    cudaStream_t s;
    cudaGraph_t graph;
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    what(s, &n);
    said(word);
    cudaError_t end = cudaStreamEndCapture(s, &graph);
    EXPECT(end == error, "%s: the capture ends with %s", word, cudaGetErrorName(end));
    sim_report();
    cudaStreamDestroy(s);
}

static void test_forbidden(void)
{
    cudaError_t broken = cudaErrorStreamCaptureInvalidated;
    broken_by("cudaMalloc while a stream is captured", broken, [](cudaStream_t, Numbers *) {
        float *x;
        cudaMalloc(&x, 4);
    });
    broken_by("cudaMemcpy while", broken, [](cudaStream_t, Numbers *n) { n->now(0); });
    broken_by("cudaStreamSynchronize while", broken, [](cudaStream_t s, Numbers *) { cudaStreamSynchronize(s); });
    broken_by("cudaDeviceSynchronize while", broken, [](cudaStream_t, Numbers *) { cudaDeviceSynchronize(); });
    broken_by("a launch while", broken, [](cudaStream_t, Numbers *n) { start(twice, NULL, n->x); });
    broken_by("not pinned while", broken, [](cudaStream_t s, Numbers *n) {
        float host = 1;
        cudaMemcpyAsync(n->x, &host, sizeof host, cudaMemcpyHostToDevice, s);
    });
    static cudaStream_t other;
    cudaStreamCreate(&other);
    broken_by("", cudaErrorStreamCaptureUnjoined, [](cudaStream_t s, Numbers *n) {
        cudaEvent_t fork;
        cudaEventCreate(&fork);
        start(twice, s, n->x);
        cudaEventRecord(fork, s);
        cudaStreamWaitEvent(other, fork);
        start(twice, other, n->x);
    });
    cudaStreamDestroy(other);
}

/* x = 1 -> (y = x + 10 in one stream, z = x + 100 in another) -> w = y + z; `join`: w waits for the other, in the graph. */
static float forked(bool wait)
{
    Numbers n;
    cudaStream_t a, b;
    cudaEvent_t fork, join, early;
    cudaStreamCreate(&a), cudaStreamCreate(&b);
    cudaEventCreate(&fork), cudaEventCreate(&join), cudaEventCreate(&early);
    cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
    start(add_number, a, n.x, (const float *)n.x, 1.0f);
    cudaEventRecord(fork, a);
    cudaStreamWaitEvent(b, fork);
    start(add_number, b, n.x + 2, (const float *)n.x, 100.0f);
    cudaEventRecord(join, b);
    start(add_number, a, n.x + 1, (const float *)n.x, 10.0f);
    if (wait) cudaStreamWaitEvent(a, join);
    start(add, a, n.x + 3, (const float *)n.x + 1, (const float *)n.x + 2);
    cudaStreamWaitEvent(a, join);
    cudaGraphExec_t exec = finished(a);
    cudaGraphLaunch(exec, a);
    cudaStreamSynchronize(a);
    float y = n.now(3);
    cudaGraphExecDestroy(exec);
    cudaStreamDestroy(a), cudaStreamDestroy(b);
    cudaEventDestroy(fork), cudaEventDestroy(join), cudaEventDestroy(early);
    said("");
    return y;
}

static void test_forks(void)
{
    bool seen = false;
    for (int i = 0; i < 12; i++) {
        sim_order(i == 0 ? SIM_FORWARD : i == 1 ? SIM_BACKWARD : SIM_SHUFFLED, (unsigned)i);
        EXPECT(forked(true) == 112, "%g, not 112", forked(true));
        seen |= forked(false) != 112;
    }
    EXPECT(seen, "a missing join shows in no order");
    sim_order(SIM_FORWARD, 0);
}

/* Products in a graph, with a workspace, read their operands at each launch. */
static void test_products(void)
{
    float *x, *y, host[64];
    void *workspace;
    cudaStream_t s;
    Cuda_gemm g = {"a product", GEMM_F32, GEMM_END_NONE, {}, 0, {}};
    g.shape.M = g.shape.N = g.shape.K = 4;
    g.shape.a_m = g.shape.b_k = g.shape.c_m = 4, g.shape.a_k = g.shape.b_n = g.shape.c_n = 1;
    cudaMalloc(&x, sizeof host), cudaMalloc(&y, sizeof host), cudaMalloc(&workspace, 1 << 16);
    cudaStreamCreate(&s);
    cuda_gemm_start(workspace, 1 << 16);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cuda_gemm(&g, y, x, x + 16, false, s);
    cuda_gemm(&g, y, x, x + 16, true, s);
    cudaGraphExec_t exec = finished(s);
    for (int round = 1; round < 3; round++) {
        for (int i = 0; i < 32; i++) host[i] = (float)(round * (i < 16 ? i : i % 5 == 1));
        cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice); /* b: round · the unit matrix, about */
        cudaGraphLaunch(exec, s);
        cudaStreamSynchronize(s);
        cudaMemcpy(host + 32, y, 16 * sizeof *y, cudaMemcpyDeviceToHost);
        for (int i = 0; i < 16; i++) {
            double sum = 0;
            for (int k = 0; k < 4; k++) sum += 2.0 * host[i / 4 * 4 + k] * host[16 + k * 4 + i % 4];
            EXPECT(host[32 + i] == (float)sum, "launch %d: element %d is %g, not %g", round, i, host[32 + i], sum);
        }
    }
    EXPECT(!cuda_gemm_failure(), "%s", cuda_gemm_failure());
    cuda_gemm_forget(&g);
    cuda_gemm_stop();
    cudaGraphExecDestroy(exec);
    cudaStreamDestroy(s);
    cudaFree(x), cudaFree(y), cudaFree(workspace);
    said("");
}

/* ------------------------------------------------------------------ the device */

static void test_device(void)
{
    int count;
    void *at;
    size_t free_bytes, total;
    Sim_device usual = sim_device;
    sim_device.count = 0;
    EXPECT(cudaGetDeviceCount(&count) == cudaErrorNoDevice, "a device where there is none");
    sim_device = usual, sim_device.driver = 12040;
    EXPECT(cudaGetDeviceCount(&count) == cudaErrorInsufficientDriver, "an old driver is taken");
    sim_device = usual, sim_device.memory = 1000;
    EXPECT(cudaMalloc(&at, 1001) == cudaErrorMemoryAllocation, "more memory than there is");
    EXPECT(cudaMalloc(&at, 600) == cudaSuccess && cudaMemGetInfo(&free_bytes, &total) == cudaSuccess && free_bytes == 400, "the rest");
    cudaFree(at);
    sim_device = usual, sim_device.no_image = true;
    Numbers n;
    EXPECT(start(twice, NULL, n.x) == cudaErrorNoKernelImageForDevice, "a kernel for another device");
    said("twice: not compiled for this device");
    sim_device = usual, sim_device.failing_launch = 2;
    EXPECT(start(twice, NULL, n.x) == cudaSuccess && start(twice, NULL, n.x) == cudaErrorLaunchFailure, "the second launch");
    said("twice: made to fail");
    sim_device = usual;
}

int main(void)
{
    for (int order = SIM_FORWARD; order <= SIM_SHUFFLED; order++) {
        sim_order((Sim_order)order, 7);
        test_late();
        test_streams((Sim_order)order);
        test_values();
        test_forbidden();
        test_products();
    }
    test_forks();
    test_device();
    return failures != 0;
}
