/* sim_threads.cc: the simulator's threads: fibers, faults, barriers, what passes between blocks, warps.  Compiled without
 * -fsanitize=thread. */
#include "sim_threads.h"

#include <algorithm>
#include <cstddef>
#include <cxxabi.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

uint3 threadIdx __attribute__((section("sim_words"))) = {0, 0, 0};
uint3 blockIdx __attribute__((section("sim_words"))) = {0, 0, 0};
dim3 blockDim __attribute__((section("sim_words")));
dim3 gridDim __attribute__((section("sim_words")));

struct Sim sim;

/* ------------------------------------------------------------------ fibers */

#if defined __x86_64__
/* Keeps what a function must keep on the stack that is left, and takes it from the one that is entered. */
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

enum { PAGE = 4096 };
static const uint64_t untouched = 0x1badcafe2badcafe;

/* One for each thread of a block; the lowest page of each cannot be touched, so an overflow stops the program.  Behind them
 * those of cooperative launches, whose lowest word is looked at: a page for each would be more than a process may have. */
static char *new_stacks(void)
{
    char *all = (char *)mmap(NULL, SIM_STACKS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) abort();
    for (size_t i = 0; i < SIM_MOST_THREADS; i++) mprotect(all + i * SIM_STACK, PAGE, PROT_NONE);
    return all;
}

/* Each guarded stack is two mappings, of which a process may have 65,530: a library that is closed gives its own back. */
__attribute__((destructor)) static void free_stacks(void)
{
    if (sim.stacks) munmap(sim.stacks, SIM_STACKS);
}

char *stack_of_slot(size_t slot)
{
    if (!sim.stacks) sim.stacks = new_stacks();
    return sim.stacks + slot * SIM_STACK;
}

/* ------------------------------------------------------------------ state */

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

std::string kernel_name(void)
{
    Dl_info info;
    if (!dladdr(sim.kernel, &info) || !info.dli_sname) return "a kernel";
    int status;
    char *words = abi::__cxa_demangle(info.dli_sname, NULL, NULL, &status);
    std::string name = words ? words : info.dli_sname;
    free(words);
    return name.substr(0, name.find('('));
}

void note_fault(cudaError_t error, const std::string &text)
{
    if (sim.error == cudaSuccess) sim.error = error;
    if (sim.report.empty()) sim.report = text;
}

cudaError_t sim_refuse(cudaError_t error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    note_fault(error, text_of(format, list));
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
    note_fault(error, kernel_name() + where + text_of(format, list));
    va_end(list);
    sim.given_up = true;
    switch_to(&sim.thread[sim.now].context, &sim.scheduler);
    abort();
}

void block_fault(const std::string &text)
{
    char where[64];
    snprintf(where, sizeof where, ": block %u,%u,%u: ", blockIdx.x, blockIdx.y, blockIdx.z);
    note_fault(cudaErrorLaunchFailure, kernel_name() + where + text);
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

std::string place_text(Sim_place p)
{
    const char *slash = strrchr(p.file, '/');
    return std::string(slash ? slash + 1 : p.file) + ":" + std::to_string(p.line);
}

void sim_syncthreads(Sim_place at) { wait(AT_BARRIER, at); }

/* Nobody can run: the barrier opens, or something is wrong. */
void open_barrier(void)
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

void sim_give_up(unsigned *stuck, unsigned loop)
{
    if (stuck) *stuck = loop;
    sim_fault(cudaErrorLaunchFailure, "__trap()");
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
        for (int k = 0; k < SIM_WARP && meet; k++) seen[k] = std::max(seen[k], warp[l].clock[k]);
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

/* Have all lanes of its mask come?  Its neighbours are asked first: lanes mostly come one after another. */
static bool all_meet(const Thread *warp, int lanes, const Thread *t)
{
    int lane = (int)(t - warp);
    for (int k = 1; k < SIM_WARP; k++) {
        int l = (k & 1 ? lane + (k + 1) / 2 : lane - k / 2) & (SIM_WARP - 1);
        if ((t->mask >> l & 1) && (l >= lanes || !meets(&warp[l], t))) return false;
    }
    return true;
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
    if (all_meet(warp, lanes, t)) {
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
void report_deadlock(void)
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

/* ------------------------------------------------------------------ running */

static void fiber(void)
{
    sim.call(sim.arguments);
    sim_thread_ends();
    sim.thread[sim.now].state = RETURNED;
    switch_to(&sim.thread[sim.now].context, &sim.scheduler);
}

void run_thread(int i)
{
    Thread *t = &sim.thread[i];
    char *stack = sim.stack + (size_t)i * SIM_STACK;
    bool watched = !sim.blocks.empty();
    if (t->state == NEW) {
        make_context(&t->context, stack, SIM_STACK, fiber);
        if (watched) memcpy(stack, &untouched, sizeof untouched);
    }
    t->state = READY;
    threadIdx = t->index;
    sim.now = i;
    switch_to(&sim.scheduler, &t->context);
    sim.now = -1;
    if (watched && memcmp(stack, &untouched, sizeof untouched) != 0) abort();
}
