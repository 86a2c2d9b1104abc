/* cuda_optim.cu: an optimizer's step on a GPU.
 *
 * squares: a block a chunk of the flat gradients, its sum of squares in double.  settle: one block adds those up in order, looks
 * whether all is finite, clips, and works out what the elements of each segment go by.  update: a block a chunk, four elements a
 * thread at a time, in accesses of 16 bytes; four that lie in two segments one by one. */
#include "cuda_optim.h"
#include "lathe_cuda.cuh"
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

template <class Real> struct alignas(16) Beside {
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

template <Way way, class Real, class Update>
KERNEL void update(Optimizer o, const Gpu_step *step, const Update *RESTRICT updates, Real *RESTRICT p, const Real *RESTRICT g)
{
    typedef Beside<Real> Some;
    Real *m = (Real *)o.moment[0], *v = (Real *)o.moment[1];
    if (step->stopped) return;
    if (step->skipped) return;
    auto four = [&](int s, int64_t i) {
        const Update u = updates[s];
        if (u.frozen) return;
        Some some_p = *(Some *)(p + i), some_m = {}, some_v = {};
        const Some some_g = *(const Some *)(g + i);
        if (way != SGD) some_m = *(Some *)(m + i);
        if (way == ADAM) some_v = *(Some *)(v + i);
        UNROLL for (int k = 0; k < BESIDE; k++) element<way>(&some_p.x[k], some_g.x[k], &some_m.x[k], &some_v.x[k], &u);
        *(Some *)(p + i) = some_p;
        if (way != SGD) *(Some *)(m + i) = some_m;
        if (way == ADAM) *(Some *)(v + i) = some_v;
    };
    auto one = [&](int s, int64_t i) {
        if (!updates[s].frozen) element<way>(p + i, g[i], m + i, v + i, &updates[s]);
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

template <class Real, class Update>
static void optimize(const Gpu_optimizer *g, Real *params, const Real *grads, const void *loss, Lathe_dtype loss_type,
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
    case ADAM: launch(update<ADAM, Real, Update>, chunks, stream, o, g->step, u, params, grads); break;
    case LION: launch(update<LION, Real, Update>, chunks, stream, o, g->step, u, params, grads); break;
    case SGD: launch(update<SGD, Real, Update>, chunks, stream, o, g->step, u, params, grads); break;
    case SGD_MOMENTUM: launch(update<SGD_MOMENTUM, Real, Update>, chunks, stream, o, g->step, u, params, grads); break;
    }
    LAP(LAP_UPDATE);
}

void gpu_optimize(const Gpu_optimizer *g, void *params, const void *grads, const void *loss, Lathe_dtype loss_type,
                  const Cuda_bad_id *bad, cudaStream_t stream)
{
    if (g->o.segments == 0) return;
    if (g->o.real == LATHE_F64) optimize<double, Update_f64>(g, (double *)params, (const double *)grads, loss, loss_type, bad, stream);
    else optimize<float, Update_f32>(g, (float *)params, (const float *)grads, loss, loss_type, bad, stream);
}
