/* threads.h: OpenMP's threads, also where the compiler has none: then everything runs in one. */
#ifndef LATHE_MATH_THREADS_H
#define LATHE_MATH_THREADS_H

#ifdef _OPENMP
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
#ifdef _OPENMP
static inline void take_lock(char *lock)
{
    while (__atomic_test_and_set(lock, __ATOMIC_ACQUIRE)) {}
}
static inline void leave_lock(char *lock) { __atomic_clear(lock, __ATOMIC_RELEASE); }
#else
static inline void take_lock(char *lock) { *lock = 1; }
static inline void leave_lock(char *lock) { *lock = 0; }
#endif

#endif
