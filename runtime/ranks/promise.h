/* promise.h: for those who read what launchers say in the environment. */
#ifndef LATHE_RANKS_PROMISE_H
#define LATHE_RANKS_PROMISE_H

#include "ranks/carrier.h"

enum { HIGHEST_PORT = 65535 };

const char *set_value(const char *variable); /* NULL: not set, or empty */
bool count_in(const char *variable, int *n); /* a number from 0 on */
bool number_within(const char *variable, int least, int most, int *n);
const char *own_ports_fault(Promise *p); /* takes LATHE_RANKS_PORT, if it is set */

/* slurm.c: tasks of one step of srun that are to be ranks: LATHE_RANKS=slurm.  Returns NULL, or what is wrong; p->ranks 0:
 * they are not, or there is one task. */
const char *read_slurm(Promise *p);
int tasks_of_step(void); /* of srun, this process being the first of them; 0: no */

#endif
