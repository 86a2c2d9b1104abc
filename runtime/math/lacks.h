/* lacks.h: which of the instructions that a program was compiled with its processor lacks.  ANY_PROCESSOR: a function that is
 * compiled without them, for every processor of the family.  Firmware is not asked. */
#ifndef LATHE_MATH_LACKS_H
#define LATHE_MATH_LACKS_H

#include "interface/needs.h"
#include <stddef.h>
#include <string.h>

#if defined __x86_64__ && defined __GNUC__ && !defined __TINYC__ && !defined LATHE_FREESTANDING
#define ANY_PROCESSOR __attribute__((target("arch=x86-64"), noinline))
/* With -D_FORTIFY_SOURCE the functions of these names are inline ones, of the file's own instructions. */
#ifndef _WIN32
#define SNPRINTF_ANYWHERE __builtin_snprintf
#define FPRINTF_ANYWHERE  __builtin_fprintf
#endif

/* r: eax, ebx, ecx, edx. */
static ANY_PROCESSOR __attribute__((unused)) void ask_processor(unsigned leaf, unsigned subleaf, unsigned r[4])
{
    __asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "0"(leaf), "2"(subleaf));
}

/* Of a leaf that the processor does not have, it would tell those of another. */
static ANY_PROCESSOR __attribute__((unused)) int has_bit(unsigned leaf, unsigned subleaf, int which, int bit)
{
    unsigned r[4];
    ask_processor(leaf & 0x80000000, 0, r);
    if (r[0] < leaf) return 0;
    ask_processor(leaf, 0, r);
    if (leaf == 7 && r[0] < subleaf) return 0;
    ask_processor(leaf, subleaf, r);
    return (int)(r[which] >> bit & 1);
}

static ANY_PROCESSOR __attribute__((unused)) int has_instructions(const char *word, size_t n)
{
#define HAS(name) \
    if (n == sizeof name - 1 && memcmp(word, name, n) == 0) return __builtin_cpu_supports(name) != 0;
    LATHE_KNOWN_NEEDS(HAS)
#undef HAS
#define HAS(name, leaf, subleaf, which, bit) \
    if (n == sizeof name - 1 && memcmp(word, name, n) == 0) return has_bit(leaf, subleaf, which, bit);
    LATHE_CPUID_NEEDS(HAS)
#undef HAS
    return 1; /* a word of a later version */
}

/* The first of the words that it lacks, *n characters; NULL: it has all.  strspn of glibc takes SSSE3 to come with SSE4.2. */
static ANY_PROCESSOR __attribute__((unused)) const char *first_lacking(const char *needs, size_t *n)
{
    __builtin_cpu_init();
    for (const char *at = needs; *at; at += *n) {
        while (*at == ' ') at++;
        for (*n = 0; at[*n] && at[*n] != ' '; ++*n) {}
        if (!has_instructions(at, *n)) return at;
    }
    return NULL;
}
#else
#define ANY_PROCESSOR
static inline const char *first_lacking(const char *needs, size_t *n) { return (void)needs, *n = 0, NULL; }
#endif

#ifndef SNPRINTF_ANYWHERE
#define SNPRINTF_ANYWHERE snprintf
#define FPRINTF_ANYWHERE  fprintf
#endif

#endif
