/* machine.h: what this machine has left. */
#ifndef LATHE_BASE_MACHINE_H
#define LATHE_BASE_MACHINE_H

#include <stdint.h>

int64_t available_bytes(void); /* without swapping: the smaller of MemAvailable and the rest of a control group's limit */

#endif
