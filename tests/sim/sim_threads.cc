/* sim_threads.cc: the simulator's threads: fibers, barriers, warps, launches.  Compiled without -fsanitize=thread.
 *
 * Of a cooperative launch all blocks are there at once: one runs until its threads can go no further, then the next, each with
 * the shared memory that is its own (sim_memory.cc).  What a block has seen of another follows from what it acquires of what
 * that one released, and nothing else (struct Block). */
#include "sim.h"

#include <algorithm>
#include <cstddef>
#include <cxxabi.h>
#include <dlfcn.h>
#include <map>
#include <random>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <sys/mman.h>
#include <vector>

uint3 threadIdx __attribute__((section("sim_words"))) = {0, 0, 0};
uint3 blockIdx __attribute__((section("sim_words"))) = {0, 0, 0};
dim3 blockDim __attribute__((section("sim_words")));
dim3 gridDim __attribute__((section("sim_words")));
extern "C" char __start_sim_words[] __attribute__((visibility("hidden")));
extern "C" char __stop_sim_words[] __attribute__((visibility("hidden")));

/* ------------------------------------------------------------------ fibers */

#if defined __x86_64__
/* Keeps what a function must keep on the stack that is left, and takes it from the one that is entered. */
typedef void *Context;
extern "C" void sim_switch(Context *from, Context to);
asm(".text\n.globl sim_switch\n.hidden sim_switch\nsim_switch:\n"
    "push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
    "mov %rsp, (%rdi); mov %rsi, %rsp\n"
    "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret\n");
static void switch_to(Context *from, Context *to) { sim_switch(from, *to); }
static void make_context(Context *c, char *stack, size_t bytes, void (*start)(void))
{
    void **top = (void **)(stack + bytes) - 2; /* at start's first instruction the stack is 8 more than a multiple of 16 */
    top[0] = (void *)start;
    top[1] = NULL;
    *c = top - 6;
}
#else
#include <ucontext.h>
typedef ucontext_t Context;
static void switch_to(Context *from, Context *to) { swapcontext(from, to); }
static void make_context(Context *c, char *stack, size_t bytes, void (*start)(void))
{
    getcontext(c);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = bytes;
    c->uc_link = NULL;
    makecontext(c, start, 0);
}
#endif

enum { STACK = 64 * 1024, PAGE = 4096, MOST_FIBERS = SIM_MOST_THREADS + SIM_PROCESSORS * SIM_THREADS_A_PROCESSOR };
static const uint64_t untouched = 0x1badcafe2badcafe;

/* One for each thread of a block; the lowest page of each cannot be touched, so an overflow stops the program.  Behind them
 * those of cooperative launches, whose lowest word is looked at: a page for each would be more than a process may have. */
static char *stacks(void)
{
    static char *all;
    if (all) return all;
    size_t bytes = (size_t)STACK * MOST_FIBERS;
    all = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) abort();
    for (size_t i = 0; i < SIM_MOST_THREADS; i++) mprotect(all + i * STACK, PAGE, PROT_NONE);
    return all;
}

/* ------------------------------------------------------------------ state */

enum State { NEW, READY, AT_BARRIER, IN_WARP, SPINNING, RETURNED };

typedef std::vector<uint32_t> Seen; /* of each block of a cooperative launch: how many of its barriers */

struct Thread {
    Context context;
    State state;
    uint3 index;
    Sim_place place;                /* where it waits */
    Sim_op op;                      /* IN_WARP: what it has asked for, and the answer */
    unsigned mask;
    uint64_t value;
    int argument, width;
    uint32_t clock[SIM_WARP];       /* what it has seen of the lanes of its warp; its own: how often it has met them */
    const unsigned *spun;           /* SPINNING: until this number is another one than it was; NULL: it has not looked yet */
    unsigned spun_value;
    Seen acquired;                  /* what it has seen of other blocks, and not yet told its own at a barrier */
};

/* One of a cooperative launch.  It has seen what others did before so many of their barriers. */
struct Block {
    std::vector<Thread> thread;
    Seen seen;
    uint32_t barriers;
    bool done;
};

static struct {
    Thread *thread;                 /* of the block that runs */
    char *stack;                    /* of its first thread */
    int threads;                    /* of a block */
    std::vector<Block> blocks;      /* of a cooperative launch; else empty */
    int resident;                   /* which of them runs */
    std::map<const void *, Seen> released;
    int now = -1;                   /* the one that runs; -1: none */
    Context scheduler;
    uint32_t block, first_block;    /* numbered through all launches, from 1 */
    uint32_t barriers;              /* passed by this block */
    bool given_up;
    const cudaLaunchConfig_t *config;
    const void *kernel;
    void (*call)(const void *);
    const void *arguments;
    size_t argument_bytes;
    cudaError_t error;
    std::string report;
    Sim_order order;
    std::mt19937 random;
} sim;

