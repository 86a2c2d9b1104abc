/* gomp.c: what gcc calls for `#pragma omp`, and the functions of omp.h that our code asks, by a pool of our own.
 *
 * They are static and `used`: gcc takes its calls for calls of a library, and keeps what nobody seems to call; the
 * assembler finds that both have one name, so the calls end in this file.  So it is no file to be compiled alone: a
 * library is one C file, in which it comes before all that has pragmas or includes omp.h.  No other file sees these
 * names, nor do these see libgomp's.  Names and arguments are those of gcc (omp-builtins.def); -flto renames statics,
 * so the file is compiled without it.
 *
 * LATHE_OWN_THREADS: trainers link libgomp and need none of this. */
#ifdef LATHE_OWN_THREADS
#include "threads/pool.h"
#include "threads/threads.h"

#define GOMP static __attribute__((used))

GOMP void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags)
{
    (void)flags; /* where threads are bound */
    run_region(body, data, threads, NULL);
}
GOMP void GOMP_barrier(void) { meet_region(); }

/* ---- loops with schedule(dynamic), whose index is a long; end is beyond the last */

static Shares shares_of(long start, long end, long step, long chunk)
{
    uint64_t from = (uint64_t)start, to = (uint64_t)end, by = (uint64_t)step, all = 0;
    if (step > 0 && start < end) all = (to - from - 1) / by + 1;
    if (step < 0 && start > end) all = (from - to - 1) / -by + 1;
    return (Shares){from, to, by, chunk > 0 ? (uint64_t)chunk : 1, all};
}

GOMP bool GOMP_loop_nonmonotonic_dynamic_next(long *from, long *to)
{
    uint64_t first, end;
    if (!take_share(&first, &end)) return false;
    *from = (long)first;
    *to = (long)end;
    return true;
}
GOMP bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long chunk, long *from, long *to)
{
    Shares s = shares_of(start, end, step, chunk);
    begin_shares(&s);
    return GOMP_loop_nonmonotonic_dynamic_next(from, to);
}
GOMP void GOMP_loop_end_nowait(void) { end_shares(); }
GOMP void GOMP_loop_end(void)
{
    end_shares();
    meet_region();
}
GOMP void GOMP_parallel_loop_nonmonotonic_dynamic(void (*body)(void *), void *data, unsigned threads, long start,
                                                  long end, long step, long chunk, unsigned flags)
{
    (void)flags;
    Shares s = shares_of(start, end, step, chunk);
    run_region(body, data, threads, &s);
}

/* ---- the same of unsigned long long; up: step is not to be read as negative */

GOMP bool GOMP_loop_ull_nonmonotonic_dynamic_next(unsigned long long *from, unsigned long long *to)
{
    uint64_t first, end;
    if (!take_share(&first, &end)) return false;
    *from = first;
    *to = end;
    return true;
}
GOMP bool GOMP_loop_ull_nonmonotonic_dynamic_start(bool up, unsigned long long start, unsigned long long end,
                                                   unsigned long long step, unsigned long long chunk,
                                                   unsigned long long *from, unsigned long long *to)
{
    uint64_t all = 0;
    if (up && start < end) all = (end - start - 1) / step + 1;
    if (!up && start > end) all = (start - end - 1) / -step + 1;
    Shares s = {start, end, step, chunk ? chunk : 1, all};
    begin_shares(&s);
    return GOMP_loop_ull_nonmonotonic_dynamic_next(from, to);
}

/* ---- omp.h */

GOMP int omp_get_thread_num(void) { return region_thread(); }
GOMP int omp_get_num_threads(void) { return region_threads(); }
GOMP int omp_get_max_threads(void) { return pool_threads(); }
GOMP int omp_in_parallel(void) { return in_wide_region(); }
GOMP int omp_get_level(void) { return region_level(); }
/* Our code asks for level 1, meaning the region of several threads. */
GOMP int omp_get_ancestor_thread_num(int level)
{
    if (level < 0 || level > region_level()) return -1;
    return level == 0 ? 0 : level == region_level() ? region_thread() : region_first_thread();
}
GOMP void omp_set_num_threads(int threads) { limit_pool(threads); }

#undef GOMP
#endif
