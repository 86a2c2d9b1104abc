/* ranks.cu: several GPUs by NCCL: complete buckets, communication between GPUs, and the events that order it.
 *
 * A bucket is reduced in a separate stream, after an event, as soon as the entry has reported all its elements as done;
 * elements that the entry does not report are reduced after it.  In a graph, that stream is a fork that joins before
 * the norm.
 *
 * The parameters that an update has changed are gathered at the beginning of the next step, in the same stream, in the
 * order in which the first step needed them, so the whole of it is one graph, and its forward pass waits for one bucket
 * at a time.  If no step follows, ranks_return gathers them. */
#include "cuda/ranks.h"
#include "cuda/nccl_api.h"
#include "lathe_cuda.cuh"
#include "step/device.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST = 21800, PATIENCE = 600 }; /* PATIENCE: seconds */
enum { MOST = 2 * (LATHE_MOST_BUCKETS + 1), REDUCED = -1 };
static_assert((int)LATHE_RANKS_ID == (int)NCCL_UNIQUE_ID_BYTES, "NCCL's");

void (*cuda_parameters_needed)(const void *first, size_t bytes, cudaStream_t stream);
void (*cuda_gradients_done)(const void *first, size_t bytes, cudaStream_t stream);
void (*cuda_parameters_dropped)(const void *first, size_t bytes, cudaStream_t stream);
void (*cuda_gradients_begun)(const void *first, size_t bytes, cudaStream_t stream);
void (*cuda_over_ranks)(void *to, const void *from, size_t bytes, cudaStream_t stream);

#define FIELD(name) decltype(&::name) name;
static struct {
    void *loaded;
    NCCL_FUNCTIONS(FIELD)
} nccl;
#undef FIELD

static struct {
    ncclComm_t comm;
    ncclDataType_t type;
    cudaStream_t stream;
    cudaEvent_t fork, join;
    cudaEvent_t returned[MOST]; /* a bucket's parameters are there */
    int order[MOST], ordered;   /* buckets as they were needed first */
    bool said[MOST];            /* the entry says when it needs the bucket */
    int rank;
    int64_t element, weight; /* bytes of a gradient, of a parameter */
    Lathe_shards shards;
    double patience;
    char failure[600], refusal[1024];
    char *own_params, *own_grads; /* of this rank, one after the other; NULL: among those of all */
    /* of the step being enqueued */
    const Gpu_optimizer *optimizer;
    char *params, *grads;
    bool returning[MOST]; /* the stream has not yet waited for the bucket's parameters */
    int64_t left[MOST];   /* number of unfinished elements per bucket; REDUCED: it is reduced */
} ranks;

/* ------------------------------------------------------------------ the library */

static const char *refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *refuse(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(ranks.refusal, sizeof ranks.refusal, format, list);
    va_end(list);
    return ranks.refusal;
}

const char *ranks_load(void)
{
    const char *named = getenv("LATHE_NCCL"), *path = named && *named ? named : "libnccl.so.2";
    int version = 0;
    if (nccl.loaded) return NULL;
    void *loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!loaded)
        return refuse("several GPUs need NCCL, which was not found (%.300s)\n"
                      "  install it (libnccl2, of NVIDIA's packages), name the library with LATHE_NCCL, or train on "
                      "one GPU: --gpus 1",
                      dlerror());
