/* ids.c: for kernels that address by ids: notes ids out of range; divides columns among threads. */
#include "interface/lathe_model.h"
#include "lathe_rt.h"
#include "math/context.h"
#include "step/device.h"
#include "step/entry.h"
#include "threads/threads.h"

#include <string.h>

/* Notes the smallest id out of range of the first kernel with any, whatever the order of threads. */
int bad_id(int id, int below, bool data, const char *place, const char *what)
{
    Lathe_context *now = lathe_context();
    struct Lathe_met_id *met = &now->met;
    take_lock(&now->lock);
    if (!met->what || (met->what == what && met->place == place && id < met->id))
        *met = (struct Lathe_met_id){place, what, id, below, data};
    leave_lock(&now->lock);
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

static void copy_word(char to[LATHE_ID_WORDS], const char *from)
{
    const size_t n = strlen(from) < LATHE_ID_WORDS - 1 ? strlen(from) : LATHE_ID_WORDS - 1;
    memcpy(to, from, n);
    to[n] = 0;
}

bool take_bad_id(Bad_id *to)
{
    const struct Lathe_met_id *met = &lathe_context()->met;
    if (!met->what) return false;
    *to = (Bad_id){.id = met->id, .below = met->below, .data = met->data};
    copy_word(to->place, met->place);
    copy_word(to->what, met->what);
    lathe_context()->met.what = NULL;
    return true;
}
