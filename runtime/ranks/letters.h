/* letters.h: messages over sockets that are connected: local.c, tcp.c. */
#ifndef LATHE_RANKS_LETTERS_H
#define LATHE_RANKS_LETTERS_H

#include "ranks/carrier.h"

/* of: who this rank is, and its name.  socket: [ranks][CHANNELS], of streams that do not block; those of this rank are
 * -1.  far: a network is between some of them. */
double wire_rate(void); /* LATHE_WIRE_RATE; 0: no limit; ends the program (2) if it is no number above 0 */
const Carrier *open_letters(const Carrier *of, const int *socket, bool far);

#endif
