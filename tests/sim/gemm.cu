/* gemm.cu: products of generated CUDA (cuda/gemm.h) against loops in fp64 written here: random extents, strides, transposes,
 * batches and ends in all kinds of numbers, what lies between the elements untouched; algorithms by timing, and the file that
 * remembers them; and what the simulator's cuBLASLt must refuse.
 *   gemm FILE      all of it; prints what failed.  FILE: for what is found by timing
 *   gemm products  the products alone: exit code 1 where one is wrong or complained of, which it says */
#include "cuda/gemm_internal.h"

#include "sim.h"
#include <algorithm>
#include <math.h>
#include <random>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <vector>

static std::mt19937 rng(1);
static int failures;

static bool refused_start(void) { return sim_device.refuses && strcmp(sim_device.refuses, "start") == 0; }
static int below(int n) { return (int)(rng() % (unsigned)n); }
static double normal(void) { return std::normal_distribution<double>()(rng); }

#define EXPECT(holds, ...)                                                                                             \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            failures++;                                                                                                \
            printf("failed: ");                                                                                        \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
        }                                                                                                              \
    } while (0)

/* ------------------------------------------------------------------ numbers, as stored */

enum Type { F32, F64, BF16, F16 };

static int bytes_of(Type t) { return t == F64 ? 8 : t == F32 ? 4 : 2; }

static double get(const char *at, Type t, int64_t i)
{
    if (t == F64) return ((const double *)at)[i];
    if (t == F32) return ((const float *)at)[i];
    if (t == F16) return ((const _Float16 *)at)[i];
    float x;
    uint16_t half[2] = {0, ((const uint16_t *)at)[i]};
    memcpy(&x, half, sizeof x);
    return x;
}

/* bf16 has 8 bits of mantissa, fp16 11: by scaling to whole numbers. */
static double nearest(double x, int bits)
{
    int e;
    if (x == 0 || !isfinite(x)) return x;
    double m = frexp(x, &e);
    return ldexp(nearbyint(ldexp(m, bits)), e - bits);
}

static void put(char *at, Type t, int64_t i, double x)
{
    if (t == F64) ((double *)at)[i] = x;
    if (t == F32) ((float *)at)[i] = (float)x;
    if (t == F16) ((_Float16 *)at)[i] = (_Float16)nearest(x, 11);
    if (t != BF16) return;
    float y = (float)nearest(x, 8);
    uint16_t half[2];
    memcpy(half, &y, sizeof half);
    ((uint16_t *)at)[i] = half[1];
}

static const struct Kind {
    Gemm_numbers numbers;
    const char *name;
    Type in, out;
    double error; /* of an element, relative to Σ |a| |b| and what it is added to */
} kinds[] = {{GEMM_F32, "f32", F32, F32, 1e-6},   {GEMM_TF32, "tf32", F32, F32, 2e-3},
             {GEMM_F64, "f64", F64, F64, 1e-14},  {GEMM_BF16, "bf16", BF16, BF16, 4e-3},
             {GEMM_F16, "f16", F16, F16, 1e-3},   {GEMM_BF16_TO_F32, "bf16 to f32", BF16, F32, 1e-6},
             {GEMM_F16_TO_F32, "f16 to f32", F16, F32, 1e-6}};

/* ------------------------------------------------------------------ operands */

/* A block of the device with its picture on the host; random numbers at first. */
struct Block {
    Type type;
    int64_t n;
    int shift; /* elements before the first */
    char *device;
    std::vector<char> host;

    Block(Type type, int64_t n, int shift) : type(type), n(n), shift(shift), host((size_t)((n + shift) * bytes_of(type)))
    {
        for (int64_t i = 0; i < n + shift; i++) put(host.data(), type, i, normal());
        cudaMalloc(&device, host.size());
        cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice);
    }
    ~Block() { cudaFree(device); }
    char *at(void) { return device + shift * bytes_of(type); }
    double operator[](int64_t i) const { return get(host.data(), type, shift + i); }
    std::vector<double> now(void) const /* all of it, from the device */
    {
        std::vector<char> bytes(host.size());
        std::vector<double> x((size_t)(n + shift));
        cudaMemcpy(bytes.data(), device, bytes.size(), cudaMemcpyDeviceToHost);
        for (int64_t i = 0; i < n + shift; i++) x[(size_t)i] = get(bytes.data(), type, i);
        return x;
    }
};

static bool gaps; /* also between the elements of the innermost axis */

