/* cuda_optim.cu: an optimizer's step on a GPU.
 *
 * squares: a block a chunk of the flat gradients, its sum of squares in double.  settle: one block adds those up in order, looks
 * whether all is finite, clips, and works out what the elements of each segment go by.  update: a block a chunk, four elements a
 * thread at a time, in accesses of 16 bytes (parameters of 16 bits: of 8); four that lie in two segments one by one. */
#include "cuda_optim.h"
#include "lathe_cuda.cuh"
#include "rt_round.h"
#include "rt_scale.h"
#include "rt_step.h"

#define REAL    float
#define NAME(x) x##_f32
#include "train_optim_element.h"
#undef REAL
#undef NAME
#define REAL    double
#define NAME(x) x##_f64
#include "train_optim_element.h"
#undef REAL
#undef NAME

enum { CHUNK = LATHE_STEP_CHUNK, BESIDE = 4 }; /* elements */

static_assert(sizeof(Gpu_step) <= LATHE_STEP_HEAD && sizeof(Segment) == LATHE_SEGMENT_BYTES, "the plan's");
static_assert(sizeof(Update_f32) <= LATHE_UPDATE_BYTES && sizeof(Update_f64) == LATHE_UPDATE_BYTES, "the plan's");

Gpu_optimizer gpu_optimizer(const Optimizer *of, Gpu_step *step, void *device)
{
    Gpu_optimizer g = {*of, (Gpu_step *)device, NULL, false};
    char *segments = (char *)device + LATHE_STEP_HEAD;
    memcpy((char *)step + LATHE_STEP_HEAD, of->segment, (size_t)of->segments * sizeof(Segment));
    for (int s = 0; s < of->segments; s++) g.some_frozen |= of->segment[s].rule.frozen;
    g.o.segment = (Segment *)segments;
    g.updates = segments + of->segments * LATHE_SEGMENT_BYTES;
    g.o.partial = (double *)((char *)g.updates + of->segments * LATHE_UPDATE_BYTES);
    return g;
}

/* ------------------------------------------------------------------ a chunk */

template <class Real> struct alignas(sizeof(Real) < 4 ? 8 : 16) Beside {
    Real x[BESIDE];
};

/* The block's elements: `four` from i on that lie in segment s, or one. */
template <class Four, class One> DEVICE void each_of_chunk(const Optimizer &o, Four four, One one)
{
    const int64_t from = (int64_t)blockIdx.x * CHUNK, to = from + CHUNK < o.n ? from + CHUNK : o.n;
    int s = segment_at(o.segment, o.segments, from);
    for (int64_t i = from + BESIDE * threadIdx.x; i < to; i += BESIDE * THREADS) {
        while (o.segment[s].end <= i) s++;
        if (i + BESIDE <= o.segment[s].end) {
            four(s, i);
            continue;
        }
        for (int k = 0; k < BESIDE && i + k < to; k++) {
            while (o.segment[s].end <= i + k) s++;
            one(s, i + k);
        }
    }
}

/* ------------------------------------------------------------------ the norm */

template <class Real> KERNEL void squares(Optimizer o, bool some_frozen, const Real *RESTRICT g)
{
    double sum = 0;
    auto four = [&](int s, int64_t i) {
        if (some_frozen && o.segment[s].rule.frozen) return;
        const Beside<Real> x = *(const Beside<Real> *)(g + i);
        UNROLL for (int k = 0; k < BESIDE; k++) sum += (double)x.x[k] * (double)x.x[k];
    };
    auto one = [&](int s, int64_t i) {
        if (!(some_frozen && o.segment[s].rule.frozen)) sum += (double)g[i] * (double)g[i];
    };
    each_of_chunk(o, four, one);
    sum = block_sum_f64(sum);
    if (threadIdx.x == 0) o.partial[blockIdx.x] = sum;
}

MATH bool is_finite(double x) { return x - x == 0; }

