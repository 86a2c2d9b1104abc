/* levels.h: the levels of x86-64 for which a program has its code (lathe build --for x86-64). */
#ifndef LATHE_MATH_LEVELS_H
#define LATHE_MATH_LEVELS_H

#include "math/lacks.h"

/* The highest level all of whose instructions (x86-64 psABI) this processor has: 4, 3, 2, or 1. */
static inline int find_level(void)
{
    static const char *const adds[] = {"sse3 ssse3 sse4.1 sse4.2 popcnt cx16 sahf",
                                       "avx avx2 fma bmi bmi2 f16c lzcnt movbe",
                                       "avx512f avx512dq avx512cd avx512bw avx512vl"};
    size_t n;
    int level = 1;
    while (level < 4 && !first_lacking(adds[level - 1], &n)) level++;
    return level;
}

/* A library asks at each call, and CPUID takes microseconds in a virtual machine: found once, by whichever thread. */
static inline int level_here(void)
{
    static int found;
    int level = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (!level) __atomic_store_n(&found, level = find_level(), __ATOMIC_RELAXED);
    return level;
}

#endif
