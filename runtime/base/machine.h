/* machine.h: what of this machine a process may use: cores and memory, by the system and by its control groups.  lathe,
 * which does not link the runtime, has machine.c too. */
#ifndef LATHE_BASE_MACHINE_H
#define LATHE_BASE_MACHINE_H

#include <stdint.h>

int cores_here(void);          /* of this process' affinity, at most as many as its control groups give it time for */
int64_t available_bytes(void); /* without swapping: the smaller of MemAvailable and the rest of its groups' limits */

/* Threads of each of `ranks` processes that a launcher started here: at most `own`, the cores of its affinity, and its
 * share of those of the launcher, `all`, and of the quota; at least 1.  So processes that the launcher has bound keep
 * what they got, and others do not have more threads than there are cores. */
int threads_of_rank(int own, int all, double quota, int ranks);

/* root: a folder before /proc and /sys, for tests; "": none. */
int cores_of_process(const char *root, const char *process); /* "self" or a number: of its affinity; 0: not known */
double cores_of_groups(const char *root);   /* 1.5: so much of all cores' time; INFINITY: no control group limits it */
int64_t bytes_of_groups(const char *root);  /* what their limits leave; INT64_MAX: none has a limit */
int memory_nodes(const char *root);         /* parts of memory that are nearer to some cores than to others */

#endif