/* Strides of a row and a column axis and of the batch axes: one of the first two innermost, the rest in any order, with gaps.
 * Returns how many elements all of it spans. */
static int64_t lay_out(int64_t rows, int64_t columns, const Lathe_gemm *s, int64_t *row, int64_t *column, int64_t *batch,
                       bool repeats)
{
    struct Axis {
        int64_t n, *stride;
    };
    std::vector<Axis> axes = {{rows, row}, {columns, column}};
    if (below(2)) std::swap(axes[0], axes[1]);
    for (int i = 0; i < s->nbatch; i++) axes.push_back({s->batch[i], &batch[i]});
    std::shuffle(axes.begin() + 1, axes.end(), rng);
    int64_t span = gaps ? 1 + below(3) : 1;
    for (size_t i = 0; i < axes.size(); i++) {
        bool is_batch = axes[i].stride != row && axes[i].stride != column;
        if (is_batch && repeats && !below(3)) {
            *axes[i].stride = 0;
            continue;
        }
        *axes[i].stride = span;
        span *= axes[i].n;
        if (below(2)) span += i == 0 ? below(5) : span * below(2);
        if (!below(3)) span = (span + 7) / 8 * 8;
    }
    return span;
}

static int64_t extent(void) { return below(4) == 0 ? 1 : below(4) == 0 ? 1 + below(90) : 1 + below(17); }

struct Case {
    Cuda_gemm gemm;
    int64_t a, b, c; /* elements spanned */
};

static Case random_case(const Kind &kind)
{
    Case x = {};
    Lathe_gemm *s = &x.gemm.shape;
    x.gemm.name = "a product";
    x.gemm.numbers = kind.numbers;
    s->M = extent(), s->N = extent(), s->K = extent();
    s->nbatch = below(3) ? 0 : 1 + below(3);
    for (int i = 0; i < s->nbatch; i++) s->batch[i] = 1 + below(4);
    x.a = lay_out(s->M, s->K, s, &s->a_m, &s->a_k, s->a_batch, true);
    x.b = lay_out(s->K, s->N, s, &s->b_k, &s->b_n, s->b_batch, true);
    x.c = lay_out(s->M, s->N, s, &s->c_m, &s->c_n, s->c_batch, false);
    return x;
}

static std::string words(const Cuda_gemm &g)
{
    const Lathe_gemm *s = &g.shape;
    char text[512];
    int n = snprintf(text, sizeof text, "%s, end %d: M %lld N %lld K %lld, a %lld %lld, b %lld %lld, c %lld %lld, batch",
                     kinds[g.numbers].name, (int)g.end, (long long)s->M, (long long)s->N, (long long)s->K, (long long)s->a_m,
                     (long long)s->a_k, (long long)s->b_k, (long long)s->b_n, (long long)s->c_m, (long long)s->c_n);
    for (int i = 0; i < s->nbatch; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, " %lld (%lld %lld %lld)", (long long)s->batch[i], (long long)s->a_batch[i],
                      (long long)s->b_batch[i], (long long)s->c_batch[i]);
    return text;
}

/* ------------------------------------------------------------------ the product by itself */

/* Calls visit(a, b, c) for every product of the batch, with where its operands begin. */
template <class Visit> static void each_product(const Lathe_gemm *s, Visit visit, int axis = 0, int64_t a = 0, int64_t b = 0, int64_t c = 0)
{
    if (axis == s->nbatch) return visit(a, b, c);
    for (int64_t i = 0; i < s->batch[axis]; i++)
        each_product(s, visit, axis + 1, a + i * s->a_batch[axis], b + i * s->b_batch[axis], c + i * s->c_batch[axis]);
}

/* `want` and `room`: what c must hold, and how far off it may be. */
static void product_of(const Case &x, const Kind &kind, const Block &a, const Block &b, const Block &c, bool add,
                       std::vector<double> *want, std::vector<double> *room)
{
    const Lathe_gemm *s = &x.gemm.shape;
    each_product(s, [&](int64_t at_a, int64_t at_b, int64_t at_c) {
        for (int64_t i = 0; i < s->M; i++)
            for (int64_t j = 0; j < s->N; j++) {
                int64_t to = at_c + i * s->c_m + j * s->c_n;
                double sum = add ? c[to] : 0, size = fabs(sum);
                for (int64_t k = 0; k < s->K; k++) {
                    double term = a[at_a + i * s->a_m + k * s->a_k] * b[at_b + k * s->b_k + j * s->b_n];
                    sum += term, size += fabs(term);
                }
                (*want)[(size_t)(to + c.shift)] = sum;
                (*room)[(size_t)(to + c.shift)] = kind.error * size + 1e-300;
            }
    });
}

