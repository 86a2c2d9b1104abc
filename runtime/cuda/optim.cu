/* optim.cu: an optimizer's step on a GPU.
 *
 * squares: one block per chunk of the flat gradients computes its sum of squares in double.  settle: one block adds
 * these in order, checks that everything is finite, clips, and computes the factors of each segment.  update: one block
 * per chunk, four elements per thread at a time, in accesses of 16 bytes (16-bit parameters: of 8); four elements
 * across two segments are updated one by one.  Several GPUs have summed the gradients of batches of equal size: loss
 * and gradient are these sums divided by the number of GPUs, and the norm adds their parts in order. */
#include "cuda/optim.h"
#include "cuda/optim_element.cuh"
#include "step/scale.h"

enum { CHUNK = LATHE_STEP_CHUNK, BESIDE = 4 }; /* elements */

static_assert(sizeof(Gpu_rank_sum) == LATHE_RANK_SUM_BYTES, "the plan's");
static_assert(sizeof(Gpu_step) <= LATHE_STEP_HEAD && sizeof(Segment) == LATHE_SEGMENT_BYTES, "the plan's");
static_assert(sizeof(Update_f32) <= LATHE_UPDATE_BYTES && sizeof(Update_f64) == LATHE_UPDATE_BYTES, "the plan's");

Gpu_optimizer gpu_optimizer(const Optimizer *of, Gpu_step *step, void *device, int gpus, int rank)
{
    Gpu_step *there = (Gpu_step *)device;
    Gpu_optimizer g = {*of, there, &there->stopped, NULL, NULL, gpus, rank, false, {}, NULL};
    char *segments = (char *)device + LATHE_STEP_HEAD;
    memcpy((char *)step + LATHE_STEP_HEAD, of->segment, (size_t)of->segments * sizeof(Segment));
    for (int s = 0; s < of->segments; s++) g.some_frozen |= of->segment[s].rule.frozen;
    g.o.segment = (Segment *)segments;
    g.updates = segments + of->segments * LATHE_SEGMENT_BYTES;
    g.sums = (Gpu_rank_sum *)((char *)g.updates + of->segments * LATHE_UPDATE_BYTES);
    g.o.partial = (double *)((char *)g.sums + (gpus > 1 ? gpus * LATHE_RANK_SUM_BYTES : 0));
    return g;
}

/* ------------------------------------------------------------------ a chunk */

template <class Real> struct alignas(sizeof(Real) < 4 ? 8 : 16) Beside {
    Real x[BESIDE];
};

/* Visits the block's elements: four at a time within segment s, or one. */
template <class Four, class One>
DEVICE void each_of_chunk(const Optimizer &o, const Lathe_part &part, Four four, One one)
{
    const int64_t from = part.first + (int64_t)blockIdx.x * CHUNK, end = part.first + part.count;
    const int64_t to = from + CHUNK < end ? from + CHUNK : end;
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

template <class Real>
KERNEL void squares(Optimizer o, Lathe_part part, int chunk, bool some_frozen, const Real *RESTRICT g)
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
    each_of_chunk(o, part, four, one);
    sum = block_sum_f64(sum);
    if (threadIdx.x == 0) o.partial[chunk + blockIdx.x] = sum;
}

DEVICE double sum_of_chunks(const Optimizer &o, int chunks)
{
    double sum = 0;
    for (int k = threadIdx.x; k < chunks; k += THREADS) sum += o.partial[k];
    return block_sum_f64(sum);
}

template <class Loss> KERNEL void sum_rank(Optimizer o, int chunks, const Loss *loss, Gpu_rank_sum *sum)
{
    const double squares = sum_of_chunks(o, chunks);
    if (threadIdx.x > 0) return;
    sum->squares = squares;
    sum->loss = (double)*loss;
}

MATH bool is_finite(double x) { return x - x == 0; }

DEVICE void settle_segment(const Optimizer &o, const Rates &r, int s, Update_f32 *u)
{
    u[s] = update_of_f32(&o, &o.segment[s].rule, &r);
}
DEVICE void settle_segment(const Optimizer &o, const Rates &r, int s, Update_f64 *u)
{
    u[s] = update_of_f64(&o, &o.segment[s].rule, &r);
}

