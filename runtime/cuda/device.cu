/* device.cu: the GPU that a trainer runs on: its memory, copies through pinned buffers, graphs. */
#include "cuda/device.h"
#include "cuda/device_check.h"
#include "cuda/persistent.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SLOTS = LATHE_GPU_SLOTS, SMALL_SLOTS = LATHE_GPU_SMALL_SLOTS, SMALL = LATHE_GPU_SMALL, ROOMS = LATHE_GPU_ROOMS };

struct Slot { /* of pinned memory; `done`: the copy from it or into it has ended */
    char *at;
    cudaEvent_t done;
};

struct Ring { /* slots are used in turn */
    Slot slot[SMALL_SLOTS];
    int n, next;
    int64_t bytes; /* of a slot */
};

struct Room { /* pinned memory for bytes on their way to the host */
    char *at;
    cudaEvent_t begin, end;
};

enum { MOST_AHEAD = 2 };

struct Ahead { /* bytes that arrive while the stream is busy */
    char *at; /* the place where they arrive */
    int64_t bytes, used;
    cudaStream_t stream;      /* the stream of the copies */
    cudaEvent_t there, taken; /* all have arrived; the main stream has moved them to their places */
    int n;
    struct {
        char *to, *from;
        int64_t bytes;
    } piece[MOST_AHEAD];
};

enum { MOST_WINDOWS = 2 };

struct Window { /* of addresses beside the block */
    const char *host;
    char *device;
    int64_t bytes;
};

static struct {
    char *host, *device;
    int64_t bytes;
    Window window[MOST_WINDOWS];
    int windows;
    cudaStream_t stream;
    Ahead ahead;
    Ring large, small; /* for staged copies; for a few numbers */
    Room room[ROOMS];
    char *pinned; /* all of it */
    unsigned *stuck; /* pinned: the number of the loop in one launch that gave up */
    bool (*trouble)(double waited); /* gpu_watch */
    bool (*others_failed)(void);    /* gpu_ask */
    cudaEvent_t all; /* to wait for everything */
    bool waits; /* LATHE_CUDA_CHECK */
    bool captures;
    char failure[512];
} gpu;

/* ------------------------------------------------------------------ failures */

static bool failed(const char *what, cudaError_t error)
{
    const char *loop = error == cudaSuccess ? NULL : loop_that_gave_up();
    if (error == cudaSuccess) return gpu.failure[0] != 0;
    if (!gpu.failure[0] && loop)
        snprintf(gpu.failure, sizeof gpu.failure,
                 "%.300s: its blocks waited for each other without end, and it gave up (%s)\n"
                 "  `lathe build --no-persist` builds a trainer without such loops", loop, cudaGetErrorName(error));
    else if (!gpu.failure[0])
        snprintf(gpu.failure, sizeof gpu.failure, "%s: %s (%s)", what, cudaGetErrorString(error),
                 cudaGetErrorName(error));
    return true;
}

const char *gpu_failure(void) { return gpu.failure[0] ? gpu.failure : NULL; }

bool gpu_in_trouble(void)
{
    if (gpu.failure[0] || gpu.captures) return false; /* an error in a capture is handled by running without a graph */
    return (gpu.waits && cudaStreamSynchronize(gpu.stream) != cudaSuccess) || cudaPeekAtLastError() != cudaSuccess;
}

void gpu_launched(const char *kernel)
{
    if (gpu.failure[0] || gpu.captures) return;
    failed(kernel, gpu.waits ? cudaStreamSynchronize(gpu.stream) : cudaSuccess);
    failed(kernel, cudaPeekAtLastError());
}

/* ------------------------------------------------------------------ allocating and freeing */

static bool take_events(cudaEvent_t *event, int flags)
{
    return !failed("an event", cudaEventCreateWithFlags(event, flags));
}

