/* launcher.h: mpirun, where a host is cut off. */
#ifndef LATHE_RANKS_LAUNCHER_H
#define LATHE_RANKS_LAUNCHER_H

void end_launcher_soon(void); /* by rank 0, which ends: three seconds later mpirun gets SIGTERM, if it is above this process */

#endif
