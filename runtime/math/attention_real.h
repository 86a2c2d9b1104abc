/* attention_real.h: the part of math/attention.c that is compiled for float and for double: REAL, NAME(x), IS_FLOAT.
 */

/* ---- transposing between rows of memory and lanes */

#if IS_FLOAT && defined __AVX512F__
/* to[16][64] = from[16][16]ᵀ · factor: four perfect shuffles of 16 registers exchange rows and columns. */
static INLINE void transpose_16(float *to, int64_t to_row, const float *from, int64_t from_row, NAME(Vector) factor)
{
    NAME(Vector) x[16], y[16];
    for (int i = 0; i < 16; i++) x[i] = *(const NAME(Vector) *)&from[i * from_row];
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < 8; i++) {
            y[2 * i] = __builtin_shufflevector(x[i], x[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            y[2 * i + 1] =
                __builtin_shufflevector(x[i], x[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
        for (int i = 0; i < 16; i++) x[i] = y[i];
    }
    for (int i = 0; i < 16; i++) *(NAME(Vector) *)&to[i * to_row] = x[i] * factor;
}
#define TRANSPOSE_16(...) transpose_16(__VA_ARGS__)
#else
static INLINE void NAME(transpose_16)(REAL *to, int64_t to_row, const REAL *from, int64_t from_row, REAL factor)
{
    for (int j = 0; j < 16; j++)
        for (int i = 0; i < 16; i++) to[j * to_row + i] = from[i * from_row + j] * factor;
}
#define TRANSPOSE_16(to, to_row, from, from_row, factor) NAME(transpose_16)(to, to_row, from, from_row, LANE_OF(factor, 0))
#endif

/* to[width][TILE] = from[n][width]ᵀ · factor, zero in the lanes from n to `lanes` */
static void NAME(to_lanes)(REAL *to, const REAL *from, int64_t row, int n, int lanes, int64_t width, REAL factor)
{
    NAME(Vector) factors = factor - (NAME(Vector)){0};
    for (int i = 0; i < lanes; i += 16)
        for (int64_t w = 0; w < width; w += 16) {
            if (i + 16 <= n && w + 16 <= width) {
                TRANSPOSE_16(to + w * TILE + i, TILE, from + i * row + w, row, factors);
                continue;
            }
            for (int64_t x = w; x < least(w + 16, width); x++)
                for (int l = i; l < i + 16; l++) to[x * TILE + l] = l < n ? from[l * row + x] * factor : 0;
        }
}

/* to[n][width] = from[width][TILE]ᵀ */
static void NAME(from_lanes)(REAL *to, int64_t row, const REAL *from, int n, int64_t width)
{
    NAME(Vector) ones = 1 - (NAME(Vector)){0};
    for (int i = 0; i < n; i += 16)
        for (int64_t w = 0; w < width; w += 16) {
            if (i + 16 <= n && w + 16 <= width) {
                TRANSPOSE_16(to + i * row + w, row, from + w * TILE + i, TILE, ones);
                continue;
            }
            for (int l = i; l < least(i + 16, n); l++)
                for (int64_t x = w; x < least(w + 16, width); x++) to[l * row + x] = from[x * TILE + l];
        }
}

/* ---- forward */

/* x[i] += factor times the bias of lane i on a key */
static void NAME(add_bias)(REAL *x, const Queries *q, const Run *r, int64_t key, REAL factor)
{
    const REAL *bias = (const REAL *)q->m->bias + q->bias + key * q->g->bias_key;
    for (int i = r->from; i < least(r->to, q->n); i++) x[i] += factor * bias[i * q->g->bias.time];
}

/* The soft cap and the bias of scores s of one key. */
static void NAME(shape_scores)(REAL *s, const Queries *q, const Run *r, int64_t key)
{
    REAL cap = (REAL)q->g->cap;
    if (cap > 0)
        EACH_LANE (r->from, r->to) s[i] = cap * NAME(tanh)(s[i] / cap);
    if (q->m->bias) NAME(add_bias)(s, q, r, key, 1);
}

/* The derivative of the soft cap, 1 - tanh², from scores s with their bias; 0 where a key is not seen. */
static void NAME(slopes)(REAL *slope, const REAL *s, const Queries *q, const Run *r, int64_t key)
{
    REAL cap = (REAL)q->g->cap;
    EACH_LANE (r->from, r->to) slope[i] = s[i];
    if (q->m->bias) NAME(add_bias)(slope, q, r, key, -1);
    EACH_LANE (r->from, r->to) slope[i] = s[i] > (REAL)-INFINITY ? 1 - slope[i] / cap * (slope[i] / cap) : 0;
}

/* sᵀ of one run, -infinity for keys not seen; s belongs to the tile's first key */
static void NAME(scores)(REAL *s, const Queries *q, const Run *r, int64_t key, NAME(Rows) k, const REAL *qt)
{
    const Lathe_attention *g = q->g;
    int seen[TILE];
    REAL *own = s + (r->key - key) * TILE + r->from;
    NAME(tile_multiply)
    (own, TILE, k.at + (r->key - k.first) * k.row, k.row, 1, qt + r->from, TILE, r->end - r->key, r->to - r->from, g->D,
     false);
    for (int64_t j = r->key; (g->cap > 0 || q->m->bias) && j < r->end; j++)
        NAME(shape_scores)(s + (j - key) * TILE, q, r, j);
    for (int64_t j = r->key; r->edge > r->from && j < r->end; j++) {
        REAL *row = s + (j - key) * TILE;
        lanes_seeing(q, r, j, seen);
        EACH_LANE (r->from, r->edge) row[i] = seen[i] ? row[i] : (REAL)-INFINITY;
    }
}

/* x[i] = max(x[i], every s of the runs) */
static void NAME(raise)(REAL *x, const REAL *s, const Runs *runs, int64_t key)
{
    for (int n = 0; n < runs->n; n++)
        for (int64_t j = runs->at[n].key; j < runs->at[n].end; j++) {
            const REAL *row = s + (j - key) * TILE;
            EACH_LANE (runs->at[n].from, runs->at[n].to) x[i] = row[i] > x[i] ? row[i] : x[i];
        }
}

/* Rescales sums made with the maximum m to the maximum `now`. */
static void NAME(rescale)(REAL *ot, REAL *sum, REAL *m, const REAL *now, int lanes, int64_t width)
{
    REAL factor[TILE];
    bool changed = false;
    EACH_LANE (0, lanes) changed |= m[i] != now[i];
    if (!changed) return;
    EACH_LANE (0, lanes) factor[i] = NAME(exp)(m[i] - now[i]);
    EACH_LANE (0, lanes) sum[i] *= factor[i], m[i] = now[i];
    for (int64_t e = 0; e < width; e++)
        EACH_LANE (0, lanes) ot[e * TILE + i] *= factor[i];
}

/* s becomes p = exp(s - m); adds it to sums, before dropout */
static void NAME(weights)(REAL *s, REAL *sum, const REAL *m, const Queries *q, const Run *r, int64_t key)
{
    Drawn drawn;
    int kept[TILE];
    REAL keep = (REAL)q->g->keep;
    for (int64_t j = r->key; j < r->end; j++) {
        REAL *row = s + (j - key) * TILE;
        EACH_LANE (r->from, r->to) {
            row[i] = NAME(exp)(row[i] - m[i]);
            sum[i] += row[i];
        }
        if (keep <= 0) continue;
        lanes_kept(&drawn, q, r, j, kept);
        EACH_LANE (r->from, r->to) row[i] = kept[i] ? row[i] * keep : 0;
    }
}

/* A tile's buffers in its thread's room. */
typedef struct NAME(Forward) {
    REAL qt[WIDEST * TILE], ot[WIDEST * TILE], s[TILE * TILE], turned[TILE * WIDEST];
    REAL values[TILE * WIDEST]; /* widened */
} NAME(Forward);
_Static_assert(sizeof(NAME(Forward)) <= LATHE_ROOM_BYTES, "what the plan counts");

/* p[n][S] = exp(s - lse), 0 for keys not seen; computes every s again. */
static void NAME(write_weights)(REAL *p, REAL *s, REAL *room, const REAL *lse, NAME(Held) k, const REAL *qt,
                                const Queries *own)
{
    const Lathe_attention *g = own->g;
    for (int i = 0; i < own->n; i++) memset(p + i * g->p.time, 0, sizeof *p * (size_t)g->S);
    for (int64_t key = own->key / TILE * TILE; key < own->end; key += TILE) {
        int64_t from = most(key, own->key), end = least(key + TILE, own->end);
        Runs runs = runs_of(own, from, end);
        NAME(Rows) keys = NAME(keys)(room, k, own, from, end);
        for (int n = 0; n < runs.n; n++) {
            const Run *r = &runs.at[n];
            NAME(scores)(s, own, r, key, keys, qt);
            for (int64_t j = r->key; j < r->end; j++) {
                REAL *row = s + (j - key) * TILE;
                EACH_LANE (r->from, r->to) row[i] = NAME(exp)(row[i] - lse[i]);
            }
            NAME(from_lanes)
            (p + r->from * g->p.time + r->key, g->p.time, s + (r->key - key) * TILE + r->from,
             (int)least(r->to, own->n) - r->from, r->end - r->key);
        }
    }
}

/* Results of one tile of queries; NULL: not wanted. */
typedef struct NAME(Made) {
    REAL *o, *lse, *p;
} NAME(Made);

static void NAME(forward_tile)(NAME(Made) to, const REAL *q, NAME(Held) k, NAME(Held) v, const Queries *own)
{
    const Lathe_attention *g = own->g;
    NAME(Forward) *f = thread_room();
    REAL *qt = f->qt, *ot = f->ot, *s = f->s, *room = f->turned;
    _Alignas(64) REAL m[TILE], now[TILE], sum[TILE];
    NAME(Rows) queries = NAME(queries)(room, q, own);
    NAME(to_lanes)(qt, queries.at, queries.row, own->n, own->lanes, g->D, (REAL)g->scale);
    memset(ot, 0, sizeof *ot * (size_t)(g->E * TILE));
    for (int i = 0; i < TILE; i++) m[i] = now[i] = (REAL)UNSEEN, sum[i] = 0;
    for (int64_t key = own->key / TILE * TILE; key < own->end; key += TILE) {
        int64_t from = most(key, own->key), end = least(key + TILE, own->end);
        Runs runs = runs_of(own, from, end);
        NAME(Rows) keys = NAME(keys)(room, k, own, from, end);
        NAME(Rows) values = NAME(wide_rows)(f->values, v, g->v.time, g->E, from, end);
        for (int n = 0; n < runs.n; n++) NAME(scores)(s, own, &runs.at[n], key, keys, qt);
        NAME(raise)(now, s, &runs, key);
        NAME(rescale)(ot, sum, m, now, own->lanes, g->E);
        for (int n = 0; n < runs.n; n++) {
            const Run *r = &runs.at[n];
            NAME(weights)(s, sum, m, own, r, key);
            NAME(tile_multiply)
            (ot + r->from, TILE, values.at + (r->key - from) * values.row, 1, values.row, s + (r->key - key) * TILE + r->from, TILE, g->E,
             r->to - r->from, r->end - r->key, true);
        }
    }
    for (int i = 0; i < TILE; i++) now[i] = sum[i] > 0 || sum[i] != sum[i] ? 1 / sum[i] : 0;
    for (int64_t e = 0; e < g->E; e++)
        EACH_LANE (0, own->lanes) ot[e * TILE + i] *= now[i];
    if (to.o) NAME(from_lanes)(to.o, g->o.time, ot, own->n, g->E);
    for (int i = 0; i < own->lanes; i++)
        now[i] = sum[i] > 0 || sum[i] != sum[i] ? m[i] + NAME(log)(sum[i]) : (REAL)UNSEEN;
    for (int i = 0; to.lse && i < own->n; i++) to.lse[i * g->lse.time] = now[i];
    if (to.p) NAME(write_weights)(to.p, s, room, now, k, qt, own);
}

static void NAME(attention_by_tiles)(REAL *o, REAL *lse, REAL *p, const REAL *q, NAME(Held) k, NAME(Held) v,
                                     const Lathe_attention *g, const Lathe_masks *m)
{
    int64_t tiles = tiles_of(g->T), tasks = samples_of(g) * g->H * tiles;
#pragma omp parallel for schedule(dynamic) if (tasks > 1 && !omp_in_parallel())
    for (int64_t task = 0; task < tasks; task++) {
        int64_t sample = task / (g->H * tiles), head = task / tiles % g->H, t = task % tiles * TILE;
        int64_t shared = head / (g->H / g->G);
        Queries own = queries_of(g, m, sample, head, t);
        const REAL *own_q = q + begin_of(g, &g->q, sample) + t * g->q.time + head * g->q.head;
        NAME(Held) own_k = NAME(moved_rows)(k, begin_of(g, &g->k, sample) + shared * g->k.head);
        NAME(Held) own_v = NAME(moved_rows)(v, begin_of(g, &g->v, sample) + shared * g->v.head);
        NAME(Made)
        to = {
            .o = o ? o + begin_of(g, &g->o, sample) + t * g->o.time + head * g->o.head : NULL,
            .lse = lse ? lse + begin_of(g, &g->lse, sample) + t * g->lse.time + head * g->lse.head : NULL,
            .p = p ? p + begin_of(g, &g->p, sample) + t * g->p.time + head * g->p.head : NULL,
        };
        NAME(forward_tile)(to, own_q, own_k, own_v, &own);
    }
}

void NAME(attention_weights)(REAL *o, REAL *lse, REAL *p, const REAL *q, const REAL *k, const REAL *v,
                             const Lathe_attention *g, const Lathe_masks *m)
{
    NAME(attention_by_tiles)(o, lse, p, q, (NAME(Held)){.at = k}, (NAME(Held)){.at = v}, g, m);
}

void NAME(attention)(REAL *o, REAL *lse, const REAL *q, const REAL *k, const REAL *v, const Lathe_attention *g,
                     const Lathe_masks *m)
{
    if (NAME(is_one_query)(g, m)) NAME(attention_of_one)(o, lse, q, (NAME(Held)){.at = k}, (NAME(Held)){.at = v}, g, m, false);
    else NAME(attention_weights)(o, lse, NULL, q, k, v, g, m);
}

/* ---- backward */

typedef struct NAME(Backward) { /* as Forward */
    REAL qt[WIDEST * TILE], dot[WIDEST * TILE], dqt[WIDEST * TILE], s[TILE * TILE], dp[TILE * TILE];
    REAL turned[TILE * WIDEST], k[TILE * WIDEST], q[WIDEST * TILE], d_o[WIDEST * TILE], sums[TILE * WIDEST];
} NAME(Backward);
_Static_assert(sizeof(NAME(Backward)) <= LATHE_ROOM_BYTES, "what the plan counts");

/* Operands of one sample: of queries, those of one head and tile; of keys, those of the head that they share. */
typedef struct NAME(Back) {
    REAL *d_q, *d_k, *d_v; /* NULL: not wanted */
    const REAL *q, *k, *v, *o, *lse, *d_o;
} NAME(Back);

/* Rows of x[n][width], padded with zeros to a multiple of 16, in room unless they are already. */
static const REAL *NAME(padded)(REAL *room, const REAL *x, int64_t row, int n, int64_t width, int64_t *stride)
{
    *stride = row;
    if (width % 16 == 0) return x;
    *stride = rounded(width);
    for (int i = 0; i < n; i++)
        for (int64_t w = 0; w < *stride; w++) room[i * *stride + w] = w < width ? x[i * row + w] : 0;
    return room;
}

/* delta[i] = Σ d_o · o of query i, in lanes and a fixed tree */
static void NAME(row_products)(REAL *delta, const NAME(Back) * b, const Queries *own)
{
    const Lathe_attention *g = own->g;
    for (int i = 0; i < own->n; i++) {
        const REAL *x = b->d_o + i * g->d_o.time, *y = b->o + i * g->o.time;
        REAL lane[LANES] = {0};
        int64_t e = 0;
        for (; e + LANES <= g->E; e += LANES) SIMD for (int l = 0; l < LANES; l++) lane[l] += x[e + l] * y[e + l];
        for (; e < g->E; e++) lane[e % LANES] += x[e] * y[e];
        delta[i] = NAME(sum_lanes)(lane);
    }
    for (int i = own->n; i < own->lanes; i++) delta[i] = 0;
}

/* s becomes the weights that multiplied v, and dp = do · vᵀ becomes ds. */
static void NAME(weights_back)(REAL *s, REAL *dp, const REAL *lse, const REAL *delta, const Queries *q, const Run *r,
                               int64_t key)
{
    Drawn drawn;
    int kept[TILE];
    REAL scale = (REAL)q->g->scale, keep = (REAL)q->g->keep, slope[TILE];
    for (int64_t j = r->key; j < r->end; j++) {
        REAL *p = s + (j - key) * TILE, *d = dp + (j - key) * TILE;
        if (q->g->cap > 0) NAME(slopes)(slope, p, q, r, j);
        EACH_LANE (r->from, r->to) p[i] = NAME(exp)(p[i] - lse[i]);
        if (keep > 0) {
            lanes_kept(&drawn, q, r, j, kept);
            EACH_LANE (r->from, r->to) {
                REAL factor = kept[i] ? keep : 0, weight = p[i];
                d[i] = weight * (d[i] * factor - delta[i]) * scale;
                p[i] = weight * factor;
            }
        } else {
            EACH_LANE (r->from, r->to) d[i] = p[i] * (d[i] - delta[i]) * scale;
        }
        if (q->g->cap > 0)
            EACH_LANE (r->from, r->to) d[i] *= slope[i];
    }
}

/* to[keys][width] += pᵀ · x over the lanes of a run; x [lanes][width], padded */
static void NAME(add_keys)(REAL *to, int64_t row, const REAL *p, const Run *r, const Queries *q, const REAL *x,
                           int64_t x_row, int64_t width, REAL *room)
{
    int64_t lanes = least(r->to, q->n) - r->from, keys = r->end - r->key;
    x += r->from * x_row;
    if (width % 16 == 0) {
        NAME(tile_multiply)(to, row, p, TILE, 1, x, x_row, keys, width, lanes, true);
        return;
    }
    NAME(tile_multiply)(room, x_row, p, TILE, 1, x, x_row, keys, rounded(width), lanes, false);
    for (int64_t j = 0; j < keys; j++)
        for (int64_t w = 0; w < width; w++) to[j * row + w] += room[j * x_row + w];
}

/* Turns rows from … end of a gradient back; x points to the first. */
static void NAME(turn_back)(REAL *x, const Lathe_heads *at, const REAL *turns, const Lathe_heads *of,
                            const Queries *own, int64_t from, int64_t end)
{
    if (!turns) return;
    turns += begin_of(own->g, of, own->sample) + from * of->time;
    NAME(turn)(x, at->time, x, at->time, turns, of->time, end - from, own->g->D, -1);
}

/* One tile of queries against keys … end. */
static void NAME(backward_tile)(const NAME(Back) * b, const Queries *own, int64_t first, int64_t end)
{
    const Lathe_attention *g = own->g;
    NAME(Backward) *f = thread_room();
    REAL *qt = f->qt, *dot = f->dot, *dqt = f->dqt, *s = f->s, *dp = f->dp, *sums = f->sums;
    REAL lse[TILE], delta[TILE];
    int64_t q_row, do_row;
    NAME(Rows) queries = NAME(queries)(f->turned, b->q, own);
    const REAL *q = NAME(padded)(f->q, queries.at, queries.row, own->n, g->D, &q_row);
    const REAL *d_o = NAME(padded)(f->d_o, b->d_o, g->d_o.time, own->n, g->E, &do_row);
    NAME(to_lanes)(qt, queries.at, queries.row, own->n, own->lanes, g->D, (REAL)g->scale);
    NAME(to_lanes)(dot, b->d_o, g->d_o.time, own->n, own->lanes, g->E, 1);
    NAME(row_products)(delta, b, own);
    for (int i = 0; i < own->lanes; i++) lse[i] = i < own->n ? b->lse[i * g->lse.time] : 0;
    if (b->d_q) memset(dqt, 0, sizeof *dqt * (size_t)(g->D * TILE));
    first = most(first, own->key), end = least(end, own->end);
    for (int64_t key = first / TILE * TILE; key < end; key += TILE) {
        int64_t from = most(key, first), to = least(key + TILE, end);
        Runs runs = runs_of(own, from, to);
        NAME(Rows) k = NAME(keys)(f->k, (NAME(Held)){.at = b->k}, own, from, to);
        for (int n = 0; n < runs.n; n++) {
            const Run *r = &runs.at[n];
            int64_t at = (r->key - key) * TILE + r->from, keys = r->end - r->key;
            NAME(scores)(s, own, r, key, k, qt);
            NAME(tile_multiply)
            (dp + at, TILE, b->v + r->key * g->v.time, g->v.time, 1, dot + r->from, TILE, keys, r->to - r->from, g->E,
             false);
            NAME(weights_back)(s, dp, lse, delta, own, r, key);
            if (b->d_v)
                NAME(add_keys)(b->d_v + r->key * g->d_v.time, g->d_v.time, s + at, r, own, d_o, do_row, g->E, sums);
            if (b->d_k)
                NAME(add_keys)(b->d_k + r->key * g->d_k.time, g->d_k.time, dp + at, r, own, q, q_row, g->D, sums);
            if (b->d_q) NAME(tile_multiply)
            (dqt + r->from, TILE, k.at + (r->key - k.first) * k.row, 1, k.row, dp + at, TILE, g->D, r->to - r->from,
             keys, true);
        }
    }
    if (!b->d_q) return;
    NAME(from_lanes)(b->d_q, g->d_q.time, dqt, own->n, g->D);
    NAME(turn_back)
    (b->d_q, &g->d_q, (const REAL *)own->m->q_turns, &g->q_turns, own, own->t, own->t + own->n);
}

/* The operands of a sample, of a head and its tile of queries. */
static NAME(Back)
    NAME(operands)(const NAME(Back) * all, const Lathe_attention *g, int64_t sample, int64_t head, int64_t t)
{
    int64_t shared = head / (g->H / g->G);
#define OF_QUERY(x) all->x + begin_of(g, &g->x, sample) + head * g->x.head + t * g->x.time
#define OF_KEY(x)   all->x + begin_of(g, &g->x, sample) + shared * g->x.head
    NAME(Back) b = {.q = OF_QUERY(q), .o = OF_QUERY(o), .lse = OF_QUERY(lse), .d_o = OF_QUERY(d_o)};
    b.k = OF_KEY(k), b.v = OF_KEY(v);
    b.d_q = all->d_q ? OF_QUERY(d_q) : NULL;
    b.d_k = all->d_k ? OF_KEY(d_k) : NULL;
    b.d_v = all->d_v ? OF_KEY(d_v) : NULL;
#undef OF_QUERY
#undef OF_KEY
    return b;
}

static void NAME(clear_keys)(REAL *x, int64_t row, int64_t from, int64_t end, int64_t width)
{
    for (int64_t s = from; x && s < end; s++) memset(x + s * row, 0, sizeof *x * (size_t)width);
}

/* All queries of the heads that share a key head, against keys from … end. */
static void NAME(backward_head)(const NAME(Back) * all, const Lathe_attention *g, const Lathe_masks *m, int64_t sample,
                                int64_t shared, int64_t from, int64_t end)
{
    int64_t heads = g->H / g->G;
    NAME(Back) keys = NAME(operands)(all, g, sample, shared * heads, 0);
    NAME(clear_keys)(keys.d_k, g->d_k.time, from, end, g->D);
    NAME(clear_keys)(keys.d_v, g->d_v.time, from, end, g->E);
    for (int64_t head = shared * heads; head < (shared + 1) * heads; head++)
        for (int64_t t = 0; t < g->T; t += TILE) {
            Queries own = queries_of(g, m, sample, head, t);
            NAME(Back) b = NAME(operands)(all, g, sample, head, t);
            NAME(backward_tile)(&b, &own, from, end);
        }
    Queries any = queries_of(g, m, sample, shared * heads, 0);
    if (keys.d_k) NAME(turn_back)
    (keys.d_k + from * g->d_k.time, &g->d_k, (const REAL *)any.m->k_turns, &g->k_turns, &any, from, end);
}

/* Two passes: gradients of keys and values, one tile of keys per task; then those of queries, one tile of queries per
 * task. */
static void NAME(backward_in_tiles)(const NAME(Back) * all, const Lathe_attention *g, const Lathe_masks *m)
{
    NAME(Back) of_keys = *all, of_queries = *all;
    int64_t k_tiles = tiles_of(g->S), q_tiles = tiles_of(g->T), samples = samples_of(g);
    of_keys.d_q = of_queries.d_k = of_queries.d_v = NULL;
#pragma omp parallel for schedule(dynamic) if (!omp_in_parallel())
    for (int64_t task = 0; task < samples * g->G * k_tiles; task++) {
        int64_t key = task % k_tiles * TILE;
        if (all->d_k || all->d_v) NAME(backward_head)
        (&of_keys, g, m, task / (g->G * k_tiles), task / k_tiles % g->G, key, least(key + TILE, g->S));
    }
#pragma omp parallel for schedule(dynamic) if (!omp_in_parallel())
    for (int64_t task = 0; task < samples * g->H * q_tiles; task++) {
        int64_t sample = task / (g->H * q_tiles), head = task / q_tiles % g->H, t = task % q_tiles * TILE;
        Queries own = queries_of(g, m, sample, head, t);
        NAME(Back) b = NAME(operands)(&of_queries, g, sample, head, t);
        if (all->d_q) NAME(backward_tile)(&b, &own, 0, g->S);
    }
}

void NAME(attention_back)(REAL *d_q, REAL *d_k, REAL *d_v, const REAL *q, const REAL *k, const REAL *v, const REAL *o,
                          const REAL *lse, const REAL *d_o, const Lathe_attention *g, const Lathe_masks *m)
{
    NAME(Back) all = {.d_q = d_q, .d_k = d_k, .d_v = d_v, .q = q, .k = k, .v = v, .o = o, .lse = lse, .d_o = d_o};
    int64_t heads = samples_of(g) * g->G;
    if (two_passes_are_faster(heads, tiles_of(g->T) * tiles_of(g->S))) {
        NAME(backward_in_tiles)(&all, g, m);
        return;
    }
#pragma omp parallel for schedule(dynamic) if (heads > 1 && !omp_in_parallel())
    for (int64_t task = 0; task < heads; task++) NAME(backward_head)(&all, g, m, task / g->G, task % g->G, 0, g->S);
}

#undef TRANSPOSE_16