/* Adam and the mean of weights do not count skipped steps, and the host does not know yet which were skipped. */
DEVICE void correct(Rates *r, const Optimizer &o, int64_t updates)
{
    r->correction1 = 1 - power_of(r->momentum, updates + 1);
    r->correction2 = 1 - power_of(o.beta2, updates + 1);
    if (o.ema > 0) r->averaged = ema_share(o.ema, updates);
}

/* The sum over all GPUs, which have one each. */
DEVICE Gpu_rank_sum sum_of_ranks(const Gpu_rank_sum *sums, int gpus)
{
    Gpu_rank_sum all = sums[0];
    for (int r = 1; r < gpus; r++) all.squares += sums[r].squares, all.loss += sums[r].loss;
    return all;
}

template <class Loss, class Update>
KERNEL void settle(Optimizer o, int chunks, Gpu_step *step, int64_t *stopped, const Loss *own, Update *updates,
                   const Cuda_bad_id *bad, const Gpu_rank_sum *sums, int gpus)
{
    const Loss_scale before = step->loss_scale;
    const double scale = (before.scale > 0 ? before.scale : 1) * gpus;
    const Gpu_rank_sum all = gpus > 1 ? sum_of_ranks(sums, gpus) : Gpu_rank_sum{sum_of_chunks(o, chunks), (double)*own};
    const double norm = sqrt(all.squares) / scale, loss = all.loss / gpus;
    Rates r = step->rates;
    r.scale = clip_scale(norm, step->clip) / scale;
    if (before.skipped) correct(&r, o, step->number - before.skipped);
    for (int s = threadIdx.x; s < o.segments; s += THREADS) settle_segment(o, r, s, updates);
    __syncthreads(); /* all threads have read the scale, which changes now */
    if (threadIdx.x > 0) return;
    step->rates.scale = r.scale;
    step->loss = loss;
    step->norm = norm;
    step->bad_id = bad && bad->check;
    step->skipped = is_finite(loss) && adapt_loss_scale(&step->loss_scale, is_finite(norm));
    if (!is_finite(loss) || (!is_finite(norm) && !step->skipped)) *stopped = 1;
}

/* ------------------------------------------------------------------ the update */

/* Parameters in storage: in the computing type, or in bf16 with stochastic rounding. */
template <class Real> DEVICE void widen(Beside<Real> *to, const Beside<Real> &from) { *to = from; }
template <class Real>
DEVICE void narrow(Beside<Real> *to, const Beside<Real> &from, const Rates &, int64_t) { *to = from; }

DEVICE void widen(Beside<float> *to, const Beside<bf16> &from)
{
    UNROLL for (int k = 0; k < BESIDE; k++) to->x[k] = from_bf16_f32(from.x[k]);
}

DEVICE void narrow(Beside<bf16> *to, const Beside<float> &from, const Rates &rates, int64_t i)
{
    const Philox draw = rounding_draws(rates.seed, rates.step, i / BESIDE);
    UNROLL for (int k = 0; k < BESIDE; k++) to->x[k] = round_at_random(from.x[k], draw.word[k]);
}

/* Of an optimizer's moments; nullptr: RMSprop has none. */
template <class Real> struct Moments {
    Real *m, *v, *a; /* mean of g or velocity; mean of g²; RMSprop's mean of g.  Schedule-free: mean of g²; z */
};

template <Way way, class Real> DEVICE Moments<Real> moments_of(const Optimizer &o, int64_t before)
{
    Real *first = (Real *)o.moment[0] + before, *second = (Real *)o.moment[1] + before;
    if (way != RMSPROP) return {first, second, nullptr};
    Real *last = o.moments == 3 ? (Real *)o.moment[2] + before : second;
    return {o.moments - o.centered == 2 ? second : nullptr, first, o.centered ? last : nullptr};
}

