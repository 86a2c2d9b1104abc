/* lacks.h: which of the instructions that a program was compiled with its processor lacks.  ANY_PROCESSOR: a function that is
 * compiled without them, for every processor of the family.  Firmware is not asked. */
#ifndef LATHE_MATH_LACKS_H
#define LATHE_MATH_LACKS_H

#include "interface/needs.h"
#include <stddef.h>
#include <string.h>

/* The words of lathe_needs: where cpuid says so (Intel's manual, volume 2, and AMD's, volume 3), and the registers that
 * the system must keep for each thread.  __builtin_cpu_supports() of gcc 12 knows the first. */
enum { CPUID_1_ECX, CPUID_7_EBX, CPUID_7_ECX, CPUID_7_EDX, CPUID_7_1_EAX, CPUID_7_1_EDX, CPUID_AMD_ECX, CPUID_WORDS };
enum { REGISTERS_128 = 0, REGISTERS_256 = 6, REGISTERS_512 = 0xe6, REGISTERS_APX = 1 << 19 }; /* as xgetbv has them */
#define LATHE_KNOWN_NEEDS(X)                                                                                          \
    X("sse3", CPUID_1_ECX, 0, REGISTERS_128)            X("ssse3", CPUID_1_ECX, 9, REGISTERS_128)                     \
    X("sse4.1", CPUID_1_ECX, 19, REGISTERS_128)         X("sse4.2", CPUID_1_ECX, 20, REGISTERS_128)                   \
    X("popcnt", CPUID_1_ECX, 23, REGISTERS_128)         X("avx", CPUID_1_ECX, 28, REGISTERS_256)                      \
    X("fma", CPUID_1_ECX, 12, REGISTERS_256)            X("bmi", CPUID_7_EBX, 3, REGISTERS_128)                       \
    X("bmi2", CPUID_7_EBX, 8, REGISTERS_128)            X("avx2", CPUID_7_EBX, 5, REGISTERS_256)                      \
    X("avx512f", CPUID_7_EBX, 16, REGISTERS_512)        X("avx512dq", CPUID_7_EBX, 17, REGISTERS_512)                 \
    X("avx512bw", CPUID_7_EBX, 30, REGISTERS_512)       X("avx512vl", CPUID_7_EBX, 31, REGISTERS_512)                 \
    X("avx512cd", CPUID_7_EBX, 28, REGISTERS_512)       X("avx512ifma", CPUID_7_EBX, 21, REGISTERS_512)               \
    X("avx512vbmi", CPUID_7_ECX, 1, REGISTERS_512)      X("avx512vbmi2", CPUID_7_ECX, 6, REGISTERS_512)               \
    X("avx512vnni", CPUID_7_ECX, 11, REGISTERS_512)     X("avx512bitalg", CPUID_7_ECX, 12, REGISTERS_512)             \
    X("avx512vpopcntdq", CPUID_7_ECX, 14, REGISTERS_512)X("avx512bf16", CPUID_7_1_EAX, 5, REGISTERS_512)              \
    X("gfni", CPUID_7_ECX, 8, REGISTERS_128)            X("vpclmulqdq", CPUID_7_ECX, 10, REGISTERS_256)               \
    X("sse4a", CPUID_AMD_ECX, 6, REGISTERS_128)         X("xop", CPUID_AMD_ECX, 11, REGISTERS_256)                    \
    X("fma4", CPUID_AMD_ECX, 16, REGISTERS_256)
#define LATHE_OTHER_NEEDS(X)                                                                                          \
    X("cx16", CPUID_1_ECX, 13, REGISTERS_128)           X("movbe", CPUID_1_ECX, 22, REGISTERS_128)                    \
    X("f16c", CPUID_1_ECX, 29, REGISTERS_256)           X("sahf", CPUID_AMD_ECX, 0, REGISTERS_128)                    \
    X("lzcnt", CPUID_AMD_ECX, 5, REGISTERS_128)         X("tbm", CPUID_AMD_ECX, 21, REGISTERS_128)                    \
    X("avx512fp16", CPUID_7_EDX, 23, REGISTERS_512)     X("avxvnni", CPUID_7_1_EAX, 4, REGISTERS_256)                 \
    X("avxvnniint8", CPUID_7_1_EDX, 4, REGISTERS_256)   X("avxvnniint16", CPUID_7_1_EDX, 10, REGISTERS_256)           \
    X("apxf", CPUID_7_1_EDX, 21, REGISTERS_APX)