DEVICE void settle_segment(const Optimizer &o, const Rates &r, int s, Update_f32 *u) { u[s] = update_of_f32(&o, &o.segment[s].rule, &r); }
DEVICE void settle_segment(const Optimizer &o, const Rates &r, int s, Update_f64 *u) { u[s] = update_of_f64(&o, &o.segment[s].rule, &r); }

DEVICE double power(double x, int64_t n)
{
    double all = 1;
    for (; n > 0; n /= 2, x *= x)
        if (n % 2) all *= x;
    return all;
}

/* The host does not know yet which steps were skipped: they are none of Adam's. */
DEVICE void correct(Rates *r, const Optimizer &o, int64_t updates)
{
    r->correction1 = 1 - power(r->momentum, updates + 1);
    r->correction2 = 1 - power(o.beta2, updates + 1);
}

template <class Loss, class Update>
KERNEL void settle(Optimizer o, int chunks, Gpu_step *step, const Loss *loss, Update *updates, const Cuda_bad_id *bad)
{
    double sum = 0;
    const Loss_scale before = step->loss_scale;
    const double scale = before.scale > 0 ? before.scale : 1;
    for (int k = threadIdx.x; k < chunks; k += THREADS) sum += o.partial[k];
    const double norm = sqrt(block_sum_f64(sum)) / scale;
    Rates r = step->rates;
    r.scale = clip_scale(norm, step->clip) / scale;
    if (before.skipped) correct(&r, o, step->number - before.skipped);
    for (int s = threadIdx.x; s < o.segments; s += THREADS) settle_segment(o, r, s, updates);
    if (threadIdx.x > 0) return;
    step->loss = (double)*loss;
    step->norm = norm;
    step->bad_id = bad && bad->check;
    step->skipped = is_finite((double)*loss) && adapt_loss_scale(&step->loss_scale, is_finite(norm));
    if (!is_finite((double)*loss) || (!is_finite(norm) && !step->skipped)) step->stopped = 1;
}

/* ------------------------------------------------------------------ the update */

enum Way { ADAM, LION, SGD, SGD_MOMENTUM };