static void compare(const std::string &what, const std::vector<double> &got, const std::vector<double> &want,
                    const std::vector<double> &room)
{
    for (size_t i = 0; i < got.size(); i++) {
        if (fabs(got[i] - want[i]) <= room[i]) continue;
        EXPECT(false, "%s: element %zu is %.9g, not %.9g", what.c_str(), i, got[i], want[i]);
        return;
    }
}

static void quiet(const std::string &what)
{
    const char *failure = cuda_gemm_failure();
    std::string report = sim_report();
    EXPECT(!failure && report.empty(), "%s: %s %s", what.c_str(), failure ? failure : "", report.c_str());
    if (failure) exit(1);
}

static void test_product(const Kind &kind)
{
    Case x = random_case(kind);
    std::string what = words(x.gemm);
    for (int shifted = 0; shifted < 2; shifted++) {
        Block a(kind.in, x.a, shifted * below(3)), b(kind.in, x.b, shifted * below(3)), c(kind.out, x.c, shifted * below(3));
        for (int add = 0; add < 2; add++) {
            std::vector<double> want(c.now()), room(want.size());
            cudaMemcpy(c.host.data(), c.device, c.host.size(), cudaMemcpyDeviceToHost);
            product_of(x, kind, a, b, c, add, &want, &room);
            cuda_gemm(&x.gemm, c.at(), a.at(), b.at(), add, NULL);
            quiet(what);
            compare(what + (add ? ", added" : ""), c.now(), want, room);
        }
    }
    cuda_gemm_forget(&x.gemm);
}

enum { WORKSPACE = 1 << 20 };
static void *workspace;

static void test_products(int n)
{
    bool started = cuda_gemm_start(workspace, WORKSPACE);
    EXPECT(started != refused_start(), "cuda_gemm_start: %d", started);
    for (int i = 0; i < n; i++)
        for (const Kind &kind : kinds) test_product(kind);
    cuda_gemm_stop();
}

/* ------------------------------------------------------------------ ends */

static const char *const end_names[] = {"none", "bias", "gelu", "bias and gelu", "gelu back", "sum of a", "sum of b"};

static double gelu_of(double x) { return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); } /* tanh by the logistic */

static double gelu_slope_of(double x) /* by differences of that */
{
    double h = 1e-4;
    return (8 * (gelu_of(x + h) - gelu_of(x - h)) - (gelu_of(x + 2 * h) - gelu_of(x - 2 * h))) / (12 * h);
}

/* What is right of c, vector and aux, each with how far off it may be. */
struct Right {
    std::vector<double> c, vector, aux, c_room, vector_room, aux_room;
};

static Right end_of(const Case &x, const Kind &kind, const Block &a, const Block &b, const Block &c, const Block &vector,
                    const Block &aux, bool add)
{
    const Lathe_gemm *s = &x.gemm.shape;
    Right r = {c.now(), vector.now(), aux.now(), {}, {}, {}};
    r.c_room.resize(r.c.size()), r.vector_room.resize(r.vector.size()), r.aux_room.resize(r.aux.size());
    product_of(x, kind, a, b, c, add, &r.c, &r.c_room);
    double rounding = kind.numbers == GEMM_TF32 ? 2e-3 : kind.out == F64 ? 1e-13 : kind.out == F32 ? 2e-6 : kind.out == F16 ? 2e-3 : 1.2e-2;
    for (int64_t i = 0; i < s->M; i++)
        for (int64_t j = 0; j < s->N; j++) {
            size_t to = (size_t)(i * s->c_m + j * s->c_n + c.shift), beside = (size_t)(i * x.gemm.aux_m + j + aux.shift);
            bool biased = x.gemm.end == GEMM_END_BIAS || x.gemm.end == GEMM_END_BIAS_GELU;
            double with_bias = r.c[to] + (biased ? vector[j] : 0), room = r.c_room[to] + rounding * (1 + fabs(with_bias));
            if (x.gemm.end == GEMM_END_BIAS) r.c[to] = with_bias, r.c_room[to] = room;
            if (x.gemm.end == GEMM_END_GELU || x.gemm.end == GEMM_END_BIAS_GELU) {
                if (x.gemm.aux_m) r.aux[beside] = with_bias, r.aux_room[beside] = room;
                r.c[to] = gelu_of(with_bias), r.c_room[to] = 1.2 * room;
            }
            if (x.gemm.end == GEMM_END_GELU_BACK) {
                r.c_room[to] = 1.2 * r.c_room[to] + (rounding + 1e-10) * (1 + fabs(r.c[to]));
                r.c[to] *= gelu_slope_of(aux[i * x.gemm.aux_m + j]);
            }
        }
    bool sum_a = x.gemm.end == GEMM_END_SUM_A;
    for (int64_t n = 0; n < (sum_a ? s->M : s->N) && x.gemm.end >= GEMM_END_SUM_A; n++) {
        double sum = add ? vector[n] : 0, size = fabs(sum);
        for (int64_t k = 0; k < s->K; k++) {
            double term = sum_a ? a[n * s->a_m + k * s->a_k] : b[k * s->b_k + n * s->b_n];
            sum += term, size += fabs(term);
        }
        r.vector[(size_t)(n + vector.shift)] = sum;
        r.vector_room[(size_t)(n + vector.shift)] = rounding * (1 + size);
    }
    return r;
}

