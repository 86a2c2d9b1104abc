/* width.h: the bytes of a vector register, and the intrinsics of the processor. */
#ifndef LATHE_MATH_WIDTH_H
#define LATHE_MATH_WIDTH_H

#include "math/inline.h"
#include <stdint.h>

#ifdef __AVX512F__
enum { VECTOR_BYTES = 64 };
#elif defined __FMA__
enum { VECTOR_BYTES = 32 };
#else
enum { VECTOR_BYTES = 16 };
#endif
#if defined __AVX512F__ || defined __FMA__
#include <immintrin.h>
#elif defined __GNUC__ && defined __aarch64__
#include <arm_neon.h>
#endif

/* Lane l of vector v (math/vector.h). */
#ifdef __GNUC__
#define LANE_OF(v, l) (v)[l]
#else
#define LANE_OF(v, l) (v)
#endif

/* Into the second cache: what is read once then comes at the speed of memory.  The first waits for too few lines. */
static INLINE void fetch(const void *p, int64_t bytes) { __builtin_prefetch((const char *)p + bytes, 0, 2); }

#endif
