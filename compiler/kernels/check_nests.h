/* check.h: what nests must not be (check.c), and launches that wait too little (check_waits.c).  They ask no pass. */
#ifndef SCHEDULE_CHECK_H
#define SCHEDULE_CHECK_H

#include "kernels/check.h"
#include "kernels/nest.h"

const char *nest_fault(const Kernel *k, const Target *t); /* why k cannot run so; NULL: it can */
void check_waits(const Run *r);                           /* one launch: no block touches what another still uses */
const char *launch_fault(const Kernel *k);                   /* check_launches.c */

#endif
