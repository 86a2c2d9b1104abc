/* lacks.h: which of the instructions that a program was compiled with its processor lacks.  ANY_PROCESSOR: a function that is
 * compiled without them, for every processor of the family.  Firmware is not asked. */
#ifndef LATHE_MATH_LACKS_H
#define LATHE_MATH_LACKS_H

#include "interface/needs.h"
#include <stddef.h>
#include <string.h>

#if defined __x86_64__ && defined __GNUC__ && !defined __TINYC__ && !defined LATHE_FREESTANDING
#define ANY_PROCESSOR __attribute__((target("arch=x86-64"), noinline))

static ANY_PROCESSOR __attribute__((unused)) int has_instructions(const char *word, size_t n)
{
#define HAS(name) \
    if (n == sizeof name - 1 && memcmp(word, name, n) == 0) return __builtin_cpu_supports(name) != 0;
    LATHE_KNOWN_NEEDS(HAS)
#undef HAS
    return 1; /* a word of a later version */
}

/* The first of the words that it lacks, *n characters; NULL: it has all. */
static ANY_PROCESSOR __attribute__((unused)) const char *first_lacking(const char *needs, size_t *n)
{
    __builtin_cpu_init();
    for (const char *at = needs; *at; at += *n) {
        at += strspn(at, " ");
        *n = strcspn(at, " ");
        if (!has_instructions(at, *n)) return at;
    }
    return NULL;
}
#else
#define ANY_PROCESSOR
static inline const char *first_lacking(const char *needs, size_t *n) { return (void)needs, *n = 0, NULL; }
#endif

#endif
