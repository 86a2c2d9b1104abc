/* test_lacks.c: which instructions a processor has, by cpuid, is what the compiler's own function says, and the system
 * of those that the function does not know. */
#include "math/lacks.h"

#include <stdio.h>

#ifdef __x86_64__
static char flags[8192];

static const char *flag_of(const char *name)
{
    static const char *const other[][2] = {{"lzcnt", "abm"},
                                           {"sahf", "lahf_lm"},
                                           {"avx512fp16", "avx512_fp16"},
                                           {"avxvnni", "avx_vnni"},
                                           {"avxvnniint8", "avx_vnni_int8"},
                                           {"avxvnniint16", "avx_vnni_int16"},
                                           {"apxf", "apx"}};
    for (size_t k = 0; k < sizeof other / sizeof *other; k++)
        if (strcmp(other[k][0], name) == 0) return other[k][1];
    return name;
}

/* Whether /proc/cpuinfo lists it. */
static int is_listed(const char *name)
{
    char word[64];
    FILE *f = flags[0] ? NULL : fopen("/proc/cpuinfo", "r");
    while (f && fgets(flags, sizeof flags, f) && strncmp(flags, "flags", 5) != 0) continue;
    if (f) fclose(f), flags[strcspn(flags, "\n")] = ' ';
    snprintf(word, sizeof word, " %s ", flag_of(name));
    return strstr(flags, word) != NULL;
}
#endif

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
#undef COMPARE
#define COMPARE(name, ...)                                                                                             \
    if (has_instructions(&bits, name, sizeof name - 1) != is_listed(name))                                             \
        printf("%s: not as listed\n", name), failed = 1;
    LATHE_OTHER_NEEDS(COMPARE)
    if (first_lacking(lathe_needs, &n)) printf("what this was compiled for is not there\n"), failed = 1;
    printf("it has %d of them\n", some);
    return failed;
#else
    printf("skipped: no x86\n");
    return 77;
#endif
}
