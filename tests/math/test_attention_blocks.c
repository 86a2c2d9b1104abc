/* test_attention_blocks.c: attention over keys and values in Q8_0, of one query and of many, with windows, lengths,
 * caps, shared heads and offsets: within 4e-6 of the largest value of what this file computes itself in double, from
 * blocks that it rounds itself (and which are those of to_q8_0, to the byte); and it has the bits of attention over the
 * same numbers, widened, whatever the number of threads. */
#include "harness.h"
#include "lathe_rt.h"
#include "math/blocks.h"
#include "math/engine.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* A positive number in the 16 bits of IEEE 754's binary16, ties to even; *x becomes what they mean.  (Not every
 * compiler has a type for it.) */
static uint16_t rounded_to_half(float *x)
{
    if (*x == 0) return 0;
    const int e = ilogbf(*x) < -14 ? -14 : ilogbf(*x);
    const float units = rintf(ldexpf(*x, 10 - e)); /* 1024 … 2048, or fewer if it is subnormal */
    *x = ldexpf(units, e - 10);
    return (uint16_t)((e + 14) * 1024 + (int)units);
}

/* x as blocks, by the words of GGUF's format: scale = largest / 127, codes = x / scale, halves away from zero; the
 * scale is stored in 16 bits.  Leaves in x what they mean. */
static Lathe_q8_0 *rounded_to_blocks(double *x, int64_t n)
{
    Lathe_q8_0 *b = malloc(sizeof *b * (size_t)(n / 32));
    for (int64_t i = 0; i < n / 32; i++) {
        float most = 0, scale;
        for (int k = 0; k < 32; k++) most = fmaxf(most, (float)fabs(x[32 * i + k]));
        scale = most / 127;
        float stored = scale;
        const uint16_t half = rounded_to_half(&stored);
        memcpy(&b[i].scale, &half, 2);
        for (int k = 0; k < 32; k++) {
            float y = scale > 0 ? (float)x[32 * i + k] * (1 / scale) : 0;
            b[i].code[k] = (int8_t)(y < 0 ? -floor(-(double)y + 0.5) : floor((double)y + 0.5));
            x[32 * i + k] = (double)stored * b[i].code[k];
        }
    }
    return b;
}

/* Like keys of a model: channels of different sizes, a block of zeros here and there.  Queries are all of one size, so
 * that scores stay below 10: their own rounding is not what is asked for. */
