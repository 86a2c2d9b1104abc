/* threads.h: OpenMP's threads, also where the compiler has none: then everything runs in one. */
#ifndef LATHE_THREADS_THREADS_H
#define LATHE_THREADS_THREADS_H

#include <stdbool.h>

#ifdef LATHE_OWN_THREADS /* threads/gomp.c */
static int omp_get_max_threads(void), omp_get_num_threads(void), omp_get_thread_num(void), omp_get_level(void);
static int omp_get_ancestor_thread_num(int level), omp_in_parallel(void);
#elif defined _OPENMP
#include <omp.h>
#else
static inline int omp_get_max_threads(void) { return 1; }
static inline int omp_get_num_threads(void) { return 1; }
static inline int omp_get_thread_num(void) { return 0; }
static inline int omp_get_level(void) { return 0; }
static inline int omp_get_ancestor_thread_num(int level) { return level * 0; }
static inline int omp_in_parallel(void) { return 0; }
#endif

/* A lock of a few instructions, which is rarely wanted. */
#if defined __GNUC__ || defined __clang__
static inline bool try_lock(char *lock) { return !__atomic_test_and_set(lock, __ATOMIC_ACQUIRE); }
static inline void leave_lock(char *lock) { __atomic_clear(lock, __ATOMIC_RELEASE); }
#else /* a compiler without threads */
static inline bool try_lock(char *lock) { return !*lock && (*lock = 1); }
static inline void leave_lock(char *lock) { *lock = 0; }
#endif
static inline void take_lock(char *lock)
{
    while (!try_lock(lock)) {}
}

#endif
