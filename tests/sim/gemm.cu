/* gemm.cu: products of generated CUDA (cuda/gemm.h) against loops in fp64 written here: random extents, strides, transposes,
 * batches and ends in all kinds of numbers, what lies between the elements untouched; by the library, and by our own
 * kernel where it has none.
 *   gemm           all of it; prints what failed
 *   gemm products  by the library alone: exit code 1 where one is wrong or complained of, which it says */
#include "gemm_checks.cuh"

#include <algorithm>

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

/* ------------------------------------------------------------------ */

int main(int count, char **arguments)
{
    bool products = count > 1 && strcmp(arguments[1], "products") == 0;
    int n = products ? 20 : 60;
    cudaMalloc(&workspace, WORKSPACE);
    test_products(n);
    test_ends(n / 4);
    if (!products) test_own();
    if (!failures) printf("note: %d products, and %d for each end, of %d kinds of numbers\n", n, n / 5,
                          (int)(sizeof kinds / sizeof *kinds));
    return failures != 0;
}
