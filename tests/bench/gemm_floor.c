/* gemm_floor.c: the time of all matrix products of one training step of a transformer, and of nothing else.
 *
 *   gemm_floor LIBRARY.so --layers L --heads H --kv-heads G --width W --hidden F --up U --seq T --batch B --vocab V
 *              --threads N --passes P [--in-out] [--check]
 *
 * Shapes come from the formula in list_step() alone: every linear layer forward, towards its input, towards its weight;
 * attention in full (no causal skipping, nothing recomputed) as products over batch × heads; the whole head.  U is how
 * many matrices of width × hidden lead into the middle of the feed-forward part (2 where it is gated).
 *
 * In the order of a step; weights, their gradients and saved activations have memory of their own in each layer,
 * touched before.  Scores are shared by the layers, since a good attention never stores them, which makes the floor
 * lower. Each product is timed by itself, in three ways of using the threads:
 *
 *   library    the library's own threads; the products of attention one after the other
 *   rows       one call a thread over equal parts of the rows; the products of attention shared among threads
 *   columns    likewise over columns
 *
 * --check: instead, each product in each way is compared with a plain loop; exit code 1 where one differs.
 * Prints one JSON object: {"flops": …, "ways": {"rows": {"qkv": [ms of each pass], …}, …}, "flops_of": {"qkv": …}}. */
#include <dlfcn.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };
enum { LIBRARY, BY_ROWS, BY_COLUMNS, WAYS };
enum { MOST_KINDS = 32, MOST_PASSES = 256, ALIGN = 16 };
static const char *const way_name[WAYS] = {"library", "rows", "columns"};

typedef void Sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                   int ldb, float beta, float *c, int ldc);
static Sgemm *sgemm;
static void (*set_library_threads)(int); /* NULL: it has none */
static int threads, passes;
static long layers, heads, kv_heads, width, hidden, up, seq, batch, vocab;
static bool in_out;   /* weights lie [inputs][outputs], not [outputs][inputs] */
static bool checking; /* --check */

static void stop(const char *what)
{
    fprintf(stderr, "gemm_floor: %s\n", what);
    exit(2);
}

/* ------------------------------------------------------------------ memory */

static float *array(long n)
{
    float *x = aligned_alloc(64, (size_t)(n * 4 + 63) / 64 * 64);
    if (!x) stop("not enough memory");
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) x[i] = (float)(i * 2654435761u % 2048) / 16384 - 1.0f / 16;
    return x;
}

/* A matrix as BLAS takes it: element (i, j) at at[i * ld + j], or, turned, at at[j * ld + i]. */
typedef struct Matrix {
    float *at;
    long ld;
    bool turned;
} Matrix;

static Matrix plain(float *at, long ld) { return (Matrix){at, ld, false}; }
static Matrix turned(Matrix m) { return (Matrix){m.at, m.ld, !m.turned}; }

/* ------------------------------------------------------------------ a step */

/* c[M][N] = a[M][K] · b[K][N], for each of batch × heads where `each` is set: then a, b, c are moved by so much from
 * one batch to the next and from one head to the next; key and value heads are shared by heads / kv_heads. */
typedef struct Product {
    int kind;
    long M, N, K;
    Matrix a, b, c;
    bool each;
    struct Moved {
        long batch, head, share;
    } ma, mb, mc;
} Product;

static Product *step;
static int products, kinds;
static const char *kind_name[MOST_KINDS];
static double kind_flops[MOST_KINDS], ms[WAYS][MOST_KINDS][MOST_PASSES];

static int kind_of(const char *name)
{
    for (int i = 0; i < kinds; i++)
        if (strcmp(kind_name[i], name) == 0) return i;
    if (kinds == MOST_KINDS) stop("too many kinds of products");
    kind_name[kinds] = name;
    return kinds++;
}

static void add(const char *kind, long M, long N, long K, Matrix a, Matrix b, Matrix c)
{
    step[products] = (Product){.kind = kind_of(kind), .M = M, .N = N, .K = K, .a = a, .b = b, .c = c};
    kind_flops[step[products++].kind] += 2.0 * (double)M * (double)N * (double)K;
}

