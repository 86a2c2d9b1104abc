/* attention.c: attention of generated code, forward and backward; math/attention.h defines it.
 *
 * Lanes are queries.  A tile has 64 of them: q is packed once as qᵀ [D][64], scaled; then for every 64 keys
 *
 *     sᵀ [key][64] = k · qᵀ          pᵀ = exp(sᵀ - m), m the running maximum          oᵀ [E][64] += vᵀ · pᵀ
 *
 * where k and v are read in place, a scalar at a time (math/tile.h), and maximum and sum are vectors over the queries.
 * Rows with rotary positions are first copied to the tile's buffer and turned there: q once, k for each tile of
 * queries.
 *
 * Keys are processed in runs of 16 that the same lanes see, so that hidden keys cost nothing, except at the edge of a
 * mask.  Backward computes pᵀ again from lse; dq is accumulated as dqᵀ [D][64], dk and dv in place as [key][width].
 *
 * One query alone, as in decode, has lanes along its keys instead (attention_one.h).
 *
 * The same bits for any number of threads: a task is one tile of queries (backward: all tiles of one key head, or, if
 * there are few of those, one tile of keys and then one of queries), and no two tasks write the same elements. */
#include "lathe_rt.h"
#include "math/batch.h"
#include "math/blocks.h"
#include "math/engine.h"
#include "math/inline.h"
#include "threads/threads.h"

#include <string.h>

enum {
    TILE = 64, /* queries, keys */
    RUN = 16,  /* keys that are masked together */
    WIDEST = LATHE_MAX_HEAD,
};
#define UNSEEN (-1e30) /* lse of a query that sees no key */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t rounded(int64_t n) { return (n + 15) / 16 * 16; }
static int64_t tiles_of(int64_t n) { return (n + TILE - 1) / TILE; }

static int64_t samples_of(const Lathe_attention *g) { return samples_in(g->nbatch, g->batch); }

/* The offset of the index-th sample of the batch. */
static int64_t begin_of(const Lathe_attention *g, const Lathe_heads *x, int64_t index)
{
    return sample_offset(g->nbatch, g->batch, x->batch, index);
}

/* ---- masks */

/* One tile of queries of one sample and head: n of them from t on; lane i's position among the keys is at + i. */
typedef struct Queries {
    const Lathe_attention *g;
    const Lathe_masks *m;
    int64_t sample, head, t, at;
    int n, lanes;     /* lanes: n rounded up */
    int64_t key, end; /* the range of keys that any of them sees */
    int64_t bias;     /* offset of the bias of query t and key 0 */
    const int *key_segment;
    int segment[TILE]; /* of the lanes, if there are segments */
    bool alike;        /* all queries have the first one's */
    int row;           /* of random draws */
    uint32_t base;
} Queries;

static void read_segments(Queries *q, const int *segments, int64_t step)
{
    q->alike = true;
    for (int i = 0; i < q->n; i++) {
        q->segment[i] = segments[i * step];
        q->alike &= q->segment[i] == segments[0];
    }
    for (int i = q->n; i < q->lanes; i++) q->segment[i] = q->segment[0];
}

static Queries queries_of(const Lathe_attention *g, const Lathe_masks *m, int64_t sample, int64_t head, int64_t t)
{
    static const Lathe_masks none;
    if (!m) m = &none;
    Queries q = {.g = g, .m = m, .sample = sample, .head = head, .t = t, .at = m->offset + t, .end = g->S};
    if (m->offsets) q.at = m->offsets[begin_of(g, &g->offsets, sample)] + t;
    q.n = (int)least(TILE, g->T - t);
    q.lanes = (int)rounded(q.n);
    if (g->causal) q.end = least(q.end, q.at + q.n);
    if (m->lengths) q.end = least(q.end, m->lengths[begin_of(g, &g->lengths, sample)]);
    if (g->window) q.key = most(0, q.at - g->window + 1);
    if (m->q_segments && m->k_segments) {
        const int *segments = m->q_segments + begin_of(g, &g->q_segments, sample) + t * g->q_segments.time;
        read_segments(&q, segments, g->q_segments.time);
        q.key_segment = m->k_segments + begin_of(g, &g->k_segments, sample);
    }
    if (m->bias) q.bias = begin_of(g, &g->bias, sample) + head * g->bias.head + t * g->bias.time;
    if (g->keep > 0) q.row = m->row[begin_of(g, &g->row, sample)];
    if (g->keep > 0) q.base = (uint32_t)m->base[begin_of(g, &g->base, sample)];
    return q;
}