enum Ends { NO_ENDS, ALL_ENDS, NO_GELU }; /* what the library has */

static void test_end(const Kind &kind, Gemm_end end, Ends ends)
{
    Case x = random_case(kind);
    Lathe_gemm *s = &x.gemm.shape;
    int round = below(4) ? 8 : 1, shift = below(4) ? 0 : 3;
    bool is_gelu = end == GEMM_END_GELU || end == GEMM_END_BIAS_GELU, no_vector = end == GEMM_END_GELU || end == GEMM_END_GELU_BACK;
    x.gemm.end = end;
    s->nbatch = 0;
    if (below(4) == 0 && end >= GEMM_END_SUM_A) s->K = 2000 + below(5000), s->M = 1 + below(4), s->N = 1 + below(4);
    if (round == 8 && below(2)) s->N = (s->N + 7) / 8 * 8;
    x.a = lay_out(s->M, s->K, s, &s->a_m, &s->a_k, s->a_batch, false);
    x.b = lay_out(s->K, s->N, s, &s->b_k, &s->b_n, s->b_batch, false);
    s->c_n = 1, s->c_m = (s->N + below(3) + round - 1) / round * round;
    if (below(3) == 0) round = 1;
    x.gemm.aux_m = is_gelu && below(3) == 0 ? 0 : (s->N + below(3) + round - 1) / round * round; /* 0: nobody wants it */
    x.c = s->M * s->c_m;
    std::string what = words(x.gemm) + ", " + end_names[end] + (ends == NO_ENDS ? ", ours" : ends == NO_GELU ? ", ours if gelu" : "");
    Block a(kind.in, x.a, shift), b(kind.in, x.b, 0), c(kind.out, x.c, shift);
    Block vector(kind.out, std::max(s->M, s->N), shift), aux(kind.out, std::max<int64_t>(s->M * x.gemm.aux_m, 1), 0);
    bool may_add = !is_gelu && end != GEMM_END_GELU_BACK, add = may_add && below(2);
    Right r = end_of(x, kind, a, b, c, vector, aux, add);
    fake_cublaslt_epilogues(ends != NO_ENDS, ends == ALL_ENDS);
    cuda_gemm(&x.gemm, c.at(), a.at(), b.at(), add, NULL, no_vector ? NULL : vector.at(), x.gemm.aux_m ? aux.at() : NULL);
    fake_cublaslt_epilogues(true, true);
    quiet(what);
    compare(what, c.now(), r.c, r.c_room);
    compare(what + ", vector", vector.now(), r.vector, r.vector_room);
    compare(what + ", aux", aux.now(), r.aux, r.aux_room);
    cuda_gemm_forget(&x.gemm);
}

static void test_ends(int n)
{
    bool started = cuda_gemm_start(workspace, WORKSPACE);
    EXPECT(started != refused_start(), "cuda_gemm_start: %d", started);
    for (int i = 0; i < n; i++)
        for (const Kind &kind : kinds)
            for (int end = GEMM_END_BIAS; end <= GEMM_END_SUM_B; end++) test_end(kind, (Gemm_end)end, (Ends)(i % 3));
    cuda_gemm_stop();
}

/* ------------------------------------------------------------------ timing */

