/* direction.cu: before the entry direction runs on a GPU: frozen gradients are zero and others within the limit of
 * clip_value, as on the CPU (drop_frozen(), clip_directed()); its inputs are written.
 *
 * The entry runs in every step.  In one that does not update, its update is 0, and its states stay as they were
 * (where_updated() of compiler/front/direction.c). */
#include "cuda/direction.h"
#include "lathe_cuda.cuh"
#include "step/step.h"

#include <math.h>

template <class Real>
KERNEL void ready_gradients(Optimizer o, int64_t first, bool some_frozen, const Gpu_step *step, Real *g)
{
    const Rates &r = step->rates;
    const int64_t i = first + (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= o.n || (!some_frozen && !(r.most < INFINITY))) return;
    const Real most = (Real)(r.most / r.scale);
    if (some_frozen && o.segment[segment_at(o.segment, o.segments, i)].rule.frozen) g[i] = 0;
    else if (r.most < INFINITY) g[i] = g[i] < -most ? -most : g[i] > most ? most : g[i];
}

struct Place {
    void *at; /* NULL: the entry does not ask for it */
    bool wide;
};

struct Told {
    Place scale, rate, update;
};

DEVICE void write_to(const Place &p, double x)
{
    if (p.at && p.wide) *(double *)p.at = x;
    else if (p.at) *(float *)p.at = (float)x;
}

KERNEL void tell_direction(const Gpu_step *step, const int64_t *stopped, Told to)
{
    const bool taken = !*stopped && !step->skipped;
    if (threadIdx.x > 0) return;
    write_to(to.scale, step->rates.scale);
    write_to(to.rate, step->rates.lr);
    write_to(to.update, taken ? (double)(step->number - step->loss_scale.skipped + 1) : 0);
}

/* ------------------------------------------------------------------ launching */

void gpu_ready_gradients(const Gpu_optimizer *o, void *grads, int64_t first, cudaStream_t stream)
{
    const int blocks = (int)CEIL_DIV(o->o.n - first, (int64_t)THREADS);
    if (blocks == 0) return;
    if (o->o.real == LATHE_F64)
        launch(ready_gradients<double>, blocks, stream, o->o, first, o->some_frozen, o->step, (double *)grads);
    else launch(ready_gradients<float>, blocks, stream, o->o, first, o->some_frozen, o->step, (float *)grads);
}

static Place place_of(const Lathe_entry *e, char *in, Lathe_role role)
{
    for (int i = 0; i < e->inputs; i++)
        if (e->input[i].role == role) return {in + e->input[i].offset, e->input[i].dtype == LATHE_F64};
    return {NULL, false};
}

void gpu_tell_direction(const Gpu_optimizer *o, const Lathe_entry *direction, void *in, cudaStream_t stream)
{
    char *at = (char *)in;
    const Told to = {place_of(direction, at, LATHE_GRADIENT_SCALE), place_of(direction, at, LATHE_LEARNING_RATE),
                     place_of(direction, at, LATHE_UPDATE)};
    launch(tell_direction, 1, stream, o->step, o->stopped, to);
}
