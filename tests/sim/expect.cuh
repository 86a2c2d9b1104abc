/* expect.cuh: EXPECT(holds, format, …): what does not hold is counted and printed with its line, and the program goes on. */
#ifndef TEST_EXPECT_H
#define TEST_EXPECT_H

#include <stdio.h>

inline int failures;

#define EXPECT(holds, ...)                                                                                             \
    do {                                                                                                               \
        if (holds) break;                                                                                              \
        failures++;                                                                                                    \
        printf("failed: ");                                                                                            \
        printf(__VA_ARGS__);                                                                                           \
        printf("  (%s:%d)\n", __FILE__, __LINE__);                                                                                                  \
    } while (0)

#endif
