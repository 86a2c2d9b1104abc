/* needs.h: lathe_needs: the optional instruction sets for which the including file was compiled, with a space before
 * each, in the words of __builtin_cpu_supports(). */
#ifndef LATHE_INTERFACE_NEEDS_H
#define LATHE_INTERFACE_NEEDS_H

static const char lathe_needs[] __attribute__((unused)) = ""
#ifdef __SSE4_2__
    " sse4.2"
#endif
#ifdef __POPCNT__
    " popcnt"
#endif
#ifdef __AVX__
    " avx"
#endif
#ifdef __BMI__
    " bmi"
#endif
#ifdef __BMI2__
    " bmi2"
#endif
#ifdef __AVX2__
    " avx2"
#endif
#ifdef __FMA__
    " fma"
#endif
#ifdef __AVX512F__
    " avx512f"
#endif
#ifdef __AVX512DQ__
    " avx512dq"
#endif
#ifdef __AVX512BW__
    " avx512bw"
#endif
#ifdef __AVX512VL__
    " avx512vl"
#endif
#ifdef __AVX512VNNI__
    " avx512vnni"
#endif
#ifdef __AVX512CD__
    " avx512cd"
#endif
#ifdef __AVX512IFMA__
    " avx512ifma"
#endif
#ifdef __AVX512VBMI__
    " avx512vbmi"
#endif
#ifdef __AVX512VBMI2__
    " avx512vbmi2"
#endif
#ifdef __AVX512BITALG__
    " avx512bitalg"
#endif
#ifdef __AVX512VPOPCNTDQ__
    " avx512vpopcntdq"
#endif
#ifdef __AVX512BF16__
    " avx512bf16"
#endif
#ifdef __GFNI__
    " gfni"
#endif
#ifdef __VPCLMULQDQ__
    " vpclmulqdq"
#endif
#ifdef __SSE4A__
    " sse4a"
#endif
#ifdef __XOP__
    " xop"
#endif
#ifdef __FMA4__
    " fma4"
#endif
    ;

/* All of them: where cpuid says so (Intel's manual, volume 2, and AMD's, volume 3), and the registers that the system must
 * keep for each thread. */
enum { CPUID_1_ECX, CPUID_7_EBX, CPUID_7_ECX, CPUID_7_1_EAX, CPUID_AMD_ECX, CPUID_WORDS };
enum { REGISTERS_128 = 0, REGISTERS_256 = 6, REGISTERS_512 = 0xe6 }; /* as xgetbv has them */
#define LATHE_KNOWN_NEEDS(X)                                                                                          \
    X("sse4.2", CPUID_1_ECX, 20, REGISTERS_128)           X("popcnt", CPUID_1_ECX, 23, REGISTERS_128)                 \
    X("avx", CPUID_1_ECX, 28, REGISTERS_256)              X("fma", CPUID_1_ECX, 12, REGISTERS_256)                    \
    X("bmi", CPUID_7_EBX, 3, REGISTERS_128)               X("bmi2", CPUID_7_EBX, 8, REGISTERS_128)                    \
    X("avx2", CPUID_7_EBX, 5, REGISTERS_256)              X("avx512f", CPUID_7_EBX, 16, REGISTERS_512)                \
    X("avx512dq", CPUID_7_EBX, 17, REGISTERS_512)         X("avx512bw", CPUID_7_EBX, 30, REGISTERS_512)               \
    X("avx512vl", CPUID_7_EBX, 31, REGISTERS_512)         X("avx512cd", CPUID_7_EBX, 28, REGISTERS_512)               \
    X("avx512ifma", CPUID_7_EBX, 21, REGISTERS_512)       X("avx512vbmi", CPUID_7_ECX, 1, REGISTERS_512)              \
    X("avx512vbmi2", CPUID_7_ECX, 6, REGISTERS_512)       X("avx512vnni", CPUID_7_ECX, 11, REGISTERS_512)             \
    X("avx512bitalg", CPUID_7_ECX, 12, REGISTERS_512)     X("avx512vpopcntdq", CPUID_7_ECX, 14, REGISTERS_512)        \
    X("avx512bf16", CPUID_7_1_EAX, 5, REGISTERS_512)      X("gfni", CPUID_7_ECX, 8, REGISTERS_128)                    \
    X("vpclmulqdq", CPUID_7_ECX, 10, REGISTERS_256)       X("sse4a", CPUID_AMD_ECX, 6, REGISTERS_128)                 \
    X("xop", CPUID_AMD_ECX, 11, REGISTERS_256)            X("fma4", CPUID_AMD_ECX, 16, REGISTERS_256)

#endif
