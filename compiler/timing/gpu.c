/* gpu.c: how long a kernel takes on a GPU that is not there: the longest of what its products, its elements and its
 * bytes take at the rates of a data sheet, and its launches (decision 057).
 *
 * A product is cut into tiles, which run in waves on the processors; the tile and the number of parts of K are those
 * that take the least time, as the trainer's own choice among cuBLASLt's algorithms is (runtime/cuda/gemm_tune.cu). */
#include "kernels/nest.h"
#include "timing/timing.h"

#include <math.h>

/* Shares of what a data sheet promises. */
static const double tensor_share = 0.78; /* cuBLAS, large products of bf16: 769 of 989 TFLOP/s on an H200 */
static const double plain_share = 0.85;  /* cuBLAS without tensor cores: assumed */
static const double memory_share = 0.88; /* copies: 4.3 of 4.8 TB/s on an H200 */
static const double lanes_share = 0.6;   /* of instructions, as kernels wait for memory, too: assumed */
static const double cache_rate = 2.5;    /* of the memory's: half of 5,120 bytes a clock of an A100 */

/* ------------------------------------------------------------------ products */

static double flops_a_second(const Gpu *g, DType t, bool tf32)
{
    if (is_stored(t)) return 1e12 * tensor_share * g->narrow;
    if (t == F64) return 1e12 * plain_share * g->fp64;
    return 1e12 * (tf32 ? tensor_share * g->tf32 : plain_share * g->fp32);
}

typedef struct Tile {
    int64_t rows, columns;
    double share; /* of the rate of the largest: a smaller one reads more from shared memory for each product */
} Tile;

/* Of all products of a batch, K in `parts` parts: the last wave may be half empty. */
static double tiled_seconds(const struct Gemm *p, double batch, Tile t, int64_t parts, const Rates *r)
{
    enum { STEP = 32, BEGIN = 96 }; /* of K; a tile begins and ends in the time of so many */
    const Gpu *g = r->gpu;
    double tiles = batch * ceil((double)p->M / (double)t.rows) * ceil((double)p->N / (double)t.columns) * (double)parts;
    double waves = ceil(tiles / g->processors), each = ceil((double)p->K / (double)parts / STEP) * STEP + BEGIN;
    double flops = 2 * (double)(t.rows * t.columns) * each, partial = batch * (double)(p->M * p->N * parts * 8);
    double rate = flops_a_second(g, p->a.view.buffer->dtype, r->tf32) / g->processors;
    return waves * flops / (rate * t.share) + (parts > 1 ? partial / (1e9 * g->memory * cache_rate) : 0);
}

static double product_seconds(const struct Gemm *p, const Rates *r)
{
    static const Tile tiles[] = {{256, 128, 1},  {128, 256, 1}, {128, 128, 0.95}, {128, 64, 0.8},
                                 {64, 128, 0.8}, {64, 64, 0.6}, {32, 64, 0.4},    {32, 32, 0.3}};
    enum { SHORTEST = 256, MOST_PARTS = 16 };
    double batch = 1, best = INFINITY;
    for (int i = 0; i < p->nbatch; i++) batch *= (double)p->batch[i];
    for (int i = 0; i < COUNT_OF(tiles); i++)
        for (int64_t parts = 1; parts == 1 || (parts <= MOST_PARTS && p->K / parts >= SHORTEST); parts *= 2)
            best = fmin(best, tiled_seconds(p, batch, tiles[i], parts, r));
    return best;
}

/* In a loop that is one launch each block multiplies its own columns, by a kernel of the trainer. */
static double shared_seconds(const Kernel *k, const Rates *r)
{
    const double share = 0.3; /* assumed */
    return k->flops / (share * flops_a_second(r->gpu, k->gemm.a.view.buffer->dtype, false));
}

/* ------------------------------------------------------------------ attention */

/* Of the peak of bf16.  sm_90: cuDNN at a length of 1,024 has 373 and 574 of 989 TFLOP/s for heads of 64 and 128, its
 * derivative 291 and 408.  Before that: a kernel of the kind of FlashAttention 2 has 187 of 312 TFLOP/s on an A100, and
 * on an H100 its derivative has 0.74 of it. */
static double attention_share(const Gpu *g, double head, bool back)
{
    double wide = fmin(head, 128) / 128;
    if (g->architecture < 90) return back ? 0.45 : 0.6;
    return back ? 0.17 + 0.24 * wide : 0.18 + 0.4 * wide;
}

/* Without 16 bits the trainer's own kernels multiply without tensor cores. */
static double attention_seconds(const Kernel *k, const Work *w, const Rates *r)
{
    const Node *n = k->node;
    const bool back = n->op == OP_attention_back, narrow = is_stored(n->in[0]->dtype);
    const double products = back ? 2.5 : 1; /* five, of which the trainer's own kernels make seven */
    double head = (double)n->in[0]->shape.dim[n->in[0]->shape.rank - 1];
    double flops = 2 * products * w->amount[back ? ATTENDED_BACK : ATTENDED];
    double rate = narrow ? 1e12 * r->gpu->narrow * attention_share(r->gpu, head, back)
                         : 0.4 * flops_a_second(r->gpu, n->in[0]->dtype, false);
    return flops / rate;
}

/* ------------------------------------------------------------------ elements */

/* Instructions of a lane, roughly. */
static double element_cost(Op op)
{
    switch (op) {
    case OP_exp:
    case OP_log:
    case OP_tanh:
    case OP_sin:
    case OP_cos: return 8;
    case OP_expm1:
    case OP_log1p:
    case OP_erf:
    case OP_pow:
    case OP_softplus: return 20;
    case OP_div:
    case OP_sqrt:
    case OP_rsqrt: return 8;
    case OP_idiv:
    case OP_mod: return 25;
    case OP_philox: return 40;
    default: return 1;
    }
}