/* fc: c[64][128] = a[64][96] · b[96][128]; out: with a bias; odd: rows of 13 numbers, for which one algorithm is not; batched:
 * the library has 3, and the host loops over 2 such batches, the second at odd addresses. */
static Cuda_gemm plain_product(Gemm_end end, int64_t N)
{
    Cuda_gemm g = {"a product", GEMM_F32, end, {}, N, {}};
    Lathe_gemm *s = &g.shape;
    s->M = 64, s->N = N, s->K = 96;
    s->a_m = 96, s->b_k = s->c_m = N, s->a_k = s->b_n = s->c_n = 1;
    return g;
}

static Cuda_gemm batched_product(void)
{
    Cuda_gemm g = plain_product(GEMM_END_NONE, 16);
    Lathe_gemm *s = &g.shape;
    s->M = 8, s->nbatch = 2;
    s->batch[0] = 2, s->batch[1] = 3;
    s->b_batch[1] = 96 * 16, s->c_batch[1] = 8 * 16;
    s->b_batch[0] = 3 * s->b_batch[1] + 1, s->c_batch[0] = 3 * s->c_batch[1] + 1;
    return g;
}

static std::string text_of(const char *path)
{
    std::string text;
    FILE *f = fopen(path, "r");
    for (int c; f && (c = fgetc(f)) != EOF;) text += (char)c;
    if (f) fclose(f);
    return text;
}

struct Tuned {
    Gemm_tuning t;
    Cuda_gemm fc, out, odd, again, batched;

    Tuned(const char *path, size_t room_bytes = 160000)
        : fc(plain_product(GEMM_END_NONE, 128)), out(plain_product(GEMM_END_BIAS, 128)), odd(plain_product(GEMM_END_NONE, 13)),
          again(plain_product(GEMM_END_NONE, 128)), batched(batched_product())
    {
        void *room;
        Cuda_gemm *all[] = {&fc, &out, &odd, &again, &batched};
        cudaMalloc(&room, room_bytes);
        bool started = cuda_gemm_start(workspace, WORKSPACE);
        EXPECT(started != refused_start(), "cuda_gemm_start: %d", started);
        EXPECT(cuda_gemm_tune(all, 5, room, room_bytes, path, false, NULL, &t), "cuda_gemm_tune: %s", cuda_gemm_failure());
        quiet("tuning");
        cudaFree(room);
    }
    ~Tuned()
    {
        for (Cuda_gemm *g : {&fc, &out, &odd, &again, &batched}) cuda_gemm_forget(g);
        cuda_gemm_stop();
    }
    double ms_of(Cuda_gemm *g) /* of a call */
    {
        Block a(F32, 64 * 96, 0), b(F32, 96 * 128, 0), c(F32, 64 * 128, 0), vector(F32, 128, 0);
        cudaEvent_t begin, end;
        float ms;
        cudaEventCreate(&begin), cudaEventCreate(&end);
        cudaEventRecord(begin);
        cuda_gemm(g, c.at(), a.at(), b.at(), false, NULL, vector.at());
        cudaEventRecord(end);
        cudaEventElapsedTime(&ms, begin, end);
        cudaEventDestroy(begin), cudaEventDestroy(end);
        quiet("a product that was timed");
        return ms;
    }
};

static bool near(double x, double y) { return fabs(x - y) < 0.05; }

static void test_choice(const char *path)
{
    fake_cublaslt_costs(3, 1, 2, 0);
    {
        Tuned x(path);
        EXPECT(x.t.timed == 4 && x.t.known == 1 && !x.t.remark[0], "%d timed, %d known: %s", x.t.timed, x.t.known, x.t.remark);
        EXPECT(near(x.ms_of(&x.fc), 1) && near(x.ms_of(&x.again), 1), "the fastest takes 1 ms: %g", x.ms_of(&x.fc));
        EXPECT(near(x.ms_of(&x.odd), 2), "the fastest that can takes 2 ms: %g", x.ms_of(&x.odd));
        EXPECT(near(x.ms_of(&x.batched), 4), "two calls of it take 4 ms: %g", x.ms_of(&x.batched));
    }
    std::string text = text_of(path);
    fake_cublaslt_costs(1, 3, 2, 0); /* the file is believed */
    Tuned x(path);
    EXPECT(x.t.timed == 0 && x.t.known == 5 && x.t.ms == 0, "%d timed, %d known", x.t.timed, x.t.known);
    EXPECT(near(x.ms_of(&x.fc), 3), "what the file says takes 3 ms now: %g", x.ms_of(&x.fc));
    EXPECT(text_of(path) == text, "a file in which nothing is new was written");
}

