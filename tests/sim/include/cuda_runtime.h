/* cuda_runtime.h of the simulator: CUDA's words as C++, so that a .cu file is compiled by g++ -x c++ and its kernels run on
 * the CPU, every thread by itself, with what a GPU would not say being said (sim.h lists it).
 *
 * Differences from CUDA: kernels are launched by cudaLaunchKernelEx, since <<<>>> is no C++; dynamic shared memory is
 * `DYNAMIC_SHARED(float, name);`, since extern __shared__ is none either; __device__ variables are DEVICE_MEMORY (they
 * keep what they begin with; __constant__ ones are there); a thread that has returned may be named in no mask and missed by no barrier, though CUDA would let it. */
#ifndef SIM_CUDA_RUNTIME_H
#define SIM_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__   static __attribute__((section("sim_shared")))
#define __constant__ static __attribute__((section("sim_constant")))
#define DEVICE_MEMORY static __attribute__((section("sim_device_memory")))
#define DYNAMIC_SHARED(T, name) T *const name = (T *)sim_dynamic_shared()

/* ---- types */

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
enum { warpSize = 32 };

/* ---- waiting for each other; each place in the text is a barrier of its own */

enum Sim_op { SIM_SYNCWARP, SIM_SHFL, SIM_SHFL_UP, SIM_SHFL_DOWN, SIM_SHFL_XOR, SIM_BALLOT, SIM_ANY, SIM_ALL, SIM_MMA,
              SIM_LDMATRIX };

struct Sim_place {
    const char *file;
    int line, number;
};
#define SIM_HERE (Sim_place{__FILE__, __LINE__, __COUNTER__})

void sim_syncthreads(Sim_place at);
uint64_t sim_collective(Sim_op op, Sim_place at, unsigned mask, uint64_t value, int argument, int width);
void *sim_dynamic_shared(void);

static inline void sim_syncwarp(Sim_place at, unsigned mask = 0xffffffffu)
{
    sim_collective(SIM_SYNCWARP, at, mask, 0, 0, 32);
}

template <class T> static inline T sim_shuffle(Sim_op op, Sim_place at, unsigned mask, T value, int argument, int width = 32)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves 4 or 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = sim_collective(op, at, mask, bits, argument, width);
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define __syncthreads()       sim_syncthreads(SIM_HERE)
#define __syncwarp(...)       sim_syncwarp(SIM_HERE, ##__VA_ARGS__)
#define __shfl_sync(...)      sim_shuffle(SIM_SHFL, SIM_HERE, __VA_ARGS__)
#define __shfl_up_sync(...)   sim_shuffle(SIM_SHFL_UP, SIM_HERE, __VA_ARGS__)
#define __shfl_down_sync(...) sim_shuffle(SIM_SHFL_DOWN, SIM_HERE, __VA_ARGS__)
#define __shfl_xor_sync(...)  sim_shuffle(SIM_SHFL_XOR, SIM_HERE, __VA_ARGS__)
#define __ballot_sync(mask, holds) ((unsigned)sim_collective(SIM_BALLOT, SIM_HERE, mask, (holds) != 0, 0, 32))
#define __any_sync(mask, holds)    ((int)sim_collective(SIM_ANY, SIM_HERE, mask, (holds) != 0, 0, 32))
#define __all_sync(mask, holds)    ((int)sim_collective(SIM_ALL, SIM_HERE, mask, (holds) != 0, 0, 32))

/* ---- memory */

#define __ldg(at) (*(at))
#define __popc(x) __builtin_popcount(x)

/* Tells that an atomic operation follows; only one thread runs at a time, so the plain one is atomic. */
void sim_atomic(const void *at, size_t bytes);
#define SIM_ATOMIC(name, step)                                                                                         \
    template <class T> __attribute__((no_sanitize("thread"))) static inline T name(T *at, T b)                         \
    {                                                                                                                  \
        sim_atomic(at, sizeof *at);                                                                                    \
        T a = *at;                                                                                                     \
        *at = step;                                                                                                    \
        return a;                                                                                                      \
    }
SIM_ATOMIC(atomicAdd, a + b)
SIM_ATOMIC(atomicMax, a > b ? a : b)
SIM_ATOMIC(atomicMin, a < b ? a : b)
SIM_ATOMIC(atomicExch, b)
#undef SIM_ATOMIC
template <class T> __attribute__((no_sanitize("thread"))) static inline T atomicCAS(T *at, T expected, T b)
{
    sim_atomic(at, sizeof *at);
    T a = *at;
    if (a == expected) *at = b;
    return a;
}

/* Between blocks: what cuda/persistent.cuh has as PTX. */
unsigned sim_add_release(unsigned *at, unsigned n);
unsigned sim_load_acquire(const unsigned *at, Sim_place place);
[[noreturn]] void sim_give_up(unsigned *stuck, unsigned loop); /* what __trap() is, of a loop in one launch */

/* ---- the runtime's functions */

#include "sim_runtime.h"

typedef enum cudaLaunchAttributeID { cudaLaunchAttributeCooperative = 2 } cudaLaunchAttributeID;
typedef union cudaLaunchAttributeValue {
    int cooperative;
} cudaLaunchAttributeValue;
typedef struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
} cudaLaunchAttribute;

typedef struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
} cudaLaunchConfig_t;

/* ---- launching */

cudaError_t sim_launch(const cudaLaunchConfig_t *config, const void *kernel, void (*thread)(const void *arguments),
                       const void *arguments, size_t bytes);

/* std::tuple would be a third of the time that a model's text takes to compile. */
template <size_t number, class T> struct Sim_argument {
    T value;
};
template <class Numbers, class... P> struct Sim_call;
template <size_t... number, class... P>
struct Sim_call<std::index_sequence<number...>, P...> : Sim_argument<number, P>... {
    void (*kernel)(P...);
    static void thread(const void *self)
    {
        const Sim_call *call = (const Sim_call *)self;
        call->kernel(call->Sim_argument<number, P>::value...);
    }
};

template <class T> struct Sim_same {
    typedef T type;
};

template <class... P>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...),
                                             typename Sim_same<P>::type... arguments)
{
    typedef Sim_call<std::index_sequence_for<P...>, P...> Call;
    const Call call = {{arguments}..., kernel};
    return sim_launch(config, (const void *)kernel, Call::thread, &call, sizeof call);
}

/* ---- where a file's shared and constant arrays and variables lie */

extern "C" char __start_sim_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_sim_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __start_sim_constant[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_sim_constant[] __attribute__((weak, visibility("hidden")));
extern "C" char __start_sim_device_memory[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_sim_device_memory[] __attribute__((weak, visibility("hidden")));
struct Sim_file {
    Sim_file(char *const (&shared)[2], char *const (&constants)[2], char *const (&variables)[2]);
};
static Sim_file sim_file({__start_sim_shared, __stop_sim_shared}, {__start_sim_constant, __stop_sim_constant},
                         {__start_sim_device_memory, __stop_sim_device_memory});

#endif
