/* levels.h: the levels of x86-64 for which a program has its code (lathe build --for x86-64). */
#ifndef LATHE_MATH_LEVELS_H
#define LATHE_MATH_LEVELS_H

/* The highest level whose instructions this processor has: 4, 3, 2, or 0. */
static inline int level_here(void)
{
#define HAS(name) __builtin_cpu_supports(name)
    __builtin_cpu_init();
    if (!HAS("sse4.2") || !HAS("popcnt")) return 0;
    if (!HAS("avx") || !HAS("avx2") || !HAS("fma") || !HAS("bmi") || !HAS("bmi2")) return 2;
    if (!HAS("avx512f") || !HAS("avx512dq") || !HAS("avx512cd") || !HAS("avx512bw") || !HAS("avx512vl")) return 3;
    return 4;
#undef HAS
}

#endif
