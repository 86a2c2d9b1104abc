/* sim_runtime.cc: the simulator's streams, events, graphs, pinned memory and copies.
 *
 * A stream keeps what is put into it and does it as late as it may: when it, an event in it, or the whole device is waited for.
 * So a host that reads too early, a buffer that is overwritten too early, and a stream that should have waited for another
 * one compute with what was there before.  By sim_order other streams get ahead meanwhile, as far as they may: one that should
 * have waited overwrites what another one has yet to read.  The default stream waits for all others but non-blocking ones, and
 * does everything at once.
 *
 * A stream that is captured does nothing: launches, copies and products become nodes of a graph, with the arguments they
 * have then; each launch of the graph does them again, in any order that the streams and events of the capture allow
 * (sim_order).  What a capture forbids (waiting, allocating, the default stream, streams that do not join again) ends it,
 * and is said. */
#include "sim.h"

#include <algorithm>
#include <deque>
#include <stdlib.h>
#include <vector>

typedef std::function<cudaError_t(void)> Work;

struct Node {
    Work work;
    std::vector<size_t> after; /* nodes */
};

struct CUgraph_st {
    std::vector<Node> nodes;
    std::vector<cudaStream_t> streams; /* captured; the first began it */
    bool broken, refused; /* refused: as CUDA does, which is no mistake */
};

struct CUgraphExec_st {
    std::vector<Node> nodes;
};

struct Op {
    Work work;
    cudaEvent_t event; /* to wait for, until it has been recorded so often; NULL: none */
    uint64_t count;
};

struct CUstream_st {
    bool blocking;
    std::deque<Op> queue;
    CUgraph_st *capture;
    std::vector<size_t> last; /* nodes that the next one follows */
};

struct CUevent_st {
    bool timed;
    uint64_t asked, done; /* records put into streams, and reached */
    cudaStream_t stream;  /* of the last one */
    double at;            /* ms */
    CUgraph_st *capture;
    std::vector<size_t> nodes;
};

static std::vector<cudaStream_t> streams;
static std::vector<CUgraph_st *> captures;
static double now_ms;

void sim_spend(double ms) { now_ms += ms; }

static bool is_stream(cudaStream_t s) { return std::find(streams.begin(), streams.end(), s) != streams.end(); }

/* ------------------------------------------------------------------ doing what waits */

static void run_one(cudaStream_t s)
{
    while (s->queue.front().event && s->queue.front().event->done < s->queue.front().count)
        run_one(s->queue.front().event->stream);
    Op op = s->queue.front();
    s->queue.pop_front();
    if (op.work) op.work();
}

static bool may_go_on(cudaStream_t s)
{
    return !s->queue.empty() && !(s->queue.front().event && s->queue.front().event->done < s->queue.front().count);
}

/* Something of s, or of another stream that need not wait: in forward order always of s. */
static void run_some(cudaStream_t s)
{
    std::vector<cudaStream_t> some = {s};
    for (cudaStream_t other : streams)
        if (other != s && may_go_on(other)) some.push_back(other);
    run_one(some[sim_pick((int)some.size())]);
}

static void run_all(cudaStream_t s)
{
    while (!s->queue.empty()) run_some(s);
}

/* By sim_order: stream by stream, or by turns. */
static void run_streams(bool also_non_blocking)
{
    for (;;) {
        std::vector<cudaStream_t> some;
        for (cudaStream_t s : streams)
            if (!s->queue.empty() && (s->blocking || also_non_blocking)) some.push_back(s);
        if (some.empty()) return;
        run_one(some[sim_pick((int)some.size())]);
    }
}

static cudaError_t break_captures(cudaError_t error, const char *name)
{
    for (CUgraph_st *g : captures) g->broken = true;
    return sim_refuse(error, "%s while a stream is captured", name);
}

cudaError_t sim_uncaptured(const char *name)
{
    return captures.empty() ? cudaSuccess : break_captures(cudaErrorStreamCaptureUnsupported, name);
}

cudaError_t sim_synchronous(const char *name)
{
    cudaError_t error = sim_uncaptured(name);
    if (error == cudaSuccess) run_streams(false);
    return error;
}

static size_t add_node(cudaStream_t s, Work work)
{
    s->capture->nodes.push_back({work, s->last});
    s->last = {s->capture->nodes.size() - 1};
    return s->last[0];
}

void sim_invalidate(cudaStream_t s)
{
    if (s && is_stream(s) && s->capture) s->capture->refused = true;
}

cudaError_t sim_enqueue(cudaStream_t s, const char *name, Work work)
{
    if (!s) {
        if (!captures.empty()) return break_captures(cudaErrorStreamCaptureImplicit, name);
        run_streams(false);
        return work();
    }
    if (!is_stream(s)) return sim_refuse(cudaErrorInvalidResourceHandle, "%s in a stream that is none (any more)", name);
    if (s->capture && s->capture->refused) return sim_refused(cudaErrorStreamCaptureInvalidated);
    if (s->capture) add_node(s, work);
    else s->queue.push_back({work, NULL, 0});
    return cudaSuccess;
}

