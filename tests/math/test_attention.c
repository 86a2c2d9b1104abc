/* test_attention.c: math/attention.c on random shapes against plain loops in doubles: every mask alone and together,
 * one query, odd widths, grouped heads, cross, rotary positions, soft caps, biases on scores, dropout, strided operands
 * with their surroundings untouched; the same bits for 1, 2, 3 and 8 threads; queries that see nothing. */
#include "harness.h"
#include "lathe_rt.h"
#include "base/words.h"
#include "math/attention.h"
#include "math/engine.h"
#include "math/math.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ operands */

enum { Q, K, V, O, LSE, P, D_O, D_Q, D_K, D_V, OPERANDS };

/* [B0][B1][time][heads][width] with gaps; data in doubles, and what the routines get. */
typedef struct Operand_ {
    Lathe_heads at;
    int64_t time, heads, width, span;
    double *exact, *size; /* the value, and the absolute values of what it is a sum of */
    void *given;
} Operand_;

typedef struct Case {
    Lathe_attention g;
    Lathe_masks m;
    Operand_ x[OPERANDS];
    int *offsets, *lengths, *q_segments, *k_segments, *row, *base;
    void *q_turns, *k_turns, *bias;
    bool is_f64, weights; /* weights: p is asked for */
} Case;

static const double untouched = 12345.25;

static double get(const Case *c, const void *data, int64_t i)
{
    return c->is_f64 ? ((const double *)data)[i] : ((const float *)data)[i];
}

static void put(const Case *c, void *data, int64_t i, double v)
{
    if (c->is_f64) ((double *)data)[i] = v;
    else ((float *)data)[i] = (float)v;
}

static int64_t place(const Case *c, int x, int64_t sample, int64_t time, int64_t head, int64_t w)
{
    const Lathe_heads *s = &c->x[x].at;
    int64_t inner = c->g.batch[1];
    return sample / inner * s->batch[0] + sample % inner * s->batch[1] + time * s->time + head * s->head + w;
}

static void make_operand(Case *c, int x, int64_t time, int64_t heads, int64_t width, Rng *r, bool random)
{
    Operand_ *o = &c->x[x];
    int64_t gap = below(r, 3) * below(r, 20), samples = c->g.batch[0] * c->g.batch[1];
    bool heads_first = x == LSE || below(r, 4) == 0; /* [heads][time] or [time][heads], as in a projection */
    *o = (Operand_){.time = time, .heads = heads, .width = width};
    o->at.time = heads_first ? width : heads * width + gap;
    o->at.head = heads_first ? time * width + gap : width;
    int64_t one = time * heads * width + gap * (heads_first ? heads : time);
    o->at.batch[0] = one * c->g.batch[1];
    o->at.batch[1] = one;
    o->span = one * samples;
    o->exact = calloc((size_t)o->span, sizeof(double));
    o->size = calloc((size_t)o->span, sizeof(double));
    o->given = malloc((size_t)o->span * sizeof(double));
    for (int64_t i = 0; i < o->span; i++) put(c, o->given, i, untouched);
    for (int64_t s = 0; s < samples; s++)
        for (int64_t i = 0; i < time * heads * width; i++) {
            int64_t at = place(c, x, s, i / (heads * width), i / width % heads, i % width);
            put(c, o->given, at, random ? normal(r) : NAN);
            o->exact[at] = get(c, o->given, at);
        }
}

static int *some_ints(Rng *r, int64_t n, int64_t most)
{
    int *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = (int)below(r, most);
    return x;
}

/* Each as the one before, but at every `length`-th place or so: packed documents. */
static int *stretches(Rng *r, int64_t n, int64_t length)
{
    int *x = some_ints(r, n, 3);
    for (int64_t i = 1; i < n; i++)
        if (below(r, length)) x[i] = x[i - 1];
    return x;
}

