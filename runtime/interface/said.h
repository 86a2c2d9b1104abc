/* said.h: what an entry tells several ranks of elements of the flat arrays. */
#ifndef LATHE_INTERFACE_SAID_H
#define LATHE_INTERFACE_SAID_H

#include <stdint.h>

/* Parameters are needed from here on, or no longer; gradients begin, or are done. */
typedef enum Lathe_saying { LATHE_NEEDED, LATHE_DROPPED, LATHE_BEGUN, LATHE_DONE } Lathe_saying;
typedef struct Lathe_said { Lathe_saying what; int64_t first, count; } Lathe_said;

#endif
