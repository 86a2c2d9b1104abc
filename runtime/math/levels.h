/* levels.h: the levels of x86-64 for which a program has its code (lathe build --for x86-64). */
#ifndef LATHE_MATH_LEVELS_H
#define LATHE_MATH_LEVELS_H

#include "math/lacks.h"

static inline int ask_for_level(void)
{
    size_t n;
    if (first_lacking("sse4.2 popcnt", &n)) return 0;
    if (first_lacking("avx avx2 fma bmi bmi2", &n)) return 2;
    return first_lacking("avx512f avx512dq avx512cd avx512bw avx512vl", &n) ? 3 : 4;
}

/* The highest level whose instructions this processor has: 4, 3, 2, or 0.  It is asked once, as cpuid takes long. */
static inline int level_here(void)
{
    static int known; /* one more than the level */
    int level = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!level) __atomic_store_n(&known, level = 1 + ask_for_level(), __ATOMIC_RELAXED);
    return level - 1;
}

#endif
