/* beats.h: how ranks are: words between them, each second, by the courier's thread. */
#ifndef LATHE_RANKS_BEATS_H
#define LATHE_RANKS_BEATS_H

#include "ranks/carrier.h"

#include <stdbool.h>

typedef enum Beat_state { BEATS_GO_ON, BEATS_FAILED, BEATS_ENDED, BEATS_PARTED } Beat_state;

double ranks_patience(void); /* s; LATHE_RANK_PATIENCE; ends the program (2) if that is none */
void start_beats(const Carrier *c);
/* Called often.  ending: all exchanges have ended, and the run has, too.  PARTED: ended, but others died meanwhile. */
Beat_state beat(bool ending);
/* After BEATS_FAILED: the last words.  tell: as in courier.h. */
void end_failed(bool (*tell)(int code, const char *text));
void fail_by_itself(int code, const char *text); /* by another thread: beat() then says BEATS_FAILED */
bool fails_by_itself(void);
bool failure_was_told(void); /* by rank 0 */

#endif
