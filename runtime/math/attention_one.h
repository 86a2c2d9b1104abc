/* attention_one.h: the part of math/attention.c for one query of each head (decode), compiled for float and for double
 * as attention_real.h.  A tile of queries would have one lane of 64; here lanes are elements of keys, then keys, then
 * elements of values.  Two heads that share keys go through them together, tile by tile.
 *
 * narrow: keys and values are bf16, widened in registers; pointers to them then point to such.  Those in blocks are widened
 * tile by tile, for all heads that go through them together. */

static INLINE const void *NAME(place)(const void *x, int64_t i, const bool narrow)
{
    return (const char *)x + i * (int64_t)(narrow ? sizeof(bf16) : sizeof(REAL));
}

static INLINE REAL NAME(element_at)(const void *x, int64_t i, const bool narrow)
{
    return narrow ? (REAL)from_bf16_f32(((const bf16 *)x)[i]) : ((const REAL *)x)[i];
}

static INLINE NAME(Vector) NAME(load)(const void *x, int64_t i, const bool narrow)
{
    if (!narrow) return *(const NAME(Vector) *)&((const REAL *)x)[i];
#if IS_FLOAT && defined __AVX512F__
    __m256i bits = _mm256_loadu_si256((const __m256i *)NAME(place)(x, i, narrow));
    return (NAME(Vector))_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16);
#elif IS_FLOAT && defined __AVX2__
    __m128i bits = _mm_loadu_si128((const __m128i *)NAME(place)(x, i, narrow));
    return (NAME(Vector))_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
#else
    NAME(Vector) w;
    for (int l = 0; l < NAME(WIDTH); l++) LANE_OF(w, l) = NAME(element_at)(x, i + l, narrow);
    return w;
#endif
}

/* Σ x · y over n, in LANES lanes, a vector of them at a time. */
static INLINE REAL NAME(dot_rows)(const REAL *x, const void *y, int64_t n, const bool narrow)
{
    enum { W = NAME(WIDTH), VECTORS = LANES / W };
    NAME(Vector) sum[VECTORS] = {0};
    int64_t d = 0;
    for (; d + LANES <= n; d += LANES)
        for (int i = 0; i < VECTORS; i++)
            sum[i] = NAME(fused)(*(const NAME(Vector) *)&x[d + i * W], NAME(load)(y, d + i * W, narrow), sum[i]);
    REAL lane[LANES];
    memcpy(lane, sum, sizeof lane);
    for (int l = 0; d < n; d++, l++) lane[l] += x[d] * NAME(element_at)(y, d, narrow);
    return NAME(sum_lanes)(lane);
}

/* sum[E] += Σ p[j] · v[j][E] over n keys */
static INLINE void NAME(add_values)(REAL *sum, const REAL *p, const void *v, int64_t row, int n, int64_t E,
                                    const bool narrow)
{
    enum { W = NAME(WIDTH), MANY = 4 };
    int64_t e = 0;
    for (; e + MANY * W <= E; e += MANY * W) {
        NAME(Vector) own[MANY];
        for (int i = 0; i < MANY; i++) own[i] = *(const NAME(Vector) *)&sum[e + i * W];
        for (int j = 0; j < n; j++) {
            const NAME(Vector) weight = p[j] - (NAME(Vector)){0};
            for (int i = 0; i < MANY; i++)
                own[i] = NAME(fused)(weight, NAME(load)(v, j * row + e + i * W, narrow), own[i]);
        }
        for (int i = 0; i < MANY; i++) *(NAME(Vector) *)&sum[e + i * W] = own[i];
    }
    for (; e < E; e += W) { /* fused too, so that no bit depends on the width of vectors */
        int64_t left = least(W, E - e);
        size_t bytes = sizeof(REAL) * (size_t)left;
        NAME(Vector) own = {0}, value = {0};
        memcpy(&own, &sum[e], bytes);
        for (int j = 0; j < n; j++) {
            for (int l = 0; l < left; l++) LANE_OF(value, l) = NAME(element_at)(v, j * row + e + l, narrow);
            own = NAME(fused)(p[j] - (NAME(Vector)){0}, value, own);
        }
        memcpy(&sum[e], &own, bytes);
    }
}