static double *drawn(Rng *r, int64_t n, bool keys)
{
    double *x = malloc(sizeof *x * (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        double size = !keys ? 1 : i / 32 % 17 == 3 ? 0 : i % 7 ? 1 : 12;
        x[i] = (float)((uniform(r) * 2 - 1) * size);
    }
    return x;
}

static float *as_floats(const double *x, int64_t n)
{
    float *y = malloc(sizeof *y * (size_t)n);
    for (int64_t i = 0; i < n; i++) y[i] = (float)x[i];
    return y;
}

typedef struct Case {
    Lathe_attention g;
    Lathe_masks m;
    int offsets[3], lengths[3];
} Case;

static void draw_case(Case *c, Rng *r, int number)
{
    static const int widths[] = {32, 64, 96, 128, 256};
    int64_t shared = 1 + below(r, 3), each = 1 + below(r, 4), D = widths[below(r, 5)], E = widths[below(r, 5)];
    int64_t T = number % 2 ? 1 : 1 + below(r, 90), S = T + below(r, 200), H = shared * each;
    c->g = (Lathe_attention){.nbatch = 1,
                             .batch = {1 + below(r, 3)},
                             .T = T,
                             .S = S,
                             .H = H,
                             .G = shared,
                             .D = D,
                             .E = E,
                             .scale = 1 / sqrt((double)D),
                             .cap = below(r, 3) ? 0 : 2,
                             .causal = true,
                             .window = below(r, 2) ? 0 : 1 + below(r, 100)};
    c->g.q = (Lathe_heads){{T * H * D}, H * D, D}, c->g.o = (Lathe_heads){{T * H * E}, H * E, E};
    c->g.k = (Lathe_heads){{S * shared * D}, shared * D, D}, c->g.v = (Lathe_heads){{S * shared * E}, shared * E, E};
    c->g.lse = (Lathe_heads){{H * T}, 1, T}, c->g.lengths = c->g.offsets = (Lathe_heads){{1}, 0, 0};
    for (int b = 0; b < 3; b++)
        c->offsets[b] = (int)below(r, (int)(S - T + 1)), c->lengths[b] = 1 + (int)below(r, (int)S);
    c->m = (Lathe_masks){
        .offset = (int)(S - T), .offsets = below(r, 2) ? c->offsets : NULL, .lengths = below(r, 2) ? c->lengths : NULL};
}

static bool is_seen(const Case *c, int64_t b, int64_t t, int64_t s)
{
    int64_t at = t + (c->m.offsets ? c->offsets[b] : c->m.offset);
    return s <= at && (!c->g.window || s > at - c->g.window) && (!c->m.lengths || s < c->lengths[b]);
}

/* One query of one head: Σ exp(score) · v / Σ exp(score). */
static void attend_in_double(double *o, const Case *c, int64_t b, int64_t t, int64_t h, const double *q,
                             const double *k, const double *v)
{
    const Lathe_attention *g = &c->g;
    int64_t own = h / (g->H / g->G);
    double sum = 0, largest = -INFINITY, *score = malloc(sizeof *score * (size_t)g->S);
    for (int64_t s = 0; s < g->S; s++) {
        double x = 0;
        for (int64_t d = 0; d < g->D; d++)
            x += q[((b * g->T + t) * g->H + h) * g->D + d] * k[((b * g->S + s) * g->G + own) * g->D + d];
        x *= g->scale;
        score[s] = !is_seen(c, b, t, s) ? -INFINITY : g->cap > 0 ? g->cap * tanh(x / g->cap) : x;
        largest = fmax(largest, score[s]);
    }
    for (int64_t e = 0; e < g->E; e++) o[e] = 0;
    for (int64_t s = 0; s < g->S && largest > -INFINITY; s++) {
        double p = exp(score[s] - largest);
        sum += p;
        for (int64_t e = 0; e < g->E; e++) o[e] += p * v[((b * g->S + s) * g->G + own) * g->E + e];
    }
    for (int64_t e = 0; e < g->E && sum > 0; e++) o[e] /= sum;
    free(score);
}

/* The largest difference, in units of the largest value. */
static double error_of(const Case *c, const float *o, const double *q, const double *k, const double *v)
{
    const Lathe_attention *g = &c->g;
    double worst = 0, want[256], largest = 1e-9;
    for (int64_t i = 0; i < g->batch[0] * g->S * g->G * g->E; i++) largest = fmax(largest, fabs(v[i]));
    for (int64_t b = 0; b < g->batch[0]; b++)
        for (int64_t t = 0; t < g->T; t++)
            for (int64_t h = 0; h < g->H; h++) {
                attend_in_double(want, c, b, t, h, q, k, v);
                for (int64_t e = 0; e < g->E; e++) {
                    double off = fabs(o[((b * g->T + t) * g->H + h) * g->E + e] - want[e]);
                    worst = off <= worst ? worst : off;
                }
            }
    return worst / largest;
}

static void check_blocks(const Lathe_q8_0 *b, const double *drawn_numbers, int64_t n)
{
    for (int64_t i = 0; i < n / 32; i++) {
        float x[LATHE_BLOCK];
        Lathe_q8_0 own;
        for (int k = 0; k < LATHE_BLOCK; k++) x[k] = (float)drawn_numbers[32 * i + k];
        to_q8_0(&own, x);
        expect(memcmp(&own, &b[i], sizeof own) == 0, "block %lld is another one", (long long)i);
    }
}

static double worst_of_all;

static void run(Rng *r, int number)
{
    Case c;
    draw_case(&c, r, number);
    const Lathe_attention *g = &c.g;
    int64_t B = g->batch[0], n_q = B * g->q.batch[0], n_k = B * g->k.batch[0], n_v = B * g->v.batch[0],
            n_o = B * g->o.batch[0];
    double *q = drawn(r, n_q, false), *k = drawn(r, n_k, true), *v = drawn(r, n_v, true),
           *was = malloc(sizeof *was * (size_t)n_k);
    memcpy(was, k, sizeof *was * (size_t)n_k);
    Lathe_q8_0 *k_blocks = rounded_to_blocks(k, n_k), *v_blocks = rounded_to_blocks(v, n_v);
    float *fq = as_floats(q, n_q), *fk = as_floats(k, n_k), *fv = as_floats(v, n_v), *o = as_floats(q, n_q);
    float *wide = malloc(sizeof *wide * (size_t)n_o), *again = malloc(sizeof *again * (size_t)n_o);
    o = realloc(o, sizeof *o * (size_t)n_o);
    check_blocks(k_blocks, was, n_k);
    omp_set_num_threads(1 + number % 3);
    attention_f32_q8_0(o, NULL, fq, k_blocks, v_blocks, g, &c.m);
    attention_f32(wide, NULL, fq, fk, fv, g, &c.m);
    omp_set_num_threads(3 - number % 3);
    attention_f32_q8_0(again, NULL, fq, k_blocks, v_blocks, g, &c.m);
    double off = error_of(&c, o, q, k, v);
    worst_of_all = fmax(worst_of_all, off);
    expect(off < 4e-6, "case %d, %lld queries of %lld and %lld, %lld keys: off by %.2g", number, (long long)g->T,
           (long long)g->D, (long long)g->E, (long long)g->S, off);
    expect(memcmp(o, wide, sizeof *o * (size_t)n_o) == 0, "case %d: other bits than over widened keys", number);
    expect(memcmp(o, again, sizeof *o * (size_t)n_o) == 0, "case %d: the bits depend on the number of threads", number);
    free(q), free(k), free(v), free(was), free(k_blocks), free(v_blocks);
    free(fq), free(fk), free(fv), free(o), free(wide), free(again);
}

int main(void)
{
    Rng r = rng_of(8);
    rt_init_gemm(3);
    for (int i = 0; i < 200; i++) run(&r, i);
    printf("worst difference %.1e of the largest value\n", worst_of_all);
    return finish();
}
