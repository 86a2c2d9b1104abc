/* attention.cuh: attention of generated CUDA: code shared by its kernels, masks, and launching.
 *
 * math/attention.h defines it; the kernels are in cuda/attention_plain.cuh (any type and shape, with the CPU's
 * arithmetic) and cuda/attention_tensor.cuh (bf16 and fp16 on tensor cores).  Extents and strides are arguments, so all
 * layers and shapes share a kernel; widths are rounded up to a constant, so that sums stay in registers.
 *
 * No sum is divided among blocks, and there are no atomic additions: the same bits in every run. */
#ifndef LATHE_CUDA_ATTENTION_CUH
#define LATHE_CUDA_ATTENTION_CUH

#include "cuda/tensor.cuh"
#include "lathe_cuda.cuh"
#include "math/attention.h"

#define UNSEEN (-1e30) /* lse of a query that sees no key */

DEVICE int least(int a, int b) { return a < b ? a : b; }
DEVICE int most(int a, int b) { return a > b ? a : b; }

/* An integer that is known at launch, or in the device's memory. */
struct Cuda_number {
    int value;
    const int *at; /* NULL: value */
};
DEVICE int number(const Cuda_number &n) { return n.at ? *n.at : n.value; }

/* Like Lathe_masks; all pointers are to device memory. */
struct Cuda_masks {
    Cuda_number offset;
    const int *offsets, *lengths, *q_segments, *k_segments;
    const void *q_turns, *k_turns, *bias;
    Cuda_number seed, step, site;
    const int *row, *base;
};

static inline int64_t samples_of(const Lathe_attention &g)
{
    int64_t n = 1;
    for (int i = 0; i < g.nbatch; i++) n *= g.batch[i];
    return n;
}

/* The offset of the index-th sample of the batch. */
DEVICE int64_t begin_of(const Lathe_attention &g, const Lathe_heads &x, int index)
{
    int64_t at = 0;
    for (int i = g.nbatch - 1; i >= 0; i--) {
        at += index % g.batch[i] * x.batch[i];
        index /= (int)g.batch[i];
    }
    return at;
}

template <class T> DEVICE T *head_of(T *x, const Lathe_attention &g, const Lathe_heads &at, int sample, int head)
{
    return x ? x + begin_of(g, at, sample) + head * at.head : x;
}

/* ---- masks */

struct Range {
    int from, end;
};

struct Sight { /* of one sample */
    int T, S, offset, window, length;
    bool causal;
    const int *q_segment, *k_segment; /* NULL: one segment */
    int64_t q_step, k_step;
};

DEVICE Sight sight_of(const Lathe_attention &g, const Cuda_masks &m, int sample)
{
    Sight s = {};
    s.T = (int)g.T, s.S = (int)g.S, s.offset = number(m.offset), s.window = (int)g.window, s.causal = g.causal;
    if (m.offsets) s.offset = m.offsets[begin_of(g, g.offsets, sample)];
    s.length = m.lengths ? least(s.S, m.lengths[begin_of(g, g.lengths, sample)]) : s.S;
    if (!m.q_segments) return s;
    s.q_segment = m.q_segments + begin_of(g, g.q_segments, sample), s.q_step = g.q_segments.time;
    s.k_segment = m.k_segments + begin_of(g, g.k_segments, sample), s.k_step = g.k_segments.time;
    return s;
}

/* Whether query t sees the key; false beyond the extents. */
DEVICE bool sees(const Sight &s, int t, int key)
{
    int i = s.offset + t;
    if (t >= s.T || key >= s.length || (s.causal && key > i) || (s.window && key <= i - s.window)) return false;
    return !s.q_segment || s.q_segment[t * s.q_step] == s.k_segment[key * s.k_step];
}

/* A range with all keys that queries t … t + n - 1 see. */
DEVICE Range keys_seen(const Sight &s, int t, int n)
{
    Range r = {s.window ? most(0, s.offset + t - s.window + 1) : 0, s.length};
    if (s.causal) r.end = least(r.end, s.offset + least(t + n, s.T));
    return r;
}

/* A range with all queries that see keys key … key + n - 1. */
DEVICE Range queries_seeing(const Sight &s, int key, int n)
{
    Range r = {s.causal ? most(0, key - s.offset) : 0, key < s.length ? s.T : 0};
    if (s.window) r.end = least(r.end, least(key + n, s.S) - 1 + s.window - s.offset);
    return r;
}

/* ---- dropout */

struct Draws { /* of one sample and head */
    int seed, step, site, row;
    uint32_t base, threshold;
};

DEVICE Draws draws_of(const Lathe_attention &g, const Cuda_masks &m, int sample, int head)
{
    Draws d = {number(m.seed), number(m.step), number(m.site), m.row[begin_of(g, g.row, sample)], 0, g.threshold};
    d.base = (uint32_t)m.base[begin_of(g, g.base, sample)] + (uint32_t)head * (uint32_t)g.T * (uint32_t)g.S;
    return d;
}

/* Not inlined, because kernels call it for many weights; by value, so that the draws stay in registers. */
static __device__ __noinline__ bool kept(Draws d, int t, int key, int S)
{
    uint32_t index = d.base + (uint32_t)t * (uint32_t)S + (uint32_t)key;
    return (uint32_t)philox_word(d.seed, d.step, d.site, d.row, (int)index) >= d.threshold;
}

/* ---- launching: `tasks` blocks, which find their sample, head and tile in blockIdx.x */

template <class... Parameters, class... Arguments>
static inline void launch_tiles(void (*kernel)(Parameters...), int64_t tasks, int threads, size_t shared,
                                cudaStream_t stream, Arguments... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)tasks);
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    if (shared > 48 * 1024) prefer_shared(kernel, (int)shared);
    if (tasks > 0) (void)cudaLaunchKernelEx(&config, kernel, arguments...);
}

static inline int64_t tiles_of(int64_t n, int tile) { return CEIL_DIV(n, tile); }

#include "cuda/attention_plain.cuh"
#include "cuda/attention_tensor.cuh"

#endif
