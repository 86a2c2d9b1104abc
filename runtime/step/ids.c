/* ids.c: for kernels by ids: ids out of range, which end the program once the entry has run; how threads share
 * columns. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "lathe_rt.h"
#include "step/device.h"
#include "step/entry.h"

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

bool take_bad_id(Bad_id *to)
{
    if (!bad.what) return false;
    *to = (Bad_id){.id = bad.id, .below = bad.below, .data = bad.data};
    snprintf(to->place, sizeof to->place, "%s", bad.place);
    snprintf(to->what, sizeof to->what, "%s", bad.what);
    return true;
}

void refuse_id(const Lathe_entry *e, const Bad_id *id)
{
    fail(id->data ? EXIT_DATA : EXIT_ERROR, *id->place ? id->place : NULL,
         "%s (entry %s): expected ids 0 to %d, found %d, which %s; make room for it, or keep ids in range there: "
         "nn.clamp(ids, 0, %d)",
         id->what, e->name, id->below - 1, id->id, id->data ? "follows from the data alone" : "the model has computed",
         id->below - 1);
}