#define ELEMENT(x, Real)                                                                                               \
    template <Way way> DEVICE void element(Real *p, Real g, Real *m, Real *v, const Update_##x *u)                     \
    {                                                                                                                  \
        if (way == ADAM) adam_##x(p, g, m, v, u);                                                                      \
        if (way == LION) lion_##x(p, g, m, u);                                                                         \
        if (way == SGD) sgd_##x(p, g, u);                                                                              \
        if (way == SGD_MOMENTUM) sgd_momentum_##x(p, g, m, u);                                                         \
    }
ELEMENT(f32, float)
ELEMENT(f64, double)
#undef ELEMENT

/* Parameters as they are stored: as they are computed with, or in bf16, which draws how it rounds. */
template <class Real> DEVICE void widen(Beside<Real> *to, const Beside<Real> &from) { *to = from; }
template <class Real> DEVICE void narrow(Beside<Real> *to, const Beside<Real> &from, const Rates &, int64_t) { *to = from; }

DEVICE void widen(Beside<float> *to, const Beside<bf16> &from)
{
    UNROLL for (int k = 0; k < BESIDE; k++) to->x[k] = from_bf16_f32(from.x[k]);
}

DEVICE void narrow(Beside<bf16> *to, const Beside<float> &from, const Rates &rates, int64_t i)
{
    const Philox draw = rounding_draws(rates.seed, rates.step, i / BESIDE);
    UNROLL for (int k = 0; k < BESIDE; k++) to->x[k] = round_at_random(from.x[k], draw.word[k]);
}

DEVICE float widened(bf16 x) { return from_bf16_f32(x); }
template <class Real> DEVICE Real widened(Real x) { return x; }
template <class Real> DEVICE void put(Real *p, Real x, const Rates &, int64_t) { *p = x; }
DEVICE void put(bf16 *p, float x, const Rates &rates, int64_t i)
{
    *p = round_at_random(x, rounding_draw(rates.seed, rates.step, i));
}

template <Way way, class Real, class Stored, class Update>
KERNEL void update(Optimizer o, const Gpu_step *step, const Update *RESTRICT updates, Stored *RESTRICT p, const Real *RESTRICT g)
{
    typedef Beside<Real> Some;
    Real *m = (Real *)o.moment[0], *v = (Real *)o.moment[1];
    if (step->stopped) return;
    if (step->skipped) return;
    auto four = [&](int s, int64_t i) {
        const Update u = updates[s];
        if (u.frozen) return;
        Beside<Stored> stored = *(Beside<Stored> *)(p + i);
        Some some_p, some_m = {}, some_v = {};
        const Some some_g = *(const Some *)(g + i);
        widen(&some_p, stored);
        if (way != SGD) some_m = *(Some *)(m + i);
        if (way == ADAM) some_v = *(Some *)(v + i);
        UNROLL for (int k = 0; k < BESIDE; k++) element<way>(&some_p.x[k], some_g.x[k], &some_m.x[k], &some_v.x[k], &u);
        narrow(&stored, some_p, step->rates, i);
        *(Beside<Stored> *)(p + i) = stored;
        if (way != SGD) *(Some *)(m + i) = some_m;
        if (way == ADAM) *(Some *)(v + i) = some_v;
    };
    auto one = [&](int s, int64_t i) {
        if (updates[s].frozen) return;
        Real x = widened(p[i]);
        element<way>(&x, g[i], m + i, v + i, &updates[s]);
        put(p + i, x, step->rates, i);
    };
    each_of_chunk(o, four, one);
}

/* ------------------------------------------------------------------ launching */

static Way way_of(const Optimizer *o)
{
    if (o->kind == LATHE_LION) return LION;
    if (o->kind != LATHE_SGD) return ADAM;
    return o->moments ? SGD_MOMENTUM : SGD;
}

template <Way way, class Real, class Stored, class Update>
static void launch_update(const Gpu_optimizer *g, Update *u, Stored *params, const Real *grads, cudaStream_t stream)
{
    launch(update<way, Real, Stored, Update>, (int)lathe_step_chunks(g->o.n), stream, g->o, g->step, u, params, grads);
}

template <class Real, class Stored, class Update>
static void optimize(const Gpu_optimizer *g, Stored *params, const Real *grads, const void *loss, Lathe_dtype loss_type,
                     const Cuda_bad_id *bad, cudaStream_t stream)
{
    const Optimizer &o = g->o;
    const int chunks = (int)lathe_step_chunks(o.n);
    Update *u = (Update *)g->updates;
    launch(squares<Real>, chunks, stream, o, g->some_frozen, grads);
    if (loss_type == LATHE_F64) launch(settle<double, Update>, 1, stream, o, chunks, g->step, (const double *)loss, u, bad);
    else launch(settle<float, Update>, 1, stream, o, chunks, g->step, (const float *)loss, u, bad);
    LAP(LAP_NORM);
    switch (way_of(&o)) {
    case ADAM: launch_update<ADAM>(g, u, params, grads, stream); break;
    case LION: launch_update<LION>(g, u, params, grads, stream); break;
    case SGD: launch_update<SGD>(g, u, params, grads, stream); break;
    case SGD_MOMENTUM: launch_update<SGD_MOMENTUM>(g, u, params, grads, stream); break;
    }
    LAP(LAP_UPDATE);
}

void gpu_optimize(const Gpu_optimizer *g, void *params, const void *grads, const void *loss, Lathe_dtype loss_type,
                  const Cuda_bad_id *bad, cudaStream_t stream)
{
    const float *d = (const float *)grads;
    if (g->o.segments == 0) return;
    if (g->o.real == LATHE_F64)
        optimize<double, double, Update_f64>(g, (double *)params, (const double *)grads, loss, loss_type, bad, stream);
    else if (g->o.weights == LATHE_BF16)
        optimize<float, bf16, Update_f32>(g, (bf16 *)params, d, loss, loss_type, bad, stream);
    else optimize<float, float, Update_f32>(g, (float *)params, d, loss, loss_type, bad, stream);
}
