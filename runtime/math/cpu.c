/* cpu.c: checks the processor, so that a program built for another one ends with a message instead of an illegal
 * instruction.
 *
 * It runs before main and before all other constructors here, and is compiled for any processor of the family
 * (CMakeLists.txt, also in a generated folder: -march=x86-64 after -march=native). */
#include "interface/lathe_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __x86_64__

extern const char *const rt_needs;                          /* trainer/main.c: what the runtime was compiled for */
extern const Lathe_model lathe_model __attribute__((weak)); /* model.c; tests have none */

static int has(const char *word, size_t n)
{
#define HAS(name)                                                                                                      \
    if (n == sizeof name - 1 && memcmp(word, name, n) == 0) return __builtin_cpu_supports(name) != 0;
    HAS("sse4.2")
    HAS("popcnt")
    HAS("avx")
    HAS("bmi")
    HAS("bmi2")
    HAS("avx2")
    HAS("fma")
    HAS("avx512f")
    HAS("avx512dq")
    HAS("avx512bw")
    HAS("avx512vl")
    HAS("avx512vnni")
#undef HAS
    return 1; /* a word of a later version */
}

static void check(const char *needs)
{
    for (const char *at = needs; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        size_t n = strcspn(at, " ");
        if (has(at, n)) continue;
        fprintf(stderr,
                "trainer: error: this program was built for a processor with %.*s instructions, which this one lacks; "
                "build it again on this machine: `lathe build MODEL.lua`, or cmake in its folder\n",
                (int)n, at);
        _Exit(1);
    }
}

__attribute__((constructor(101))) static void check_processor(void)
{
    __builtin_cpu_init();
    check(rt_needs);
    if (&lathe_model && lathe_model.needs) check(lathe_model.needs);
}

#endif

void rt_check_processor(void) {} /* called by main, so that this file is linked */