static bool take_ring(Ring *r, int n, int64_t bytes, char **at)
{
    *r = {{}, n, 0, bytes};
    for (int i = 0; i < n; i++, *at += bytes) {
        r->slot[i].at = *at;
        if (!take_events(&r->slot[i].done, cudaEventDisableTiming)) return false;
    }
    return true;
}

static bool take_pinned(const Gpu_needs *n)
{
    if (failed("pinned memory", cudaHostAlloc((void **)&gpu.stuck, sizeof *gpu.stuck, cudaHostAllocMapped)))
        return false;
    *gpu.stuck = 0;
    loops_launched.stuck = gpu.stuck;
    if (failed("pinned memory", cudaMallocHost((void **)&gpu.pinned, (size_t)lathe_pinned_bytes(n->staged))))
        return false;
    char *at = gpu.pinned;
    if (!take_ring(&gpu.large, SLOTS, lathe_slot_bytes(n->staged), &at) ||
        !take_ring(&gpu.small, SMALL_SLOTS, SMALL, &at))
        return false;
    for (Room &r : gpu.room) {
        r.at = at, at += LATHE_GPU_SENT;
        if (!take_events(&r.begin, cudaEventDefault) || !take_events(&r.end, cudaEventDefault)) return false;
    }
    return true;
}

static bool take_ahead(const Gpu_needs *n)
{
    Ahead *a = &gpu.ahead;
    a->at = gpu.device + n->bytes + n->workspace;
    a->bytes = n->ahead;
    return !failed("a stream", cudaStreamCreateWithFlags(&a->stream, cudaStreamNonBlocking)) &&
           take_events(&a->there, cudaEventDisableTiming) && take_events(&a->taken, cudaEventDisableTiming);
}

static bool take(const Gpu_needs *n)
{
    if (failed("a stream", cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking))) return false;
    if (failed("the GPU's memory", cudaMalloc((void **)&gpu.device, (size_t)(n->bytes + n->workspace + n->ahead))))
        return false;
    if (!take_events(&gpu.all, cudaEventDisableTiming) || !take_ahead(n)) return false;
    return take_pinned(n) &&
           !failed("clearing the GPU's memory", cudaMemsetAsync(gpu.device, 0, (size_t)n->bytes, gpu.stream));
}

const char *gpu_open(const Gpu_needs *n)
{
    const char *check = getenv("LATHE_CUDA_CHECK");
    gpu = {};
    const char *refusal = gpu_check_driver(n);
    if (!refusal) refusal = gpu_check_device(n);
    if (refusal) return refusal;
    gpu.waits = check && *check && *check != '0';
    gpu.host = (char *)n->host;
    gpu.bytes = n->bytes;
    if (take(n)) return NULL;
    const char *refused = gpu_refuse("GPU %d cannot be used: %s", n->number, gpu.failure);
    gpu_close();
    return refused;
}

static void drop_ring(Ring *r)
{
    for (Slot &slot : r->slot)
        if (slot.done) cudaEventDestroy(slot.done);
    *r = {};
}

static void drop_ahead(Ahead *a)
{
    if (a->stream) cudaStreamSynchronize(a->stream);
    if (a->there) cudaEventDestroy(a->there);
    if (a->taken) cudaEventDestroy(a->taken);
    if (a->stream) cudaStreamDestroy(a->stream);
    *a = {};
}

void gpu_close(void)
{
    if (gpu.stream) cudaStreamSynchronize(gpu.stream);
    drop_ahead(&gpu.ahead);
    drop_ring(&gpu.large);
    drop_ring(&gpu.small);
    for (Room &r : gpu.room) {
        if (r.begin) cudaEventDestroy(r.begin);
        if (r.end) cudaEventDestroy(r.end);
        r = {};
    }
    if (gpu.all) cudaEventDestroy(gpu.all);
    if (gpu.pinned) cudaFreeHost(gpu.pinned);
    if (gpu.stuck) cudaFreeHost(gpu.stuck);
    gpu.stuck = loops_launched.stuck = NULL;
    if (gpu.device) cudaFree(gpu.device);
    if (gpu.stream) cudaStreamDestroy(gpu.stream);
    gpu.device = gpu.pinned = NULL;
    gpu.all = NULL;
    gpu.stream = NULL;
}

