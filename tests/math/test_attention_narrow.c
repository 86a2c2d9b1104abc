/* test_attention_narrow.c: attention over keys and values in bf16 has the bits of attention over the same, widened: of one query and
 * of many, with windows, lengths, caps and shared heads. */
#include "harness.h"
#include "lathe_rt.h"
#include "math/engine.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

static float *drawn(Rng *r, int64_t n)
{
    float *x = malloc(sizeof *x * (size_t)n);
    for (int64_t i = 0; i < n; i++) x[i] = (float)(uniform(r) * 4 - 2);
    return x;
}

/* Rounds x, too. */
static uint16_t *narrowed(float *x, int64_t n)
{
    uint16_t *y = malloc(sizeof *y * (size_t)n);
    for (int64_t i = 0; i < n; i++) y[i] = to_bf16_f32(x[i]), x[i] = from_bf16_f32(y[i]);
    return y;
}

static Lathe_attention extents(Rng *r, int number)
{
    int64_t shared = 1 + below(r, 3), each = 1 + below(r, 3), D = 2 + below(r, 80), E = 1 + below(r, 80);
    int64_t T = number % 2 ? 1 : 1 + below(r, 90), S = T + below(r, 150), B = 1 + below(r, 3), H = shared * each;
    return (Lathe_attention){.nbatch = 1,
                             .batch = {B},
                             .T = T,
                             .S = S,
                             .H = H,
                             .G = shared,
                             .D = D,
                             .E = E,
                             .scale = 0.3,
                             .cap = below(r, 3) ? 0 : 2,
                             .causal = below(r, 4) > 0,
                             .window = below(r, 2) ? 0 : 1 + below(r, 100),
                             .q = {{T * H * D}, H * D, D},
                             .k = {{S * shared * D}, shared * D, D},
                             .v = {{S * shared * E}, shared * E, E},
                             .o = {{T * H * E}, H * E, E},
                             .lse = {{H * T}, 1, T},
                             .lengths = {{1}, 0, 0}};
}

static void run(Rng *r, int number)
{
    Lathe_attention g = extents(r, number);
    int64_t B = g.batch[0], n_q = B * g.q.batch[0], n_k = B * g.k.batch[0], n_v = B * g.v.batch[0], n_o = B * g.o.batch[0];
    float *q = drawn(r, n_q), *k = drawn(r, n_k), *v = drawn(r, n_v), *o = drawn(r, n_o), *own = drawn(r, n_o);
    uint16_t *narrow_k = narrowed(k, n_k), *narrow_v = narrowed(v, n_v);
    int lengths[3] = {1 + (int)below(r, (int)g.S), (int)g.S, 1};
    Lathe_masks m = {.offset = (int)(g.S - g.T), .lengths = below(r, 2) ? lengths : NULL};
    omp_set_num_threads(1 + number % 3);
    attention_f32(o, NULL, q, k, v, &g, &m);
    attention_f32_bf16(own, NULL, q, narrow_k, narrow_v, &g, &m);
    expect(memcmp(o, own, sizeof *o * (size_t)n_o) == 0, "case %d: %lld queries of %lld and %lld, %lld keys", number,
           (long long)g.T, (long long)g.D, (long long)g.E, (long long)g.S);
    free(q), free(k), free(v), free(o), free(own), free(narrow_k), free(narrow_v);
}

int main(void)
{
    Rng r = rng_of(5);
    rt_init_gemm(3);
    for (int i = 0; i < 300; i++) run(&r, i);
    return finish();
}
