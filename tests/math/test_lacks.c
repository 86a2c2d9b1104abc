/* test_lacks.c: which instructions a processor has, by cpuid, is what the compiler's own function says. */
#include "math/lacks.h"

#include <stdio.h>

int main(void)
{
#ifdef __x86_64__
    const Processor_bits bits = bits_of_processor();
    int failed = 0, some = 0;
    size_t n;
    __builtin_cpu_init();
#define COMPARE(name, ...)                                                                                             \
    if (has_instructions(&bits, name, sizeof name - 1) != !!__builtin_cpu_supports(name))                              \
        printf("%s: %d\n", name, has_instructions(&bits, name, sizeof name - 1)), failed = 1;                          \
    some += !!__builtin_cpu_supports(name);
    LATHE_KNOWN_NEEDS(COMPARE)
    if (first_lacking(lathe_needs, &n)) printf("what this was compiled for is not there\n"), failed = 1;
    printf("it has %d of them\n", some);
    return failed;
#else
    printf("skipped: no x86\n");
    return 77;
#endif
}
