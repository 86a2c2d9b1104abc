/* fake_nccl.cc: NCCL of the simulator, a library of its own (cuda/ranks.cu loads it): processes meet in a file that all map.
 *
 * A collective is work in its stream, done when the simulator comes to it, and then waits until every rank has come to the same
 * one: its number, what it is, count, type, root.  Ranks that differ are told of both, and fail; so does one that waits for a
 * minute.  What each gives is read when all are there, and nobody goes on before all have taken theirs; sums run over the
 * ranks in order.  It refuses host memory, results that overlap what is sent otherwise than NCCL allows, and calls on a
 * communicator that is none.  FAKE_NCCL_VERSION is its version; FAKE_NCCL_STARTS=0:
 * ids cannot be made; FAKE_NCCL_FAILS="R N": rank R's N-th collective does nothing, which only ncclCommGetAsyncError tells. */
#include "cuda/nccl_api.h"
#include "sim.h"

#include <atomic>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RANKS = 16, SENT = 64 << 20, PATIENCE = 60, GAVE_UP = 2 }; /* SENT: bytes of one rank; PATIENCE: seconds */

struct Call {
    const char *name; /* of this process */
    char what[32];
    uint64_t count;
    int type, root;
};

struct Meeting {
    std::atomic<int> joined, arrived[2], broken;
    std::atomic<uint64_t> rounds; /* that all have left */
    Call call[MOST_RANKS];
};

struct ncclComm {
    int rank, ranks;
    uint64_t calls; /* done */
    Meeting *meeting;
    char *sent; /* [MOST_RANKS][SENT] */
    ncclResult_t error;
};

static char last_error[400];
static int living;

static ncclResult_t wrong(ncclResult_t code, const char *what)
{
    snprintf(last_error, sizeof last_error, "%s", what);
    return code;
}

/* It is the program's mistake. */
static ncclResult_t refuse(ncclResult_t code, const char *what)
{
    sim_refuse(cudaErrorInvalidValue, "NCCL: %s", what);
    return wrong(code, what);
}

/* ------------------------------------------------------------------ meeting */

static double now(void)
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

template <class Holds> static bool wait_until(ncclComm *c, Holds holds)
{
    const double from = now();
    for (int i = 0; !holds(); i++) {
        if (c->meeting->broken.load()) return false;
        if (i > 50) usleep(50);
        if (now() - from > PATIENCE) {
            c->meeting->broken.store(GAVE_UP);
            return false;
        }
    }
    return true;
}

static bool same(const Call &a, const Call &b)
{
    return strcmp(a.what, b.what) == 0 && a.count == b.count && a.type == b.type && a.root == b.root;
}

static cudaError_t fail(ncclComm *c, const char *what)
{
    c->error = ncclInvalidUsage;
    c->meeting->broken.store(1);
    refuse(c->error, what);
    return cudaSuccess;
}

/* All ranks are at a point; `turn` keeps the two of a collective apart. */
static bool meet(ncclComm *c, int turn)
{
    Meeting *m = c->meeting;
    const uint64_t round = m->rounds.load();
    if (m->arrived[turn].fetch_add(1) + 1 < c->ranks) return wait_until(c, [=] { return m->rounds.load() != round; });
    m->arrived[turn].store(0);
    m->rounds.fetch_add(1);
    return true;
}

static size_t bytes_of(int type) { return type == ncclInt8 ? 1 : type == ncclFloat64 ? 8 : 4; }

template <class T> static void sum(ncclComm *c, char *to, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        T all = ((const T *)(void *)c->sent)[first + i];
        for (int r = 1; r < c->ranks; r++) all += ((const T *)(void *)(c->sent + (size_t)r * SENT))[first + i];
        memcpy(to + i * sizeof all, &all, sizeof all);
    }
}

static void sum_of(ncclComm *c, int type, char *to, size_t first, size_t count)
{
    if (type == ncclFloat64) sum<double>(c, to, first, count);
    else sum<float>(c, to, first, count);
}

/* Whoever broke it has said why. */
static cudaError_t left_alone(ncclComm *c, const Call &call)
{
    if (c->meeting->broken.load() == GAVE_UP) return fail(c, ("nobody came to " + std::string(call.what)).c_str());
    c->error = wrong(ncclRemoteError, "another rank has failed");
    return cudaSuccess;
}