/* Scores of keys from … end - 1, of which k is the first; beyond them, and where a key is not seen, -infinity. */
static INLINE void NAME(scores_of_one)(REAL *s, const REAL *q, const void *k, int64_t row, const Queries *own,
                                       int64_t from, int64_t end, const bool narrow)
{
    const Lathe_attention *g = own->g;
    const REAL *bias = own->m->bias ? (const REAL *)own->m->bias + own->bias : NULL;
    for (int64_t j = from; j < from + TILE; j++) {
        bool seen = j < end && (!own->key_segment || own->key_segment[j * g->k_segments.time] == *own->segment);
        REAL x = seen ? NAME(dot_rows)(q, NAME(place)(k, (j - from) * row, narrow), g->D, narrow) : (REAL)-INFINITY;
        if (seen && g->cap > 0) x = (REAL)g->cap * NAME(tanh)(x / (REAL)g->cap);
        if (seen && bias) x += bias[j * g->bias_key];
        s[j - from] = x;
    }
}

/* A head on its way through the keys. */
typedef struct NAME(One) {
    Queries own;
    REAL *o, *lse;
    _Alignas(64) REAL scaled[WIDEST], sum[WIDEST], total[LANES], weight[TILE];
    REAL largest;
} NAME(One);

static void NAME(begin_one)(NAME(One) * h, const REAL *q)
{
    const Lathe_attention *g = h->own.g;
    for (int64_t d = 0; d < g->D; d++) h->scaled[d] = q[d] * (REAL)g->scale;
    memset(h->sum, 0, sizeof h->sum);
    memset(h->total, 0, sizeof h->total);
    h->largest = (REAL)UNSEEN;
}

/* The weights of keys from … end - 1, at most TILE, of which k is the first; what was summed so far becomes relative to their
 * largest score. */
static INLINE void NAME(weights_of_one)(NAME(One) * h, const void *k, int64_t row, int64_t from, int64_t end, const bool narrow)
{
    REAL now = h->largest, *s = h->weight;
    NAME(scores_of_one)(s, h->scaled, k, row, &h->own, from, end, narrow);
    for (int j = 0; j < TILE; j++) now = s[j] > now ? s[j] : now;
    if (now != h->largest) {
        REAL factor = NAME(exp)(h->largest - now);
        for (int l = 0; l < LANES; l++) h->total[l] *= factor;
        for (int64_t e = 0; e < h->own.g->E; e++) h->sum[e] *= factor;
        h->largest = now;
    }
    for (int j = 0; j < TILE; j += LANES) LANEWISE for (int l = 0; l < LANES; l++)
        {
            s[j + l] = NAME(exp)(s[j + l] - h->largest);
            h->total[l] += s[j + l];
        }
}

static void NAME(end_one)(NAME(One) * h)
{
    REAL all = NAME(sum_lanes)(h->total), inverse = all > 0 || all != all ? 1 / all : 0;
    for (int64_t e = 0; h->o && e < h->own.g->E; e++) h->o[e] = h->sum[e] * inverse;
    if (h->lse) *h->lse = all > 0 || all != all ? h->largest + NAME(log)(all) : (REAL)UNSEEN;
}

static INLINE int64_t NAME(held_bytes)(NAME(Held) x, int64_t elements)
{
    if (x.blocks) return elements / LATHE_BLOCK * (int64_t)sizeof(Lathe_q8_0);
    return elements * (int64_t)(x.narrow ? sizeof(bf16) : sizeof(REAL));
}

static INLINE const void *NAME(held_place)(NAME(Held) x, int64_t element)
{
    const void *first = x.blocks ? x.blocks : x.narrow ? (const void *)x.narrow : x.at;
    return (const char *)first + NAME(held_bytes)(x, element);
}

