/* cpu.c: checks the processor, so that a program built for another one ends with a message instead of an illegal
 * instruction.
 *
 * It runs before main and before all other constructors here. */
#include "interface/lathe_model.h"
#include "math/lacks.h"

#include <stdio.h>
#include <stdlib.h>

#if defined __x86_64__

extern const char *const rt_needs;                          /* trainer/main.c: what the runtime was compiled for */
extern const Lathe_model lathe_model __attribute__((weak)); /* model.c; tests have none */

static ANY_PROCESSOR void check(const char *needs)
{
    size_t n;
    const char *word = first_lacking(needs, &n);
    if (!word) return;
    FPRINTF_ANYWHERE(
        stderr,
        "trainer: error: this program was built for a processor with %.*s instructions, which this one lacks; "
        "build it again on this machine: `lathe build MODEL.lua`, or cmake in its folder; or for it: `lathe build "
        "MODEL.lua --for x86-64`\n",
        (int)n, word);
    _Exit(1);
}

__attribute__((constructor(101))) static ANY_PROCESSOR void check_processor(void)
{
    check(rt_needs);
    if (&lathe_model && lathe_model.needs) check(lathe_model.needs);
}

#endif

void rt_check_processor(void) {} /* called by main, so that this file is linked */