template <Way way, class Real, class Stored, class Update>
KERNEL void update(Optimizer o, Lathe_part part, const Gpu_step *step, const int64_t *stopped,
                   const Update *RESTRICT updates, Stored *RESTRICT p, const Real *RESTRICT g)
{
    typedef Beside<Real> Some;
    const int64_t before = part.moments - part.first;
    const Moments<Real> at = moments_of<way, Real>(o, before);
    Real *m = at.m, *v = at.v, *a = at.a;
    Real *x = o.average ? (Real *)o.average + before : nullptr;
    const bool has_m = way == RMSPROP ? m != nullptr : way != SGD;
    const bool has_v = way == ADAM || way == RMSPROP || way == SCHEDULE_FREE;
    const bool has_a = way == RMSPROP && a != nullptr, has_x = x != nullptr, running = o.ema > 0;
    if (*stopped) return;
    if (step->skipped) return;
    auto four = [&](int s, int64_t i) {
        const Update u = updates[s];
        if (u.frozen) return;
        Beside<Stored> stored = *(Beside<Stored> *)(p + i);
        Some some_p, some_m = {}, some_v = {}, some_a = {}, some_x = {};
        const bool has = !u.directed; /* moments */
        const Some some_g = *(const Some *)(g + i);
        widen(&some_p, stored);
        if (has && has_m) some_m = *(Some *)(m + i);
        if (has && has_v) some_v = *(Some *)(v + i);
        if (has && has_a) some_a = *(Some *)(a + i);
        if (has_x) some_x = *(Some *)(x + i);
        UNROLL for (int k = 0; k < BESIDE; k++)
            element<way>(&some_p.x[k], some_g.x[k], &some_m.x[k], &some_v.x[k], &some_a.x[k], &some_x.x[k], running,
                         &u);
        narrow(&stored, some_p, step->rates, i);
        *(Beside<Stored> *)(p + i) = stored;
        if (has && has_m) *(Some *)(m + i) = some_m;
        if (has && has_v) *(Some *)(v + i) = some_v;
        if (has && has_a) *(Some *)(a + i) = some_a;
        if (has_x) *(Some *)(x + i) = some_x;
    };
    auto one = [&](int s, int64_t i) {
        if (updates[s].frozen) return;
        Real wide = widened(p[i]);
        element<way>(&wide, g[i], m + i, v + i, a + i, x + i, running, &updates[s]);
        put(p + i, wide, step->rates, i);
    };
    each_of_chunk(o, part, four, one);
}

/* ------------------------------------------------------------------ the mean of weights */

DEVICE void rounded(bf16 *to, float from) { *to = to_bf16_f32(from); }
template <class Real> DEVICE void rounded(Real *to, Real from) { *to = from; }

template <class Real, class Stored>
KERNEL void show_average(Lathe_part part, Stored *RESTRICT p, const Real *RESTRICT average)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < part.count) rounded(p + part.first + i, average[part.moments + i]);
}

/* ------------------------------------------------------------------ launching */

static Way way_of(const Optimizer *o)
{
    if (o->kind == LATHE_LION) return LION;
    if (o->kind == LATHE_RMSPROP) return RMSPROP;
    if (o->kind == LATHE_SCHEDULE_FREE) return SCHEDULE_FREE;
    if (o->kind != LATHE_SGD) return ADAM;
    return o->moments ? SGD_MOMENTUM : SGD;
}

static int chunks_of(const Lathe_part *part) { return (int)lathe_step_chunks(part->count); }

void gpu_squares(const Gpu_optimizer *g, const void *grads, const Lathe_part *part, int *chunks, cudaStream_t stream)
{
    const int n = chunks_of(part);
    if (n && g->o.real == LATHE_F64)
        launch(squares<double>, n, stream, g->o, *part, *chunks, g->some_frozen, (const double *)grads);
    else if (n) launch(squares<float>, n, stream, g->o, *part, *chunks, g->some_frozen, (const float *)grads);
    *chunks += n;
}

void gpu_sum_rank(const Gpu_optimizer *g, int chunks, const void *loss, Lathe_dtype loss_type, cudaStream_t stream)
{
    if (loss_type == LATHE_F64)
        launch(sum_rank<double>, 1, stream, g->o, chunks, (const double *)loss, g->sums + g->rank);
    else launch(sum_rank<float>, 1, stream, g->o, chunks, (const float *)loss, g->sums + g->rank);
}

