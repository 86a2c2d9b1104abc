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

#endif