static void test_ends_timed(const char *path)
{
    remove(path);
    fake_cublaslt_costs(1, 3, 2, 0);
    {
        Tuned x(path);
        EXPECT(x.out.plan[0]->ended.possible && near(x.ms_of(&x.out), 1), "the library's end is the faster one: %g", x.ms_of(&x.out));
    }
    fake_cublaslt_costs(1, 3, 2, 7); /* slow epilogues */
    {
        Tuned x(NULL);
        EXPECT(!x.out.plan[0]->ended.possible && near(x.ms_of(&x.out), 1), "our end is the faster one: %g", x.ms_of(&x.out));
        remove(path);
        Tuned y(path);
    }
    fake_cublaslt_costs(1, 3, 2, 0);
    Tuned x(path);
    EXPECT(x.t.known == 5 && !x.out.plan[0]->ended.possible, "the file says that ours is");
}

/* The fastest by the library's own account does not launch: the next one is taken, and where none does the product is ours. */
static void test_failing(const char *path)
{
    remove(path);
    fake_cublaslt_costs(3, -1, 2, 0);
    {
        Tuned x(path);
        EXPECT(x.t.timed == 4 && !cuda_gemm_failure(), "%d timed: %s", x.t.timed, cuda_gemm_failure() ? cuda_gemm_failure() : "");
        EXPECT(near(x.ms_of(&x.fc), 2), "the fastest that launches takes 2 ms: %g", x.ms_of(&x.fc));
    }
    remove(path);
    fake_cublaslt_costs(-1, -1, -1, 0);
    Tuned none(path);
    EXPECT(!cuda_gemm_failure() && !none.t.timed && none.fc.plan[0]->own, "nothing launches, and the product is not ours");
    EXPECT(none.ms_of(&none.fc) < 0.9, "ours takes %g ms", none.ms_of(&none.fc));
    fake_cublaslt_costs(3, 1, 2, 0);
}

static void test_wrong_one(const char *path, const char *wrong, double fc, bool own, const char *who)
{
    for (int again = 0; again < 2; again++) { /* then by the file */
        if (!again) remove(path);
        sim_device.refuses = again ? "" : wrong;
        Tuned x(path, 400000);
        sim_device.refuses = "";
        EXPECT(x.t.known == (again ? 5 : 1) && (again || x.t.checked == 4), "%s: %d known, %d checked", wrong, x.t.known, x.t.checked);
        EXPECT(x.fc.plan[0]->own == own, "%s: the product is%s ours", wrong, own ? " not" : "");
        EXPECT(own ? x.ms_of(&x.fc) < 0.9 : near(x.ms_of(&x.fc), fc), "%s: a product takes %g ms", wrong, x.ms_of(&x.fc));
        EXPECT(!x.out.plan[0]->ended.possible == (own || strstr(wrong, "end")), "%s: whose end it is", wrong);
    }
    EXPECT(strstr(text_of(path).c_str(), who), "%s: the file does not say \"%s\"", wrong, who);
}

/* What gives other numbers than the plain kernel is not taken, however fast; and the file knows. */
static void test_wrong(const char *path)
{
    fake_cublaslt_costs(3, 1, 2, 0);
    test_wrong_one(path, "wrong_wide", 2, false, "library");
    test_wrong_one(path, "wrong_end", 1, false, "ours");
    test_wrong_one(path, "wrong_all", 0, true, "\twrong\t");
}