static void make_masks(Case *c, Rng *r, int flags)
{
    Lathe_attention *g = &c->g;
    int64_t samples = g->batch[0] * g->batch[1];
    g->causal = flags & 1;
    g->window = flags & 2 ? 1 + below(r, below(r, 2) ? 8 : g->S) : 0;
    if (flags & 3) c->m.offset = below(r, 2) ? 0 : (int)below(r, g->S + 4) - 2;
    if (flags & 3 && below(r, 3) == 0) c->m.offsets = c->offsets = some_ints(r, samples, g->S + 2);
    if (flags & 4) c->m.lengths = c->lengths = some_ints(r, samples, g->S + 2);
    g->lengths = g->offsets = (Lathe_heads){.batch = {g->batch[1], 1}};
    if (flags & 8) {
        int64_t length = 1 + below(r, 2) * below(r, 200);
        c->m.q_segments = c->q_segments = stretches(r, samples * g->T, length);
        c->m.k_segments = c->k_segments = stretches(r, samples * g->S, length);
    }
    g->q_segments = (Lathe_heads){.batch = {g->batch[1] * g->T, g->T}, .time = 1};
    g->k_segments = (Lathe_heads){.batch = {g->batch[1] * g->S, g->S}, .time = 1};
    g->row = (Lathe_heads){.batch = {g->batch[1], 1}};
    if (!(flags & 16)) return;
    g->keep = 1.25;
    g->threshold = 0x33333333;
    c->m.seed = 5, c->m.step = 6, c->m.site = 7;
    g->base = g->row;
    c->m.base = c->base = some_ints(r, samples, 1000);
    c->m.row = c->row = some_ints(r, samples, 100);
}

typedef enum Turn { THERE, BACK, SIZES } Turn; /* SIZES: of what the sums turned are made of */

static void turn_pair(double *low, double *high, double c, double s, Turn way)
{
    double a = *low, b = *high;
    if (way == SIZES) c = fabs(c), s = fabs(s);
    *low = way == THERE ? a * c - b * s : a * c + b * s;
    *high = way == BACK ? b * c - a * s : b * c + a * s;
}

/* The halves of every row of x turned. */
static void turn(Case *c, int x, double *values, const void *turns, Turn way)
{
    const Operand_ *o = &c->x[x];
    int64_t D = o->width, half = D / 2;
    for (int64_t b = 0; b < c->g.batch[0] * c->g.batch[1]; b++)
        for (int64_t i = 0; i < o->time * o->heads * half; i++) {
            int64_t time = i / (o->heads * half), d = i % half, at = (b * o->time + time) * D + d;
            double *low = &values[place(c, x, b, time, i / half % o->heads, d)];
            turn_pair(low, low + half, get(c, turns, at), get(c, turns, at + half), way);
        }
}

static void *make_turns(Case *c, int x, Lathe_heads *at, Rng *r)
{
    int64_t inner = c->g.batch[1], time = c->x[x].time, n = c->g.batch[0] * inner * time * c->g.D;
    void *turns = malloc((size_t)n * sizeof(double));
    *at = (Lathe_heads){.batch = {inner * time * c->g.D, time * c->g.D}, .time = c->g.D};
    for (int64_t i = 0; i < n; i++) put(c, turns, i, normal(r));
    turn(c, x, c->x[x].exact, turns, THERE);
    return turns;
}

/* [B0][B1][H][T][S], or one for all samples, [H][T][S] or [T][S][H]; some of it hides keys. */
static void make_bias(Case *c, Rng *r)
{
    Lathe_attention *g = &c->g;
    int64_t one = g->H * g->T * g->S, samples = g->batch[0] * g->batch[1], form = below(r, 3);
    c->m.bias = c->bias = malloc((size_t)(one * samples) * sizeof(double));
    for (int64_t i = 0; i < one * samples; i++) put(c, c->bias, i, below(r, 9) ? 2 * normal(r) : -INFINITY);
    if (form == 0) g->bias.batch[0] = one * g->batch[1], g->bias.batch[1] = one;
    g->bias.head = form < 2 ? g->T * g->S : 1;
    g->bias.time = form < 2 ? g->S : g->S * g->H;
    g->bias_key = form < 2 ? 1 : g->H;
}