#define FIND(name)                                                                                                     \
    nccl.name = (decltype(&::name))dlsym(loaded, #name);                                                               \
    if (!nccl.name)                                                                                                    \
        return refuse("NCCL (%.200s) has no %s, which several GPUs need; install NCCL 2.18 or a later 2", path, #name);
    NCCL_FUNCTIONS(FIND)
#undef FIND
    ncclResult_t result = nccl.ncclGetVersion(&version);
    if (result != ncclSuccess || version < OLDEST || version / 10000 != 2)
        return refuse("NCCL (%.200s) is %d.%d.%d, and several GPUs need 2.18 or a later 2; install it, or train on one "
                      "GPU: --gpus 1",
                      path, version / 10000, version / 100 % 100, version % 100);
    nccl.loaded = loaded;
    return NULL;
}

const char *ranks_name(char *id)
{
    ncclUniqueId made;
    ncclResult_t result = nccl.ncclGetUniqueId(&made);
    if (result != ncclSuccess)
        return refuse("NCCL does not start: %s: %.300s", nccl.ncclGetErrorString(result), nccl.ncclGetLastError(NULL));
    memcpy(id, made.internal, sizeof made.internal);
    return NULL;
}

/* ------------------------------------------------------------------ failures */

static bool failed(const char *what, ncclResult_t result)
{
    if (result == ncclSuccess || result == ncclInProgress) return ranks.failure[0] != 0;
    if (!ranks.failure[0])
        snprintf(ranks.failure, sizeof ranks.failure, "NCCL, rank %d: %s: %s: %.300s", ranks.rank, what,
                 nccl.ncclGetErrorString(result), nccl.ncclGetLastError(ranks.comm));
    return true;
}

static bool failed(const char *what, cudaError_t error)
{
    if (error == cudaSuccess) return ranks.failure[0] != 0;
    if (!ranks.failure[0]) snprintf(ranks.failure, sizeof ranks.failure, "%s: %s", what, cudaGetErrorString(error));
    return true;
}

bool ranks_joined(void) { return ranks.comm != NULL; }

static void look_for_errors(void)
{
    ncclResult_t error = ncclSuccess;
    ncclResult_t asked = nccl.ncclCommGetAsyncError(ranks.comm, &error);
    failed("what the GPUs were telling each other", asked != ncclSuccess ? asked : error);
}

const char *ranks_failure(void)
{
    if (ranks.comm && !ranks.failure[0]) look_for_errors();
    return ranks.failure[0] ? ranks.failure : NULL;
}

bool ranks_in_trouble(double waited)
{
    if (ranks_failure()) return true;
    if (waited < ranks.patience) return false;
    snprintf(ranks.failure, sizeof ranks.failure,
             "rank %d has waited for the other GPUs for %.0f seconds (LATHE_NCCL_TIMEOUT); NCCL_DEBUG=INFO in the "
             "environment says what NCCL does",
             ranks.rank, ranks.patience);
    return true;
}

/* ------------------------------------------------------------------ joining */

static void parameters_needed_here(const void *first, size_t bytes, cudaStream_t stream);
static void gradients_done_here(const void *first, size_t bytes, cudaStream_t stream);
static void over_ranks_here(void *to, const void *from, size_t bytes, cudaStream_t stream);

const char *ranks_join(int rank, const char *id, const Lathe_shards *shards, Lathe_dtype real, Lathe_dtype weights)
{
    ncclUniqueId named;
    const char *patience = getenv("LATHE_NCCL_TIMEOUT"), *missing = ranks_load();
    char *end = NULL;
    const double seconds = patience && *patience ? strtod(patience, &end) : (double)PATIENCE;
    if (missing) return missing;
    ranks = {};
    if ((end && *end) || !(seconds > 0))
        return refuse("LATHE_NCCL_TIMEOUT=%.100s: expected a number of seconds above 0", patience);
    memcpy(named.internal, id, sizeof named.internal);
    ranks.rank = rank;
    ranks.element = real == LATHE_F64 ? 8 : 4;
    ranks.weight = weights == LATHE_BF16 ? 2 : ranks.element;
    ranks.type = real == LATHE_F64 ? ncclFloat64 : ncclFloat32;
    ranks.patience = seconds;
    ranks.shards = *shards;
    ncclResult_t result = nccl.ncclCommInitRank(&ranks.comm, shards->gpus, named, rank);
    if (result != ncclSuccess)
        return refuse("NCCL cannot join %d GPUs, rank %d: %s: %.300s\n  NCCL_DEBUG=INFO in the environment says more",
                      shards->gpus, rank, nccl.ncclGetErrorString(result), nccl.ncclGetLastError(NULL));
    if (failed("a stream", cudaStreamCreateWithFlags(&ranks.stream, cudaStreamNonBlocking)) ||
        failed("an event", cudaEventCreateWithFlags(&ranks.fork, cudaEventDisableTiming)) ||
        failed("an event", cudaEventCreateWithFlags(&ranks.join, cudaEventDisableTiming)))
        return ranks.failure;
    for (int k = 0; k < shards->buckets; k++)
        if (failed("an event", cudaEventCreateWithFlags(&ranks.returned[k], cudaEventDisableTiming)))
            return ranks.failure;
    cuda_parameters_needed = parameters_needed_here;
    cuda_gradients_done = gradients_done_here;
    cuda_over_ranks = over_ranks_here;
    return NULL;
}

/* After a failure, other ranks may never arrive, so this does not wait. */
void ranks_leave(void)
{
    cuda_parameters_needed = NULL;
    cuda_gradients_done = NULL;
    cuda_over_ranks = NULL;
    if (!ranks.comm) return;
    if (ranks.failure[0]) {
        (void)nccl.ncclCommAbort(ranks.comm);
    } else {
        (void)cudaStreamSynchronize(ranks.stream);
        (void)nccl.ncclCommDestroy(ranks.comm);
        (void)cudaEventDestroy(ranks.fork);
        (void)cudaEventDestroy(ranks.join);
        for (int k = 0; k < ranks.shards.buckets; k++) (void)cudaEventDestroy(ranks.returned[k]);
        (void)cudaStreamDestroy(ranks.stream);
    }
    ranks.comm = NULL;
}

/* ------------------------------------------------------------------ streams */

/* Later communication waits for what is in the stream. */
static void fork_from(cudaStream_t stream)
{
    failed("an event", cudaEventRecord(ranks.fork, stream));
    failed("an event", cudaStreamWaitEvent(ranks.stream, ranks.fork, 0));
}

static void join_to(cudaStream_t stream)
{
    failed("an event", cudaEventRecord(ranks.join, ranks.stream));
    failed("an event", cudaStreamWaitEvent(stream, ranks.join, 0));
}

void ranks_share(void *at, int64_t bytes, cudaStream_t stream)
{
    if (ranks.failure[0]) return;
    fork_from(stream);
    failed("sharing", nccl.ncclBroadcast(at, at, (size_t)bytes, ncclInt8, 0, ranks.comm, ranks.stream));
    join_to(stream);
}

/* ------------------------------------------------------------------ counts */

/* The divisor of a loss: in a step, the sum of all ranks' counts; outside of steps, a rank runs alone. */
static void over_ranks_here(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    if (!ranks.grads) {
        failed("a copy", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
        return;
    }
    if (ranks.failure[0]) return;
    fork_from(stream);
    failed("summing counts",
           nccl.ncclAllReduce(from, to, bytes / (size_t)ranks.element, ranks.type, ncclSum, ranks.comm, ranks.stream));
    join_to(stream);
}

/* ------------------------------------------------------------------ parameters */

static Lathe_part own_part(int k) { return lathe_shard(&ranks.shards, k, ranks.rank); }

/* Where formulas for this rank's elements of bucket k look for an array: those are at their index in it.  As integers,
 * since it may lie before the memory. */
static char *seen(char *whole, char *own, int k, int64_t element)
{
    const Lathe_part p = own_part(k);
    return own ? (char *)((uintptr_t)own + (uintptr_t)((p.moments - p.first) * element)) : whole;
}

static char *own_gradients(int k) { return seen(ranks.grads, ranks.own_grads, k, ranks.element); }
static char *own_parameters(int k, char *whole) { return seen(whole, ranks.own_params, k, ranks.weight); }

void ranks_keep(void *params, void *grads)
{
    ranks.own_params = (char *)params;
    ranks.own_grads = (char *)grads;
}

static void share_bucket(int k, char *params)
{
    const Lathe_part all = lathe_bucket(&ranks.shards, k), own = own_part(k);
    char *to = params + all.first * ranks.weight, *from = own_parameters(k, params) + own.first * ranks.weight;
    const bool rest = lathe_is_rest(&ranks.shards, k);
    const size_t bytes = (size_t)((rest ? all.count : own.count) * ranks.weight);
    if (all.count == 0 || ranks.failure[0]) return;
    if (!rest)
        failed("sharing parameters", nccl.ncclAllGather(from, to, bytes, ncclInt8, ranks.comm, ranks.stream));
    else
        failed("sharing parameters", nccl.ncclBroadcast(ranks.rank == ranks.shards.gpus - 1 ? from : to, to, bytes,
                                                        ncclInt8, ranks.shards.gpus - 1, ranks.comm, ranks.stream));
}

void ranks_gather(int k, void *whole, cudaEvent_t gathered, cudaStream_t stream)
{
    fork_from(stream);
    share_bucket(k, (char *)whole);
    failed("an event", cudaEventRecord(gathered, ranks.stream));
}

void ranks_take(int k, const void *whole, cudaStream_t stream)
{
    const Lathe_part own = own_part(k);
    if (own.count == 0) return;
    failed("a copy", cudaMemcpyAsync(own_parameters(k, NULL) + own.first * ranks.weight,
                                     (const char *)whole + own.first * ranks.weight,
                                     (size_t)(own.count * ranks.weight), cudaMemcpyDeviceToDevice, stream));
}

void ranks_return(void *params, cudaStream_t stream)
{
    fork_from(stream);
    for (int k = 0; k < ranks.shards.buckets; k++) share_bucket(k, (char *)params);
    join_to(stream);
}

static void note_order(int k)
{
    for (int i = 0; i < ranks.ordered; i++)
        if (ranks.order[i] == k) return;
    ranks.order[ranks.ordered++] = k;
}

static void await_bucket(int k, cudaStream_t stream)
{
    if (ranks.returning[k]) failed("an event", cudaStreamWaitEvent(stream, ranks.returned[k], 0));
    ranks.returning[k] = false;
}

/* In the first step nothing is said yet, and all are awaited here.  In its forward pass the order is found, to which
 * the second adds buckets that no kernel reads. */
static void begin_returns(cudaStream_t stream)
{
    const bool known = ranks.ordered > 0;
    for (int k = 0; k < ranks.shards.buckets && known; k++) note_order(k);
    fork_from(stream);
    for (int i = 0; i < ranks.shards.buckets; i++) {
        const int k = known ? ranks.order[i] : i;
        share_bucket(k, ranks.params);
        failed("an event", cudaEventRecord(ranks.returned[k], ranks.stream));
        ranks.returning[k] = true;
    }
    for (int k = 0; k < ranks.shards.buckets; k++)
        if (!ranks.said[k]) await_bucket(k, stream);
}

static void parameters_needed_here(const void *first, size_t bytes, cudaStream_t stream)
{
    const int64_t from = ((const char *)first - ranks.params) / ranks.weight, to = from + (int64_t)bytes / ranks.weight;
    for (int k = 0; ranks.params && k < ranks.shards.buckets; k++) {
        const Lathe_part p = lathe_bucket(&ranks.shards, k);
        if (from >= p.first + p.count || p.first >= to) continue;
        note_order(k);
        ranks.said[k] = true;
        await_bucket(k, stream);
    }
}

/* ------------------------------------------------------------------ gradients */

/* The index of the first of its chunks' sums, which follow those of earlier buckets, in any order of reduction. */
static int first_chunk(int k)
{
    int chunks = 0;
    for (int i = 0; i < k; i++) chunks += (int)lathe_step_chunks(own_part(i).count);
    return chunks;
}

/* Sums over the ranks; each keeps the sum of its part, and the last rank that of the rest.  Of what is directed all
 * keep all. */
static void reduce_bucket(int k, cudaStream_t stream)
{
    const Lathe_part all = lathe_bucket(&ranks.shards, k), own = own_part(k);
    char *from = ranks.grads + all.first * ranks.element, *to = own_gradients(k) + own.first * ranks.element;
    int chunk = first_chunk(k);
    ranks.left[k] = REDUCED;
    if (all.count == 0 || ranks.failure[0]) return;
    fork_from(stream);
    if (lathe_is_directed(&ranks.shards, k))
        failed("reducing gradients",
               nccl.ncclAllReduce(from, from, (size_t)all.count, ranks.type, ncclSum, ranks.comm, ranks.stream));
    else if (!lathe_is_rest(&ranks.shards, k))
        failed("reducing gradients",
               nccl.ncclReduceScatter(from, to, (size_t)own.count, ranks.type, ncclSum, ranks.comm, ranks.stream));
    else
        failed("reducing gradients", nccl.ncclReduce(from, ranks.rank == ranks.shards.gpus - 1 ? to : from,
                                                     (size_t)all.count, ranks.type, ncclSum, ranks.shards.gpus - 1,
                                                     ranks.comm, ranks.stream));
    gpu_squares(ranks.optimizer, own_gradients(k), &own, &chunk, ranks.stream);
}

void ranks_add(int k, cudaEvent_t added, cudaStream_t stream)
{
    reduce_bucket(k, stream);
    failed("an event", cudaEventRecord(added, ranks.stream));
}

void ranks_begin(const Gpu_optimizer *o, void *params, void *grads, cudaStream_t stream)
{
    ranks.optimizer = o;
    ranks.params = (char *)params;
    ranks.grads = (char *)grads;
    if (!ranks.own_params) begin_returns(stream);
    for (int k = 0; k < ranks.shards.buckets; k++) ranks.left[k] = lathe_bucket(&ranks.shards, k).count;
}

static void gradients_done_here(const void *first, size_t bytes, cudaStream_t stream)
{
    const int64_t from = ((const char *)first - ranks.grads) / ranks.element,
                  to = from + (int64_t)bytes / ranks.element;
    for (int k = 0; ranks.grads && k < ranks.shards.buckets; k++) {
        const Lathe_part p = lathe_bucket(&ranks.shards, k);
        const int64_t begin = from > p.first ? from : p.first, end = to < p.first + p.count ? to : p.first + p.count;
        if (begin >= end) continue;
        assert(ranks.left[k] >= end - begin);
        ranks.left[k] -= end - begin;
        if (ranks.left[k] == 0) reduce_bucket(k, stream);
    }
}

/* ------------------------------------------------------------------ the update */

static void share_sums(const Gpu_optimizer *o, cudaStream_t stream)
{
    fork_from(stream);
    failed("sharing sums",
           nccl.ncclAllGather(o->sums + ranks.rank, o->sums, sizeof *o->sums / sizeof(double), ncclFloat64, ranks.comm,
                                              ranks.stream));
    join_to(stream);
}

void ranks_optimize(const void *loss, Lathe_dtype loss_type, const Cuda_bad_id *bad, cudaStream_t stream)
{
    const Gpu_optimizer *o = ranks.optimizer;
    const int buckets = ranks.shards.buckets, chunks = first_chunk(buckets);
    for (int k = 0; k < buckets; k++)
        if (ranks.left[k] != REDUCED) reduce_bucket(k, stream);
    join_to(stream);
    gpu_sum_rank(o, chunks, loss, loss_type, stream);
    share_sums(o, stream);
    gpu_settle(o, chunks, loss, loss_type, bad, stream);
    LAP(LAP_NORM);
    if (o->direct) o->direct();
    for (int k = 0; k < buckets; k++) {
        const Lathe_part own = own_part(k);
        gpu_update(o, own_parameters(k, ranks.params), own_gradients(k), &own, stream);
    }
    LAP(LAP_UPDATE);
    ranks.params = ranks.grads = NULL;
}

void ranks_show(const Gpu_optimizer *o, void *params, cudaStream_t stream)
{
    for (int k = 0; k < ranks.shards.buckets; k++) {
        const Lathe_part own = own_part(k);
        gpu_show_average(o, params, &own, stream);
    }
    ranks_return(params, stream);
}
