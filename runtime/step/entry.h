/* entry.h: where entries run: on this processor, or on the device that the model was built for. */
#ifndef LATHE_STEP_ENTRY_H
#define LATHE_STEP_ENTRY_H

#include "interface/lathe_model.h"
#include "interface/shard.h"
#include "step/device.h"

bool take_bad_id(Bad_id *bad); /* whether kernels met one on this processor */
_Noreturn void refuse_id(const Lathe_entry *e, const Bad_id *bad);

/* ---- step/entry.c */

const Lathe_device *device_in_use(void); /* NULL: this processor */
void take_device(const Lathe_device *d); /* that was opened */
void device_must_work(void);            /* ends the program (1) where it has failed */
bool on_device(void);                                  /* what follows does nothing, or what its comment says, where not */
void device_up(const void *at, int64_t bytes);         /* of the block: the host has changed it */
void device_down(void *at, int64_t bytes);             /* the host wants to read it */
/* Where the entries see it: to zero; n pieces, on both sides `apart` from each other. */
void clear_there(void *at, int64_t bytes);
void copy_there(void *to, const void *from, int64_t piece, int64_t n, int64_t apart);
/* Reads what the host has put at call->in, and has its results at call->out when it returns; states, parameters and
 * gradients stay there.  Ends the program where an id was out of range. */
void run_entry(const Lathe_entry *e, const Lathe_call *call);
void compute_entry(const Lathe_entry *e, const Lathe_call *call); /* of a device: outputs stay there */

/* A device's clock: lap(kernel, seconds) for each kernel of the steps from now on, told by end_step; NULL: no more. */
void watch_laps(void (*lap)(int kernel, double seconds));
/* Of a device: whether steps tell their parts, in graphs that are made anew.  Each is to be ended before the next begins. */
void time_parts(bool wanted);
void device_rates(double *copy, double *product); /* of a device with nothing in its memory yet: see step/device.h */

/* Of the device (step/device.h): second ways of computing, only where there is one. */
int device_ways(void);
const char *device_way(int i, bool *exact);
void take_second_way(const char *name, bool wanted);
int tested_products(int *wrong);
const char *about_device(void);

/* Several devices, a process each (trainer/ranks.c). */
void name_devices(char *id);                           /* by the first; the others join by it */
void join_devices(const char *id, const Lathe_shards *shards);
void share_there(void *at, int64_t bytes);             /* the first one's to all */
void close_device(void);

#endif