static Case make_case(Rng *r, int number, bool is_f64)
{
    static const int64_t widths[] = {1, 3, 8, 16, 24, 32, 33, 64, 80};
    Case c = {.is_f64 = is_f64, .weights = number % 3 != 1};
    Lathe_attention *g = &c.g;
    g->nbatch = 2;
    g->batch[0] = 1 + below(r, 2), g->batch[1] = 1 + below(r, number % 5 ? 3 : 16);
    g->T = number % 7 == 0 ? 1 : 1 + below(r, number % 3 ? 40 : 200);
    g->S = number % 2 ? g->T : 1 + below(r, 200);
    g->G = 1 + below(r, 3), g->H = g->G * (1 + below(r, 3));
    g->D = widths[below(r, 9)], g->E = below(r, 2) ? g->D : widths[below(r, 9)];
    g->scale = 0.3;
    int flags = number < 32 ? number : (int)below(r, 64);
    make_masks(&c, r, flags);
    make_operand(&c, Q, g->T, g->H, g->D, r, true);
    make_operand(&c, K, g->S, g->G, g->D, r, true);
    make_operand(&c, V, g->S, g->G, g->E, r, true);
    make_operand(&c, O, g->T, g->H, g->E, r, false);
    make_operand(&c, LSE, g->T, g->H, 1, r, false);
    make_operand(&c, P, g->T, g->H, g->S, r, false);
    make_operand(&c, D_O, g->T, g->H, g->E, r, true);
    make_operand(&c, D_Q, g->T, g->H, g->D, r, false);
    make_operand(&c, D_K, g->S, g->G, g->D, r, false);
    make_operand(&c, D_V, g->S, g->G, g->E, r, false);
    g->q = c.x[Q].at, g->k = c.x[K].at, g->v = c.x[V].at, g->o = c.x[O].at, g->lse = c.x[LSE].at, g->p = c.x[P].at;
    if (flags & 32 && g->D % 2 == 0) {
        c.m.q_turns = c.q_turns = make_turns(&c, Q, &g->q_turns, r);
        c.m.k_turns = c.k_turns = make_turns(&c, K, &g->k_turns, r);
    }
    if (number % 7 == 5 || number % 13 == 8) g->cap = 1.5;
    if (number % 5 == 3 || number % 13 == 8) make_bias(&c, r);
    g->d_o = c.x[D_O].at, g->d_q = c.x[D_Q].at, g->d_k = c.x[D_K].at, g->d_v = c.x[D_V].at;
    return c;
}

static void free_case(Case *c)
{
    for (int x = 0; x < OPERANDS; x++) free(c->x[x].exact), free(c->x[x].size), free(c->x[x].given);
    free(c->offsets), free(c->lengths), free(c->q_segments), free(c->k_segments), free(c->row), free(c->base);
    free(c->q_turns), free(c->k_turns), free(c->bias);
}

/* ------------------------------------------------------------------ plain loops */

static double *exact(const Case *c, int x, int64_t sample, int64_t time, int64_t head)
{
    return &c->x[x].exact[place(c, x, sample, time, head, 0)];
}

static bool sees(const Case *c, int64_t sample, int64_t t, int64_t s)
{
    const Lathe_attention *g = &c->g;
    int64_t i = (c->offsets ? c->offsets[sample] : c->m.offset) + t;
    return !(g->causal && s > i) && !(g->window && s <= i - g->window) && !(c->lengths && s >= c->lengths[sample]) &&
           !(c->q_segments && c->q_segments[sample * g->T + t] != c->k_segments[sample * g->S + s]);
}

static double kept(const Case *c, int64_t sample, int64_t h, int64_t t, int64_t s)
{
    if (!c->row) return 1;
    int64_t index = c->base[sample] + (h * c->g.T + t) * c->g.S + s;
    Philox p = philox_block(5, 6, 7, c->row[sample], (int)(index / 4));
    return p.word[index % 4] < c->g.threshold ? 0 : c->g.keep;
}

