/* entry.c: runs entries on this processor, or on the device that the model was built for (step/device.h).  The rest of
 * the trainer calls these functions for both. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "interface/shard.h"
#include "lathe_rt.h"
#include "step/device.h"
#include "step/entry.h"

#include <stdlib.h>
#include <string.h>

static const Lathe_device *device; /* NULL: this processor */

void device_must_work(void)
{
    const char *failure = device->failure();
    if (!failure) return;
    device->close();
    fail(EXIT_ERROR, NULL, "the %s failed: %s%s", device->word, failure,
         getenv("LATHE_CUDA_CHECK") ? "" : "\n  set LATHE_CUDA_CHECK=1 in the environment to find the kernel");
}

const Lathe_device *device_in_use(void) { return device; }

void take_device(const Lathe_device *d)
{
    device = d;
    device_must_work();
}

bool on_device(void) { return device != NULL; }

/* ------------------------------------------------------------------ memory */

void device_up(const void *at, int64_t bytes)
{
    if (!device || !bytes) return;
    device->up(at, bytes);
    device_must_work();
}

void device_down(void *at, int64_t bytes)
{
    if (!device || !bytes) return;
    device->down(at, bytes);
    device_must_work();
}

void clear_there(void *at, int64_t bytes)
{
    if (!bytes) return; /* an empty array may be NULL */
    if (device) device->clear(at, bytes);
    else memset(at, 0, (size_t)bytes);
}

void copy_there(void *to, const void *from, int64_t piece, int64_t n, int64_t apart)
{
    if (device) device->copy(to, from, piece, n, apart);
    for (int64_t i = 0; i < n && !device; i++)
        memcpy((char *)to + i * apart, (const char *)from + i * apart, (size_t)piece);
}

/* ------------------------------------------------------------------ entries */

void compute_entry(const Lathe_entry *e, const Lathe_call *call)
{
    Bad_id bad;
    bool fine = true;
    if (rt_entry_begins) rt_entry_begins(e);
    if (device) fine = device->run(e, call, &bad);
    else e->run(call);
    if (device) device_must_work();
    if (!device) fine = !take_bad_id(&bad);
    if (!fine) refuse_id(e, &bad);
}

void compute_unwatched(const Lathe_entry *e, const Lathe_call *call)
{
    void (*lap)(int) = rt_lap;
    rt_lap = NULL;
    compute_entry(e, call);
    rt_lap = lap;
}

void run_entry(const Lathe_entry *e, const Lathe_call *call)
{
    compute_entry(e, call);
    device_down(call->out, e->out_bytes);
}

void show_average_there(void *params)
{
    device->show(params);
    device_must_work();
}

/* ------------------------------------------------------------------ several devices */

void name_devices(char *id)
{
    const char *refusal = device->name(id);
    if (refusal) fail(EXIT_ERROR, NULL, "%s", refusal);
}

void join_devices(const char *id, const Lathe_shards *shards)
{
    const char *refusal = device->join(id, shards);
    if (refusal) fail(EXIT_ERROR, NULL, "%s", refusal);
}

void share_there(void *at, int64_t bytes)
{
    device->share(at, bytes);
    device_must_work();
}

void spread_there(void *params)
{
    device->spread(params);
    device_must_work();
}

void collect_there(void *params)
{
    device->collect(params);
    device_must_work();
}

void return_there(void *params)
{
    device->return_parameters(params);
    device_must_work();
}

void close_device(void)
{
    device->close();
    device = NULL;
}

/* ------------------------------------------------------------------ laps */

void watch_laps(void (*lap)(int kernel, double seconds))
{
    if (device) device->watch(lap);
}

void time_parts(bool wanted)
{
    if (device) device->time_parts(wanted);
}

/* ------------------------------------------------------------------ second ways */

int device_ways(void) { return device->ways(); }
const char *device_way(int i, bool *exact) { return device->way(i, exact); }
void take_second_way(const char *name, bool wanted) { device->second(name, wanted); }
int tested_products(int *wrong) { return device->products(wrong); }
const char *about_device(void) { return device->about(); }

void device_rates(double *copy, double *product)
{
    bug_if(!device);
    device->rates(copy, product);
    device_must_work();
}
