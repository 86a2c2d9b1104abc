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

/* All of them. */
#define LATHE_KNOWN_NEEDS(X)                                                                                         \
    X("sse4.2") X("popcnt") X("avx") X("bmi") X("bmi2") X("avx2") X("fma") X("avx512f") X("avx512dq") X("avx512bw")  \
    X("avx512vl") X("avx512vnni") X("avx512cd") X("avx512ifma") X("avx512vbmi") X("avx512vbmi2") X("avx512bitalg")   \
    X("avx512vpopcntdq") X("avx512bf16") X("gfni") X("vpclmulqdq") X("sse4a") X("xop") X("fma4")

#endif