#if defined __x86_64__ && defined __GNUC__ && !defined __TINYC__ && !defined LATHE_FREESTANDING
#define ANY_PROCESSOR __attribute__((target("arch=x86-64"), noinline))
/* With -D_FORTIFY_SOURCE the functions of these names are inline ones, of the file's own instructions. */
#ifndef _WIN32
#define SNPRINTF_ANYWHERE __builtin_snprintf
#define FPRINTF_ANYWHERE  __builtin_fprintf
#endif

/* What cpuid says, and which registers the system keeps.  __builtin_cpu_supports() would do, but says of nothing that it is
 * there in what zig 0.17 compiles. */
typedef struct Processor_bits {
    unsigned word[CPUID_WORDS], kept;
} Processor_bits;

/* Registers eax, ebx, ecx, edx; zeros of a leaf that it does not have. */
static ANY_PROCESSOR __attribute__((unused)) void ask_processor(unsigned leaf, unsigned below, unsigned to[4])
{
    __asm__ volatile("cpuid" : "=a"(to[0]), "=b"(to[1]), "=c"(to[2]), "=d"(to[3]) : "a"(leaf & 0x80000000), "c"(0));
    if (to[0] < leaf) to[0] = to[1] = to[2] = to[3] = 0;
    else __asm__ volatile("cpuid" : "=a"(to[0]), "=b"(to[1]), "=c"(to[2]), "=d"(to[3]) : "a"(leaf), "c"(below));
}

static ANY_PROCESSOR __attribute__((unused)) Processor_bits bits_of_processor(void)
{
    Processor_bits b;
    unsigned got[4], low = 0, high;
    ask_processor(1, 0, got);
    b.word[CPUID_1_ECX] = got[2];
    if (got[2] >> 27 & 1) __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0)); /* the system lets it be asked */
    b.kept = low;
    ask_processor(7, 0, got);
    b.word[CPUID_7_EBX] = got[1], b.word[CPUID_7_ECX] = got[2], b.word[CPUID_7_EDX] = got[3];
    const int more = got[0] > 0; /* subleaf 1 */
    ask_processor(7, 1, got);
    b.word[CPUID_7_1_EAX] = more ? got[0] : 0, b.word[CPUID_7_1_EDX] = more ? got[3] : 0;
    ask_processor(0x80000001, 0, got);
    b.word[CPUID_AMD_ECX] = got[2];
    return b;
}

static ANY_PROCESSOR __attribute__((unused)) int has_instructions(const Processor_bits *b, const char *name, size_t n)
{
#define HAS(known, from, bit, registers)                                                                              \
    if (n == sizeof known - 1 && memcmp(name, known, n) == 0)                                                         \
        return (b->word[from] >> bit & 1) && (b->kept & registers) == registers;
    LATHE_KNOWN_NEEDS(HAS)
    LATHE_OTHER_NEEDS(HAS)
#undef HAS
    return 1; /* a word of a later version */
}

/* The first of the words that it lacks, *n characters; NULL: it has all.  Words that it has all are remembered: under a
 * hypervisor a cpuid takes microseconds.  strspn of glibc takes SSSE3 to come with SSE4.2. */
static ANY_PROCESSOR __attribute__((unused)) const char *first_lacking(const char *needs, size_t *n)
{
    static const char *has_all;
    if (__atomic_load_n(&has_all, __ATOMIC_RELAXED) == needs) return NULL;
    const Processor_bits bits = bits_of_processor();
    for (const char *at = needs; *at; at += *n) {
        while (*at == ' ') at++;
        for (*n = 0; at[*n] && at[*n] != ' '; ++*n) {}
        if (!has_instructions(&bits, at, *n)) return at;
    }
    __atomic_store_n(&has_all, needs, __ATOMIC_RELAXED);
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
