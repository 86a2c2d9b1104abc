/* rt_ids.c: for kernels by ids: ids out of range, which end the program once the entry has run; how threads share
 * columns. */
#include "trainer.h"

#include "lathe_rt.h"
#include <omp.h>
#include <pthread.h>

static struct {
    pthread_mutex_t lock;
    const char *place, *what; /* NULL: none yet */
    int id, below;
    bool data;
} bad = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Of the first kernel that meets some the smallest id: no matter which thread is the first. */
int bad_id(int id, int below, bool data, const char *place, const char *what)
{
    pthread_mutex_lock(&bad.lock);
    if (!bad.what || (bad.what == what && bad.place == place && id < bad.id)) {
        bad.place = place;
        bad.what = what;
        bad.id = id;
        bad.below = below;
        bad.data = data;
    }
    pthread_mutex_unlock(&bad.lock);
    return 0;
}

enum { LINE = 16 }; /* numbers of a line of a cache; of fp64 two */

int column_parts(int n)
{
    int threads = omp_get_max_threads(), lines = (n + LINE - 1) / LINE;
    return threads < lines ? threads : lines;
}

int column_from(int n, int k, int parts)
{
    int lines = (n + LINE - 1) / LINE, from = (int)((int64_t)lines * k / parts) * LINE;
    return from < n ? from : n;
}

void run_entry(const Lathe_entry *e, const Lathe_call *call)
{
    e->run(call);
    if (!bad.what) return;
    fail(
        bad.data ? EXIT_DATA : EXIT_ERROR, *bad.place ? bad.place : NULL,
        "%s (entry %s): expected ids 0 to %d, found %d, which %s; keep them in range there: nn.max(nn.min(ids, %d), 0)",
        bad.what, e->name, bad.below - 1, bad.id, bad.data ? "follows from the data alone" : "the model has computed",
        bad.below - 1);
}