template <class Update>
static void settle_by(const Gpu_optimizer *g, int chunks, const void *loss, Lathe_dtype loss_type,
                      const Cuda_bad_id *bad, cudaStream_t stream)
{
    Update *u = (Update *)g->updates;
    if (loss_type == LATHE_F64)
        launch(settle<double, Update>, 1, stream, g->o, chunks, g->step, g->stopped, (const double *)loss, u, bad,
               g->sums, g->gpus);
    else
        launch(settle<float, Update>, 1, stream, g->o, chunks, g->step, g->stopped, (const float *)loss, u, bad,
               g->sums, g->gpus);
}

void gpu_settle(const Gpu_optimizer *g, int chunks, const void *loss, Lathe_dtype loss_type, const Cuda_bad_id *bad,
                cudaStream_t stream)
{
    if (g->o.real == LATHE_F64) settle_by<Update_f64>(g, chunks, loss, loss_type, bad, stream);
    else settle_by<Update_f32>(g, chunks, loss, loss_type, bad, stream);
}

template <class Real, class Stored, class Update>
static void update_part(const Gpu_optimizer *g, Stored *params, const Real *grads, const Lathe_part *part,
                        cudaStream_t stream)
{
    const int n = chunks_of(part);
    const Update *u = (const Update *)g->updates;
    if (n == 0) return;
    switch (way_of(&g->o)) {
    case ADAM:
        launch(update<ADAM, Real, Stored, Update>, n, stream, g->o, *part, g->step, g->stopped, u, params, grads);
        break;
    case LION:
        launch(update<LION, Real, Stored, Update>, n, stream, g->o, *part, g->step, g->stopped, u, params, grads);
        break;
    case SGD:
        launch(update<SGD, Real, Stored, Update>, n, stream, g->o, *part, g->step, g->stopped, u, params, grads);
        break;
    case SCHEDULE_FREE:
        launch(update<SCHEDULE_FREE, Real, Stored, Update>, n, stream, g->o, *part, g->step, g->stopped, u, params,
               grads);
        break;
    case RMSPROP:
        launch(update<RMSPROP, Real, Stored, Update>, n, stream, g->o, *part, g->step, g->stopped, u, params, grads);
        break;
    case SGD_MOMENTUM:
        launch(update<SGD_MOMENTUM, Real, Stored, Update>, n, stream, g->o, *part, g->step, g->stopped, u, params,
               grads);
        break;
    }
}

void gpu_update(const Gpu_optimizer *g, void *params, const void *grads, const Lathe_part *part, cudaStream_t stream)
{
    const float *d = (const float *)grads;
    if (g->coded.codes) {
        gpu_update_coded(g, params, grads, stream);
        return;
    }
    if (g->o.real == LATHE_F64)
        update_part<double, double, Update_f64>(g, (double *)params, (const double *)grads, part, stream);
    else if (g->o.weights == LATHE_BF16) update_part<float, bf16, Update_f32>(g, (bf16 *)params, d, part, stream);
    else update_part<float, float, Update_f32>(g, (float *)params, d, part, stream);
}

void gpu_optimize(const Gpu_optimizer *g, void *params, const void *grads, const void *loss, Lathe_dtype loss_type,
                  const Cuda_bad_id *bad, cudaStream_t stream)
{
    const Lathe_part all = {0, g->o.n, 0};
    int chunks = 0;
    if (g->o.segments == 0) return;
    gpu_squares(g, grads, &all, &chunks, stream);
    gpu_settle(g, chunks, loss, loss_type, bad, stream);
    LAP(LAP_NORM);
    if (g->direct) g->direct();
    gpu_update(g, params, grads, &all, stream);
    LAP(LAP_UPDATE);
}

void gpu_show_average(const Gpu_optimizer *g, void *params, const Lathe_part *part, cudaStream_t stream)
{
    const int blocks = (int)CEIL_DIV(part->count, (int64_t)THREADS);
    const void *average = g->o.average;
    if (blocks == 0) return;
    if (g->o.real == LATHE_F64)
        launch(show_average<double, double>, blocks, stream, *part, (double *)params, (const double *)average);
    else if (g->o.weights == LATHE_BF16)
        launch(show_average<float, bf16>, blocks, stream, *part, (bf16 *)params, (const float *)average);
    else launch(show_average<float, float>, blocks, stream, *part, (float *)params, (const float *)average);
}