static void add_each(const char *kind, long M, long N, long K, Matrix a, struct Moved ma, Matrix b, struct Moved mb,
                     Matrix c, struct Moved mc)
{
    add(kind, M, N, K, a, b, c);
    Product *p = &step[products - 1];
    p->each = true, p->ma = ma, p->mb = mb, p->mc = mc;
    kind_flops[p->kind] += 2.0 * (double)M * (double)N * (double)K * (double)(batch * heads - 1);
}

/* y[rows][out] = x[rows][in] · w, and what belongs to it on the way back. */
typedef struct Linear {
    long in, out;
    Matrix w, dw; /* seen as [in][out] */
    float *x;     /* [rows][in], saved */
} Linear;

static Linear linear(long in, long out, float *x)
{
    Linear l = {in, out, plain(array(in * out), in_out ? out : in), plain(array(in * out), in_out ? out : in), x};
    if (!in_out) l.w.turned = l.dw.turned = true;
    return l;
}

static void forward(const char *kind, const Linear *l, float *y)
{
    long rows = batch * seq;
    add(kind, rows, l->out, l->in, plain(l->x, l->in), l->w, plain(y, l->out));
}

static void backward(const char *towards_x, const char *towards_w, const Linear *l, float *dx, float *dy)
{
    long rows = batch * seq;
    Matrix x = plain(l->x, l->in), d = plain(dy, l->out);
    add(towards_x, rows, l->in, l->out, d, turned(l->w), plain(dx, l->in));
    if (l->dw.turned) add(towards_w, l->out, l->in, rows, turned(d), x, turned(l->dw));
    else add(towards_w, l->in, l->out, rows, turned(x), d, l->dw);
}

static void list_step(void)
{
    long rows = batch * seq, size = width / heads, side = (heads + 2 * kv_heads) * size;
    Linear(*of)[4] = calloc((size_t)layers, sizeof *of);
    float **qkv = calloc((size_t)layers, sizeof *qkv), **middle = calloc((size_t)layers, sizeof *middle);
    step = calloc((size_t)(18 * layers + 3), sizeof *step);
    if (!of || !qkv || !middle || !step) stop("not enough memory");
    float *scores = array(batch * heads * seq * seq), *d_scores = array(batch * heads * seq * seq);
    float *y = array(rows * width), *dx = array(rows * width), *dy = array(rows * width),
          *d_mixed = array(rows * width);
    float *d_qkv = array(rows * side), *d_middle = array(rows * hidden * up), *d_active = array(rows * hidden);
    float *d_keys = array(rows * width), *d_values = array(rows * width); /* of each head, shared ones not added up */
    float *logits = array(rows * vocab);
    struct Moved in_qkv = {seq * side, size, 1}, in_kv = {seq * side, size, heads / kv_heads};
    struct Moved in_scores = {heads * seq * seq, seq * seq, 1}, in_mixed = {seq * width, size, 1};

    for (long l = 0; l < layers; l++) {
        float *mixed = array(rows * width);
        qkv[l] = array(rows * side), middle[l] = array(rows * hidden * up);
        of[l][0] = linear(width, side, array(rows * width));
        of[l][1] = linear(width, width, mixed);
        of[l][2] = linear(width, hidden * up, array(rows * width));
        of[l][3] = linear(hidden, width, array(rows * hidden));
        Matrix q = plain(qkv[l], side), k = plain(qkv[l] + width, side), v = plain(k.at + kv_heads * size, side);
        forward("qkv", &of[l][0], qkv[l]);
        add_each("scores", seq, seq, size, q, in_qkv, turned(k), in_kv, plain(scores, seq), in_scores);
        add_each("mixing", seq, size, seq, plain(scores, seq), in_scores, v, in_kv, plain(mixed, width), in_mixed);
        forward("out", &of[l][1], y);
        forward("up", &of[l][2], middle[l]);
        forward("down", &of[l][3], y);
    }
    Linear head = linear(width, vocab, array(rows * width));
    forward("head", &head, logits);
    backward("head dx", "head dw", &head, dy, logits);
    for (long l = layers - 1; l >= 0; l--) {
        Matrix q = plain(qkv[l], side), k = plain(qkv[l] + width, side), v = plain(k.at + kv_heads * size, side);
        Matrix dq = plain(d_qkv, side), dk = plain(d_keys, width), dv = plain(d_values, width);
        Matrix p = plain(scores, seq), dp = plain(d_scores, seq), d = plain(d_mixed, width);
        backward("down dx", "down dw", &of[l][3], d_active, dy);
        backward("up dx", "up dw", &of[l][2], dx, d_middle);
        backward("out dx", "out dw", &of[l][1], d_mixed, dx);
        add_each("mixing dv", seq, size, seq, turned(p), in_scores, d, in_mixed, dv, in_mixed);
        add_each("mixing dp", seq, seq, size, d, in_mixed, turned(v), in_kv, dp, in_scores);
        add_each("scores dq", seq, size, seq, dp, in_scores, k, in_kv, dq, in_qkv);
        add_each("scores dk", seq, size, seq, turned(dp), in_scores, q, in_qkv, dk, in_mixed);
        backward("qkv dx", "qkv dw", &of[l][0], dy, d_qkv);
    }
}