/* ------------------------------------------------------------------ streams */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    *stream = new CUstream_st{flags != cudaStreamNonBlocking, {}, NULL, {}};
    streams.push_back(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    if (!is_stream(s)) return sim_refuse(cudaErrorInvalidResourceHandle, "cudaStreamDestroy of what is none (any more)");
    run_all(s);
    streams.erase(std::find(streams.begin(), streams.end(), s));
    delete s;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    if (!s) return cudaDeviceSynchronize();
    if (!is_stream(s)) return sim_refuse(cudaErrorInvalidResourceHandle, "cudaStreamSynchronize of what is none (any more)");
    if (s->capture) return break_captures(cudaErrorStreamCaptureUnsupported, "cudaStreamSynchronize");
    run_all(s);
    return cudaPeekAtLastError();
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t error = sim_uncaptured("cudaDeviceSynchronize");
    if (error != cudaSuccess) return error;
    run_streams(true);
    return cudaPeekAtLastError();
}

/* ------------------------------------------------------------------ events */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    *event = new CUevent_st{flags != cudaEventDisableTiming, 0, 0, NULL, 0, NULL, {}};
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    while (event->done < event->asked) run_one(event->stream);
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t s)
{
    if (s && s->capture) {
        event->capture = s->capture;
        event->nodes = s->last;
        return cudaSuccess;
    }
    while (event->done < event->asked && event->stream != s) run_one(event->stream);
    uint64_t count = ++event->asked;
    event->stream = s;
    event->capture = NULL;
    return sim_enqueue(s, "cudaEventRecord", [event, count] {
        event->done = count;
        event->at = now_ms;
        return cudaSuccess;
    });
}

/* External: a node of the graph that is captured, which each launch records anew. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t s, unsigned flags)
{
    if (flags == cudaEventRecordDefault) return cudaEventRecord(event, s);
    if (flags != cudaEventRecordExternal || !s || !s->capture)
        return sim_refuse(cudaErrorInvalidValue, "cudaEventRecordWithFlags: an external event where nothing is captured");
    add_node(s, [event] {
        event->done = ++event->asked;
        event->at = now_ms;
        return cudaSuccess;
    });
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t event, unsigned)
{
    if (!s) return cudaEventSynchronize(event);
    if (event->capture) {
        if (!s->capture) event->capture->streams.push_back(s);
        s->capture = event->capture;
        s->last.insert(s->last.end(), event->nodes.begin(), event->nodes.end());
    } else if (s->capture) {
        return break_captures(cudaErrorStreamCaptureUnsupported, "cudaStreamWaitEvent for what is outside");
    } else if (event->asked) {
        s->queue.push_back({nullptr, event, event->asked});
    }
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (event->capture) return break_captures(cudaErrorStreamCaptureUnsupported, "cudaEventQuery");
    if (event->done == event->asked) return cudaSuccess;
    if (!sim_device.stuck_after || event->asked < (uint64_t)sim_device.stuck_after)
        run_some(event->stream); /* who asks again and again gets there */
    return cudaPeekAtLastError() == cudaSuccess ? sim_unready() : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (event->capture) return break_captures(cudaErrorStreamCaptureUnsupported, "cudaEventSynchronize");
    while (event->done < event->asked) run_some(event->stream);
    return cudaPeekAtLastError();
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    if (!begin->timed || !end->timed || !begin->asked || !end->asked)
        return sim_refuse(cudaErrorInvalidResourceHandle, "cudaEventElapsedTime between events without a time");
    if (begin->done < begin->asked || end->done < end->asked) return cudaErrorNotReady;
    *ms = (float)(end->at - begin->at);
    return cudaSuccess;
}

/* ------------------------------------------------------------------ graphs */

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode)
{
    if (!s) return sim_refuse(cudaErrorStreamCaptureUnsupported, "the default stream cannot be captured");
    if (sim_refuses("capture")) return sim_refused(cudaErrorStreamCaptureUnsupported);
    if (s->capture) return sim_refuse(cudaErrorInvalidValue, "cudaStreamBeginCapture of a stream that is captured");
    s->capture = new CUgraph_st{{}, {s}, false};
    captures.push_back(s->capture);
    return cudaSuccess;
}

static bool follows(const CUgraph_st *g, const std::vector<size_t> &from, size_t node)
{
    for (size_t n : from)
        if (n == node || (n > node && follows(g, g->nodes[n].after, node))) return true;
    return false;
}

