/* average.c: the mean of the weights: how it moves, and how it takes their place while they are evaluated. */
#include "math/math.h"
#include "model/tables.h"
#include "step/average.h"
#include "step/coded.h"
#include "step/entry.h"
#include "step/step.h"

#include <string.h>

double averaged_share(Optimizer *o, const Lathe_recipe *r, int64_t update)
{
    struct Rate_sum *all = &o->rates;
    if (o->kind != LATHE_SCHEDULE_FREE) return ema_share(o->ema, update);
    for (; all->updates <= update; all->updates++) {
        double rate = rate_at(r, all->updates);
        if (rate > all->most) all->most = rate;
        all->squares += all->most * all->most;
    }
    return all->squares > 0 ? all->most * all->most / all->squares : 0;
}

static int64_t weights_bytes(const Optimizer *o) { return o->n * dtype_size(o->weights); }

/* Real numbers of one type as those of another, in parallel. */
static void convert(Lathe_dtype to, void *at, Lathe_dtype from, const void *source, int64_t first, int64_t end)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = first; i < end; i++) write_real(to, at, i, read_element(from, source, i));
}

void begin_average_range(const Optimizer *o, const void *params, int64_t first, int64_t end)
{
    convert(o->real, o->average, o->weights, params, first, end);
    if (o->kind == LATHE_SCHEDULE_FREE) convert(o->real, o->moment[1], o->weights, params, first, end);
}

void begin_averages(const Optimizer *o, const void *params)
{
    if (o->average) begin_average_range(o, params, 0, o->n);
}

void optimizer_up(const Optimizer *o)
{
    const int64_t bytes = o->n * dtype_size(o->real);
    coded_up(o);
    if (!o->average) return;
    device_up(o->average, bytes);
    if (o->kind == LATHE_SCHEDULE_FREE) device_up(o->moment[1], bytes);
}

void keep_trained(const Optimizer *o, void *params, void *aside)
{
    copy_there(aside, params, weights_bytes(o), 1, 0);
}

void show_average_range(const Optimizer *o, void *params, int64_t first, int64_t end)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = first; i < end; i++) write_real(o->weights, params, i, read_element(o->real, o->average, i));
}

void show_averages(const Optimizer *o, void *params, void *aside)
{
    keep_trained(o, params, aside);
    if (on_device()) show_average_there(params);
    else show_average_range(o, params, 0, o->n);
}

/* Gradients are cleared, as norms count the padding between them, which no entry writes. */
void show_trained(const Optimizer *o, void *params, void *aside)
{
    copy_there(params, aside, weights_bytes(o), 1, 0);
    clear_there(aside, weights_bytes(o));
}
