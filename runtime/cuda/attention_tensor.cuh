/* attention_tensor.cuh: attention of bf16 and fp16 on tensor cores (sm_80 and later); part of cuda/attention.cuh.
 *
 * A block has four warps and 64 rows of its own, 16 per warp: queries, or keys for their gradients.  Rows of the other
 * side pass through shared memory in tiles; the next tile is copied while the current one is processed:
 *
 *     forward         own q         other k, v      s = q · kT                    o += p · v
 *     back_q          own q, d_o    other k, v      s = q · kT, dp = d_o · vT     d_q += ds · k
 *     back_k          own k, v      other q, d_o    s = k · qT, dp = v · d_oT     d_k += ds · q, d_v += p · d_o
 *
 * A warp's part of s after the first product has the layout of the second product's left operand (cuda/tensor.cuh), so
 * weights stay in registers; they are rounded to 16 bits, sums are fp32.  Rows in shared memory are padded by 16 bytes,
 * so that eight consecutive rows begin in different banks.
 *
 * Widths D and E are multiples of 16, at least those of the heads; the rest is zero.  Rows that do not begin at
 * multiples of 16 bytes are copied element by element. */

#include "cuda/attention_tiles.cuh"

/* ------------------------------------------------------------------ forward */

/* s, in powers of two, becomes exp2(s - m), where m is the new maximum; factor rescales earlier sums. */
template <int N> DEVICE void tensor_weights(float (&s)[N][4], float (&m)[2], float (&sum)[2], float (&factor)[2])
{
    UNROLL for (int half = 0; half < 2; half++)
    {
        float now = m[half];
        UNROLL for (int n = 0; n < N; n++) now = fmaxf(now, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
        now = max_of_4(now);
        factor[half] = power_of_two(m[half] - now);
        sum[half] *= factor[half];
        m[half] = now;
        UNROLL for (int n = 0; n < N; n++) UNROLL for (int r = 2 * half; r < 2 * half + 2; r++)
        {
            s[n][r] = power_of_two(s[n][r] - now);
            sum[half] += s[n][r];
        }
    }
}

template <class T, int D, int E, bool DROPOUT>
TENSOR_KERNEL void attention_tensor(T *o, float *lse, const T *q, const T *k, const T *v, bool aligned,
                                    const __grid_constant__ Lathe_attention g, const __grid_constant__ Cuda_masks m)
{
    typedef Tensor_forward<D, E> Form;
    typedef typename Form::Room Room;
    constexpr int OTHER = Form::OTHER, STAGES = Form::STAGES;
    DYNAMIC_SHARED(Room, room);
    int tiles = CEIL_DIV((int)g.T, OWN), t = (tiles - 1 - (int)blockIdx.x % tiles) * OWN;
    int head = blockIdx.x / tiles % (int)g.H, sample = blockIdx.x / tiles / (int)g.H, shared = head / (int)(g.H / g.G);
    Sight sight = sight_of(g, m, sample);
    Draws draws = {};
    if (DROPOUT) draws = draws_of(g, m, sample, head);
    q = head_of(q, g, g.q, sample, head), k = head_of(k, g, g.k, sample, shared),
    v = head_of(v, g, g.v, sample, shared);
    Plain_rows<T> queries = turned_rows(q, g, g.q, m.q_turns, g.q_turns, sample, t, OWN, sight.T);
    Range range = keys_seen(sight, t, OWN);
    auto keys = [&](int key) { return turned_rows(k, g, g.k, m.k_turns, g.k_turns, sample, key, OTHER, sight.length); };
    auto bring_keys = [&](int key, int stage) {
        if (key >= range.end) return;
        bring(room->other_d[stage], keys(key), aligned);
        bring(room->other_e[stage], rows_of(v, g.v, g.E, key, OTHER, sight.length), aligned);
    };

    float sum_o[E / 8][4] = {}, highest[2] = {(float)UNSEEN, (float)UNSEEN}, sum[2] = {}, factor[2];
    int first = range.from / OTHER * OTHER, stage = 0;
    bring(room->own_d, queries, aligned);
    copy_commit();
    if (STAGES == 2) bring_keys(first, 0), copy_commit(), copy_wait<1>();
    else copy_wait<0>();
    __syncthreads();
    turn_tile(room->own_d, queries);
    for (int key = first; key < range.end; key += OTHER, stage = STAGES - 1 - stage) {
        if (STAGES == 2) bring_keys(key + OTHER, 1 - stage), copy_commit(), copy_wait<1>();
        else bring_keys(key, 0), copy_commit(), copy_wait<0>();
        __syncthreads();
        turn_tile(room->other_d[stage], keys(key));
        float s[OTHER / 8][4];
        tile_products<T>(s, room->own_d, room->other_d[stage]);
        bool all = all_seen(sight, t, OWN, key, OTHER);
        UNROLL for (int n = 0; n < OTHER / 8; n++) UNROLL for (int r = 0; r < 4; r++)
        {
            bool seen = all || sees(sight, t + row_of(r), key + column_of(n, r));
            s[n][r] = seen ? s[n][r] * (float)(g.scale * LOG2_E) : -INFINITY;
        }
        tensor_weights(s, highest, sum, factor);
        UNROLL for (int w = 0; w < E / 8; w++) UNROLL for (int r = 0; r < 4; r++) sum_o[w][r] *= factor[r / 2];
        if (DROPOUT)
            UNROLL for (int n = 0; n < OTHER / 8; n++) UNROLL for (int r = 0; r < 4; r++) s[n][r] *=
                kept(draws, t + row_of(r), key + column_of(n, r), sight.S) ? (float)g.keep : 0;
        gather_tile<T>(sum_o, s, room->other_e[stage]);
        __syncthreads(); /* before the next copies overwrite it */
    }
    UNROLL for (int half = 0; half < 2; half++)
    {
        float all = sum_of_4(sum[half]);
        bool any = all > 0 || all != all;
        int row = row_of(2 * half);
        factor[half] = any ? 1 / all : 0;
        if (lse && threadIdx.x % 4 == 0 && row < queries.n)
            head_of(lse, g, g.lse, sample, head)[(t + row) * g.lse.time] =
                any ? highest[half] * (float)LN_2 + log_f32(all) : (float)UNSEEN;
    }
    if (o) store_tile(head_of(o, g, g.o, sample, head) + t * g.o.time, g.o.time, queries.n, (int)g.E, sum_o, factor);
}

/* ------------------------------------------------------------------ backward */

/* s and dp become, in place, the weights that multiplied v and the derivative of the score; lse is in powers of two */
template <bool DROPOUT>
DEVICE void tensor_weight_back(float *s, float *dp, float lse, float delta, bool seen, const Lathe_attention &g,
                               const Sight &sight, const Draws &draws, int t, int key)
{
    float weight = seen ? power_of_two(fmaf(*s, (float)(g.scale * LOG2_E), -lse)) : 0, factor = 1;
    if (DROPOUT) factor = kept(draws, t, key, sight.S) ? (float)g.keep : 0;
    *s = weight * factor;
    *dp = weight * (*dp * factor - delta);
}

template <class T> struct alignas(16) Piece {
    T x[8];
};

/* Σ o · d_o over one row, shared by four lanes, in pieces of 16 bytes if rows are aligned.  All four get it. */
template <class T> DEVICE float delta_of(const T *o, const T *d_o, int width, bool there, bool aligned)
{
    const int own = threadIdx.x % 4;
    float part = 0;
    if (aligned) {
        for (int w = own * 8; there && w < width; w += 32) {
            const Piece<T> a = *(const Piece<T> *)(o + w), b = *(const Piece<T> *)(d_o + w);
            UNROLL for (int e = 0; e < 8; e++) part = fmaf(a.x[e], b.x[e], part);
        }
    } else {
        for (int e = own; there && e < width; e += 4) part = fmaf(o[e], d_o[e], part);
    }
    return sum_of_4(part);
}

/* Blocks per multiprocessor that registers must allow: ptxas' own choice, except for narrow heads, where it would
 * spill. */
constexpr int back_blocks(int width) { return width < 64 ? 2 : width == 64 ? 3 : 1; }

template <class T, int D, int E, bool DROPOUT>
__global__ __launch_bounds__(TENSOR_THREADS, back_blocks(wider(D, E))) void attention_tensor_back_q(
    T *d_q, const T *q, const T *k, const T *v, const T *o, const float *lse, const T *d_o, bool aligned,
    const __grid_constant__ Lathe_attention g, const __grid_constant__ Cuda_masks m)
{
    typedef Tensor_back<D, E> Form;
    typedef typename Form::Room Room;
    constexpr int OTHER = Form::OTHER, STAGES = Form::STAGES;
    DYNAMIC_SHARED(Room, room);
    int tiles = CEIL_DIV((int)g.T, OWN), t = (tiles - 1 - (int)blockIdx.x % tiles) * OWN;
    int head = blockIdx.x / tiles % (int)g.H, sample = blockIdx.x / tiles / (int)g.H, shared = head / (int)(g.H / g.G);
    Sight sight = sight_of(g, m, sample);
    Draws draws = {};
    if (DROPOUT) draws = draws_of(g, m, sample, head);
    q = head_of(q, g, g.q, sample, head), k = head_of(k, g, g.k, sample, shared),
    v = head_of(v, g, g.v, sample, shared);
    o = head_of(o, g, g.o, sample, head), d_o = head_of(d_o, g, g.d_o, sample, head);
    lse = head_of(lse, g, g.lse, sample, head), d_q = head_of(d_q, g, g.d_q, sample, head) + t * g.d_q.time;
    Plain_rows<T> queries = turned_rows(q, g, g.q, m.q_turns, g.q_turns, sample, t, OWN, sight.T);
    Range range = keys_seen(sight, t, OWN);
    auto keys = [&](int key) { return turned_rows(k, g, g.k, m.k_turns, g.k_turns, sample, key, OTHER, sight.length); };
    auto bring_keys = [&](int key, int stage) {
        if (key >= range.end) return;
        bring(room->other_d[stage], keys(key), aligned);
        bring(room->other_e[stage], rows_of(v, g.v, g.E, key, OTHER, sight.length), aligned);
    };

    float sum[D / 8][4] = {}, own_lse[2], delta[2], factor[2] = {(float)g.scale, (float)g.scale};
    int first = range.from / OTHER * OTHER, stage = 0;
    bring(room->own_d, queries, aligned);
    bring(room->own_e, rows_of(d_o, g.d_o, g.E, t, OWN, sight.T), aligned);
    copy_commit();
    if (STAGES == 2) bring_keys(first, 0), copy_commit(), copy_wait<1>();
    else copy_wait<0>();
    __syncthreads();
    turn_tile(room->own_d, queries);
    UNROLL for (int half = 0; half < 2; half++)
    {
        int row = t + row_of(2 * half);
        delta[half] = delta_of(o + row * g.o.time, d_o + row * g.d_o.time, (int)g.E, row < sight.T, aligned);
        own_lse[half] = row < sight.T ? lse[row * g.lse.time] * (float)LOG2_E : 0;
    }
    for (int key = first; key < range.end; key += OTHER, stage = STAGES - 1 - stage) {
        if (STAGES == 2) bring_keys(key + OTHER, 1 - stage), copy_commit(), copy_wait<1>();
        else bring_keys(key, 0), copy_commit(), copy_wait<0>();
        __syncthreads();
        turn_tile(room->other_d[stage], keys(key));
        float s[OTHER / 8][4], dp[OTHER / 8][4];
        tile_products<T>(s, room->own_d, room->other_d[stage]);
        tile_products<T>(dp, room->own_e, room->other_e[stage]);
        bool all = all_seen(sight, t, OWN, key, OTHER);
        UNROLL for (int n = 0; n < OTHER / 8; n++) UNROLL for (int r = 0; r < 4; r++)
        {
            int query = t + row_of(r), at = key + column_of(n, r);
            tensor_weight_back<DROPOUT>(&s[n][r], &dp[n][r], own_lse[r / 2], delta[r / 2],
                                        all || sees(sight, query, at), g, sight, draws, query, at);
        }
        gather_tile<T>(sum, dp, room->other_d[stage]);
        __syncthreads();
    }
    store_tile(d_q, g.d_q.time, queries.n, (int)g.D, sum, factor);
    if (queries.turns) turn_back(d_q, g.d_q.time, queries.n, (int)g.D, queries.turns, queries.turns_step);
}

/* KEYS, VALUES: whether this kernel computes d_k and d_v; NULL: not wanted.  Two blocks per multiprocessor: with three,
 * ptxas would spill at widths of 32. */
template <class T, int D, int E, bool DROPOUT, bool KEYS, bool VALUES>
__global__ __launch_bounds__(TENSOR_THREADS, 2) void attention_tensor_back_k(T *d_k, T *d_v, const T *q, const T *k,
                                                                             const T *v, const T *o, const float *lse,
                                                                             const T *d_o, bool aligned,
                                                                             const __grid_constant__ Lathe_attention g,
                                                                             const __grid_constant__ Cuda_masks m)
{
    typedef Tensor_back<D, E> Form;
    typedef typename Form::Room Room;
    constexpr int OTHER = Form::OTHER, STAGES = Form::STAGES;
    DYNAMIC_SHARED(Room, room);
    int tiles = CEIL_DIV((int)g.S, OWN), key = (int)blockIdx.x % tiles * OWN;
    int shared = blockIdx.x / tiles % (int)g.G, sample = blockIdx.x / tiles / (int)g.G, heads = (int)(g.H / g.G);
    Sight sight = sight_of(g, m, sample);
    k = head_of(k, g, g.k, sample, shared), v = head_of(v, g, g.v, sample, shared);
    Plain_rows<T> keys = turned_rows(k, g, g.k, m.k_turns, g.k_turns, sample, key, OWN, sight.S);
    Range range = queries_seeing(sight, key, OWN);
    int from = range.from / OTHER * OTHER, turns = most(0, CEIL_DIV(range.end - from, OTHER)); /* tiles of each head */
    auto queries = [&](int i) {
        const T *x = head_of(q, g, g.q, sample, shared * heads + i / turns);
        return turned_rows(x, g, g.q, m.q_turns, g.q_turns, sample, from + i % turns * OTHER, OTHER, sight.T);
    };
    auto gradients = [&](int i) {
        const T *x = head_of(d_o, g, g.d_o, sample, shared * heads + i / turns);
        return rows_of(x, g.d_o, g.E, from + i % turns * OTHER, OTHER, sight.T);
    };
    auto bring_queries = [&](int i, int stage) {
        if (i >= heads * turns) return;
        bring(room->other_d[stage], queries(i), aligned);
        bring(room->other_e[stage], gradients(i), aligned);
    };

    float sum_k[KEYS ? D / 8 : 1][4] = {}, sum_v[VALUES ? E / 8 : 1][4] = {};
    float scale[2] = {(float)g.scale, (float)g.scale}, ones[2] = {1, 1};
    int stage = 0;
    bring(room->own_d, keys, aligned);
    bring(room->own_e, rows_of(v, g.v, g.E, key, OWN, sight.S), aligned);
    copy_commit();
    if (STAGES == 2) bring_queries(0, 0), copy_commit(), copy_wait<1>();
    else copy_wait<0>();
    __syncthreads();
    turn_tile(room->own_d, keys);
    for (int i = 0; i < heads * turns; i++, stage = STAGES - 1 - stage) {
        if (STAGES == 2) bring_queries(i + 1, 1 - stage), copy_commit(), copy_wait<1>();
        else bring_queries(i, 0), copy_commit(), copy_wait<0>();
        int head = shared * heads + i / turns, t = from + i % turns * OTHER;
        for (int r = threadIdx.x / 4; r < OTHER; r += TENSOR_THREADS / 4) { /* four lanes per row */
            int row = t + r;
            const T *own_o = head_of(o, g, g.o, sample, head) + row * g.o.time;
            const T *own_d = head_of(d_o, g, g.d_o, sample, head) + row * g.d_o.time;
            float delta = delta_of(own_o, own_d, (int)g.E, row < sight.T, aligned);
            if (threadIdx.x % 4) continue;
            room->delta[r] = delta;
            room->lse[r] = row < sight.T ? head_of(lse, g, g.lse, sample, head)[row * g.lse.time] * (float)LOG2_E : 0;
        }
        __syncthreads();
        turn_tile(room->other_d[stage], queries(i));
        Draws draws = {};
        if (DROPOUT) draws = draws_of(g, m, sample, head);
        float s[OTHER / 8][4], dp[OTHER / 8][4];
        tile_products<T>(s, room->own_d, room->other_d[stage]);
        tile_products<T>(dp, room->own_e, room->other_e[stage]);
        bool all = all_seen(sight, t, OTHER, key, OWN);
        UNROLL for (int n = 0; n < OTHER / 8; n++) UNROLL for (int r = 0; r < 4; r++)
        {
            int c = column_of(n, r), at = key + row_of(r);
            tensor_weight_back<DROPOUT>(&s[n][r], &dp[n][r], room->lse[c], room->delta[c],
                                        all || sees(sight, t + c, at), g, sight, draws, t + c, at);
        }
        if constexpr (VALUES) gather_tile<T>(sum_v, s, room->other_e[stage]);
        if constexpr (KEYS) gather_tile<T>(sum_k, dp, room->other_d[stage]);
        __syncthreads();
    }
    if constexpr (VALUES)
        if (d_v)
            store_tile(head_of(d_v, g, g.d_v, sample, shared) + key * g.d_v.time, g.d_v.time, keys.n, (int)g.E, sum_v,
                       ones);
    if constexpr (KEYS) {
        if (!d_k) return;
        T *to = head_of(d_k, g, g.d_k, sample, shared) + key * g.d_k.time;
        store_tile(to, g.d_k.time, keys.n, (int)g.D, sum_k, scale);
        if (keys.turns) turn_back(to, g.d_k.time, keys.n, (int)g.D, keys.turns, keys.turns_step);
    }
}

/* ------------------------------------------------------------------ launching */

/* Do all rows begin at multiples of 16 bytes, and end at one? */
static inline bool in_pieces(const Lathe_attention &g, const void *at, const Lathe_heads &x, int64_t width)
{
    bool whole = (size_t)at % 16 == 0 && x.time % 8 == 0 && x.head % 8 == 0 && width % 8 == 0;
    for (int i = 0; i < g.nbatch; i++) whole &= x.batch[i] % 8 == 0;
    return whole;
}

static inline bool keys_in_pieces(const Lathe_attention &g, const void *q, const void *k, const void *v)
{
    return in_pieces(g, q, g.q, g.D) && in_pieces(g, k, g.k, g.D) && in_pieces(g, v, g.v, g.E);
}

/* T: Bf16 or F16.  D and E: multiples of 16, at least those of g.  Results that are NULL are not made. */
template <class T, int D, int E, bool DROPOUT>
static inline void launch_attention_tensor(cudaStream_t stream, T *o, float *lse, const T *q, const T *k, const T *v,
                                           const Lathe_attention &g, const Cuda_masks &m)
{
    constexpr size_t bytes = room_bytes<typename Tensor_forward<D, E>::Room>();
    launch_tiles(attention_tensor<T, D, E, DROPOUT>, samples_of(g) * g.H * tiles_of(g.T, OWN), TENSOR_THREADS, bytes,
                 stream, o, lse, q, k, v, keys_in_pieces(g, q, k, v), g, m);
}

/* Both gradients of keys in one launch, if their sums fit into registers. */
template <class T, int D, int E, bool DROPOUT>
static inline void launch_attention_tensor_back(cudaStream_t stream, T *d_q, T *d_k, T *d_v, const T *q, const T *k,
                                                const T *v, const T *o, const float *lse, const T *d_o,
                                                const Lathe_attention &g, const Cuda_masks &m)
{
    constexpr size_t bytes = room_bytes<typename Tensor_back<D, E>::Room>();
    bool aligned = keys_in_pieces(g, q, k, v) && in_pieces(g, o, g.o, g.E) && in_pieces(g, d_o, g.d_o, g.E);
    int64_t queries = samples_of(g) * g.H * tiles_of(g.T, OWN), keys = samples_of(g) * g.G * tiles_of(g.S, OWN);
    auto back_k = [&](auto kernel) {
        launch_tiles(kernel, keys, TENSOR_THREADS, bytes, stream, d_k, d_v, q, k, v, o, lse, d_o, aligned, g, m);
    };
    if (d_q)
        launch_tiles(attention_tensor_back_q<T, D, E, DROPOUT>, queries, TENSOR_THREADS, bytes, stream, d_q, q, k, v, o,
                     lse, d_o, aligned, g, m);
    if (!d_k && !d_v) return;
    if constexpr (D + E <= 256) {
        back_k(attention_tensor_back_k<T, D, E, DROPOUT, true, true>);
    } else {
        if (d_k) back_k(attention_tensor_back_k<T, D, E, DROPOUT, true, false>);
        if (d_v) back_k(attention_tensor_back_k<T, D, E, DROPOUT, false, true>);
    }
}

/* ------------------------------------------------------------------ choosing the kernels */

/* D and E: multiples of 16, at least those of g.  bf16 and fp16 run on tensor cores, unless probabilities are
 * wanted. */
template <class T, int D, int E, bool DROPOUT>
static inline void launch_attention(cudaStream_t stream, T *o, typename Arithmetic<T>::Real *lse, T *p, const T *q,
                                    const T *k, const T *v, const Lathe_attention &g, const Cuda_masks &m)
{
    if constexpr (sizeof(T) == 2) {
        if (!p) return launch_attention_tensor<T, D, E, DROPOUT>(stream, o, lse, q, k, v, g, m);
    }
    launch_attention_plain<T, wider(D, E), DROPOUT>(stream, o, lse, p, q, k, v, g, m);
}

template <class T, int D, int E, bool DROPOUT>
static inline void launch_attention_back(cudaStream_t stream, T *d_q, T *d_k, T *d_v, const T *q, const T *k,
                                         const T *v, const T *o, const typename Arithmetic<T>::Real *lse, const T *d_o,
                                         const Lathe_attention &g, const Cuda_masks &m)
{
    if constexpr (sizeof(T) == 2)
        launch_attention_tensor_back<T, D, E, DROPOUT>(stream, d_q, d_k, d_v, q, k, v, o, lse, d_o, g, m);
    else launch_attention_plain_back<T, wider(D, E), DROPOUT>(stream, d_q, d_k, d_v, q, k, v, o, lse, d_o, g, m);
}
