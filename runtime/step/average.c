/* average.c: the mean of the weights: how it moves, and how it takes their place while they are evaluated. */
#include "math/math.h"
#include "model/tables.h"
#include "step/average.h"

#include <string.h>

double averaged_share(Optimizer *o, const Lathe_recipe *r, int64_t update)
{
    struct Rate_sum *all = &o->rates;
    if (o->kind != LATHE_SCHEDULE_FREE) {
        double warm = (double)(1 + update) / (double)(10 + update);
        return 1 - (o->ema < warm ? o->ema : warm);
    }
    for (; all->updates <= update; all->updates++) {
        double rate = rate_at(r, all->updates);
        if (rate > all->most) all->most = rate;
        all->squares += all->most * all->most;
    }
    return all->squares > 0 ? all->most * all->most / all->squares : 0;
}

static size_t weights_bytes(const Optimizer *o)
{
    size_t size = o->weights == LATHE_F64 ? sizeof(double) : o->weights == LATHE_BF16 ? sizeof(bf16) : sizeof(float);
    return (size_t)o->n * size;
}

/* Real numbers of one type as those of another, in parallel. */
static void convert(Lathe_dtype to, void *at, Lathe_dtype from, const void *source, int64_t n)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) write_real(to, at, i, read_element(from, source, i));
}

void begin_averages(const Optimizer *o, const void *params)
{
    if (!o->average) return;
    convert(o->real, o->average, o->weights, params, o->n);
    if (o->kind == LATHE_SCHEDULE_FREE) convert(o->real, o->moment[1], o->weights, params, o->n);
}

void show_averages(const Optimizer *o, void *params, void *aside)
{
    memcpy(aside, params, weights_bytes(o));
    convert(o->weights, params, o->real, o->average, o->n);
}

void show_trained(const Optimizer *o, void *params, const void *aside) { memcpy(params, aside, weights_bytes(o)); }
