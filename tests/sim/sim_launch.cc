/* sim_launch.cc: the simulator's launches: a block at a time, or all blocks of a cooperative one at once.  Compiled without
 * -fsanitize=thread.
 *
 * Of a cooperative launch a block runs until its threads can go no further, then the next, each with the shared memory that is
 * its own (sim_memory.cc).  What a block has seen of another follows from what it acquires of what that one released, and
 * nothing else (struct Block). */
#include "sim_threads.h"

#include <algorithm>
#include <cstddef>

/* ------------------------------------------------------------------ blocks */

static std::vector<int> in_order(int n)
{
    std::vector<int> all(n);
    for (int i = 0; i < n; i++) all[i] = sim.order == SIM_BACKWARD ? n - 1 - i : i;
    if (sim.order == SIM_SHUFFLED) std::shuffle(all.begin(), all.end(), sim.random);
    return all;
}

static void start_threads(void)
{
    dim3 size = blockDim;
    for (int i = 0; i < sim.threads; i++) {
        Thread *t = &sim.thread[i];
        t->state = NEW;
        t->index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
        std::fill(t->clock, t->clock + SIM_WARP, 0);
        t->clock[i % SIM_WARP] = 1;
        t->spun = NULL;
    }
}

static bool may_run(const Thread *t)
{
    return t->state <= READY || (t->state == SPINNING && (*t->spun != t->spun_value || sim.looks));
}

static int count(State state)
{
    int n = 0;
    for (int i = 0; i < sim.threads; i++) n += sim.thread[i].state == state;
    return n;
}

/* Threads run until nobody can, or some wait for another block; false: nobody could. */
static bool run_threads(void)
{
    bool any = false;
    for (bool again = true; again && !sim.given_up;) {
        again = false;
        for (int i : in_order(sim.threads)) {
            if (!may_run(&sim.thread[i])) continue;
            run_thread(i);
            again = any = true;
            if (sim.given_up) return true;
        }
        if (again || count(SPINNING)) continue;
        if (count(IN_WARP)) report_deadlock();
        else if (count(AT_BARRIER)) open_barrier(), again = true;
    }
    return any;
}

static void report_spinning(void)
{
    for (int i = 0; i < sim.threads; i++) {
        const Thread *t = &sim.thread[i];
        if (t->state != SPINNING) continue;
        return block_fault("deadlock: thread " + std::to_string(i) + " waits at " + place_text(t->place) +
                           (sim.blocks.empty() ? " for another block, though the launch is not cooperative"
                                               : " for other blocks, which wait too or have returned"));
    }
}

static void run_block(void)
{
    static std::vector<Thread> threads(SIM_MOST_THREADS);
    sim.thread = threads.data();
    sim.stack = stack_of_slot(0);
    start_threads();
    sim.block++;
    sim.barriers = 0;
    sim_start_block(sim.config->dynamicSmemBytes);
    sim_forget_copies();
    run_threads();
    if (!sim.given_up) report_spinning();
}

/* ------------------------------------------------------------------ blocks of a cooperative launch */

static uint3 index_of_block(unsigned i)
{
    return {i % gridDim.x, i / gridDim.x % gridDim.y, i / gridDim.x / gridDim.y};
}

static void enter_block(int i)
{
    Block *b = &sim.blocks[i];
    sim.resident = i;
    sim.thread = b->thread.data();
    sim.stack = stack_of_slot(SIM_MOST_THREADS + (size_t)i * sim.threads);
    sim.block = sim.first_block + i;
    sim.barriers = b->barriers;
    blockIdx = index_of_block(i);
    sim_enter_block(i, sim.config->dynamicSmemBytes);
}

static void leave_block(void)
{
    Block *b = &sim.blocks[sim.resident];
    b->barriers = sim.barriers;
    b->done = count(RETURNED) == sim.threads;
    sim_leave_block(sim.resident);
}

