/* needs.h: lathe_needs: the optional instruction sets for which the including file was compiled, with a space before
 * each, in the words of __builtin_cpu_supports(), else those of gcc's options.  It has all that the levels of the
 * x86-64 psABI name, and what compilers use of themselves (-march=native). */
#ifndef LATHE_INTERFACE_NEEDS_H
#define LATHE_INTERFACE_NEEDS_H

static const char lathe_needs[] __attribute__((unused)) = ""
#ifdef __SSE3__
    " sse3"
#endif
#ifdef __SSSE3__
    " ssse3"
#endif
#ifdef __SSE4_1__
    " sse4.1"
#endif
#ifdef __SSE4_2__
    " sse4.2"
#endif
#ifdef __POPCNT__
    " popcnt"
#endif
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
    " cx16"
#endif
#ifdef __LAHF_SAHF__
    " sahf"
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
#ifdef __F16C__
    " f16c"
#endif
#ifdef __LZCNT__
    " lzcnt"
#endif
#ifdef __MOVBE__
    " movbe"
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
#ifdef __AVX512FP16__
    " avx512fp16"
#endif
#ifdef __AVXVNNI__
    " avxvnni"
#endif
#ifdef __AVXVNNIINT8__
    " avxvnniint8"
#endif
#ifdef __AVXVNNIINT16__
    " avxvnniint16"
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
#ifdef __TBM__
    " tbm"
#endif
#ifdef __APX_F__
    " apxf"
#endif
    ;

/* All of them: where cpuid says so (Intel's manual, volume 2, and AMD's, volume 3), and the registers that the system must
 * keep for each thread.  __builtin_cpu_supports() of gcc 12 knows the first. */
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

#endif