/* Rows from … end - 1, `row` apart, of `width`. */
static INLINE void NAME(fetch_rows)(NAME(Held) x, int64_t row, int64_t width, int64_t from, int64_t end)
{
    const int64_t bytes = NAME(held_bytes)(x, width);
    for (int64_t j = from; j < end; j++)
        for (int64_t d = 0; d < bytes; d += 64) fetch(NAME(held_place)(x, j * row), d);
}

/* Rows of a tile: those in blocks widened, in this thread's room; *first: row `from`, which narrow ones leave as it is. */
static INLINE int64_t NAME(rows_of_tile)(const void **first, NAME(Held) x, int64_t row, int64_t width, int64_t from, int64_t end)
{
    *first = NAME(held_place)(x, from * row);
    if (!x.blocks) return row;
    NAME(Rows) wide = NAME(wide_rows)(thread_room(), x, row, width, from, end);
    *first = wide.at;
    return wide.row;
}

/* n heads that share keys; the range of keys is the same for all. */
static INLINE void NAME(queries_of_one)(NAME(One) * h, int n, NAME(Held) k, NAME(Held) v, const bool narrow)
{
    const Lathe_attention *g = h->own.g;
    const void *first;
    int64_t last = h->own.end;
    NAME(fetch_rows)(k, g->k.time, g->D, h->own.key, least(h->own.key + TILE, last));
    for (int64_t from = h->own.key; from < last; from += TILE) {
        int64_t end = least(from + TILE, last), row;
        NAME(fetch_rows)(v, g->v.time, g->E, from, end);
        NAME(fetch_rows)(k, g->k.time, g->D, end, least(end + TILE, last));
        row = NAME(rows_of_tile)(&first, k, g->k.time, g->D, from, end);
        for (int i = 0; i < n; i++) NAME(weights_of_one)(&h[i], first, row, from, end, narrow);
        row = NAME(rows_of_tile)(&first, v, g->v.time, g->E, from, end);
        for (int i = 0; i < n; i++) NAME(add_values)(h[i].sum, h[i].weight, first, row, (int)(end - from), g->E, narrow);
    }
}

static INLINE void NAME(attention_of_one)(REAL *o, REAL *lse, const REAL *q, NAME(Held) k, NAME(Held) v,
                                          const Lathe_attention *g, const Lathe_masks *m, const bool narrow)
{
    enum { TOGETHER = 2 }; /* more of them read keys less often, but leave threads idle */
    int64_t heads = g->H / g->G, parts = (heads + TOGETHER - 1) / TOGETHER, tasks = samples_of(g) * g->G * parts;
#pragma omp parallel for schedule(dynamic) if (tasks > 1 && !omp_in_parallel())
    for (int64_t task = 0; task < tasks; task++) {
        NAME(One) each[TOGETHER];
        int64_t sample = task / (g->G * parts), shared = task / parts % g->G, first = task % parts * TOGETHER;
        int n = (int)least(TOGETHER, heads - first);
        for (int i = 0; i < n; i++) {
            int64_t head = shared * heads + first + i;
            each[i].own = queries_of(g, m, sample, head, 0);
            each[i].o = o ? o + begin_of(g, &g->o, sample) + head * g->o.head : NULL;
            each[i].lse = lse ? lse + begin_of(g, &g->lse, sample) + head * g->lse.head : NULL;
            NAME(begin_one)(&each[i], q + begin_of(g, &g->q, sample) + head * g->q.head);
        }
        NAME(queries_of_one)
        (each, n, NAME(moved_rows)(k, begin_of(g, &g->k, sample) + shared * g->k.head),
         NAME(moved_rows)(v, begin_of(g, &g->v, sample) + shared * g->v.head), narrow);
        for (int i = 0; i < n; i++) NAME(end_one)(&each[i]);
    }
}

/* Dropout, turns and the weights themselves are for tiles. */
static bool NAME(is_one_query)(const Lathe_attention *g, const Lathe_masks *m)
{
    return g->T == 1 && g->keep <= 0 && (!m || (!m->q_turns && !m->k_turns));
}