/* Blocks by turns, each as far as it gets. */
static bool run_turns(void)
{
    bool any = false;
    for (int i : in_order((int)sim.blocks.size())) {
        if (sim.given_up) break;
        if (sim.blocks[i].done) continue;
        enter_block(i);
        any |= run_threads();
        leave_block();
    }
    return any;
}

static void run_together(int blocks)
{
    sim.blocks.assign(blocks, {std::vector<Thread>(sim.threads), Seen(blocks), 0, false});
    for (int i = 0; i < blocks; i++) {
        sim.thread = sim.blocks[i].thread.data();
        start_threads();
    }
    while (!sim.given_up && run_turns()) continue;
    for (sim.looks = sim_device.looks; !sim.given_up && sim.looks;) sim.looks = run_turns();
    sim.looks = false;
    for (int i = 0; i < blocks && !sim.given_up; i++) {
        if (sim.blocks[i].done) continue;
        enter_block(i);
        report_spinning();
        leave_block();
    }
    sim.block = sim.first_block + blocks - 1;
    sim.blocks.clear();
    sim.released.clear();
    sim_forget_blocks();
}

/* ------------------------------------------------------------------ launches */

static std::map<const void *, size_t> dynamic_limits; /* of kernels for which more was asked */

static bool is_cooperative(const cudaLaunchConfig_t *c)
{
    for (unsigned i = 0; i < c->numAttrs; i++)
        if (c->attrs[i].id == cudaLaunchAttributeCooperative && c->attrs[i].val.cooperative) return true;
    return false;
}

/* By threads and shared memory; registers are not known here. */
static int blocks_a_processor(size_t threads, size_t dynamic_bytes)
{
    enum { SHARED_A_PROCESSOR = 228 * 1024, SHARED_OF_SYSTEM = 1024 };
    size_t shared = dynamic_bytes + sim_static_shared() + SHARED_OF_SYSTEM;
    return (int)std::min<size_t>(SIM_THREADS_A_PROCESSOR / threads, SHARED_A_PROCESSOR / shared);
}

static cudaError_t refused_together(const cudaLaunchConfig_t *c, cudaError_t error)
{
    if (sim_refuses("invalidates")) sim_invalidate(c->stream);
    return sim_refused(error);
}

static cudaError_t check_launch(const cudaLaunchConfig_t *c)
{
    dim3 g = c->gridDim, b = c->blockDim;
    size_t threads = (size_t)b.x * b.y * b.z;
    if (sim_device.no_image) return sim_refuse(cudaErrorNoKernelImageForDevice, "%s: not compiled for this device", kernel_name().c_str());
    if (!threads || threads > SIM_MOST_THREADS || b.z > 64)
        return sim_refuse(cudaErrorInvalidConfiguration, "%s: a block of %u,%u,%u threads", kernel_name().c_str(), b.x, b.y, b.z);
    if (!g.x || !g.y || !g.z || g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535)
        return sim_refuse(cudaErrorInvalidConfiguration, "%s: a grid of %u,%u,%u blocks", kernel_name().c_str(), g.x, g.y, g.z);
    auto asked = dynamic_limits.find(sim.kernel);
    size_t dynamic_limit = asked == dynamic_limits.end() ? 48 * 1024 : asked->second;
    if (c->dynamicSmemBytes > dynamic_limit)
        return sim_refuse(cudaErrorInvalidConfiguration, "%s: %zu bytes of dynamic shared memory, more than the %zu it may have",
                          kernel_name().c_str(), c->dynamicSmemBytes, dynamic_limit);
    if (is_cooperative(c) && (size_t)g.x * g.y * g.z > 1 && sim_refuses("cooperative")) return refused_together(c, cudaErrorNotSupported);
    if (is_cooperative(c) && (size_t)g.x * g.y * g.z > 2 && sim_refuses("together"))
        return refused_together(c, cudaErrorCooperativeLaunchTooLarge);
    size_t at_once = (size_t)sim_device.processors * blocks_a_processor(threads, c->dynamicSmemBytes);
    if (is_cooperative(c) && (size_t)g.x * g.y * g.z > at_once)
        return sim_refuse(cudaErrorCooperativeLaunchTooLarge, "%s: a cooperative launch of %zu blocks, of which %zu can run at once",
                          kernel_name().c_str(), (size_t)g.x * g.y * g.z, at_once);
    return cudaSuccess;
}

