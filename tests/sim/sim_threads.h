/* sim_threads.h: what the simulator's threads (sim_threads.cc) and launches (sim_launch.cc) share, and what is asked at every
 * access to memory. */
#ifndef SIM_THREADS_H
#define SIM_THREADS_H

#include "sim.h"

#include <map>
#include <random>
#include <string>
#include <vector>

#if defined __x86_64__
typedef void *Context;
#else
#include <ucontext.h>
typedef ucontext_t Context;
#endif

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

enum {
    SIM_STACK = 64 * 1024,          /* bytes of a thread's */
    SIM_MOST_STACKS = SIM_MOST_THREADS + SIM_PROCESSORS * SIM_THREADS_A_PROCESSOR
};
static const size_t SIM_STACKS = (size_t)SIM_STACK * SIM_MOST_STACKS;

extern struct Sim {
    Thread *thread;                 /* of the block that runs */
    char *stacks;                   /* of all that can be there at once; NULL: none was wanted yet */
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
    bool looks;                     /* threads that spin run again though nothing has changed */
    const cudaLaunchConfig_t *config;
    const void *kernel;
    void (*call)(const void *);
    const void *arguments;
    size_t argument_bytes;
    cudaError_t error;
    std::string report;
    Sim_order order;
    std::mt19937 random;
} sim __attribute__((visibility("hidden")));
extern "C" char __start_sim_words[] __attribute__((visibility("hidden"))); /* threadIdx and the like */
extern "C" char __stop_sim_words[] __attribute__((visibility("hidden")));

/* Does a kernel's thread have the CPU?  Not before main, where `now` is not set yet. */
static inline bool sim_running(void) { return sim.threads && sim.now >= 0; }

/* Stacks, arguments, threadIdx and the like. */
static inline bool sim_own_memory(const void *at)
{
    size_t p = (size_t)at;
    return p - (size_t)sim.stacks < SIM_STACKS || p - (size_t)sim.arguments < sim.argument_bytes ||
           p - (size_t)__start_sim_words < (size_t)(__stop_sim_words - __start_sim_words);
}

static inline Sim_moment sim_now(void)
{
    return {sim.block, sim.barriers, sim.thread[sim.now].clock[sim.now % SIM_WARP], (uint16_t)sim.now, false, false};
}

/* Has this thread seen what another of its block did then? */
static inline bool sim_ordered(const Sim_moment *before)
{
    bool same_warp = before->thread / SIM_WARP == sim.now / SIM_WARP;
    return before->barriers < sim.barriers ||
           (same_warp && before->clock < sim.thread[sim.now].clock[before->thread % SIM_WARP]);
}

char *stack_of_slot(size_t slot);               /* one for each thread that can be there at once */
void run_thread(int i);                         /* until it has to wait, or returns */
std::string kernel_name(void);
std::string place_text(Sim_place p);
void note_fault(cudaError_t error, const std::string &text);    /* the first is kept */
void block_fault(const std::string &text);      /* the launch is given up */
void open_barrier(void);
void report_deadlock(void);

#endif
