/* sim_threads.h: what the simulator's threads (sim_threads.cc) and launches (sim_launch.cc) share. */
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

extern struct Sim {
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
} sim;

char *stack_of_slot(size_t slot);               /* one for each thread that can be there at once */
void run_thread(int i);                         /* until it has to wait, or returns */
std::string kernel_name(void);
std::string place_text(Sim_place p);
void note_fault(cudaError_t error, const std::string &text);    /* the first is kept */
void block_fault(const std::string &text);      /* the launch is given up */
void open_barrier(void);
void report_deadlock(void);

#endif
