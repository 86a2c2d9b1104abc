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
    ;

#endif
