/* optim.cu: an optimizer's step on a GPU (cuda/optim.cu) in the simulator beside the CPU's: every optimizer, groups whose borders
 * lie anywhere, frozen ones, clipping, gradients that are not finite. */
#include "cuda/optim.h"
#include "math/math.h"
#include "sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <vector>

static int failures, checks;
#define EXPECT(holds, ...)                                                                                             \
    do {                                                                                                               \
        checks++;                                                                                                      \
        if (!(holds)) {                                                                                                \
            failures++;                                                                                                \
            printf("failed: line %d: ", __LINE__);                                                                     \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
        }                                                                                                              \
    } while (0)

void (*cuda_lap)(int kernel, cudaStream_t stream);

/* ------------------------------------------------------------------ a model: three chunks, borders at odd places */

static Lathe_param tensor(const char *name, int64_t offset, int64_t n, bool decay)
{
    Lathe_param p = {};
    p.name = p.export_name = name;
    p.rank = 1, p.dim[0] = n, p.stride[0] = 1, p.offset = offset, p.decay = decay;
    return p;
}

enum { FLAT = 2 * 16384 + 4096, STEPS = 3 };
static const Lathe_param params[] = {tensor("a", 0, 5, true),         tensor("b", 5, 9, false),        tensor("c", 14, 16371, true),
                                     tensor("d", 16385, 6000, false), tensor("e", 22400, 3000, true), tensor("f", 25401, 11463, true)};
static const Lathe_group groups[] = {{"b", 0.5, 0.05, 1, -1}, {"d", 3, -1, -1, -1}, {"e", -1, -1, -1, 1}};

static Lathe_model model(Lathe_dtype real)
{
    Lathe_model m = {};
    m.real = real;
    m.params = sizeof params / sizeof *params, m.param = params;
    m.groups = sizeof groups / sizeof *groups, m.group = groups;
    m.flat_elements = FLAT;
    return m;
}

/* ------------------------------------------------------------------ a side */

template <class Real, class Stored = Real> struct Arrays {
    std::vector<Stored> params = std::vector<Stored>(FLAT);
    std::vector<Real> grads = std::vector<Real>(FLAT), moments = std::vector<Real>(3 * FLAT);
};

static double drawn(uint64_t i) /* -1 … 1 */
{
    i = (i + 1) * 0x9e3779b97f4a7c15u;
    i = (i ^ i >> 31) * 0xbf58476d1ce4e5b9u;
    return (double)(int64_t)(i ^ i >> 29) * 0x1p-63;
}

static bool is_padding(int64_t i)
{
    for (const Lathe_param &p : params)
        if (i >= p.offset && i < p.offset + p.dim[0]) return false;
    return true;
}

template <class Real> static void store(Real *at, double x) { *at = (Real)x; }
static void store(bf16 *at, double x) { *at = to_bf16_f64(x); }
template <class Real> static double number(Real x) { return (double)x; }
static double number(bf16 x) { return from_bf16_f64(x); }

template <class Real> static void draw(std::vector<Real> *x, int number)
{
    for (int64_t i = 0; i < FLAT; i++) store(&(*x)[(size_t)i], is_padding(i) ? 0 : drawn((uint64_t)number * FLAT + (uint64_t)i));
}

template <class T> static T *there(const void *from, size_t bytes)
{
    T *at;
    if (cudaMalloc((void **)&at, bytes) != cudaSuccess) abort();
    cudaMemcpy(at, from, bytes, cudaMemcpyHostToDevice);
    return at;
}