bool sim_running(void) { return sim.threads && sim.now >= 0; } /* not before main, where `now` is not set yet */
uint32_t sim_first_block(void) { return sim.first_block; }

bool sim_own_memory(const void *at)
{
    const char *p = (const char *)at, *all = stacks(), *arguments = (const char *)sim.arguments;
    return (p >= all && p < all + (size_t)STACK * MOST_FIBERS) ||
           (p >= __start_sim_words && p < __stop_sim_words) || (p >= arguments && p < arguments + sim.argument_bytes);
}

Sim_moment sim_now(void)
{
    return {sim.block, sim.barriers, sim.thread[sim.now].clock[sim.now % SIM_WARP], (uint16_t)sim.now, false, false};
}

bool sim_ordered(const Sim_moment *before)
{
    bool same_warp = before->thread / SIM_WARP == sim.now / SIM_WARP;
    return before->barriers < sim.barriers ||
           (same_warp && before->clock < sim.thread[sim.now].clock[before->thread % SIM_WARP]);
}

static void join(Seen *seen, const Seen &more)
{
    if (seen->size() < more.size()) seen->resize(more.size());
    for (size_t i = 0; i < more.size(); i++) (*seen)[i] = std::max((*seen)[i], more[i]);
}

/* Of another block of this launch. */
bool sim_seen(const Sim_moment *before)
{
    if (sim.blocks.empty()) return false;
    size_t other = before->block - sim.first_block;
    const Seen &block = sim.blocks[sim.resident].seen, &thread = sim.thread[sim.now].acquired;
    return before->barriers < block[other] || (other < thread.size() && before->barriers < thread[other]);
}

/* ------------------------------------------------------------------ faults */

static std::string text_of(const char *format, va_list list)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, list);
    return text;
}

static std::string kernel_name(void)
{
    Dl_info info;
    if (!dladdr(sim.kernel, &info) || !info.dli_sname) return "a kernel";
    int status;
    char *words = abi::__cxa_demangle(info.dli_sname, NULL, NULL, &status);
    std::string name = words ? words : info.dli_sname;
    free(words);
    return name.substr(0, name.find('('));
}

static void note(cudaError_t error, const std::string &text)
{
    if (sim.error == cudaSuccess) sim.error = error;
    if (sim.report.empty()) sim.report = text;
}

cudaError_t sim_refuse(cudaError_t error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    note(error, text_of(format, list));
    va_end(list);
    return error;
}

/* From a thread: its launch is given up.  From between threads: see check(). */
void sim_fault(cudaError_t error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char where[96];
    snprintf(where, sizeof where, ": block %u,%u,%u, thread %u,%u,%u: ", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x,
             threadIdx.y, threadIdx.z);
    note(error, kernel_name() + where + text_of(format, list));
    va_end(list);
    sim.given_up = true;
    switch_to(&sim.thread[sim.now].context, &sim.scheduler);
    abort();
}

static void block_fault(const std::string &text)
{
    char where[64];
    snprintf(where, sizeof where, ": block %u,%u,%u: ", blockIdx.x, blockIdx.y, blockIdx.z);
    note(cudaErrorLaunchFailure, kernel_name() + where + text);
    sim.given_up = true;
}

/* ------------------------------------------------------------------ waiting */

static void wait(State state, Sim_place at)
{
    Thread *t = &sim.thread[sim.now];
    t->state = state;
    t->place = at;
    switch_to(&t->context, &sim.scheduler);
}

static bool same_place(Sim_place a, Sim_place b) { return a.number == b.number && a.line == b.line && a.file == b.file; }

static std::string place_text(Sim_place p)
{
    const char *slash = strrchr(p.file, '/');
    return std::string(slash ? slash + 1 : p.file) + ":" + std::to_string(p.line);
}

void sim_syncthreads(Sim_place at) { wait(AT_BARRIER, at); }

/* Nobody can run: the barrier opens, or something is wrong. */
static void open_barrier(void)
{
    const Thread *first = NULL;
    for (int i = 0; i < sim.threads; i++) {
        const Thread *t = &sim.thread[i];
        if (t->state == AT_BARRIER && !first) first = t;
    }
    for (int i = 0; i < sim.threads; i++) {
        const Thread *t = &sim.thread[i];
        std::string who = "thread " + std::to_string(i);
        if (t->state == RETURNED)
            return block_fault("divergent barrier: " + who + " has returned, others wait at " + place_text(first->place));
        if (!same_place(t->place, first->place))
            return block_fault("divergent barrier: " + who + " waits at " + place_text(t->place) + ", others at " +
                               place_text(first->place));
    }
    sim.barriers++;
    for (int i = 0; i < sim.threads; i++) {
        Thread *t = &sim.thread[i];
        t->state = READY;
        if (sim.blocks.empty()) continue;
        join(&sim.blocks[sim.resident].seen, t->acquired);
        t->acquired.clear();
    }
}