cudaStream_t gpu_stream(void) { return gpu.stream; }
void *gpu_workspace(void) { return gpu.device + (gpu.bytes + LATHE_GPU_ALIGN - 1) / LATHE_GPU_ALIGN * LATHE_GPU_ALIGN; }

/* ------------------------------------------------------------------ waiting */

void gpu_watch(bool (*trouble)(double waited)) { gpu.trouble = trouble; }

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* For an event not yet reached, CUDA also sets its last error; it is cleared here, or the check after the next launch
 * would find it. */
static cudaError_t query(cudaEvent_t event)
{
    cudaError_t error = cudaEventQuery(event);
    if (error == cudaErrorNotReady) (void)cudaGetLastError();
    return error;
}

/* Waits for the event; false: trouble or a failure. */
static bool wait_for(const char *what, cudaEvent_t event)
{
    const struct timespec pause = {0, 20000}; /* ns: less than a step on several GPUs */
    const double from = gpu.trouble ? seconds_now() : 0;
    cudaError_t error = gpu.trouble ? query(event) : cudaEventSynchronize(event);
    while (gpu.trouble && error == cudaErrorNotReady && !gpu.trouble(seconds_now() - from)) {
        nanosleep(&pause, NULL);
        error = query(event);
    }
    return error != cudaErrorNotReady && !failed(what, error);
}

/* ------------------------------------------------------------------ copies */

static char *place(const void *host, int64_t bytes)
{
    if (!host) return NULL;
    int64_t at = (const char *)host - gpu.host;
    if (at >= 0 && bytes >= 0 && bytes <= gpu.bytes - at) return gpu.device + at;
    for (int i = 0; i < gpu.windows; i++) {
        const Window *w = &gpu.window[i];
        at = (const char *)host - w->host;
        if (at >= 0 && bytes >= 0 && bytes <= w->bytes - at) return w->device + at;
    }
    failed("an address outside of the block", cudaErrorInvalidValue);
    return NULL;
}

void *gpu_place(const void *host) { return place(host, 0); }

void gpu_add_window(const void *host, int64_t bytes, void *device)
{
    assert(gpu.windows < MOST_WINDOWS);
    gpu.window[gpu.windows++] = {(const char *)host, (char *)device, bytes};
}

/* The slot that was used longest ago, after its last copy has ended. */
static Slot *free_slot(Ring *r)
{
    Slot *s = &r->slot[r->next++ % r->n];
    (void)wait_for("a copy to the GPU", s->done);
    return s;
}

static int64_t piece_of(const Ring *r, int64_t left) { return left < r->bytes ? left : r->bytes; }

static void send_up(char *to, const void *host, int64_t bytes, cudaStream_t stream)
{
    Ring *r = bytes > SMALL ? &gpu.large : &gpu.small;
    for (int64_t at = 0, n; at < bytes && !gpu.failure[0]; at += n) {
        Slot *s = free_slot(r);
        n = piece_of(r, bytes - at);
        memcpy(s->at, (const char *)host + at, (size_t)n);
        failed("a copy to the GPU", cudaMemcpyAsync(to + at, s->at, (size_t)n, cudaMemcpyHostToDevice, stream));
        failed("a copy to the GPU", cudaEventRecord(s->done, stream));
    }
}

void gpu_up(const void *host, int64_t bytes) { send_up(place(host, bytes), host, bytes, gpu.stream); }

