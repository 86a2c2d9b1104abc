/* test_random_graphs.c: many random graphs as the entries of one generated file.  Compiled equals interpreted; the planned
 * arena equals one where nothing shares memory, bit for bit; fused equals unfused.  Prints what the graphs covered. */
#include "harness.h"
#include "graph/random_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHS = 100, LONG_GRAPHS = 500, PER_FILE = 50 };

/* ------------------------------------------------------------------ what leaves hold */

/* The same for the interpreter and for the generated program: a function of the leaf's name and the element. */
static double leaf_value(const char *name, DType t, int64_t i, double nudge)
{
    Rng r = rng_of(hash_bytes(name, strlen(name), 17) + (uint64_t)i * 7919);
    double u = uniform(&r);
    if (t == I32)
        return floor(3 * u);
    if (t == BOOL)
        return u < 0.5;
    /* exact in fp32, so that both precisions compute from the same numbers */
    return (double)(float)((2 * u - 1) * (1 + nudge * (uniform(&r) - 0.5)));
}
