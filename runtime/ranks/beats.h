/* beats.h: how ranks are: words between them, each second, by the courier's thread. */
#ifndef LATHE_RANKS_BEATS_H
#define LATHE_RANKS_BEATS_H

#include "ranks/carrier.h"

#include <stdbool.h>

typedef enum Beat_state { BEATS_GO_ON, BEATS_FAILED, BEATS_ENDED } Beat_state;

void start_beats(const Carrier *c);
/* Called often.  ending: all exchanges have ended, and the run has, too. */
Beat_state beat(bool ending);
void wait_until_silent(void); /* courier.c: until the thread has ended with a failure */

#endif
