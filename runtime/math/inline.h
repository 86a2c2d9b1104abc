/* inline.h: functions that are always inlined. */
#ifndef LATHE_MATH_INLINE_H
#define LATHE_MATH_INLINE_H

#define INLINE inline __attribute__((always_inline))

#endif
