/* attention_one.h: the part of math/attention.c for one query of each head (decode), compiled for float and for double
 * as attention_real.h.  A tile of queries would have one lane of 64; here lanes are elements of keys, then keys, then
 * elements of values. */

/* Σ x · y over n, in LANES lanes, a vector of them at a time. */
static INLINE REAL NAME(dot_rows)(const REAL *x, const REAL *y, int64_t n)
{
    enum { W = NAME(WIDTH), VECTORS = LANES / W };
    NAME(Vector) sum[VECTORS] = {0};
    int64_t d = 0;
    for (; d + LANES <= n; d += LANES)
        for (int i = 0; i < VECTORS; i++)
            sum[i] = NAME(fused)(*(const NAME(Vector) *)&x[d + i * W], *(const NAME(Vector) *)&y[d + i * W], sum[i]);
    REAL lane[LANES];
    memcpy(lane, sum, sizeof lane);
    for (int l = 0; d < n; d++, l++) lane[l] += x[d] * y[d];
    return NAME(sum_lanes)(lane);
}

/* sum[E] += Σ p[j] · v[j][E] over n keys */
static INLINE void NAME(add_values)(REAL *sum, const REAL *p, const REAL *v, int64_t row, int n, int64_t E)
{
    enum { W = NAME(WIDTH), MANY = 4 };
    int64_t e = 0;
    for (; e + MANY * W <= E; e += MANY * W) {
        NAME(Vector) own[MANY];
        for (int i = 0; i < MANY; i++) own[i] = *(const NAME(Vector) *)&sum[e + i * W];
        for (int j = 0; j < n; j++) {
            const NAME(Vector) weight = p[j] - (NAME(Vector)){0};
            for (int i = 0; i < MANY; i++)
                own[i] = NAME(fused)(weight, *(const NAME(Vector) *)&v[j * row + e + i * W], own[i]);
        }
        for (int i = 0; i < MANY; i++) *(NAME(Vector) *)&sum[e + i * W] = own[i];
    }
    for (; e < E; e += W) { /* fused too, so that no bit depends on the width of vectors */
        size_t bytes = sizeof(REAL) * (size_t)least(W, E - e);
        NAME(Vector) own = {0}, value = {0};
        memcpy(&own, &sum[e], bytes);
        for (int j = 0; j < n; j++) {
            memcpy(&value, &v[j * row + e], bytes);
            own = NAME(fused)(p[j] - (NAME(Vector)){0}, value, own);
        }
        memcpy(&sum[e], &own, bytes);
    }
}

/* Scores of keys from … end - 1; beyond them, and where a key is not seen, -infinity. */
static void NAME(scores_of_one)(REAL *s, const REAL *q, const REAL *k, const Queries *own, int64_t from, int64_t end)
{
    const Lathe_attention *g = own->g;
    const REAL *bias = own->m->bias ? (const REAL *)own->m->bias + own->bias : NULL;
    for (int64_t j = from; j < from + TILE; j++) {
        bool seen = j < end && (!own->segment || own->key_segment[j * g->k_segments.time] == *own->segment);
        REAL x = seen ? NAME(dot_rows)(q, k + j * g->k.time, g->D) : (REAL)-INFINITY;
        if (seen && g->cap > 0) x = (REAL)g->cap * NAME(tanh)(x / (REAL)g->cap);
        if (seen && bias) x += bias[j * g->bias_key];
        s[j - from] = x;
    }
}

static void NAME(one_query)(REAL *o, REAL *lse, const REAL *q, const REAL *k, const REAL *v, const Queries *own)
{
    const Lathe_attention *g = own->g;
    _Alignas(64) REAL s[TILE], scaled[WIDEST], sum[WIDEST] = {0}, total[LANES] = {0}, largest = (REAL)UNSEEN;
    for (int64_t d = 0; d < g->D; d++) scaled[d] = q[d] * (REAL)g->scale;
    for (int64_t from = own->key; from < own->end; from += TILE) {
        int64_t end = least(from + TILE, own->end);
        REAL now = largest;
        NAME(scores_of_one)(s, scaled, k, own, from, end);
        for (int j = 0; j < TILE; j++) now = s[j] > now ? s[j] : now;
        if (now != largest) {
            REAL factor = NAME(exp)(largest - now);
            for (int l = 0; l < LANES; l++) total[l] *= factor;
            for (int64_t e = 0; e < g->E; e++) sum[e] *= factor;
            largest = now;
        }
        for (int j = 0; j < TILE; j += LANES) LANEWISE for (int l = 0; l < LANES; l++)
            {
                s[j + l] = NAME(exp)(s[j + l] - largest);
                total[l] += s[j + l];
            }
        NAME(add_values)(sum, s, v + from * g->v.time, g->v.time, (int)(end - from), g->E);
    }
    REAL all = NAME(sum_lanes)(total), inverse = all > 0 || all != all ? 1 / all : 0;
    for (int64_t e = 0; o && e < g->E; e++) o[e] = sum[e] * inverse;
    if (lse) *lse = all > 0 || all != all ? largest + NAME(log)(all) : (REAL)UNSEEN;
}

/* Dropout, turns and the weights themselves are for tiles. */
static bool NAME(is_one_query)(const Lathe_attention *g, const Lathe_masks *m, const REAL *p)
{
    return g->T == 1 && !p && g->keep <= 0 && (!m || (!m->q_turns && !m->k_turns));
}
