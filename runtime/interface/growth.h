/* growth.h: batches that grow: how many micro-batches each step has. */
#ifndef LATHE_INTERFACE_GROWTH_H
#define LATHE_INTERFACE_GROWTH_H

#include "lathe_model.h"

#include <stdlib.h>

/* accumulate_at, "0:1,200:2,1000:8": a step behind from[k] others has count[k] micro-batches.  Returns their number; 0: the
 * text is none of rising steps and numbers, from step 0 on.  Then `wrong` says why, and the pair `at` is the first such. */
enum { LATHE_GROWTHS = 16 };
typedef enum Lathe_growth_fault {
    LATHE_GROWTH_FINE,
    LATHE_GROWTH_FORM,  /* no STEP:NUMBER,… */
    LATHE_GROWTH_FIRST, /* the first step is not 0 */
    LATHE_GROWTH_ORDER, /* a step is not above the one before it */
    LATHE_GROWTH_COUNT, /* no micro-batches */
    LATHE_GROWTH_MANY   /* more than LATHE_GROWTHS */
} Lathe_growth_fault;
typedef struct Lathe_growth {
    int n, at;
    Lathe_growth_fault wrong;
    int64_t from[LATHE_GROWTHS], count[LATHE_GROWTHS];
} Lathe_growth;

/* The pair `at` of the text, which is moved on. */
static inline Lathe_growth_fault lathe_read_growth_pair(const char **text, Lathe_growth *g)
{
    char *end;
    const int k = g->at;
    if (k == LATHE_GROWTHS) return LATHE_GROWTH_MANY;
    g->from[k] = strtoll(*text, &end, 10);
    if (end == *text || *end != ':') return LATHE_GROWTH_FORM;
    *text = end + 1;
    g->count[k] = strtoll(*text, &end, 10);
    if (end == *text || (*end && *end != ',')) return LATHE_GROWTH_FORM;
    *text = end;
    if (k == 0 && g->from[0] != 0) return LATHE_GROWTH_FIRST;
    if (k > 0 && g->from[k] <= g->from[k - 1]) return LATHE_GROWTH_ORDER;
    return g->count[k] < 1 ? LATHE_GROWTH_COUNT : LATHE_GROWTH_FINE;
}

static inline int lathe_read_growth(const char *text, Lathe_growth *g)
{
    for (g->n = g->at = 0;; text++, g->at++) {
        g->wrong = lathe_read_growth_pair(&text, g);
        if (g->wrong) return 0;
        if (!*text) return g->n = g->at + 1;
    }
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
