/* coded.cu: the update with moments in 8 bits: a block of threads for a block of 256 elements, which do not depend on
 * each other.  Codes are found by halving among the middles; they are the CPU's (step/coded_real.h). */
#include "cuda/coded.h"
#include "cuda/optim_element.cuh"

static_assert(LATHE_CODED_BLOCK == THREADS, "a thread for an element");
static_assert(sizeof(Codes) == LATHE_CODES_BYTES && sizeof(Piece) == LATHE_PIECE_OF_RUN_BYTES, "the plan's");

static int64_t bytes_of_codes(void) { return (2 * (int64_t)sizeof(Codes) + 7) / 8 * 8; }

Gpu_coded gpu_coded(const Coded *of, char *at, void *device, void *place(const void *host))
{
    char *pieces = (char *)device + bytes_of_codes();
    Gpu_coded g = {(const Codes *)device, (const Piece *)pieces, of->pieces, of->blocks, {}, {}, {}};
    for (int k = 0; k < 2; k++) {
        memcpy(at + k * (int64_t)sizeof(Codes), &of->table[k].codes, sizeof(Codes));
        g.plain[k] = place(of->plain[k]);
        g.largest[k] = (float *)place(of->largest[k]);
        g.code[k] = (uint8_t *)place(of->code[k]);
    }
    memcpy(at + bytes_of_codes(), of->piece, (size_t)of->pieces * sizeof(Piece));
    return g;
}

/* ------------------------------------------------------------------ codes */

DEVICE const Piece *piece_at(const Gpu_coded &c, int64_t block)
{
    int low = 0, high = c.pieces - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (c.piece[middle].block <= block) low = middle;
        else high = middle - 1;
    }
    return c.piece + low;
}

DEVICE float block_most(float x) { return block_max_f32(x); }
DEVICE double block_most(double x) { return block_max_f64(x); }

/* The number of middles that x is above; squares move up from zero, and what is negative down. */
template <class Real> DEVICE uint8_t code_of(const Codes *t, Real x, Real part)
{
    const int zero = t->zero, above = zero == 0;
    int at = 0;
    for (int half = CODES / 2; half > 0; half /= 2) at += part > (Real)t->middle[at + half - 1] ? half : 0;
    const int up = at == zero && x > 0 && above, down = at == zero && x < 0 && !above;
    return (uint8_t)(at + up - down);
}

/* All threads of the block call it; here: whether this one has an element. */
template <class Real> DEVICE void code_moment(const Codes *t, bool here, Real x, uint8_t *code, float *largest)
{
    const float most = (float)block_most(here && x != 0 ? (x < 0 ? -x : x) : (Real)0);
    if (here) *code = code_of(t, x, x / (most > 0 ? (Real)most : (Real)1));
    if (threadIdx.x == 0) *largest = most;
}

template <class Real, class Stored, class Update>
KERNEL void update_coded(Optimizer o, Gpu_coded c, const Gpu_step *step, const int64_t *stopped,
                         const Update *RESTRICT updates, Stored *RESTRICT p, const Real *RESTRICT g)
{
    if (*stopped || step->skipped) return;
    const Piece q = *piece_at(c, blockIdx.x);
    const int64_t block = blockIdx.x - q.block, within = block * LATHE_CODED_BLOCK + threadIdx.x, i = q.begin + within;
    const bool here = within < q.n, coded = q.kind == Piece::CODED;
    if (q.rule.frozen) return;
    const Update u = updates[segment_at(o.segment, o.segments, q.begin)];
    const int64_t first = q.first + within, scale = q.scale + block;
    Real none = 0, moment[2] = {0, 0};
    for (int k = 0; k < 2 && here; k++) {
        if (coded) moment[k] = (Real)c.codes[k].value[c.code[k][first]] * (Real)c.largest[k][scale];
        if (q.kind == Piece::PLAIN) moment[k] = ((Real *)c.plain[k])[first];
    }
    if (here) {
        Real wide = widened(p[i]), *x = o.average ? (Real *)o.average + i : &none;
        element<ADAM>(&wide, g[i], &moment[0], &moment[1], &none, x, o.ema > 0, &u);
        put(p + i, wide, step->rates, i);
    }
    for (int k = 0; k < 2; k++) {
        if (coded) code_moment(&c.codes[k], here, moment[k], c.code[k] + first, c.largest[k] + scale);
        if (here && q.kind == Piece::PLAIN) ((Real *)c.plain[k])[first] = moment[k];
    }
}

template <class Real, class Stored, class Update>
static void update_by(const Gpu_optimizer *g, void *params, const void *grads, cudaStream_t stream)
{
    launch(update_coded<Real, Stored, Update>, (int)g->coded.blocks, stream, g->o, g->coded, g->step, g->stopped,
           (const Update *)g->updates, (Stored *)params, (const Real *)grads);
}

void gpu_update_coded(const Gpu_optimizer *g, void *params, const void *grads, cudaStream_t stream)
{
    if (g->coded.blocks == 0) return;
    if (g->o.real == LATHE_F64) update_by<double, double, Update_f64>(g, params, grads, stream);
    else if (g->o.weights == LATHE_BF16) update_by<float, bf16, Update_f32>(g, params, grads, stream);
    else update_by<float, float, Update_f32>(g, params, grads, stream);
}