/* ------------------------------------------------------------------ running it */

/* Rows m … of so many, columns n … of so many; c may be given turned, where c' = b' a'. */
static void part(const Product *p, const float *a, const float *b, float *c, long m, long rows, long n, long columns)
{
    const Matrix *A = &p->a, *B = &p->b, *C = &p->c;
    a += A->turned ? m : m * A->ld;
    b += B->turned ? n * B->ld : n;
    c += C->turned ? n * C->ld + m : m * C->ld + n;
    if (rows <= 0 || columns <= 0) return;
    if (C->turned)
        sgemm(ROW_MAJOR, B->turned ? NO_TRANSPOSE : TRANSPOSE, A->turned ? NO_TRANSPOSE : TRANSPOSE, (int)columns,
              (int)rows, (int)p->K, 1, b, (int)B->ld, a, (int)A->ld, 0, c, (int)C->ld);
    else
        sgemm(ROW_MAJOR, A->turned ? TRANSPOSE : NO_TRANSPOSE, B->turned ? TRANSPOSE : NO_TRANSPOSE, (int)rows,
              (int)columns, (int)p->K, 1, a, (int)A->ld, b, (int)B->ld, 0, c, (int)C->ld);
}

/* Where the i-th of batch × heads begins. */
static long moved(struct Moved m, long i) { return m.share ? i / heads * m.batch + i % heads / m.share * m.head : 0; }

static void run_each(const Product *p, long i)
{
    part(p, p->a.at + moved(p->ma, i), p->b.at + moved(p->mb, i), p->c.at + moved(p->mc, i), 0, p->M, 0, p->N);
}

static long share(long n, long i)
{
    long part = (n + threads - 1) / threads;
    part = (part + ALIGN - 1) / ALIGN * ALIGN;
    return i * part < n ? i * part : n;
}

static void run_shared(const Product *p, int way)
{
#pragma omp parallel for schedule(static, 1)
    for (long i = 0; i < threads; i++) {
        if (way == BY_ROWS)
            part(p, p->a.at, p->b.at, p->c.at, share(p->M, i), share(p->M, i + 1) - share(p->M, i), 0, p->N);
        else part(p, p->a.at, p->b.at, p->c.at, 0, p->M, share(p->N, i), share(p->N, i + 1) - share(p->N, i));
    }
}

static void run_product(const Product *p, int way)
{
    if (!p->each && way == LIBRARY) part(p, p->a.at, p->b.at, p->c.at, 0, p->M, 0, p->N);
    else if (!p->each) run_shared(p, way);
    else if (way == LIBRARY)
        for (long i = 0; i < batch * heads; i++) run_each(p, i);
    else {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < batch * heads; i++) run_each(p, i);
    }
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* pass < 0: to warm up */
static void run_pass(int way, int pass)
{
    if (set_library_threads) set_library_threads(way == LIBRARY ? threads : 1);
    for (int i = 0; i < products; i++) {
        double begin = now_ms();
        run_product(&step[i], way);
        if (pass >= 0) ms[way][step[i].kind][pass] += now_ms() - begin;
    }
}

/* ------------------------------------------------------------------ --check */

static float *element(Matrix m, long i, long j) { return &m.at[m.turned ? j * m.ld + i : i * m.ld + j]; }

static Matrix shifted(Matrix m, struct Moved by, long i) { return (Matrix){m.at + moved(by, i), m.ld, m.turned}; }

