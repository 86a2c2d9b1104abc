/* inline.h: functions that are always inlined, and what compilers of plain C lack beside GCC and clang. */
#ifndef LATHE_MATH_INLINE_H
#define LATHE_MATH_INLINE_H

#ifdef __GNUC__
#define INLINE   inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#else
#include <stdlib.h>
#include <string.h>
#define INLINE   inline
#define NOINLINE
#define __builtin_memcpy         memcpy
#define __builtin_prefetch(...)  ((void)0)
#define __builtin_unreachable()  abort()
#endif
#ifdef __TINYC__ /* it has #pragma alone, and the name of C11's word for C99 */
#include <assert.h>
#define _Pragma(text)
#ifndef static_assert
#define static_assert _Static_assert
#endif
#endif

#endif