/* Whatever is done to the file: nothing breaks, and the next one is whole. */
static void test_damage(const char *path)
{
    fake_cublaslt_costs(3, 1, 2, 0);
    remove(path);
    { Tuned x(path); }
    std::string whole = text_of(path);
    for (int i = 0; i < 15; i++) {
        std::string text = whole;
        size_t at = rng() % text.size();
        if (i % 3 == 0) text.resize(at);
        else if (i % 3 == 1) text[at] = (char)(rng() % 256);
        else text.insert(at, std::string((size_t)below(3000), "\t\nab0"[below(5)]));
        FILE *f = fopen(path, "w");
        fwrite(text.data(), 1, text.size(), f);
        fclose(f);
        { Tuned x(path); }
        Tuned x(path);
        EXPECT(x.t.known == 5 && !x.t.remark[0], "damage %d: %d known: %s", i, x.t.known, x.t.remark);
    }
    fclose(fopen(path, "w"));
    {
        Tuned x(path);
        EXPECT(x.t.timed == 4 && strstr(x.t.remark, "nothing can be read"), "an empty file: %s", x.t.remark);
    }
    fake_cublaslt_version(130200);
    {
        Tuned x(path);
        EXPECT(x.t.timed == 4 && strstr(x.t.remark, "is of another GPU or library"), "another version: %s", x.t.remark);
    }
    fake_cublaslt_version(130100);
    sim_device.name = "Another GPU";
    {
        Tuned x(path);
        EXPECT(x.t.timed == 4 && strstr(x.t.remark, "is of another GPU or library"), "another GPU: %s", x.t.remark);
    }
    sim_device = Sim_device();
    {
        Tuned x("/nowhere/at/all");
        EXPECT(x.t.timed == 4 && strstr(x.t.remark, "cannot write /nowhere/at/all: No such file"), "%s", x.t.remark);
    }
    Tuned x(NULL, 4096);
    EXPECT(x.t.too_large == 5 && !x.t.timed, "%d too large, %d timed", x.t.too_large, x.t.timed);
}

static void test_timing(const char *path)
{
    test_choice(path);
    test_ends_timed(path);
    test_failing(path);
    test_wrong(path);
    test_damage(path);
    remove(path);
    fake_cublaslt_costs(3, 1, 2, 0);
}

/* ------------------------------------------------------------------ products of ours, where the library has none */

static void test_own(void)
{
    static const char *const ways[] = {"start", "algorithm", "algorithm:4", "product", "product:7"};
    for (const char *way : ways) {
        sim_device.refuses = way;
        test_products(way == ways[1] ? 5 : 1);
        test_ends(way == ways[1] ? 2 : 1);
    }
    sim_device.refuses = "";
    gaps = true;
    test_products(3);
    gaps = false;
}

/* ------------------------------------------------------------------ what is no product of ours */

static void not_ours(const char *word, Cuda_gemm g)
{
    bool started = cuda_gemm_start(workspace, WORKSPACE);
    EXPECT(started != refused_start(), "cuda_gemm_start: %d", started);
    cuda_gemm(&g, workspace, workspace, workspace, false, NULL, workspace);
    const char *failure = cuda_gemm_failure();
    EXPECT(failure && strstr(failure, word), "\"%s\" should have been said, not \"%s\"", word, failure ? failure : "");
    cuda_gemm_stop();
}

static void test_not_ours(void)
{
    Cuda_gemm g;
    g = batched_product(), g.end = GEMM_END_BIAS, not_ours("an end after a batch", g);
}

/* ------------------------------------------------------------------ what the library's stand-in must refuse */

/* d[8][16] = a[8][12] · b[12][16] by columns, with one thing wrong; its words. */
struct Direct {
    int64_t ld_a = 8, ld_d = 8, ld_c = 8, aux_ld = 8;
    uint64_t rows_b = 12;
    int32_t turned_a = 0, batch = 1, epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    int64_t apart = 0;
    uint32_t align = 16;
    cudaDataType type = CUDA_R_32F, scale = CUDA_R_32F;
    int a_at = 0, d_at = 0;         /* bytes off their places */
    bool on_host = false, a_is_d = false, no_vector = false, other_algo = false, no_algo = false, destroyed = false;
    size_t workspace = WORKSPACE;
};