/* The arguments as they were when the kernel was launched. */
static cudaError_t run_launch(const cudaLaunchConfig_t *config, bool cooperative, const void *kernel,
                              void (*thread)(const void *), const std::vector<max_align_t> &arguments, size_t bytes)
{
    sim.config = config;
    sim.kernel = kernel;
    sim.call = thread;
    sim.arguments = arguments.data();
    sim.argument_bytes = bytes;
    gridDim = config->gridDim;
    blockDim = config->blockDim;
    sim.threads = blockDim.x * blockDim.y * blockDim.z;
    sim.first_block = sim.block + 1;
    sim.given_up = false;
    if (sim_device.failing_launch && --sim_device.failing_launch == 0) {
        sim.given_up = true;
        note_fault(cudaErrorLaunchFailure, kernel_name() + ": made to fail");
    }
    int blocks = gridDim.x * gridDim.y * gridDim.z;
    if (cooperative) {
        if (!sim.given_up) run_together(blocks);
    } else {
        for (int i : in_order(blocks)) {
            if (sim.given_up) break;
            blockIdx = index_of_block(i);
            run_block();
        }
    }
    sim.arguments = NULL;
    sim.argument_bytes = 0;
    sim_spend(2e-3 + 1e-8 * gridDim.x * gridDim.y * gridDim.z * sim.threads);
    return sim.given_up ? sim.error : cudaSuccess;
}

cudaError_t sim_launch(const cudaLaunchConfig_t *config, const void *kernel, void (*thread)(const void *),
                       const void *arguments, size_t bytes)
{
    sim.kernel = kernel;
    cudaError_t refused = check_launch(config);
    if (refused != cudaSuccess) return refused;
    cudaLaunchConfig_t c = *config;
    std::vector<max_align_t> copy(bytes / sizeof(max_align_t) + 1);
    memcpy(copy.data(), arguments, bytes);
    bool cooperative = is_cooperative(config);
    c.attrs = NULL, c.numAttrs = 0; /* the caller's, who may be gone */
    return sim_enqueue(config->stream, "a launch", [=] { return run_launch(&c, cooperative, kernel, thread, copy, bytes); });
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute what, int value)
{
    size_t own = sim_static_shared();
    if (what == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
    if (value < 0 || value + own > 227 * 1024)
        return sim_refuse(cudaErrorInvalidValue, "%d bytes of dynamic shared memory beside %zu of __shared__ arrays: no block can have that",
                          value, own);
    dynamic_limits[kernel] = std::max(48 * 1024, value);
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *)
{
    *attributes = {sim_static_shared()};
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t e = sim.error;
    sim.error = cudaSuccess;
    return e;
}

cudaError_t cudaPeekAtLastError(void) { return sim.error; }
cudaError_t sim_unready(void) { return sim_refused(cudaErrorNotReady); }
cudaError_t sim_refused(cudaError_t error) { return sim.error = error; }

void sim_order(Sim_order order, unsigned seed)
{
    sim.order = order;
    sim.random.seed(seed);
}

const char *sim_report(void)
{
    static std::string last;
    last = sim.report;
    sim.report.clear();
    sim.error = cudaSuccess;
    return last.c_str();
}

int sim_pick(int n)
{
    return sim.order == SIM_FORWARD ? 0 : sim.order == SIM_BACKWARD ? n - 1 : (int)(sim.random() % (unsigned)n);
}
