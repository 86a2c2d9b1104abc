/* rates.c: what a machine does in a second, measured, or as a machine of a few years ago, or a GPU by name. */
#include "emit/emit.h"
#include "base/escape.h"
#include "timing/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { USUAL_CACHE = 16 << 20 };

static double largest_cache(void)
{
    double third = 0, second = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    third = (double)sysconf(_SC_LEVEL3_CACHE_SIZE);
    second = (double)sysconf(_SC_LEVEL2_CACHE_SIZE) * (double)max64(1, sysconf(_SC_NPROCESSORS_ONLN));
#endif
    double larger = third > second ? third : second;
    return larger > 0 ? larger : USUAL_CACHE;
}

/* No number of this machine is in it: which plan --memory takes does not depend on where it is compiled. */
Rates usual_rates(void)
{
    const double cores = 8;
    Rates r = {.cache = USUAL_CACHE, .threads = (int)cores};
    r.seconds[PRODUCT] = 1 / (40e9 * cores);
    r.seconds[CURVE] = 1 / (2e9 * cores);
    r.seconds[BYTE] = 1 / 15e9;
    r.seconds[CALL] = 1e-6;
    return r;
}

bool measure_rates(Rates *r)
{
    char key[32], value[256], *program = program_beside("lathe-measure");
    FILE *f = access(program, X_OK) == 0 ? popen(shell_quoted(program), "r") : NULL;
    static const char *const units[] = {UNIT_LIST(LIST_WORD)};
    *r = (Rates){.cache = largest_cache()};
    while (f && fscanf(f, "%31s %255[^\n]", key, value) == 2) {
        for (int i = 0; i < UNITS; i++)
            if (same(key, units[i])) r->seconds[i] = atof(value);
        if (same(key, "threads")) r->threads = atoi(value);
        if (same(key, "engine")) r->engine = copy_string(value);
    }
    bool ok = f && pclose(f) == 0 && r->threads > 0 && r->engine;
    for (int i = 0; i < UNITS; i++) ok = ok && r->seconds[i] > 0;
    return ok;
}

Rates asked_rates(const Options *o, bool tf32)
{
    Rates r;
    if (o->gpu) return gpu_rates(gpu_named(o->gpu), tf32);
    if (!measure_rates(&r))
        err((Where){0}, "--time: this machine's speed could not be measured: %s does not run\n  build Lathe again",
            program_beside("lathe-measure"));
    return r;
}