static double inner(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static double inner_size(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += fabs(a[i] * b[i]);
    return sum;
}

/* result x of (sample, time, head) += factor · values; size: what the factor is a sum of */
static void add_scaled(Case *c, int x, int64_t b, int64_t time, int64_t head, const double *values, double factor,
                       double size)
{
    int64_t at = place(c, x, b, time, head, 0);
    for (int64_t i = 0; i < c->x[x].width; i++) {
        c->x[x].exact[at + i] += factor * values[i];
        c->x[x].size[at + i] += size * fabs(values[i]);
    }
}

static double *size_of_lse(Case *c, int64_t b, int64_t h, int64_t t)
{
    return &c->x[LSE].size[place(c, LSE, b, t, h, 0)];
}

/* A score, -infinity where it is not seen; *size: of what it is a sum of; *slope: its derivative towards scale · q · k
 */
static double score(const Case *c, int64_t b, int64_t h, int64_t t, int64_t s, double *size, double *slope)
{
    const Lathe_attention *g = &c->g;
    const double *q = exact(c, Q, b, t, h), *k = exact(c, K, b, s, h / (g->H / g->G));
    double x = g->scale * inner(q, k, g->D), high = g->cap > 0 ? tanh(x / g->cap) : 0;
    *size = g->scale * inner_size(q, k, g->D), *slope = 1 - high * high;
    if (g->cap > 0) x = g->cap * high;
    if (c->bias) {
        const Lathe_heads *at = &g->bias;
        double bias = get(c, c->bias,
                          b / g->batch[1] * at->batch[0] + b % g->batch[1] * at->batch[1] + h * at->head +
                              t * at->time + s * g->bias_key);
        x += bias, *size += fabs(bias);
    }
    return sees(c, b, t, s) ? x : -INFINITY;
}

/* One query, forward and backward. */
static void one_query(Case *c, int64_t b, int64_t h, int64_t t, double *p)
{
    const Lathe_attention *g = &c->g;
    int64_t shared = h / (g->H / g->G);
    double *q = exact(c, Q, b, t, h), *o = exact(c, O, b, t, h), *d_o = exact(c, D_O, b, t, h);
    double largest = -INFINITY, largest_size = 0, sum = 0, size, slope;
    memset(o, 0, sizeof *o * (size_t)g->E);
    memset(exact(c, D_Q, b, t, h), 0, sizeof *o * (size_t)g->D);
    memset(exact(c, P, b, t, h), 0, sizeof *o * (size_t)g->S);
    for (int64_t s = 0; s < g->S; s++) {
        p[s] = score(c, b, h, t, s, &size, &slope);
        largest = fmax(largest, p[s]);
        if (p[s] > -INFINITY) largest_size = fmax(largest_size, size);
    }
    *exact(c, LSE, b, t, h) = -1e30;
    if (largest == -INFINITY) return;
    for (int64_t s = 0; s < g->S; s++) sum += p[s] = exp(p[s] - largest);
    *exact(c, LSE, b, t, h) = largest + log(sum);
    for (int64_t s = 0; s < g->S; s++) p[s] /= sum;
    *size_of_lse(c, b, h, t) = 1 + largest_size;
    for (int64_t s = 0; s < g->S; s++) {
        double weight = p[s] * kept(c, b, h, t, s);
        exact(c, P, b, t, h)[s] = p[s];
        c->x[P].size[place(c, P, b, t, h, s)] = p[s] * (1 + largest_size);
        add_scaled(c, O, b, t, h, exact(c, V, b, s, shared), weight, weight * (1 + largest_size));
    }
    double delta = inner(o, d_o, g->E), delta_size = inner_size(o, d_o, g->E);
    for (int64_t s = 0; s < g->S; s++) {
        double factor = kept(c, b, h, t, s);
        double *k = exact(c, K, b, s, shared), *v = exact(c, V, b, s, shared);
        score(c, b, h, t, s, &size, &slope);
        double ds = g->scale * p[s] * (factor * inner(d_o, v, g->E) - delta) * slope;
        size = g->scale * p[s] * (factor * inner_size(d_o, v, g->E) + delta_size) * (1 + largest_size);
        add_scaled(c, D_V, b, s, shared, d_o, p[s] * factor, p[s] * factor * (1 + largest_size));
        add_scaled(c, D_K, b, s, shared, q, ds, size);
        add_scaled(c, D_Q, b, t, h, k, ds, size);
    }
}

static void all_queries(Case *c)
{
    const Lathe_attention *g = &c->g;
    double *p = malloc(sizeof *p * (size_t)g->S);
    int64_t samples = g->batch[0] * g->batch[1];
    for (int64_t b = 0; b < samples; b++)
        for (int64_t s = 0; s < g->S; s++)
            for (int64_t h = 0; h < g->G; h++) {
                memset(exact(c, D_K, b, s, h), 0, sizeof *p * (size_t)g->D);
                memset(exact(c, D_V, b, s, h), 0, sizeof *p * (size_t)g->E);
            }
    for (int64_t b = 0; b < samples; b++)
        for (int64_t h = 0; h < g->H; h++)
            for (int64_t t = 0; t < g->T; t++) one_query(c, b, h, t, p);
    for (int k = 0; k < 2 && c->q_turns; k++) {
        turn(c, k ? D_K : D_Q, c->x[k ? D_K : D_Q].exact, k ? c->k_turns : c->q_turns, BACK);
        turn(c, k ? D_K : D_Q, c->x[k ? D_K : D_Q].size, k ? c->k_turns : c->q_turns, SIZES);
    }
    free(p);
}

/* ------------------------------------------------------------------ checks */

static void run(Case *c)
{
    Operand_ *x = c->x;
    void *p = x[P].given;
    if (c->is_f64) {
        if (c->weights)
            attention_weights_f64(x[O].given, x[LSE].given, p, x[Q].given, x[K].given, x[V].given, &c->g, &c->m);
        else attention_f64(x[O].given, x[LSE].given, x[Q].given, x[K].given, x[V].given, &c->g, &c->m);
        attention_back_f64(x[D_Q].given, x[D_K].given, x[D_V].given, x[Q].given, x[K].given, x[V].given, x[O].given,
                           x[LSE].given, x[D_O].given, &c->g, &c->m);
    } else {
        if (c->weights)
            attention_weights_f32(x[O].given, x[LSE].given, p, x[Q].given, x[K].given, x[V].given, &c->g, &c->m);
        else attention_f32(x[O].given, x[LSE].given, x[Q].given, x[K].given, x[V].given, &c->g, &c->m);
        attention_back_f32(x[D_Q].given, x[D_K].given, x[D_V].given, x[Q].given, x[K].given, x[V].given, x[O].given,
                           x[LSE].given, x[D_O].given, &c->g, &c->m);
    }
}

static double worst[2];

static void compare(const Case *c, int number, int x, const char *name)
{
    const Operand_ *o = &c->x[x];
    double off = 0, norm = 0;
    bool whole = true;
    char *inside = calloc((size_t)o->span, 1);
    for (int64_t s = 0; s < c->g.batch[0] * c->g.batch[1]; s++)
        for (int64_t i = 0; i < o->time * o->heads * o->width; i++)
            inside[place(c, x, s, i / (o->heads * o->width), i / o->width % o->heads, i % o->width)] = 1;
    for (int64_t i = 0; i < o->span; i++) {
        double v = get(c, o->given, i), e = o->exact[i];
        if (!inside[i]) whole &= v == untouched;
        else if (e == -1e30) whole &= v == (c->is_f64 ? -1e30 : (float)-1e30);
        else off += (v - e) * (v - e), norm += o->size[i] * o->size[i];
    }
    free(inside);
    double epsilon = c->is_f64 ? DBL_EPSILON : FLT_EPSILON, error = sqrt(off) / (sqrt(norm) + 1e-300) / epsilon;
    expect(whole, "case %d: %s writes where it should not, or forgets", number, name);
    expect(error <= 2, "case %d (%s): %s is off by %.3g units; T %d S %d H %d G %d D %d E %d", number,
           c->is_f64 ? "f64" : "f32", name, error, (int)c->g.T, (int)c->g.S, (int)c->g.H, (int)c->g.G, (int)c->g.D,
           (int)c->g.E);
    worst[c->is_f64] = fmax(worst[c->is_f64], error);
}

static void check_threads(Case *c, int number)
{
    static const int results[] = {O, LSE, P, D_Q, D_K, D_V};
    void *first[COUNT_OF(results)];
    size_t size = c->is_f64 ? sizeof(double) : sizeof(float);
    for (int i = 0; i < COUNT_OF(results); i++) {
        first[i] = malloc((size_t)c->x[results[i]].span * size);
        memcpy(first[i], c->x[results[i]].given, (size_t)c->x[results[i]].span * size);
    }
    for (int threads = 1; threads <= 8; threads += threads < 3 ? 1 : 5) {
        omp_set_num_threads(threads);
        run(c);
        for (int i = 0; i < COUNT_OF(results); i++)
            expect(memcmp(first[i], c->x[results[i]].given, (size_t)c->x[results[i]].span * size) == 0,
                   "case %d: %d threads give other bits", number, threads);
    }
    for (int i = 0; i < COUNT_OF(results); i++) free(first[i]);
}

static void check_case(Rng *r, int number, bool is_f64)
{
    static const char *const names[OPERANDS] = {
        [O] = "o", [LSE] = "lse", [P] = "p", [D_Q] = "d_q", [D_K] = "d_k", [D_V] = "d_v"};
    Case c = make_case(r, number, is_f64);
    omp_set_num_threads(2);
    run(&c);
    all_queries(&c);
    for (int x = 0; x < OPERANDS; x++)
        if (names[x] && (x != P || c.weights)) compare(&c, number, x, names[x]);
    if (number % 4 == 0) check_threads(&c, number);
    free_case(&c);
}

int main(void)
{
    rt_init_gemm(8); /* rooms of threads */
    Rng r = rng_of(11);
    int n = long_run() ? 2000 : 200;
    for (int i = 0; i < n; i++) check_case(&r, i, false);
    for (int i = 0; i < n; i++) check_case(&r, i, true);
    printf("worst errors in units of the last place: f32 %.2f, f64 %.2f\n", worst[0], worst[1]);
    return finish();
}
