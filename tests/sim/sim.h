/* sim.h: a simulator of CUDA for tests: what it says of a program's kernels, and what its two halves share.
 *
 * One thread of the CPU runs a block at a time, each CUDA thread as a fiber of its own that runs until it has to wait.
 * Said, with the kernel, the block and the thread, and the launch is given up:
 *   - a load or store outside of any allocation, of shared memory and of constants; host memory in a kernel
 *   - two threads at one byte, one of them writing, that neither a barrier nor __syncwarp has put in order
 *   - shared memory read before its block has written it
 *   - threads of a block at different barriers, or some at one while others have returned
 *   - a shuffle or vote whose mask leaves its caller out, names a lane that has returned, or that others call otherwise
 *   - threads that wait for each other for ever
 *   - shared memory read, or written, where an asynchronous copy has not been waited for; copies that nobody waits for
 *   - a grid, a block or shared memory larger than the hardware has; a cooperative launch of more blocks than run at once
 *   - of a cooperative launch: two blocks at one byte, one of them writing, of which none has acquired what the other released
 *     after it; blocks that wait for others for ever
 * Memory is watched through what g++ -fsanitize=thread puts before every access: kernels are compiled with it and linked
 * without its library, sim_memory.cc takes its place.  Not seen: timing, the memory model across blocks but for what is released and acquired, what the lanes of a
 * warp do in lockstep (nothing here relies on it). */
#ifndef SIM_H
#define SIM_H

#include <cuda_runtime.h>
#include <functional>

enum { SIM_PROCESSORS = 132, SIM_THREADS_A_PROCESSOR = 2048 };
enum Sim_order { SIM_FORWARD, SIM_BACKWARD, SIM_SHUFFLED };

extern "C" {
void sim_order(Sim_order order, unsigned seed); /* in which blocks and threads run, from now on */
const char *sim_report(void);                   /* what was said since it was last asked; "" if nothing */
long sim_conflicts(void);                       /* since it was last asked: how many rounds ldmatrix took more than one a matrix */

/* The device, as it tells of itself (sim_device.cc). */
struct Sim_device {
    const char *name = "Simulated GPU";
    int count = 1, major = 9, minor = 0, driver = 13000, runtime = 13000;
    int processors = SIM_PROCESSORS; /* no more than that */
    size_t memory = (size_t)4 << 30;
    bool no_image = false;      /* it is too old for the program's kernels */
    int failing_launch = 0;     /* the so manieth launch from now on fails */
    bool looks = false;         /* blocks that wait for each other for ever look again and again, rather than to be reported */
    const char *refuses = NULL; /* what it refuses, in words: sim_refuses; NULL: those of SIM_REFUSES in the environment */
    int stuck_after = 0;        /* an event that was recorded so often is never reached, for those who ask */
};
extern Sim_device sim_device;

/* Whether this call of what the word names is refused: "cooperative graph:3" refuses cooperative launches, and graphs from the third
 * on; nothing is complained of.  Words: cooperative, together (more than two blocks), invalidates
 * (such a refusal breaks the capture that it is in), capture, captured (its end), graph; of
 * cuBLASLt's (fake_cublaslt.cc) start, algorithm, product; of cuDNN's (fake_cudnn.cc) execute.  Mistakes, by the same rule: wrong_wide,
 * wrong_all, wrong_end: the last element of a product, by the algorithm for 16 bytes, by any, by any with an epilogue;
 * wrong_attention: all keys are seen. */
bool sim_refuses(const char *word); /* NULL: calls are counted anew */

void sim_processors(int n);  /* for programs that load the simulator */

/* What its algorithms take, in ms: any, one for 16 bytes, one that divides k; and what an epilogue adds (fake_cublaslt.cc). */
void fake_cublaslt_costs(double plain, double wide, double divided, double epilogue);
void fake_cublaslt_version(size_t version);
void fake_cublaslt_epilogues(bool some, bool of_gelu); /* whether it has any; whether those of gelu too */
}

/* ---- between the halves */

enum { SIM_WARP = 32, SIM_MOST_THREADS = 1024 };

/* When a thread did something: by the block it ran in (they are numbered through all launches), how many barriers it
 * had passed, and its own count of __syncwarp. */
struct Sim_moment {
    uint32_t block, barriers, clock;
    uint16_t thread;
    bool atomic;
    bool flying; /* it is where an asynchronous copy has not landed yet */
};

[[noreturn]] void sim_fault(cudaError_t error, const char *format, ...) __attribute__((format(printf, 2, 3)));
cudaError_t sim_refuse(cudaError_t error, const char *format, ...) __attribute__((format(printf, 2, 3)));
cudaError_t sim_unready(void);                 /* cudaErrorNotReady, which cudaGetLastError tells of as of others */
cudaError_t sim_refused(cudaError_t error);    /* the same of any */
bool sim_seen(const Sim_moment *before);       /* has this thread seen what one of another block did then? */
/* Puts work into a stream, or into what it is captured for; does it at once in the default stream. */
cudaError_t sim_enqueue(cudaStream_t stream, const char *name, std::function<cudaError_t(void)> work);
void sim_invalidate(cudaStream_t stream);      /* what it is captured for, without a word */
cudaError_t sim_uncaptured(const char *name);  /* an error where a stream is captured */
cudaError_t sim_synchronous(const char *name); /* that, and the blocking streams do what waits in them */
void sim_spend(double ms);                     /* on the clock that events read */
int sim_pick(int n);                           /* the next of n things that may come in any order (sim_order) */
cudaError_t sim_copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t sim_set(void *at, int value, size_t bytes);
size_t sim_allocated(void);
size_t sim_most_allocated(void);
/* Memory of the device that cudaMalloc has not given (fake_driver.cc): whether there is so much; addresses of it. */
bool sim_take(size_t bytes);
void sim_give_back(size_t bytes);
void sim_add_memory(void *at, size_t bytes);
void sim_forget_memory(void *at);              /* where it is, if there is any */
bool sim_on_device(const void *at, size_t bytes); /* all of them in one allocation, shared memory or constants */

void sim_start_block(size_t dynamic_bytes);    /* what shared memory holds is forgotten */
void sim_enter_block(int block, size_t dynamic_bytes); /* of a cooperative launch: its shared memory is there, until */
void sim_leave_block(int block);
void sim_forget_blocks(void);                  /* of the launch that ends */
bool sim_shared(const void *at);
size_t sim_static_shared(void);                /* bytes of __shared__ arrays that a kernel may have */
void sim_atomic_read(const void *at, size_t bytes);
void sim_touch(const void *at, size_t bytes, bool write);          /* an access of the thread that runs */
void sim_take_off(void *to, size_t bytes);                         /* a copy to there begins */
void sim_land(void *to, const void *from, size_t bytes);           /* and ends; from NULL: zeros */
void sim_matrices(Sim_op op, const uint64_t *brought);             /* by the 32 lanes */
void sim_forget_copies(void);
void sim_thread_ends(void);

#endif