template <class Real, class Stored = Real> struct Gpu { /* its arrays there */
    Stored *params;
    Real *grads, *moments;
    float *loss;
    std::vector<char> step;
    char *step_there;
    Gpu_optimizer g;
    cudaStream_t stream;

    Gpu(const Optimizer *o, const Arrays<Real, Stored> &a)
    {
        float three = 3;
        params = there<Stored>(a.params.data(), FLAT * sizeof(Stored));
        grads = there<Real>(a.grads.data(), FLAT * sizeof(Real));
        moments = there<Real>(a.moments.data(), 3 * FLAT * sizeof(Real));
        loss = there<float>(&three, sizeof three);
        step.resize((size_t)lathe_step_bytes(FLAT, 0, o->segments, 1));
        Optimizer device = *o;
        for (int k = 0; k < o->moments; k++) device.moment[k] = moments + k * FLAT;
        step_there = there<char>(step.data(), step.size());
        g = gpu_optimizer(&device, (Gpu_step *)step.data(), step_there, 1, 0);
        cudaMemcpy(step_there, step.data(), step.size(), cudaMemcpyHostToDevice);
        cudaStreamCreate(&stream);
    }
    ~Gpu()
    {
        cudaStreamDestroy(stream);
        for (void *at : {(void *)params, (void *)grads, (void *)moments, (void *)loss, (void *)step_there}) cudaFree(at);
    }
    Gpu_step take(const Arrays<Real, Stored> &a, const Rates &rates, double clip)
    {
        Gpu_step s;
        cudaMemcpy(grads, a.grads.data(), FLAT * sizeof(Real), cudaMemcpyHostToDevice);
        cudaMemcpy(step_there + offsetof(Gpu_step, rates), &rates, sizeof rates, cudaMemcpyHostToDevice);
        cudaMemcpy(step_there + offsetof(Gpu_step, clip), &clip, sizeof clip, cudaMemcpyHostToDevice);
        gpu_optimize(&g, params, grads, loss, LATHE_F32, NULL, stream);
        cudaStreamSynchronize(stream);
        cudaMemcpy(&s, step_there, sizeof s, cudaMemcpyDeviceToHost);
        return s;
    }
};

/* ------------------------------------------------------------------ both */

/* Of what the CPU has: the same bits, or to a few roundings of the scale of clipping. */
template <class Real> static double off_by(const Real *theirs, const Real *ours, int64_t n)
{
    std::vector<Real> got((size_t)n);
    double worst = 0;
    cudaMemcpy(got.data(), theirs, (size_t)n * sizeof(Real), cudaMemcpyDeviceToHost);
    for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs(number(got[(size_t)i]) - number(ours[i])) / (1e-3 + fabs(number(ours[i]))));
    return worst;
}

template <class Real, class Stored = Real> static void compare(const char *what, Lathe_recipe recipe, Lathe_dtype real, Lathe_dtype weights)
{
    Lathe_model m = model(real);
    Arrays<Real, Stored> a;
    Optimizer o;
    m.weights = weights;
    double bound = recipe.clip > 0 ? (real == LATHE_F64 ? 1e-13 : 3e-6) : 0;
    optimizer_init(&o, &m, &recipe, a.moments.data());
    draw(&a.params, 0);
    Gpu<Real, Stored> gpu(&o, a);
    for (int step = 0; step < STEPS; step++) {
        draw(&a.grads, step + 1);
        Rates rates;
        drop_frozen(&o, a.grads.data());
        double norm = gradient_norm(&o, a.grads.data());
        Pace pace = pace_at(&recipe, step, norm), unclipped = pace_at(&recipe, step, 0);
        pace.seed = unclipped.seed = 5;
        optimizer_step(&o, a.params.data(), a.grads.data(), step, &pace);
        draw(&a.grads, step + 1); /* frozen ones are not zero there */
        rates = rates_of(&o, step, &unclipped);
        Gpu_step s = gpu.take(a, rates, recipe.clip);
        EXPECT(fabs(s.norm - norm) <= 1e-13 * norm, "%s: step %d: norm %.17g, not %.17g", what, step, s.norm, norm);
        EXPECT(s.loss == 3 && !s.stopped, "%s: step %d: loss %g, stopped %d", what, step, s.loss, (int)s.stopped);
        double off = off_by(gpu.params, a.params.data(), FLAT);
        EXPECT(off <= bound, "%s: step %d: parameters are off by %g", what, step, off);
        for (int k = 0; k < o.moments; k++) {
            off = off_by(gpu.moments + k * FLAT, a.moments.data() + k * FLAT, FLAT);
            EXPECT(off <= bound, "%s: step %d: moments %d are off by %g", what, step, k, off);
        }
    }
    std::string report = sim_report();
    EXPECT(report.empty(), "%s: %s", what, report.c_str());
    optimizer_free(&o);
}

static Lathe_recipe recipe_of(Lathe_optimizer kind)
{
    Lathe_recipe r = {};
    r.optimizer = kind, r.lr = 0.01, r.beta1 = 0.9, r.beta2 = 0.99, r.eps = 1e-8, r.decay = 0.1;
    r.final_lr = 0.01, r.steps = 100;
    return r;
}

