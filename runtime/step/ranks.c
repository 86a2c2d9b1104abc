/* ranks.c: what an entry calls if several ranks take its step together. */
#include "lathe_rt.h"
#include "step/entry.h"

void (*rt_entry_begins)(const Lathe_entry *e);
void (*rt_over_ranks)(void *to, const void *from, int64_t bytes);
void (*rt_parameters_needed)(const void *first, int64_t bytes);
void (*rt_parameters_dropped)(const void *first, int64_t bytes);
void (*rt_gradients_begun)(const void *first, int64_t bytes);
void (*rt_gradients_done)(const void *first, int64_t bytes);
