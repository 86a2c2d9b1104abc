/* processor.c: in a library, entries run on the processor: what step/entry.h says, without devices. */
#ifdef LATHE_LIBRARY
#include "step/entry.h"

#include <string.h>

bool on_device(void) { return false; }
void device_up(const void *at, int64_t bytes) { (void)at, (void)bytes; }
void device_down(void *at, int64_t bytes) { (void)at, (void)bytes; }
void show_average_there(void *params) { (void)params; }
void share_there(void *at, int64_t bytes) { (void)at, (void)bytes; }

void clear_there(void *at, int64_t bytes)
{
    if (bytes) memset(at, 0, (size_t)bytes); /* an empty array may be NULL */
}

void copy_there(void *to, const void *from, int64_t piece, int64_t n, int64_t apart)
{
    for (int64_t i = 0; i < n; i++) memcpy((char *)to + i * apart, (const char *)from + i * apart, (size_t)piece);
}

void compute_entry(const Lathe_entry *e, const Lathe_call *call) { e->run(call); }
void compute_unwatched(const Lathe_entry *e, const Lathe_call *call) { e->run(call); }
void run_entry(const Lathe_entry *e, const Lathe_call *call) { e->run(call); }
#endif
