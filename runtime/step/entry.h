/* entry.h: runs entries on this processor, or on the device that the model was built for. */
#ifndef LATHE_STEP_ENTRY_H
#define LATHE_STEP_ENTRY_H

#include "interface/lathe_model.h"
#include "interface/shard.h"
#include "step/device.h"

bool take_bad_id(Bad_id *bad); /* whether kernels on this processor met one */
_Noreturn void refuse_id(const Lathe_entry *e, const Bad_id *bad);

/* ---- step/entry.c */

const Lathe_device *device_in_use(void); /* NULL: this processor */
void take_device(const Lathe_device *d); /* uses an opened device */
void device_must_work(void);            /* ends the program (1) if it has failed */
bool on_device(void); /* if not, the next functions do nothing, or what their comments say */
void device_up(const void *at, int64_t bytes);         /* copies what the host has changed in the block */
void device_down(void *at, int64_t bytes);             /* copies back what the host will read */
/* In the memory of entries: clears; copies n pieces, `apart` bytes from each other on both sides. */
void clear_there(void *at, int64_t bytes);
void copy_there(void *to, const void *from, int64_t piece, int64_t n, int64_t apart);
void show_average_there(void *params); /* on a device, the mean of the weights */
/* Runs an entry on the host's inputs at call->in; results are at call->out when it returns; states, parameters and
 * gradients stay on the device.  Ends the program if an id was out of range. */
void run_entry(const Lathe_entry *e, const Lathe_call *call);
extern void (*rt_entry_begins)(const Lathe_entry *e); /* NULL, or told before each */
void compute_entry(const Lathe_entry *e, const Lathe_call *call); /* likewise, but outputs stay on the device */
void compute_unwatched(const Lathe_entry *e, const Lathe_call *call);  /* likewise, and its kernels are no laps */

/* By a device's clock: end_step calls lap(kernel, seconds) for each kernel of later steps; NULL: stops. */
void watch_laps(void (*lap)(int kernel, double seconds));
/* On a device: whether steps time their parts, in graphs that are made again.  Each step must then end before the next
 * begins. */
void time_parts(bool wanted);
void device_rates(double *copy, double *product); /* of a device whose memory is still unused: see step/device.h */

/* Second ways of computing (step/device.h), only with a device. */
int device_ways(void);
const char *device_way(int i, bool *exact);
void take_second_way(const char *name, bool wanted);
int tested_products(int *wrong);
const char *about_device(void);

/* Several devices, one process per device (trainer/ranks.c). */
void name_devices(char *id);                           /* called by the first; the others join with it */
void join_devices(const char *id, const Lathe_shards *shards);
void share_there(void *at, int64_t bytes);             /* copies the first device's bytes to all */
void return_there(void *params);                       /* all have what the last step has updated */
void spread_there(void *params);                       /* gives each its own parts of the first host's parameters */
void collect_there(void *params);                      /* brings all of them to that host */
void close_device(void);

#endif