/* Waits until the bytes sent before have been taken. */
void gpu_ahead(const void *host, int64_t bytes)
{
    Ahead *a = &gpu.ahead;
    char *to = place(host, bytes), *at = a->at + a->used;
    if (a->n == MOST_AHEAD || bytes > a->bytes - a->used)
        failed("more than was to be sent ahead", cudaErrorInvalidValue);
    if (gpu.failure[0]) return;
    if (a->n == 0) failed("an event", cudaStreamWaitEvent(a->stream, a->taken, 0));
    send_up(at, host, bytes, a->stream);
    a->piece[a->n++] = {to, at, bytes};
    a->used += (bytes + LATHE_GPU_ALIGN - 1) / LATHE_GPU_ALIGN * LATHE_GPU_ALIGN;
}

void gpu_arrive(void)
{
    Ahead *a = &gpu.ahead;
    if (gpu.failure[0]) return;
    failed("an event", cudaEventRecord(a->there, a->stream));
    failed("an event", cudaStreamWaitEvent(gpu.stream, a->there, 0));
    for (int i = 0; i < a->n; i++)
        failed("a copy on the GPU", cudaMemcpyAsync(a->piece[i].to, a->piece[i].from, (size_t)a->piece[i].bytes,
                                                    cudaMemcpyDeviceToDevice, gpu.stream));
    failed("an event", cudaEventRecord(a->taken, gpu.stream));
    a->n = 0;
    a->used = 0;
}

struct Landing { /* a piece on its way to the host */
    Slot *slot;
    char *to;
    int64_t bytes;
};

static void land(const Landing &l)
{
    if (l.slot && wait_for("what the GPU was doing", l.slot->done)) memcpy(l.to, l.slot->at, (size_t)l.bytes);
}

/* Copies a piece out of its slot while the next one arrives in another. */
void gpu_down(void *host, int64_t bytes)
{
    const char *from = place(host, bytes);
    Ring *r = bytes > SMALL ? &gpu.large : &gpu.small;
    Landing before = {};
    for (int64_t at = 0; at < bytes && !gpu.failure[0]; at += before.bytes) {
        Landing now = {free_slot(r), (char *)host + at, piece_of(r, bytes - at)};
        failed("a copy from the GPU",
               cudaMemcpyAsync(now.slot->at, from + at, (size_t)now.bytes, cudaMemcpyDeviceToHost, gpu.stream));
        failed("a copy from the GPU", cudaEventRecord(now.slot->done, gpu.stream));
        land(before);
        before = now;
    }
    land(before);
}

void gpu_clear(void *host, int64_t bytes)
{
    void *at = place(host, bytes);
    if (!gpu.failure[0] && bytes) failed("clearing memory", cudaMemsetAsync(at, 0, (size_t)bytes, gpu.stream));
}

void gpu_copy(void *to, const void *from, int64_t piece, int64_t n, int64_t apart)
{
    if (n == 0 || piece == 0) return;
    int64_t bytes = (n - 1) * apart + piece;
    void *there = place(to, bytes);
    const void *at = place(from, bytes);
    if (!gpu.failure[0] && n == 1) /* pitches are below 2^31 */
        failed("a copy on the GPU", cudaMemcpyAsync(there, at, (size_t)piece, cudaMemcpyDeviceToDevice, gpu.stream));
    else if (!gpu.failure[0])
        failed("a copy on the GPU", cudaMemcpy2DAsync(there, (size_t)apart, at, (size_t)apart, (size_t)piece, (size_t)n,
                                                      cudaMemcpyDeviceToDevice, gpu.stream));
}

void gpu_begin(int room)
{
    if (!gpu.failure[0]) failed("an event", cudaEventRecord(gpu.room[room].begin, gpu.stream));
}

void gpu_send(int room, const void *device, int64_t bytes)
{
    Room *r = &gpu.room[room];
    if (gpu.failure[0] || bytes > LATHE_GPU_SENT) return;
    failed("a copy from the GPU", cudaMemcpyAsync(r->at, device, (size_t)bytes, cudaMemcpyDeviceToHost, gpu.stream));
    failed("an event", cudaEventRecord(r->end, gpu.stream));
}