static bool agrees(const Product *p, long i)
{
    Matrix a = shifted(p->a, p->ma, i), b = shifted(p->b, p->mb, i), c = shifted(p->c, p->mc, i);
    for (long m = 0; m < p->M; m++)
        for (long n = 0; n < p->N; n++) {
            double sum = 0, size = 1e-6;
            for (long k = 0; k < p->K; k++) {
                double term = (double)*element(a, m, k) * *element(b, k, n);
                sum += term, size += term < 0 ? -term : term;
            }
            double away = sum - *element(c, m, n);
            if (!(away < 1e-5 * size && away > -1e-5 * size)) return false;
        }
    return true;
}

static int check_all(void)
{
    int wrong = 0;
    for (int w = 0; w < WAYS; w++) {
        if (set_library_threads) set_library_threads(w == LIBRARY ? threads : 1);
        for (int i = 0; i < products; i++) {
            const Product *p = &step[i];
            long many = p->each ? batch * heads : 1;
            for (long k = 0; k < many; k++)
                for (long m = 0; m < p->M * p->N; m++) *element(shifted(p->c, p->mc, k), m / p->N, m % p->N) = 1e9f;
            run_product(p, w);
            bool right = true;
            for (long k = 0; k < many; k++) right &= agrees(p, k);
            if (!right) fprintf(stderr, "%s by %s is wrong\n", kind_name[p->kind], way_name[w]), wrong++;
        }
    }
    return wrong != 0;
}

/* ------------------------------------------------------------------ in and out */

static void open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) stop(dlerror());
    *(void **)&sgemm = dlsym(library, "cblas_sgemm");
    if (!sgemm) stop("the library has no cblas_sgemm");
    *(void **)&set_library_threads = dlsym(library, "openblas_set_num_threads");
    /* BLIS: dim_t is 64 bits wide; the register is the same */
    if (!set_library_threads) *(void **)&set_library_threads = dlsym(library, "bli_thread_set_num_threads");
}

static void read_arguments(int argc, char **argv)
{
    long n_threads = 1, n_passes = 1;
    struct {
        const char *name;
        long *to;
    } all[] = {{"--layers", &layers},     {"--heads", &heads},    {"--kv-heads", &kv_heads},
               {"--width", &width},       {"--hidden", &hidden},  {"--up", &up},
               {"--seq", &seq},           {"--batch", &batch},    {"--vocab", &vocab},
               {"--threads", &n_threads}, {"--passes", &n_passes}};
    if (argc < 2) stop("usage: see the head of gemm_floor.c");
    for (int i = 2; i < argc; i++) {
        bool turn = strcmp(argv[i], "--in-out") == 0, check = strcmp(argv[i], "--check") == 0, known = turn || check;
        in_out |= turn, checking |= check;
        for (size_t k = 0; !known && k < sizeof all / sizeof *all && i + 1 < argc; k++)
            if (strcmp(argv[i], all[k].name) == 0) *all[k].to = atol(argv[++i]), known = true;
        if (!known) stop("unknown option");
    }
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (*all[k].to < 1) stop("every size must be given, and be positive");
    if (width % heads || heads % kv_heads) stop("width must be a multiple of heads, heads of kv-heads");
    threads = (int)n_threads;
    passes = (int)(n_passes < MOST_PASSES ? n_passes : MOST_PASSES);
}

static void print_result(void)
{
    double flops = 0;
    for (int k = 0; k < kinds; k++) flops += kind_flops[k];
    printf("{\"flops\": %.0f, \"ways\": {", flops);
    for (int w = 0; w < WAYS; w++) {
        printf("%s\"%s\": {", w ? ", " : "", way_name[w]);
        for (int k = 0; k < kinds; k++) {
            printf("%s\"%s\": [", k ? ", " : "", kind_name[k]);
            for (int i = 0; i < passes; i++) printf("%s%.4f", i ? ", " : "", ms[w][k][i]);
            printf("]");
        }
        printf("}");
    }
    printf("}, \"flops_of\": {");
    for (int k = 0; k < kinds; k++) printf("%s\"%s\": %.0f", k ? ", " : "", kind_name[k], kind_flops[k]);
    printf("}}\n");
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    omp_set_num_threads(threads);
    open_library(argv[1]);
    list_step();
    if (checking) return check_all();
    for (int w = 0; w < WAYS; w++) run_pass(w, -1);
    for (int i = 0; i < passes; i++)
        for (int w = 0; w < WAYS; w++) run_pass(w, i);
    print_result();
    return 0;
}
