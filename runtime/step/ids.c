/* ids.c: for kernels that address by ids: reports ids out of range after the entry has run; divides columns among
 * threads. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "lathe_rt.h"
#include "step/device.h"
#include "step/entry.h"

#include <omp.h>
#include <pthread.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    const char *place, *what; /* NULL: none yet */
    int id, below;
    bool data;
} bad = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Notes the smallest id out of range of the first kernel with any, whatever the order of threads. */
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

enum { LINE = 16 }; /* numbers per cache line; fp64 uses two lines */

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

/* Clamping would turn a class into another one: a wrong label. */
static char *id_remedy(const Bad_id *id)
{
    int last = id->below - 1;
    if (strncmp(id->what, "class ids", 9) != 0)
        return text_of("use a larger table, or keep ids in range: nn.clamp(ids, 0, %d)", last);
    if (id->id < 0) return text_of("correct the data, or leave such rows out with the loss's `ignore`");
    return text_of("give the layer that scores the classes more outputs (out = %lld or more), or correct the data",
                   (long long)id->id + 1);
}

void refuse_id(const Lathe_entry *e, const Bad_id *id)
{
    fail(id->data ? EXIT_DATA : EXIT_ERROR, *id->place ? id->place : NULL,
         "%s (entry %s): expected ids 0 to %d, found %d, which %s; %s", id->what, e->name, id->below - 1, id->id,
         id->data ? "depends on the data alone" : "the model computed", id_remedy(id));
}