const void *gpu_sent(int room, double *seconds)
{
    float ms = 0;
    Room *r = &gpu.room[room];
    const bool there = !gpu.failure[0] && wait_for("what the GPU was doing", r->end);
    if (there && seconds) failed("an event", cudaEventElapsedTime(&ms, r->begin, r->end));
    if (seconds) *seconds = 1e-3 * ms;
    return there && !gpu.failure[0] ? r->at : NULL;
}

void gpu_wait(void)
{
    if (gpu.failure[0]) return;
    failed("an event", cudaEventRecord(gpu.all, gpu.stream));
    (void)wait_for("what the GPU was doing", gpu.all);
}

/* ------------------------------------------------------------------ entries */

Lathe_call gpu_call(const Lathe_call *c)
{
    return {gpu_place(c->params), gpu_place(c->grads), gpu_place(c->in), gpu_place(c->out), gpu_place(c->state),
            (char *)gpu_place(c->work), gpu.stream};
}

void gpu_ask(bool (*others_failed)(void)) { gpu.others_failed = others_failed; }

static bool others_failed(void) { return gpu.others_failed && gpu.others_failed(); }

/* Makes no graph of an incomplete capture. */
static cudaError_t capture(Gpu_entry *e, const Lathe_call *device)
{
    cudaGraph_t graph = NULL;
    cudaError_t error = cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal);
    if (error != cudaSuccess) return error;
    gpu.captures = true;
    e->enqueue(e->with, device);
    gpu.captures = false;
    error = cudaStreamEndCapture(gpu.stream, &graph);
    if (error == cudaSuccess && !others_failed()) error = cudaGraphInstantiate(&e->graph, graph, 0);
    if (graph) cudaGraphDestroy(graph);
    return error;
}

/* A loop whose blocks are refused during capture may invalidate the graph; a second capture then has its separate
 * kernels. */
static cudaError_t make_graph(Gpu_entry *e, const Lathe_call *device)
{
    int refused = loops_launched.refused;
    cudaError_t error = capture(e, device);
    while (error != cudaSuccess && loops_launched.refused > refused && !others_failed()) {
        refused = loops_launched.refused;
        (void)cudaGetLastError();
        error = capture(e, device);
    }
    return error;
}

/* If CUDA refuses to make or run the entry's graph, its kernels are launched one by one from then on. */
static void run_graph(Gpu_entry *e, const Lathe_call *device)
{
    char why[200];
    cudaError_t error = e->graph ? cudaSuccess : make_graph(e, device);
    if (others_failed()) return;
    if (error == cudaSuccess) error = cudaGraphLaunch(e->graph, gpu.stream);
    if (error == cudaSuccess) return;
    snprintf(why, sizeof why, "CUDA refuses them (%s); kernels are launched one by one, more slowly",
             cudaGetErrorName(error));
    second_way("entries as graphs", why);
    (void)cudaGetLastError();
    e->no_graph = true;
    if (e->graph) cudaGraphExecDestroy(e->graph);
    e->graph = NULL;
    e->enqueue(e->with, device);
}

void gpu_run(Gpu_entry *e, const Lathe_call *call)
{
    Lathe_call device = gpu_call(call);
    if (gpu.failure[0] || others_failed()) return;
    if (e->calls && memcmp(&e->call, call, sizeof *call) != 0) gpu_forget(e);
    e->call = *call;
    if (e->calls++ == 0 || gpu.waits || e->by_itself || e->no_graph) e->enqueue(e->with, &device);
    else run_graph(e, &device);
    failed("a launch", cudaPeekAtLastError());
}

void gpu_mark(cudaEvent_t event)
{
    const unsigned flags = gpu.captures ? cudaEventRecordExternal : cudaEventRecordDefault;
    if (!gpu.failure[0]) failed("an event", cudaEventRecordWithFlags(event, gpu.stream, flags));
}

void gpu_forget(Gpu_entry *e)
{
    if (e->graph) {
        gpu_wait();
        cudaGraphExecDestroy(e->graph);
    }
    e->graph = NULL;
    e->calls = 0;
}