/* give: bytes from the device that the others see; take: how the result is made of all. */
template <class Take> static cudaError_t together(ncclComm *c, const Call &call, const void *from, size_t give, Take take)
{
    Meeting *m = c->meeting;
    const char *wish = getenv("FAKE_NCCL_FAILS");
    int rank, number;
    if (c->error) return cudaSuccess;
    if (m->broken.load()) {
        c->error = wrong(ncclRemoteError, "another rank has failed");
        return cudaSuccess;
    }
    if (wish && sscanf(wish, "%d %d", &rank, &number) == 2 && rank == c->rank && (uint64_t)number == c->calls) {
        c->error = wrong(ncclRemoteError, "a link is down");
        m->broken.store(1);
        return cudaSuccess;
    }
    c->calls++;
    m->call[c->rank] = call;
    if (give && sim_copy(c->sent + (size_t)c->rank * SENT, from, give, cudaMemcpyDeviceToHost) != cudaSuccess) return fail(c, "what is sent cannot be read");
    if (!meet(c, 0)) return left_alone(c, call);
    for (int r = 0; r < c->ranks; r++) {
        if (same(m->call[r], call)) continue;
        char text[300];
        snprintf(text, sizeof text, "call %llu: rank %d is at %s of %llu (type %d, root %d), rank %d at %s of %llu (type %d, root %d)",
                 (unsigned long long)c->calls, c->rank, call.what, (unsigned long long)call.count, call.type, call.root, r, m->call[r].what,
                 (unsigned long long)m->call[r].count, m->call[r].type, m->call[r].root);
        return fail(c, text);
    }
    cudaError_t error = take();
    if (!meet(c, 1)) return left_alone(c, call);
    return error;
}

/* ------------------------------------------------------------------ the interface */

static Call call_of(const char *what, size_t count, ncclDataType_t type, int root)
{
    Call c = {};
    snprintf(c.what, sizeof c.what, "%s", what);
    c.count = count, c.type = type, c.root = root;
    return c;
}

/* in_place: where the result may lie in what is sent, or the other way round; bytes of both. */
static const char *mistake(const ncclComm *c, const char *from, size_t send, const char *to, size_t receive, bool in_place, cudaStream_t stream)
{
    if (!c || living == 0) return "a communicator that is none";
    if (!stream) return "a collective in the default stream";
    if (send > SENT || receive > (size_t)SENT * MOST_RANKS) return "more than this one holds";
    if ((send && !sim_on_device(from, send)) || (receive && !sim_on_device(to, receive))) return "memory that is not the device's";
    bool apart = from + send <= to || to + receive <= from;
    return !send || !receive || apart || in_place ? NULL : "a result that overlaps what is sent";
}