static std::string direct(const Direct &w)
{
    static char host[4096];
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c, d;
    cublasLtMatmulPreference_t wish;
    cublasLtMatmulHeuristicResult_t result = {};
    int found = 0;
    float one = 1, zero = 0;
    char *memory, *vector;
    uint64_t room = w.workspace;
    int32_t batch = w.batch, turned = w.turned_a, epilogue = w.epilogue;
    uint32_t align = w.align;
    cudaMalloc(&memory, 16384);
    vector = memory + 12288;
    cublasLtCreate(&handle);
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, w.scale);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (w.no_vector) vector = NULL;
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &vector, sizeof vector);
    char *aux = memory + 14336;
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux, sizeof aux);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &w.aux_ld, sizeof w.aux_ld);
    cublasLtMatrixLayoutCreate(&a, w.type, 8, 12, w.ld_a);
    cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, w.rows_b, 16, 12);
    cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, 8, 16, w.ld_c);
    cublasLtMatrixLayoutCreate(&d, CUDA_R_32F, 8, 16, w.ld_d);
    cublasLtMatrixLayout_t all[] = {a, b, c, d};
    for (int i = 0; i < 4; i++) {
        cublasLtMatrixLayoutSetAttribute(all[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
        cublasLtMatrixLayoutSetAttribute(all[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &w.apart, sizeof w.apart);
    }
    cublasLtMatmulPreferenceCreate(&wish);
    cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room);
    for (int i = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES; i <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES; i++)
        cublasLtMatmulPreferenceSetAttribute(wish, (cublasLtMatmulPreferenceAttributes_t)i, &align, sizeof align);
    cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, c, d, wish, 1, &result, &found);
    if (w.other_algo) result.algo.data[1] ^= 1;
    if (w.destroyed) cublasLtMatmulDescDestroy(desc);
    char *A = w.a_is_d ? memory + 8192 : w.on_host ? host : memory + w.a_at, *D = memory + 8192 + w.d_at;
    cublasLtMatmul(handle, desc, &one, A, a, memory + 4096, b, &zero, D, c, D, d, w.no_algo ? NULL : &result.algo, workspace,
                   w.workspace, NULL);
    std::string said = sim_report();
    if (!w.destroyed) cublasLtMatmulDescDestroy(desc);
    for (int i = 0; i < 4; i++) cublasLtMatrixLayoutDestroy(all[i]);
    cublasLtMatmulPreferenceDestroy(wish);
    cublasLtDestroy(handle);
    cudaFree(memory);
    return said;
}

static void refused(const char *word, Direct w)
{
    std::string said = direct(w);
    EXPECT(said.find(word) != said.npos, "\"%s\" should have been said, not \"%s\"", word, said.c_str());
}

static void test_refused(void)
{
    Direct right, w;
    std::string said = direct(right);
    EXPECT(said.empty(), "a product that is right: %s", said.c_str());
    w = right, w.ld_a = 7, refused("A: leading dimension 7 is less than its 8 rows", w);
    w = right, w.ld_d = 6, refused("D: leading dimension 6", w);
    w = right, w.ld_c = 9, refused("C is D, and lies otherwise", w);
    w = right, w.rows_b = 11, refused("extents that do not fit", w);
    w = right, w.turned_a = 1, refused("extents that do not fit", w);
    w = right, w.type = CUDA_R_16BF, refused("numbers that do not go together", w);
    w = right, w.scale = CUDA_R_64F, refused("numbers that do not go together", w);
    w = right, w.batch = 2, w.apart = 64, refused("elements of a batch lie over each other", w);
    w = right, w.a_at = 4, refused("misaligned: A", w);
    w = right, w.d_at = 8, refused("misaligned: D", w);
    w = right, w.align = 4, w.d_at = 4, said = direct(w); /* chosen for that */
    EXPECT(said.empty(), "a product of operands at multiples of 4 bytes: %s", said.c_str());
    w = right, w.a_at = 16384 - 16, refused("not all in an allocation", w);
    w = right, w.on_host = true, refused("not all in an allocation", w);
    w = right, w.a_is_d = true, refused("A lies where the product writes", w);
    w = right, w.no_algo = true, refused("an algorithm that is none", w);
    w = right, w.other_algo = true, refused("an algorithm of another product", w);
    w = right, w.destroyed = true, refused("none (any more)", w);
    w = right, w.epilogue = CUBLASLT_EPILOGUE_BIAS, w.no_vector = true, refused("bias is NULL", w);
    w = right, w.epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS, w.aux_ld = 4, refused("the leading dimension of aux is 4", w);
    w = right, w.epilogue = CUBLASLT_EPILOGUE_DGELU, w.aux_ld = 12, refused("a multiple of 8", w);
    w = right, w.epilogue = 77, refused("epilogue 77", w);
}

/* ------------------------------------------------------------------ */

int main(int count, char **arguments)
{
    bool products = count > 1 && strcmp(arguments[1], "products") == 0;
    int n = products ? 20 : 60;
    cudaMalloc(&workspace, WORKSPACE);
    test_products(n);
    test_ends(n / 4);
    if (!products) {
        test_own();
        test_refused();
        test_not_ours();
        test_timing(count > 1 ? arguments[1] : "products.txt");
    }
    if (!failures) printf("note: %d products, and %d for each end, of %d kinds of numbers\n", n, n / 5,
                          (int)(sizeof kinds / sizeof *kinds));
    return failures != 0;
}
