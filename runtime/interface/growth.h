/* growth.h: batches that grow: how many micro-batches each step has. */
#ifndef LATHE_INTERFACE_GROWTH_H
#define LATHE_INTERFACE_GROWTH_H

#include "lathe_model.h"

#include <stdlib.h>

/* accumulate_at, "0:1,200:2,1000:8": a step behind from[k] others has count[k] micro-batches.  Returns their number; 0: the
 * text is none of rising steps and numbers, from step 0 on. */
enum { LATHE_GROWTHS = 16 };
typedef struct Lathe_growth {
    int n;
    int64_t from[LATHE_GROWTHS], count[LATHE_GROWTHS];
} Lathe_growth;
static inline int lathe_read_growth(const char *text, Lathe_growth *g)
{
    char *end;
    for (g->n = 0; g->n < LATHE_GROWTHS; text = end + 1) {
        g->from[g->n] = strtoll(text, &end, 10);
        if (end == text || *end != ':') return g->n = 0;
        text = end + 1;
        g->count[g->n] = strtoll(text, &end, 10);
        if (end == text || g->count[g->n] < 1) return g->n = 0;
        if (g->n ? g->from[g->n] <= g->from[g->n - 1] : g->from[0] != 0) return g->n = 0;
        g->n++;
        if (!*end) return g->n;
        if (*end != ',') return g->n = 0;
    }
    return g->n = 0;
}

/* Micro-batches of the first `steps` steps together. */
static inline int64_t lathe_micro_batches(const Lathe_recipe *r, int64_t steps)
{
    int64_t all = 0;
    Lathe_growth g;
    if (!r->accumulate_at || !lathe_read_growth(r->accumulate_at, &g)) return steps * r->accumulate;
    for (int k = 0; k < g.n && g.from[k] < steps; k++)
        all += ((k + 1 < g.n && g.from[k + 1] < steps ? g.from[k + 1] : steps) - g.from[k]) * g.count[k];
    return all;
}

#endif