/* Keys key … end, which lanes from … to see (multiples of 16); lanes below `edge` may see only some of them. */
typedef struct Run {
    int64_t key, end;
    int from, to, edge;
} Run;

#ifdef __clang__
#define LANEWISE /* clang needs no hint, and warns if libm has no vector functions */
#else
#define LANEWISE SIMD
#endif

/* A statement for the lanes i from … to, multiples of 16. */
#define EACH_LANE(from, to)                                                                                            \
    for (int lanes_from = (from), lanes_to = (to); lanes_from < lanes_to; lanes_from += 16)                            \
    LANEWISE for (int i = lanes_from; i < lanes_from + 16; i++)

/* The part of these keys' lanes that segments leave: all of it, some of it, or none. */
static void mask_by_segments(Run *r, const Queries *q)
{
    int64_t own = 0, step = q->g->k_segments.time;
    for (int64_t j = r->key; q->alike && j < r->end; j++) own += q->key_segment[j * step] == q->segment[0];
    if (q->alike && own == r->end - r->key) return;
    if (q->alike && own == 0) r->to = r->from;
    r->edge = r->to;
}

static Run run_at(const Queries *q, int64_t key, int64_t end)
{
    Run r = {key, end, 0, q->lanes, 0};
    int64_t first = key - q->at, last = end - 1 - q->at; /* lanes at these keys' positions */
    if (q->g->causal) {
        r.from = (int)least(most(first, 0) / 16 * 16, q->lanes);
        r.edge = (int)least(rounded(most(last, 0)), q->lanes);
    }
    if (q->g->window) {
        r.to = (int)least(rounded(most(last + q->g->window, 0)), q->lanes);
        if (first + q->g->window < r.to) r.edge = r.to;
    }
    if (q->key_segment) mask_by_segments(&r, q);
    return r;
}

/* The runs of one tile of keys; equal neighbours are joined. */
typedef struct Runs {
    Run at[TILE / RUN];
    int n;
} Runs;

static Runs runs_of(const Queries *q, int64_t key, int64_t end)
{
    Runs runs = {.n = 0};
    for (int64_t s = key; s < end; s += RUN) {
        Run r = run_at(q, s, least(s + RUN, end)), *last = runs.n ? &runs.at[runs.n - 1] : NULL;
        if (r.from >= r.to) continue;
        if (last && last->end == r.key && last->from == r.from && last->to == r.to) {
            last->end = r.end;
            last->edge = (int)most(last->edge, r.edge);
        } else {
            runs.at[runs.n++] = r;
        }
    }
    return runs;
}

/* seen[i] for the lanes of a run: all ones or zero */
static void lanes_seeing(const Queries *q, const Run *r, int64_t key, int *seen)
{
    const Lathe_attention *g = q->g;
    int first = g->causal ? (int)most(least(key - q->at, TILE), -1) : -1;             /* lane >= first */
    int last = g->window ? (int)most(least(key - q->at + g->window, TILE), 0) : TILE; /* lane < last */
    EACH_LANE (r->from, r->edge) seen[i] = -((i >= first) & (i < last));
    if (!q->key_segment) return;
    int own = q->key_segment[key * g->k_segments.time];
    EACH_LANE (r->from, r->edge) seen[i] &= -(q->segment[i] == own);
}

/* Random bits of four keys, and of the four behind them: a block of Philox is drawn once for its four words. A lane's
 * numbers are S apart, so its first key may have any word of a block. */
typedef struct Drawn {
    uint32_t word[8][TILE];
} Drawn;