static cudaError_t end_of_capture(const CUgraph_st *g, cudaStream_t s)
{
    if (g->streams[0] != s)
        return sim_refuse(cudaErrorStreamCaptureUnmatched, "cudaStreamEndCapture of a stream that did not begin it");
    if (sim_refuses("captured")) return sim_refused(cudaErrorStreamCaptureInvalidated);
    if (g->refused) return sim_refused(cudaErrorStreamCaptureInvalidated);
    if (g->broken) return sim_refuse(cudaErrorStreamCaptureInvalidated, "cudaStreamEndCapture of what was broken");
    for (cudaStream_t other : g->streams)
        for (size_t n : other->last)
            if (!follows(g, s->last, n))
                return sim_refuse(cudaErrorStreamCaptureUnjoined, "cudaStreamEndCapture: a stream has not joined again");
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
    CUgraph_st *g = s ? s->capture : NULL;
    *graph = NULL;
    if (!g) return sim_refuse(cudaErrorInvalidValue, "cudaStreamEndCapture of a stream that is not captured");
    cudaError_t error = end_of_capture(g, s);
    for (cudaStream_t other : g->streams) {
        other->capture = NULL;
        other->last.clear();
    }
    captures.erase(std::find(captures.begin(), captures.end(), g));
    if (error == cudaSuccess) *graph = g;
    else delete g;
    return error;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
    if (sim_refuses("graph")) return sim_refused(cudaErrorMemoryAllocation);
    *exec = new CUgraphExec_st{graph->nodes};
    return cudaSuccess;
}

static cudaError_t run_nodes(const std::vector<Node> &nodes)
{
    std::vector<bool> done(nodes.size());
    cudaError_t error = cudaSuccess;
    for (size_t n = 0; n < nodes.size(); n++) {
        std::vector<size_t> ready;
        for (size_t i = 0; i < nodes.size() && ready.size() < 16; i++) {
            auto is_done = [&done](size_t k) { return done[k]; };
            if (!done[i] && std::all_of(nodes[i].after.begin(), nodes[i].after.end(), is_done)) ready.push_back(i);
        }
        size_t next = ready[sim_pick((int)ready.size())];
        cudaError_t e = nodes[next].work();
        if (error == cudaSuccess) error = e;
        done[next] = true;
    }
    return error;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s)
{
    std::vector<Node> nodes = exec->nodes;
    return sim_enqueue(s, "cudaGraphLaunch", [nodes] { return run_nodes(nodes); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    delete exec;
    return cudaSuccess;
}

/* ------------------------------------------------------------------ pinned memory and copies */

static std::vector<std::pair<char *, size_t>> pinned;

static bool is_pinned(const void *at, size_t bytes)
{
    for (const auto &p : pinned)
        if ((const char *)at >= p.first && (const char *)at + bytes <= p.first + p.second) return true;
    return false;
}

cudaError_t cudaHostAlloc(void **at, size_t bytes, unsigned)
{
    cudaError_t error = sim_uncaptured("cudaHostAlloc");
    if (error != cudaSuccess) return error;
    *at = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!*at) return cudaErrorMemoryAllocation;
    memset(*at, 0xff, bytes);
    pinned.push_back({(char *)*at, bytes});
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **at, size_t bytes) { return cudaHostAlloc(at, bytes, cudaHostAllocDefault); }

cudaError_t cudaFreeHost(void *at)
{
    for (size_t i = 0; i < pinned.size(); i++) {
        if (pinned[i].first != at) continue;
        run_streams(true);
        free(at);
        pinned.erase(pinned.begin() + (long)i);
        return cudaSuccess;
    }
    return at ? sim_refuse(cudaErrorInvalidValue, "cudaFreeHost of what is not pinned") : cudaSuccess;
}

/* Host memory that is not pinned: what is copied from it is taken at once, what is copied to it is waited for. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s)
{
    bool up = kind == cudaMemcpyHostToDevice && !is_pinned(from, bytes), down = kind == cudaMemcpyDeviceToHost && !is_pinned(to, bytes);
    if (s && s->capture && (up || down))
        return break_captures(cudaErrorStreamCaptureUnsupported, "cudaMemcpyAsync of host memory that is not pinned");
    std::vector<char> staged;
    if (up) staged.assign((const char *)from, (const char *)from + bytes);
    cudaError_t error = sim_enqueue(s, "cudaMemcpyAsync", [=] {
        sim_spend(1e-3 + (double)bytes * 2e-8);
        return sim_copy(to, up ? staged.data() : from, bytes, kind);
    });
    if (down && s) run_all(s);
    return error;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t s)
{
    if (kind != cudaMemcpyDeviceToDevice || width > to_pitch || width > from_pitch)
        return sim_refuse(cudaErrorInvalidValue, "cudaMemcpy2DAsync: not between places of the device, or rows that overlap");
    return sim_enqueue(s, "cudaMemcpy2DAsync", [=] {
        cudaError_t error = cudaSuccess;
        for (size_t i = 0; i < height && error == cudaSuccess; i++)
            error = sim_copy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width, kind);
        return error;
    });
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t s)
{
    return sim_enqueue(s, "cudaMemsetAsync", [=] { return sim_set(at, value, bytes); });
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    cudaError_t error = sim_synchronous("cudaMemcpy");
    return error == cudaSuccess ? sim_copy(to, from, bytes, kind) : error;
}

cudaError_t cudaMemset(void *at, int value, size_t bytes)
{
    cudaError_t error = sim_synchronous("cudaMemset");
    return error == cudaSuccess ? sim_set(at, value, bytes) : error;
}
