/* pool.h: a pool of threads that lies in the caller's memory, and the parallel regions that it runs. */
#ifndef LATHE_THREADS_POOL_H
#define LATHE_THREADS_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Pool Pool;

/* The caller's own threads: calls work(data, k) for each k of 0 … threads - 1, all at the same time (they wait for each
 * other), and returns when all have returned. */
typedef void Run_threads(void *with, int threads, void (*work)(void *data, int thread), void *data);

size_t pool_bytes(int threads);
/* pool: pool_bytes(threads) bytes, 64-byte aligned.  run NULL: starts threads - 1 threads, which get no signals and
 * sleep between regions.  owner: whose it is.  Returns NULL, or why it failed; then nothing is left to close. */
const char *open_pool(Pool *pool, int threads, Run_threads *run, void *with, void *owner);
void close_pool(Pool *pool); /* not while a region runs */

/* From now on regions that the calling thread begins run in this pool.  NULL: they have one thread.  Returns the pool
 * until now, which the caller sets again at its end.  If two threads begin regions in one pool at the same time, the
 * later region has one thread.  Not inlined: gcc holds that functions of OpenMP do not read the variables of a file. */
Pool *use_pool(Pool *pool) __attribute__((noinline));
/* For a call from within a region of another pool: leaves all regions, and returns to them. */
void *leave_regions(void) __attribute__((noinline));
void return_to_regions(void *regions) __attribute__((noinline));
void *owner_of_pool(void); /* of the one that the calling thread uses or works for; NULL: there is none */

/* ---- what a compiler's OpenMP calls are made of (threads/gomp.c) */

/* Iterations start, start + step, … before end, which threads take in chunks.  The numbers are modulo 2^64. */
typedef struct Shares {
    uint64_t start, end, step, chunk;
    uint64_t all; /* number of iterations */
} Shares;

/* Runs body(data) in `threads` threads, at most the pool's (0: all of them).  Within a region of several threads, and
 * without a pool, it has one.  shares: of a loop that is begun in all of them; NULL: none. */
void run_region(void (*body)(void *), void *data, unsigned threads, const Shares *shares);
void meet_region(void); /* waits until all threads of the region have come */

/* A loop: each thread of the region begins it, takes shares while there are any, and ends it.  It does not wait for the
 * others. */
void begin_shares(const Shares *shares);
bool take_share(uint64_t *from, uint64_t *to);
void end_shares(void);

int region_thread(void);       /* number of the calling thread in the innermost region */
int region_threads(void);      /* threads of that region */
int region_level(void);        /* number of regions around */
int region_first_thread(void); /* its number in the region of several threads around; 0: there is none */
bool in_wide_region(void);     /* is there one? */
int pool_threads(void);        /* of a region without num_threads */
void limit_pool(int threads);  /* that number, from now on: at most the pool's */

#endif