/* ------------------------------------------------------------------ between blocks */

/* What the thread's block did before its last barrier, and what that has seen, is there for who acquires the number. */
unsigned sim_add_release(unsigned *at, unsigned n)
{
    unsigned before = *at;
    sim_atomic(at, sizeof *at);
    *at = before + n;
    if (sim.blocks.empty()) return before;
    Seen *to = &sim.released[at];
    join(to, sim.blocks[sim.resident].seen);
    join(to, sim.thread[sim.now].acquired);
    (*to)[sim.resident] = std::max((*to)[sim.resident], sim.barriers);
    return before;
}

/* Who looks again lets others run until the number is another one. */
unsigned sim_load_acquire(const unsigned *at, Sim_place place)
{
    Thread *t = &sim.thread[sim.now];
    sim_atomic_read(at, sizeof *at);
    if (t->spun == at && *at == t->spun_value) wait(SPINNING, place);
    t->spun = at;
    t->spun_value = *at;
    auto released = sim.released.find(at);
    if (released != sim.released.end()) join(&t->acquired, released->second);
    return *at;
}

/* ------------------------------------------------------------------ warps */

static const char *const op_names[] = {"__syncwarp",      "__shfl_sync",   "__shfl_up_sync", "__shfl_down_sync",
                                       "__shfl_xor_sync", "__ballot_sync", "__any_sync",     "__all_sync",
                                       "mma",             "ldmatrix"};

static uint64_t answer(const Thread *warp, int lane, int lanes, unsigned votes)
{
    const Thread *t = &warp[lane];
    int first = lane / t->width * t->width, from = lane;
    switch (t->op) {
    case SIM_SYNCWARP: return 0;
    case SIM_MMA:
    case SIM_LDMATRIX: return t->value;
    case SIM_BALLOT: return votes;
    case SIM_ANY: return votes != 0;
    case SIM_ALL: return votes == t->mask;
    case SIM_SHFL: from = first + (t->argument & (t->width - 1)); break;
    case SIM_SHFL_UP: from = lane - t->argument < first ? lane : lane - t->argument; break;
    case SIM_SHFL_DOWN: from = lane + t->argument >= first + t->width ? lane : lane + t->argument; break;
    case SIM_SHFL_XOR: from = lane ^ t->argument; break;
    }
    if (t->op == SIM_SHFL_XOR && from / t->width > lane / t->width) from = lane;
    bool there = from >= 0 && from < lanes && (t->mask >> from & 1);
    return there ? warp[from].value : ~0ull; /* undefined: NaN */
}

/* All lanes of the mask have come. */
static void finish_warp(Thread *warp, int lanes, unsigned mask)
{
    uint64_t answers[SIM_WARP] = {0};
    unsigned votes = 0;
    uint32_t seen[SIM_WARP] = {0};
    bool meet = false;
    for (int l = 0; l < lanes; l++) {
        if (!(mask >> l & 1)) continue;
        votes |= (unsigned)(warp[l].value & 1) << l;
        meet = warp[l].op == SIM_SYNCWARP;
        for (int k = 0; k < SIM_WARP; k++) seen[k] = std::max(seen[k], warp[l].clock[k]);
    }
    for (int l = 0; l < lanes; l++)
        if (mask >> l & 1) answers[l] = answer(warp, l, lanes, votes);
    if (warp[0].op >= SIM_MMA) sim_matrices(warp[0].op, answers); /* of all 32 lanes */
    for (int l = 0; l < lanes; l++) {
        if (!(mask >> l & 1)) continue;
        warp[l].value = answers[l];
        warp[l].state = READY;
        for (int k = 0; k < SIM_WARP && meet; k++) warp[l].clock[k] = seen[k] + (mask >> k & 1);
    }
}

/* Does a lane that waits do so for the same thing? */
static bool meets(const Thread *waiting, const Thread *t)
{
    return waiting->state == IN_WARP && waiting->op == t->op && waiting->mask == t->mask;
}