/* Draws the block that number `ahead` behind the key's is in. */
static void draw_block(uint32_t (*word)[TILE], const Queries *q, const Run *r, int64_t key, uint32_t ahead)
{
    const Lathe_masks *m = q->m;
    uint32_t index = q->base + (uint32_t)((q->head * q->g->T + q->t) * q->g->S + key), step = (uint32_t)q->g->S;
    EACH_LANE (r->from, r->to) {
        Philox p = philox_block(m->seed, m->step, m->site, q->row, (int)((index + (uint32_t)i * step + ahead) >> 2));
        for (int w = 0; w < 4; w++) word[w][i] = p.word[w];
    }
}

/* kept[i]: whether the weight of lane i and this key is kept by dropout; the run's keys come one after another. */
static void lanes_kept(Drawn *d, const Queries *q, const Run *r, int64_t key, int *kept)
{
    int at = (int)((key - r->key) & 3);
    uint32_t index = q->base + (uint32_t)((q->head * q->g->T + q->t) * q->g->S + r->key), step = (uint32_t)q->g->S;
    if (key == r->key) draw_block(d->word, q, r, key, 0);
    else if (at == 0) memcpy(d->word, d->word + 4, 4 * sizeof *d->word);
    if (at == 0) draw_block(d->word + 4, q, r, key, 4);
    const uint32_t(*word)[TILE] = (const uint32_t(*)[TILE])d->word + at;
    EACH_LANE (r->from, r->to) {
        uint32_t first = (index + (uint32_t)i * step) & 3;
        uint32_t low = first & 1 ? word[1][i] : word[0][i], high = first & 1 ? word[3][i] : word[2][i];
        kept[i] = -((first & 2 ? high : low) >= q->g->threshold);
    }
}

/* Two passes compute scores twice, 7 products instead of 5, but have enough tasks for all threads.  Either gives the
 * same bits. */
static bool two_passes_are_faster(int64_t heads, int64_t tiles)
{
    int64_t threads = omp_in_parallel() ? 1 : omp_get_max_threads();
    return tiles > 1 && (heads + threads - 1) / threads * threads * 5 > heads * 7;
}

#define REAL     float
#define NAME(x)  x##_f32
#define IS_FLOAT 1
#include "math/tile.h"
#include "math/attention_rows.h"
#include "math/attention_one.h"
#include "math/attention_real.h"

void attention_weights_f32_bf16(float *o, float *lse, float *p, const float *q, const uint16_t *k, const uint16_t *v,
                                const Lathe_attention *g, const Lathe_masks *m)
{
    attention_by_tiles_f32(o, lse, p, q, (Held_f32){.narrow = k}, (Held_f32){.narrow = v}, g, m);
}

void attention_f32_bf16(float *o, float *lse, const float *q, const uint16_t *k, const uint16_t *v,
                        const Lathe_attention *g, const Lathe_masks *m)
{
    if (is_one_query_f32(g, m))
        attention_of_one_f32(o, lse, q, (Held_f32){.narrow = k}, (Held_f32){.narrow = v}, g, m, true);
    else attention_weights_f32_bf16(o, lse, NULL, q, k, v, g, m);
}

void attention_weights_f32_q8_0(float *o, float *lse, float *p, const float *q, const Lathe_q8_0 *k,
                                const Lathe_q8_0 *v, const Lathe_attention *g, const Lathe_masks *m)
{
    attention_by_tiles_f32(o, lse, p, q, (Held_f32){.blocks = k}, (Held_f32){.blocks = v}, g, m);
}

void attention_f32_q8_0(float *o, float *lse, const float *q, const Lathe_q8_0 *k, const Lathe_q8_0 *v,
                        const Lathe_attention *g, const Lathe_masks *m)
{
    if (is_one_query_f32(g, m))
        attention_of_one_f32(o, lse, q, (Held_f32){.blocks = k}, (Held_f32){.blocks = v}, g, m, false);
    else attention_weights_f32_q8_0(o, lse, NULL, q, k, v, g, m);
}

#undef REAL
#undef NAME
#undef IS_FLOAT
#define REAL     double
#define NAME(x)  x##_f64
#define IS_FLOAT 0
#include "math/tile.h"
#include "math/attention_rows.h"
#include "math/attention_one.h"
#include "math/attention_real.h"