static double instructions_of(const Nodes *nodes)
{
    double sum = 0;
    for (int i = 0; i < nodes->n; i++) sum += element_cost(nodes->at[i]->op);
    return sum;
}

static double instructions_in(const Kernel *k, const Work *w)
{
    enum { SORT = 100, EACH = 4, SUM = 2, MOVE = 2 };
    double all = 0, space = (double)elements(k->space);
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *f = &k->phases.at[p];
        all += space * (instructions_of(&f->each) + SUM * (f->sums.n + f->columns.n) + MOVE * k->loads.n);
    }
    all += SORT * w->amount[SORTED];
    return all + EACH * (w->amount[PICKED] + w->amount[ADDED] + w->amount[ALONG] + w->amount[ROWS_ADDED]);
}

/* Products by ids, and convolutions, are multiplied by kernels of the trainer. */
static double element_seconds(const Kernel *k, const Work *w, const Rates *r)
{
    const double lanes = 1e12 * lanes_share * r->gpu->fp32 / 2; /* an instruction multiplies and adds */
    double products = k->kind == BY_IDS || k->kind == CONVOLUTION ? k->flops / 2 / 0.5 : 0;
    return (instructions_in(k, w) + products) / lanes;
}

/* ------------------------------------------------------------------ a kernel */

static double byte_seconds(double far, double near, const Gpu *g)
{
    return (far + fmax(near - far, 0) / cache_rate) / (1e9 * memory_share * g->memory);
}

static double launch_seconds(const Kernel *k, const Gpu *g)
{
    const double meeting = 0.6; /* against a launch: blocks of one launch wait for each other */
    if (k->persistent) return 1e-6 * g->launch * meeting;
    int n = k->nest && k->nest->launches.n ? k->nest->launches.n : 1;
    return 1e-6 * g->launch * n;
}

static void take_longest(Time_part *p, double seconds, const char *bound)
{
    if (seconds <= p->seconds) return;
    p->seconds = seconds;
    p->bound = bound;
}

void time_on_gpu(Time_part *p, const Rates *r)
{
    const Kernel *k = p->kernel;
    const double far = p->work.amount[FAR_READ] + p->work.amount[FAR_WRITTEN], launch = launch_seconds(k, r->gpu);
    p->seconds = 0;
    if (k->kind == GEMM)
        take_longest(p, k->persistent ? shared_seconds(k, r) : product_seconds(&k->gemm, r), "products");
    if (k->kind == ATTENTION) take_longest(p, attention_seconds(k, &p->work, r), "products");
    take_longest(p, element_seconds(k, &p->work, r), "elements");
    take_longest(p, byte_seconds(far, k->bytes, r->gpu), "bytes");
    if (launch > p->seconds) p->bound = "launches";
    p->seconds = p->calls * (p->seconds + launch);
}

static Time_part part_of_bytes(const char *name, double bytes, double gigabytes_a_second, const Gpu *g)
{
    return (Time_part){
        .name = name, .calls = 1, .seconds = bytes / (1e9 * gigabytes_a_second) + 1e-6 * g->launch, .bound = "bytes"};
}

void time_update_on_gpu(Step_time *t, const Module *m, const Gpu *g)
{
    enum { CODED_COST = 60 }; /* instructions of an element whose moments have 8 bits */
    const Plan *p = &m->plan;
    const double gradients = (double)p->gradients, memory = memory_share * g->memory;
    Time_part update = part_of_bytes("optimizer_step", 3 * gradients + 2 * (double)p->optimizer, memory, g);
    if (m->desc->recipe.bits == 8)
        update.seconds += CODED_COST * (double)p->flat.moments / (1e12 * lanes_share * g->fp32 / 2);
    const Time_part all[] = {part_of_bytes("inputs", (double)p->inputs, g->link, g),
                             part_of_bytes("gradient_norm", gradients, memory, g), update};
    for (int i = 0; i < COUNT_OF(all); i++) {
        push(&t->parts, all[i]);
        t->seconds += all[i].seconds;
    }
}

/* ------------------------------------------------------------------ the table */

static const Gpu gpus[] = {
#define GPU(...) {__VA_ARGS__},
#include "timing/gpus.def"
};

const Gpu *gpu_named(const char *name)
{
    for (int i = 0; i < COUNT_OF(gpus); i++)
        if (same(gpus[i].name, name)) return &gpus[i];
    return NULL;
}

const char *gpu_meant(const char *name)
{
    const char *names[COUNT_OF(gpus)];
    for (int i = 0; i < COUNT_OF(gpus); i++) names[i] = gpus[i].name;
    const char *close = name ? nearest(name, names, COUNT_OF(gpus)) : NULL;
    return close ? format("; did you mean %s?", close) : "";
}

const char *names_of_gpus(void)
{
    Text t = {0};
    for (int i = 0; i < COUNT_OF(gpus); i++) say(&t, "%s%s", i ? ", " : "", gpus[i].name);
    return t.at;
}

/* A product of this GPU's, as the page says it. */
double gpu_product_rate(const Rates *r, DType t) { return flops_a_second(r->gpu, t, r->tf32); }

Rates gpu_rates(const Gpu *g, bool tf32)
{
    return (Rates){.threads = 1, .gpu = g, .tf32 = tf32, .cache = 1e6 * g->cache};
}