template <class Real, class Stored = Real> static void test_all(Lathe_dtype real, Lathe_dtype weights)
{
    Lathe_recipe plain = recipe_of(LATHE_SGD), moving = plain, nesterov, clipped = recipe_of(LATHE_ADAMW), both;
    moving.momentum = 0.8;
    nesterov = moving, nesterov.nesterov = 1;
    clipped.clip = 1;
    both = clipped, both.clip_value = 0.005;
    compare<Real, Stored>("adamw", recipe_of(LATHE_ADAMW), real, weights);
    compare<Real, Stored>("adam", recipe_of(LATHE_ADAM), real, weights);
    compare<Real, Stored>("lion", recipe_of(LATHE_LION), real, weights);
    Lathe_recipe root = recipe_of(LATHE_RMSPROP), centered = root, all = root, bounded = root;
    centered.centered = 1;
    all.centered = 1, all.momentum = 0.8;
    bounded.momentum = 0.8, bounded.clip_weights = 0.1;
    compare<Real, Stored>("rmsprop", root, real, weights);
    compare<Real, Stored>("rmsprop, centered", centered, real, weights);
    compare<Real, Stored>("rmsprop, centered, momentum", all, real, weights);
    compare<Real, Stored>("rmsprop, momentum, clip_weights", bounded, real, weights);
    compare<Real, Stored>("sgd", plain, real, weights);
    compare<Real, Stored>("momentum", moving, real, weights);
    compare<Real, Stored>("nesterov", nesterov, real, weights);
    if (weights == LATHE_BF16) return; /* a last bit of the norm may round the other way */
    compare<Real, Stored>("clip", clipped, real, weights);
    compare<Real, Stored>("clip and clip_value", both, real, weights);
}

/* The step that is not finite changes nothing, and none after it does. */
static void test_not_finite(bool loss)
{
    Lathe_model m = model(LATHE_F32);
    Lathe_recipe recipe = recipe_of(LATHE_ADAMW);
    Arrays<float> a;
    Optimizer o;
    optimizer_init(&o, &m, &recipe, a.moments.data());
    draw(&a.params, 0);
    draw(&a.grads, 1);
    Gpu<float> gpu(&o, a);
    Pace pace = pace_at(&recipe, 0, 0);
    Rates rates = rates_of(&o, 0, &pace);
    float bad = INFINITY;
    float good = a.grads[20000];
    if (loss) cudaMemcpy(gpu.loss, &bad, sizeof bad, cudaMemcpyHostToDevice);
    else a.grads[20000] = NAN;
    Gpu_step s = gpu.take(a, rates, 0);
    EXPECT(s.stopped && !(loss ? isfinite(s.loss) : isfinite(s.norm)), "it goes on: loss %g, norm %g", s.loss, s.norm);
    bad = 2, a.grads[20000] = good;
    cudaMemcpy(gpu.loss, &bad, sizeof bad, cudaMemcpyHostToDevice);
    s = gpu.take(a, rates, 0);
    EXPECT(s.stopped && s.loss == 2, "it goes on: loss %g, norm %g", s.loss, s.norm);
    EXPECT(off_by(gpu.params, a.params.data(), FLAT) == 0, "the parameters have changed");
    EXPECT(off_by(gpu.moments, a.moments.data(), 2 * FLAT) == 0, "the moments have changed");
    optimizer_free(&o);
}

int main(void)
{
    for (int order = 0; order < 3; order++) {
        sim_order((Sim_order)order, 7);
        if (order) {
            compare<float>("adamw", recipe_of(LATHE_ADAMW), LATHE_F32, LATHE_F32);
            compare<float, bf16>("adamw", recipe_of(LATHE_ADAMW), LATHE_F32, LATHE_BF16);
            continue;
        }
        test_all<float>(LATHE_F32, LATHE_F32);
        test_all<double>(LATHE_F64, LATHE_F64);
        test_all<float, bf16>(LATHE_F32, LATHE_BF16);
        test_not_finite(false);
        test_not_finite(true);
    }
    printf("%d checks, %d failed\n", checks, failures);
    return failures > 0;
}