uint64_t sim_collective(Sim_op op, Sim_place at, unsigned mask, uint64_t value, int argument, int width)
{
    int lane = sim.now % SIM_WARP, base = sim.now - lane, lanes = std::min<int>(SIM_WARP, sim.threads - base);
    Thread *warp = &sim.thread[base], *t = &warp[lane];
    const char *name = op_names[op];
    if (!(mask >> lane & 1))
        sim_fault(cudaErrorLaunchFailure, "%s with mask %08x, which leaves out its own lane %d", name, mask, lane);
    if (width <= 0 || width > SIM_WARP || (width & (width - 1)))
        sim_fault(cudaErrorLaunchFailure, "%s of width %d", name, width);
    t->op = op, t->mask = mask, t->value = value, t->argument = argument, t->width = width, t->place = at;
    bool complete = true;
    for (int l = 0; l < SIM_WARP; l++) {
        if (l == lane || !(mask >> l & 1)) continue;
        complete &= l < lanes && meets(&warp[l], t);
    }
    if (complete) {
        t->state = IN_WARP;
        finish_warp(warp, lanes, mask);
    } else {
        wait(IN_WARP, at);
    }
    return t->value;
}

static std::string what_it_does(const Thread *t, bool there)
{
    char mask[32];
    snprintf(mask, sizeof mask, " with mask %08x at ", t->mask);
    if (!there) return "is not there";
    if (t->state == RETURNED) return "has returned";
    if (t->state == AT_BARRIER) return "waits at the barrier " + place_text(t->place);
    return std::string("waits in ") + op_names[t->op] + mask + place_text(t->place);
}

/* Threads wait in warps for lanes that never come. */
static void report_deadlock(void)
{
    for (int i = 0; i < sim.threads; i++) {
        const Thread *t = &sim.thread[i];
        if (t->state != IN_WARP) continue;
        for (int lane = 0; lane < SIM_WARP; lane++) {
            int other = i / SIM_WARP * SIM_WARP + lane;
            const Thread *o = &sim.thread[other];
            if (!(t->mask >> lane & 1) || other == i || (other < sim.threads && meets(o, t))) continue;
            return block_fault("deadlock: thread " + std::to_string(i) + " " + what_it_does(t, true) + " for lane " +
                               std::to_string(lane) + ", which " + what_it_does(o, other < sim.threads));
        }
    }
    block_fault("deadlock");
}

/* ------------------------------------------------------------------ blocks */

static void fiber(void)
{
    sim.call(sim.arguments);
    sim_thread_ends();
    sim.thread[sim.now].state = RETURNED;
    switch_to(&sim.thread[sim.now].context, &sim.scheduler);
}

static void run(int i)
{
    Thread *t = &sim.thread[i];
    char *stack = sim.stack + (size_t)i * STACK;
    bool watched = !sim.blocks.empty();
    if (t->state == NEW) {
        make_context(&t->context, stack, STACK, fiber);
        if (watched) memcpy(stack, &untouched, sizeof untouched);
    }
    t->state = READY;
    threadIdx = t->index;
    sim.now = i;
    switch_to(&sim.scheduler, &t->context);
    sim.now = -1;
    if (watched && memcmp(stack, &untouched, sizeof untouched) != 0) abort();
}

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
    return t->state <= READY || (t->state == SPINNING && *t->spun != t->spun_value);
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
            run(i);
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
    sim.stack = stacks();
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
    sim.stack = stacks() + (size_t)STACK * (SIM_MOST_THREADS + (size_t)i * sim.threads);
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

/* By threads and dynamic shared memory; registers are not known here. */
static int blocks_a_processor(size_t threads, size_t dynamic_bytes)
{
    enum { SHARED_A_PROCESSOR = 228 * 1024, SHARED_OF_SYSTEM = 1024 };
    return (int)std::min<size_t>(SIM_THREADS_A_PROCESSOR / threads, SHARED_A_PROCESSOR / (dynamic_bytes + SHARED_OF_SYSTEM));
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
        note(cudaErrorLaunchFailure, kernel_name() + ": made to fail");
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

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute, int value)
{
    if (value < 0 || value > 227 * 1024)
        return sim_refuse(cudaErrorInvalidValue, "%d bytes of dynamic shared memory: no block can have that", value);
    dynamic_limits[kernel] = std::max(48 * 1024, value);
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int threads, size_t dynamic_bytes)
{
    if (threads <= 0 || threads > SIM_MOST_THREADS)
        return sim_refuse(cudaErrorInvalidValue, "cudaOccupancyMaxActiveBlocksPerMultiprocessor: %d threads", threads);
    *blocks = dynamic_bytes > 227 * 1024 ? 0 : blocks_a_processor(threads, dynamic_bytes);
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t e = sim.error;
    sim.error = cudaSuccess;
    return e;
}

cudaError_t cudaPeekAtLastError(void) { return sim.error; }

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