extern "C" {
ncclResult_t ncclGetVersion(int *version)
{
    const char *wish = getenv("FAKE_NCCL_VERSION");
    *version = wish ? atoi(wish) : 22809;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    switch (result) {
    case ncclSuccess: return "no error";
    case ncclSystemError: return "unhandled system error";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
    default: return "some error";
    }
}

const char *ncclGetLastError(ncclComm_t) { return last_error; }

/* The file's name; it is there until all have joined. */
ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    const char *starts = getenv("FAKE_NCCL_STARTS"), *folder = getenv("TMPDIR");
    if (starts && *starts == '0') return wrong(ncclSystemError, "no interface was found");
    *id = {};
    snprintf(id->internal, sizeof id->internal, "%s/fake_nccl.XXXXXX", folder ? folder : "/tmp");
    int file = mkstemp(id->internal);
    if (file < 0 || ftruncate(file, (off_t)sizeof(Meeting) + (off_t)MOST_RANKS * SENT) != 0) return refuse(ncclSystemError, "no file to meet in");
    close(file);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    int file = open(id.internal, O_RDWR);
    if (file < 0 || ranks > MOST_RANKS || rank < 0 || rank >= ranks) return refuse(ncclInvalidArgument, "no such meeting");
    char *at = (char *)mmap(NULL, sizeof(Meeting) + (size_t)MOST_RANKS * SENT, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED) return refuse(ncclSystemError, "no memory to meet in");
    ncclComm *c = new ncclComm{rank, ranks, 0, (Meeting *)(void *)at, at + sizeof(Meeting), ncclSuccess};
    living++;
    c->meeting->joined.fetch_add(1);
    if (!wait_until(c, [=] { return c->meeting->joined.load() == ranks; })) return refuse(ncclRemoteError, "not all ranks have joined");
    if (rank == 0) unlink(id.internal);
    *comm = c;
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    if (!c || living == 0) return refuse(ncclInvalidArgument, "a communicator that is none is given back");
    living--;
    delete c;
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t c)
{
    c->meeting->broken.store(1);
    living--;
    delete c;
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *error)
{
    *error = c->error;
    return ncclSuccess;
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t, ncclComm_t c, cudaStream_t stream)
{
    const size_t bytes = count * bytes_of(type);
    const char *what = mistake(c, (const char *)from, bytes * c->ranks, (char *)to, bytes, to == (const char *)from + c->rank * bytes, stream);
    if (what) return refuse(ncclInvalidArgument, what);
    const Call call = call_of("ncclReduceScatter", count, type, -1);
    sim_enqueue(stream, "ncclReduceScatter", [=] {
        return together(c, call, from, bytes * c->ranks, [=] {
            std::string result(bytes, 0);
            sum_of(c, type, &result[0], c->rank * count, count);
            return sim_copy(to, result.data(), bytes, cudaMemcpyHostToDevice);
        });
    });
    return ncclSuccess;
}

ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t, int root, ncclComm_t c, cudaStream_t stream)
{
    const size_t bytes = count * bytes_of(type);
    const char *what = mistake(c, (const char *)from, bytes, (char *)to, c->rank == root ? bytes : 0, to == from, stream);
    if (what) return refuse(ncclInvalidArgument, what);
    const Call call = call_of("ncclReduce", count, type, root);
    sim_enqueue(stream, "ncclReduce", [=] {
        return together(c, call, from, bytes, [=] {
            std::string result(bytes, 0);
            if (c->rank != root) return cudaSuccess;
            sum_of(c, type, &result[0], 0, count);
            return sim_copy(to, result.data(), bytes, cudaMemcpyHostToDevice);
        });
    });
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t, ncclComm_t c, cudaStream_t stream)
{
    const size_t bytes = count * bytes_of(type);
    const char *what = mistake(c, (const char *)from, bytes, (char *)to, bytes, to == from, stream);
    if (what) return refuse(ncclInvalidArgument, what);
    const Call call = call_of("ncclAllReduce", count, type, -1);
    sim_enqueue(stream, "ncclAllReduce", [=] {
        return together(c, call, from, bytes, [=] {
            std::string result(bytes, 0);
            sum_of(c, type, &result[0], 0, count);
            return sim_copy(to, result.data(), bytes, cudaMemcpyHostToDevice);
        });
    });
    return ncclSuccess;
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t c, cudaStream_t stream)
{
    const size_t bytes = count * bytes_of(type);
    const char *what = mistake(c, (const char *)from, bytes, (char *)to, bytes * c->ranks, from == (char *)to + c->rank * bytes, stream);
    if (what) return refuse(ncclInvalidArgument, what);
    const Call call = call_of("ncclAllGather", count, type, -1);
    sim_enqueue(stream, "ncclAllGather", [=] {
        return together(c, call, from, bytes, [=] {
            cudaError_t error = cudaSuccess;
            for (int r = 0; r < c->ranks && error == cudaSuccess; r++)
                error = sim_copy((char *)to + r * bytes, c->sent + (size_t)r * SENT, bytes, cudaMemcpyHostToDevice);
            return error;
        });
    });
    return ncclSuccess;
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t c, cudaStream_t stream)
{
    const size_t bytes = count * bytes_of(type), give = c->rank == root ? bytes : 0;
    const char *what = mistake(c, (const char *)from, give, (char *)to, bytes, to == from, stream);
    if (what) return refuse(ncclInvalidArgument, what);
    const Call call = call_of("ncclBroadcast", count, type, root);
    sim_enqueue(stream, "ncclBroadcast", [=] {
        return together(c, call, from, give, [=] { return sim_copy(to, c->sent + (size_t)root * SENT, bytes, cudaMemcpyHostToDevice); });
    });
    return ncclSuccess;
}
}
