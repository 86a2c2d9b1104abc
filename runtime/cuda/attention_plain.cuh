/* attention_plain.cuh: attention of any type, width and alignment, without tensor cores; part of cuda/attention.cuh.
 *
 * A block has 16 x 16 threads and N queries or keys of its own; it processes those of the other side N at a time.
 * Thread (y, x) has rows y + 16 i and columns x + 16 j of what is computed: a row is in the 16 neighbouring lanes of
 * half a warp, which find its maximum and sums by shuffles, and only they write and read its weights in shared memory.
 * Operands pass through shared memory in chunks of CHUNK columns, so that its size does not depend on the width.
 *
 * Backward computes the weights again from lse: once for d_q, with queries as the block's own, and once for d_k and
 * d_v, with keys. */

enum { CHUNK = 32, SIDE = 16 };

/* One block per multiprocessor is enough, so a thread may use all registers. */
#define PLAIN_KERNEL __global__ __launch_bounds__(THREADS, 1)

template <class T> struct Arithmetic {
    typedef float Real;
};
template <> struct Arithmetic<double> {
    typedef double Real;
};

DEVICE float exp_of(float x) { return exp_f32(x); }
DEVICE double exp_of(double x) { return exp_f64(x); }
DEVICE float log_of(float x) { return log_f32(x); }
DEVICE double log_of(double x) { return log_f64(x); }
DEVICE float tanh_of(float x) { return tanh_f32(x); }
DEVICE double tanh_of(double x) { return tanh_f64(x); }
DEVICE float fused(float a, float b, float c) { return fmaf(a, b, c); }
DEVICE double fused(double a, double b, double c) { return fma(a, b, c); }

/* Sum over half a warp, in a fixed tree. */
template <class Real> DEVICE Real sum_of_16(Real x)
{
    for (int apart = 8; apart > 0; apart /= 2) x += __shfl_xor_sync(ALL_LANES, x, apart);
    return x;
}
template <class Real> DEVICE Real max_of_16(Real x)
{
    for (int apart = 8; apart > 0; apart /= 2) {
        Real y = __shfl_xor_sync(ALL_LANES, x, apart);
        x = y > x ? y : x;
    }
    return x;
}

/* Shared memory of a block. */
template <class Real, int N> struct Plain_room {
    Real weights[N][N + 1];
    Real own[N][CHUNK + 1], other[N][CHUNK + 1];
    Real lse[N], delta[N]; /* of the other side's queries */
};

/* A thread has ROWS rows of COLUMNS columns of a result. */
template <class T, int WIDTH> struct Plain {
    typedef typename Arithmetic<T>::Real Real;
    static constexpr int N = WIDTH <= 64 && sizeof(Real) == 4 ? 64 : 32, ROWS = N / SIDE;
    static constexpr int COLUMNS = CEIL_DIV(WIDTH, CHUNK) * CHUNK / SIDE;
    typedef Plain_room<Real, N> Room;
};

/* n rows of `width` elements, turned if there are turns; zero beyond. */
template <class T> struct Plain_rows {
    const T *at, *turns;
    int64_t step, turns_step;
    int n, width;
};

template <class T> DEVICE typename Arithmetic<T>::Real element_of(const Plain_rows<T> &x, int r, int w)
{
    typedef typename Arithmetic<T>::Real Real;
    if (r >= x.n || w >= x.width) return 0;
    const T *row = x.at + r * x.step;
    if (!x.turns) return (Real)row[w];
    const T *turn = x.turns + r * x.turns_step;
    int half = x.width / 2;
    if (w < half) return (Real)row[w] * (Real)turn[w] - (Real)row[w + half] * (Real)turn[w + half];
    return (Real)row[w] * (Real)turn[w - half] + (Real)row[w - half] * (Real)turn[w];
}

/* Rows first … first + n - 1 of x below `end`; x points to row 0. */
template <class T>
DEVICE Plain_rows<T> rows_of(const T *x, const Lathe_heads &at, int64_t width, int first, int n, int end)
{
    return {x + first * at.time, NULL, at.time, 0, least(n, end - first), (int)width};
}

/* Rows of a sample with its turns. */
template <class T>
DEVICE Plain_rows<T> turned_rows(const T *x, const Lathe_attention &g, const Lathe_heads &at, const void *turns,
                                 const Lathe_heads &turns_at, int sample, int first, int n, int end)
{
    Plain_rows<T> rows = rows_of(x, at, g.D, first, n, end);
    if (!turns) return rows;
    rows.turns = (const T *)turns + begin_of(g, turns_at, sample) + first * turns_at.time;
    rows.turns_step = turns_at.time;
    return rows;
}

template <class Real, class T, int N>
DEVICE void load_chunk(Real (&to)[N][CHUNK + 1], const Plain_rows<T> &x, int first)
{
    for (int i = threadIdx.x; i < N * CHUNK; i += THREADS)
        to[i / CHUNK][i % CHUNK] = element_of(x, i / CHUNK, first + i % CHUNK);
}

/* s[i][j] = own row y + 16 i · other row x + 16 j */
template <class Real, class T, int N>
DEVICE void products(Real (&s)[N / SIDE][N / SIDE], Plain_room<Real, N> &room, const Plain_rows<T> &own,
                     const Plain_rows<T> &other)
{
    int y = threadIdx.x / SIDE, x = threadIdx.x % SIDE;
    UNROLL for (int i = 0; i < N / SIDE; i++) UNROLL for (int j = 0; j < N / SIDE; j++) s[i][j] = 0;
    for (int first = 0; first < own.width; first += CHUNK) {
        __syncthreads(); /* others may still read the old values */
        load_chunk(room.own, own, first);
        load_chunk(room.other, other, first);
        __syncthreads();
        int n = least(CHUNK, own.width - first);
        for (int w = 0; w < n; w++) {
            Real b[N / SIDE];
            UNROLL for (int j = 0; j < N / SIDE; j++) b[j] = room.other[x + SIDE * j][w];
            UNROLL for (int i = 0; i < N / SIDE; i++)
            {
                Real a = room.own[y + SIDE * i][w];
                UNROLL for (int j = 0; j < N / SIDE; j++) s[i][j] = fused(a, b[j], s[i][j]);
            }
        }
    }
}

/* sum[i][c] += Σ over the n other rows r of weights[y + 16 i][r] · other[r][x + 16 c] */
template <class Real, class T, int N, int COLUMNS>
DEVICE void gather_rows(Real (&sum)[N / SIDE][COLUMNS], Plain_room<Real, N> &room, const Plain_rows<T> &other)
{
    int y = threadIdx.x / SIDE, x = threadIdx.x % SIDE;
    UNROLL for (int first = 0; first < COLUMNS * SIDE; first += CHUNK)
    {
        if (first >= other.width) break;
        __syncthreads();
        load_chunk(room.other, other, first);
        __syncthreads();
        for (int r = 0; r < other.n; r++) {
            Real b[CHUNK / SIDE];
            UNROLL for (int c = 0; c < CHUNK / SIDE; c++) b[c] = room.other[r][x + SIDE * c];
            UNROLL for (int i = 0; i < N / SIDE; i++)
            {
                Real a = room.weights[y + SIDE * i][r];
                UNROLL for (int c = 0; c < CHUNK / SIDE; c++) sum[i][first / SIDE + c] =
                    fused(a, b[c], sum[i][first / SIDE + c]);
            }
        }
    }
}

/* Rows y + 16 i < n, columns x + 16 c < width of the result, times factor[i]. */
template <class T, class Real, int ROWS, int COLUMNS>
DEVICE void store_rows(T *to, int64_t step, int n, int width, const Real (&x)[ROWS][COLUMNS],
                       const Real (&factor)[ROWS])
{
    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int c = 0; c < COLUMNS; c++)
    {
        int r = threadIdx.x / SIDE + SIDE * i, w = threadIdx.x % SIDE + SIDE * c;
        if (r < n && w < width) to[r * step + w] = (T)(x[i][c] * factor[i]);
    }
}

/* n rows of a gradient that this block has stored, turned back. */
template <class T> DEVICE void turn_back(T *x, int64_t step, int n, int width, const T *turns, int64_t turns_step)
{
    typedef typename Arithmetic<T>::Real Real;
    int half = width / 2;
    __syncthreads();
    for (int i = threadIdx.x; i < n * half; i += blockDim.x) {
        T *low = x + i / half * step + i % half, *high = low + half;
        const T *turn = turns + i / half * turns_step + i % half;
        Real a = (Real)*low, b = (Real)*high, c = (Real)turn[0], s = (Real)turn[half];
        *low = (T)(a * c + b * s);
        *high = (T)(b * c - a * s);
    }
}

/* ------------------------------------------------------------------ forward */

/* Weights of one tile of keys, with the updated maximum; each lane has its own sums. */
template <class Real, int N>
DEVICE void take_weights(Real (&s)[N / SIDE][N / SIDE], Real (&m)[N / SIDE], Real (&sum)[N / SIDE],
                         Real (&factor)[N / SIDE])
{
    UNROLL for (int i = 0; i < N / SIDE; i++)
    {
        Real now = m[i];
        UNROLL for (int j = 0; j < N / SIDE; j++) now = s[i][j] > now ? s[i][j] : now;
        now = max_of_16(now);
        factor[i] = exp_of(m[i] - now);
        sum[i] *= factor[i];
        m[i] = now;
        UNROLL for (int j = 0; j < N / SIDE; j++)
        {
            s[i][j] = exp_of(s[i][j] - now);
            sum[i] += s[i][j];
        }
    }
}

/* Turns products of one sample and head into scores. */
template <class Real> struct Shaping {
    Real scale, cap;
    const Real *bias; /* NULL: none */
    int64_t time, key;
};

template <class Real>
DEVICE Shaping<Real> shaping_of(const Lathe_attention &g, const Cuda_masks &m, int sample, int head)
{
    const Real *bias = (const Real *)m.bias;
    return {(Real)g.scale, (Real)g.cap, head_of(bias, g, g.bias, sample, head), g.bias.time, g.bias_key};
}

/* A score before its bias. */
template <class Real> DEVICE Real capped(const Shaping<Real> &x, Real product)
{
    Real s = product * x.scale;
    return x.cap > 0 ? x.cap * tanh_of(s / x.cap) : s;
}

template <class Real> DEVICE Real biased(const Shaping<Real> &x, Real score, int t, int key)
{
    return x.bias ? score + x.bias[t * x.time + key * x.key] : score;
}

template <class Real, int N>
DEVICE void hide(Real (&s)[N / SIDE][N / SIDE], const Sight &sight, const Shaping<Real> &shaping, int t, int key)
{
    UNROLL for (int i = 0; i < N / SIDE; i++) UNROLL for (int j = 0; j < N / SIDE; j++)
    {
        int query = t + threadIdx.x / SIDE + SIDE * i, at = key + threadIdx.x % SIDE + SIDE * j;
        s[i][j] = sees(sight, query, at) ? biased(shaping, capped(shaping, s[i][j]), query, at) : (Real)-INFINITY;
    }
}

/* p[n][S], 0 for keys not seen; computes every score again */
template <class T, class Real, int N>
DEVICE void write_weights(T *p, int64_t step, Plain_room<Real, N> &room, const Plain_rows<T> &queries, const T *k,
                          const Lathe_attention &g, const Cuda_masks &m, const Sight &sight,
                          const Shaping<Real> &shaping, int sample, int t, const Real (&lse)[N / SIDE])
{
    Real s[N / SIDE][N / SIDE];
    for (int key = 0; key < g.S; key += N) {
        Plain_rows<T> keys = turned_rows(k, g, g.k, m.k_turns, g.k_turns, sample, key, N, sight.S);
        products(s, room, queries, keys);
        hide<Real, N>(s, sight, shaping, t, key);
        UNROLL for (int i = 0; i < N / SIDE; i++) UNROLL for (int j = 0; j < N / SIDE; j++)
        {
            int r = threadIdx.x / SIDE + SIDE * i, c = key + threadIdx.x % SIDE + SIDE * j;
            if (r < queries.n && c < g.S) p[r * step + c] = (T)exp_of(s[i][j] - lse[i]);
        }
    }
}

template <class T, int WIDTH, bool DROPOUT>
PLAIN_KERNEL void attention_plain(T *o, typename Arithmetic<T>::Real *lse, T *p, const T *q, const T *k, const T *v,
                                  const __grid_constant__ Lathe_attention g, const __grid_constant__ Cuda_masks m)
{
    typedef typename Arithmetic<T>::Real Real;
    typedef typename Plain<T, WIDTH>::Room Room;
    constexpr int N = Plain<T, WIDTH>::N, ROWS = Plain<T, WIDTH>::ROWS, COLUMNS = Plain<T, WIDTH>::COLUMNS;
    DYNAMIC_SHARED(Room, room_at);
    Room &room = *room_at;
    int tiles = CEIL_DIV((int)g.T, N),
        t = (tiles - 1 - (int)blockIdx.x % tiles) * N; /* tiles that see most keys come first */
    int head = blockIdx.x / tiles % (int)g.H, sample = blockIdx.x / tiles / (int)g.H, shared = head / (int)(g.H / g.G);
    int y = threadIdx.x / SIDE, x = threadIdx.x % SIDE;
    Sight sight = sight_of(g, m, sample);
    Shaping<Real> shaping = shaping_of<Real>(g, m, sample, head);
    Draws draws = {};
    if (DROPOUT) draws = draws_of(g, m, sample, head);
    q = head_of(q, g, g.q, sample, head), k = head_of(k, g, g.k, sample, shared),
    v = head_of(v, g, g.v, sample, shared);
    Plain_rows<T> queries = turned_rows(q, g, g.q, m.q_turns, g.q_turns, sample, t, N, sight.T);

    Real sum_o[ROWS][COLUMNS] = {}, s[ROWS][ROWS], highest[ROWS], sum[ROWS], factor[ROWS];
    UNROLL for (int i = 0; i < ROWS; i++) highest[i] = (Real)UNSEEN, sum[i] = 0;
    Range range = keys_seen(sight, t, N);
    for (int key = range.from / N * N; key < range.end; key += N) {
        Plain_rows<T> keys = turned_rows(k, g, g.k, m.k_turns, g.k_turns, sample, key, N, sight.length);
        products(s, room, queries, keys);
        hide<Real, N>(s, sight, shaping, t, key);
        take_weights<Real, N>(s, highest, sum, factor);
        UNROLL for (int i = 0; i < ROWS; i++)
        {
            UNROLL for (int c = 0; c < COLUMNS; c++) sum_o[i][c] *= factor[i];
            UNROLL for (int j = 0; j < ROWS; j++)
            {
                if (DROPOUT) s[i][j] *= kept(draws, t + y + SIDE * i, key + x + SIDE * j, sight.S) ? (Real)g.keep : 0;
                room.weights[y + SIDE * i][x + SIDE * j] = s[i][j];
            }
        }
        gather_rows(sum_o, room, rows_of(v, g.v, g.E, key, N, sight.length));
    }
    UNROLL for (int i = 0; i < ROWS; i++)
    {
        Real all = sum_of_16(sum[i]);
        bool any = all > 0 || all != all;
        factor[i] = any ? 1 / all : 0;
        sum[i] = any ? highest[i] + log_of(all) : (Real)UNSEEN;
        int row = y + SIDE * i;
        if (lse && x == 0 && row < queries.n) head_of(lse, g, g.lse, sample, head)[(t + row) * g.lse.time] = sum[i];
    }
    if (o) store_rows(head_of(o, g, g.o, sample, head) + t * g.o.time, g.o.time, queries.n, (int)g.E, sum_o, factor);
    if (p)
        write_weights(head_of(p, g, g.p, sample, head) + t * g.p.time, g.p.time, room, queries, k, g, m, sight, shaping,
                      sample, t, sum);
}

/* ------------------------------------------------------------------ backward */

/* s = own · other and dp = gradient · value become weight · factor and ds; which of (t, key) is own depends on the
 * kernel. */
template <class Real> struct Weight {
    Real met, ds; /* met: the weight that multiplied v; ds: the derivative by the unscaled score */
};

template <bool DROPOUT, class Real>
DEVICE Weight<Real> weight_back(Real s, Real dp, Real lse, Real delta, const Lathe_attention &g, const Sight &sight,
                                const Shaping<Real> &shaping, const Draws &draws, int t, int key)
{
    if (!sees(sight, t, key)) return {0, 0};
    Real score = capped(shaping, s), slope = shaping.scale, factor = 1;
    Real weight = exp_of(biased(shaping, score, t, key) - lse);
    if (shaping.cap > 0) slope *= 1 - score / shaping.cap * (score / shaping.cap);
    if (DROPOUT) factor = kept(draws, t, key, sight.S) ? (Real)g.keep : 0;
    return {weight * factor, weight * (dp * factor - delta) * slope};
}

/* Σ d_o · o of a row, by 16 lanes */
template <class T> DEVICE typename Arithmetic<T>::Real row_product(const T *o, const T *d_o, int E, bool there)
{
    typedef typename Arithmetic<T>::Real Real;
    Real sum = 0;
    for (int e = threadIdx.x % SIDE; there && e < E; e += SIDE) sum = fused((Real)o[e], (Real)d_o[e], sum);
    return sum_of_16(sum);
}

template <class T, int WIDTH, bool DROPOUT>
PLAIN_KERNEL void
attention_plain_back_q(T *d_q, const T *q, const T *k, const T *v, const T *o, const typename Arithmetic<T>::Real *lse,
                       const T *d_o, const __grid_constant__ Lathe_attention g, const __grid_constant__ Cuda_masks m)
{
    typedef typename Arithmetic<T>::Real Real;
    typedef typename Plain<T, WIDTH>::Room Room;
    constexpr int N = Plain<T, WIDTH>::N, ROWS = Plain<T, WIDTH>::ROWS, COLUMNS = Plain<T, WIDTH>::COLUMNS;
    DYNAMIC_SHARED(Room, room_at);
    Room &room = *room_at;
    int tiles = CEIL_DIV((int)g.T, N), t = (tiles - 1 - (int)blockIdx.x % tiles) * N;
    int head = blockIdx.x / tiles % (int)g.H, sample = blockIdx.x / tiles / (int)g.H, shared = head / (int)(g.H / g.G);
    int y = threadIdx.x / SIDE, x = threadIdx.x % SIDE;
    Sight sight = sight_of(g, m, sample);
    Shaping<Real> shaping = shaping_of<Real>(g, m, sample, head);
    Draws draws = {};
    if (DROPOUT) draws = draws_of(g, m, sample, head);
    q = head_of(q, g, g.q, sample, head), k = head_of(k, g, g.k, sample, shared),
    v = head_of(v, g, g.v, sample, shared);
    o = head_of(o, g, g.o, sample, head), d_o = head_of(d_o, g, g.d_o, sample, head);
    lse = head_of(lse, g, g.lse, sample, head), d_q = head_of(d_q, g, g.d_q, sample, head);
    Plain_rows<T> queries = turned_rows(q, g, g.q, m.q_turns, g.q_turns, sample, t, N, sight.T);
    Plain_rows<T> gradients = rows_of(d_o, g.d_o, g.E, t, N, sight.T);

    Real sum[ROWS][COLUMNS] = {}, s[ROWS][ROWS], dp[ROWS][ROWS], own_lse[ROWS], delta[ROWS], ones[ROWS];
    UNROLL for (int i = 0; i < ROWS; i++)
    {
        int row = t + y + SIDE * i;
        ones[i] = 1;
        own_lse[i] = row < sight.T ? lse[row * g.lse.time] : 0;
        delta[i] = row_product(o + row * g.o.time, d_o + row * g.d_o.time, (int)g.E, row < sight.T);
    }
    Range range = keys_seen(sight, t, N);
    for (int key = range.from / N * N; key < range.end; key += N) {
        Plain_rows<T> keys = turned_rows(k, g, g.k, m.k_turns, g.k_turns, sample, key, N, sight.length);
        products(s, room, queries, keys);
        products(dp, room, gradients, rows_of(v, g.v, g.E, key, N, sight.length));
        UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < ROWS; j++)
            room.weights[y + SIDE * i][x + SIDE * j] =
            weight_back<DROPOUT>(s[i][j], dp[i][j], own_lse[i], delta[i], g, sight, shaping, draws, t + y + SIDE * i,
                                 key + x + SIDE * j)
                .ds;
        gather_rows(sum, room, keys);
    }
    store_rows(d_q + t * g.d_q.time, g.d_q.time, queries.n, (int)g.D, sum, ones);
    if (queries.turns)
        turn_back(d_q + t * g.d_q.time, g.d_q.time, queries.n, (int)g.D, queries.turns, queries.turns_step);
}

/* d_k or d_v may be NULL: not wanted. */
template <class T, int WIDTH, bool DROPOUT>
PLAIN_KERNEL void attention_plain_back_k(T *d_k, T *d_v, const T *q, const T *k, const T *v, const T *o,
                                         const typename Arithmetic<T>::Real *lse, const T *d_o,
                                         const __grid_constant__ Lathe_attention g,
                                         const __grid_constant__ Cuda_masks m)
{
    typedef typename Arithmetic<T>::Real Real;
    typedef typename Plain<T, WIDTH>::Room Room;
    constexpr int N = Plain<T, WIDTH>::N, ROWS = Plain<T, WIDTH>::ROWS, COLUMNS = Plain<T, WIDTH>::COLUMNS;
    DYNAMIC_SHARED(Room, room_at);
    Room &room = *room_at;
    int tiles = CEIL_DIV((int)g.S, N), key = (int)blockIdx.x % tiles * N;
    int shared = blockIdx.x / tiles % (int)g.G, sample = blockIdx.x / tiles / (int)g.G, heads = (int)(g.H / g.G);
    int y = threadIdx.x / SIDE, x = threadIdx.x % SIDE;
    Sight sight = sight_of(g, m, sample);
    k = head_of(k, g, g.k, sample, shared), v = head_of(v, g, g.v, sample, shared);
    d_k = head_of(d_k, g, g.d_k, sample, shared), d_v = head_of(d_v, g, g.d_v, sample, shared);
    Plain_rows<T> keys = turned_rows(k, g, g.k, m.k_turns, g.k_turns, sample, key, N, sight.S);
    Plain_rows<T> values = rows_of(v, g.v, g.E, key, N, sight.S);

    Real sum_k[ROWS][COLUMNS] = {}, sum_v[ROWS][COLUMNS] = {}, s[ROWS][ROWS], dp[ROWS][ROWS], ones[ROWS];
    UNROLL for (int i = 0; i < ROWS; i++) ones[i] = 1;
    Range range = queries_seeing(sight, key, N);
    for (int head = shared * heads; head < (shared + 1) * heads; head++) {
        const T *own_q = head_of(q, g, g.q, sample, head), *own_o = head_of(o, g, g.o, sample, head);
        const T *own_d = head_of(d_o, g, g.d_o, sample, head);
        const Real *own_lse = head_of(lse, g, g.lse, sample, head);
        Shaping<Real> shaping = shaping_of<Real>(g, m, sample, head);
        Draws draws = {};
        if (DROPOUT) draws = draws_of(g, m, sample, head);
        for (int t = range.from / N * N; t < range.end; t += N) {
            Plain_rows<T> queries = turned_rows(own_q, g, g.q, m.q_turns, g.q_turns, sample, t, N, sight.T);
            Plain_rows<T> gradients = rows_of(own_d, g.d_o, g.E, t, N, sight.T);
            products(s, room, keys, queries);
            UNROLL for (int i = 0; i < ROWS; i++)
            {
                int r = y + SIDE * i, row = t + r;
                Real delta = row_product(own_o + row * g.o.time, own_d + row * g.d_o.time, (int)g.E, row < sight.T);
                if (x == 0) room.delta[r] = delta, room.lse[r] = row < sight.T ? own_lse[row * g.lse.time] : 0;
            }
            products(dp, room, values, gradients);
            UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < ROWS; j++)
            {
                int r = y + SIDE * i, c = x + SIDE * j;
                Weight<Real> w = weight_back<DROPOUT>(s[i][j], dp[i][j], room.lse[c], room.delta[c], g, sight, shaping,
                                                      draws, t + c, key + r);
                room.weights[r][c] = w.met;
                dp[i][j] = w.ds;
            }
            if (d_v) gather_rows(sum_v, room, gradients);
            __syncwarp(); /* half a warp has a row's weights */
            UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < ROWS; j++)
                room.weights[y + SIDE * i][x + SIDE * j] = dp[i][j];
            if (d_k) gather_rows(sum_k, room, queries);
        }
    }
    if (d_v) store_rows(d_v + key * g.d_v.time, g.d_v.time, keys.n, (int)g.E, sum_v, ones);
    if (!d_k) return;
    store_rows(d_k + key * g.d_k.time, g.d_k.time, keys.n, (int)g.D, sum_k, ones);
    if (keys.turns) turn_back(d_k + key * g.d_k.time, g.d_k.time, keys.n, (int)g.D, keys.turns, keys.turns_step);
}

/* ------------------------------------------------------------------ launching */

/* WIDTH: at least D and E.  Results that are NULL are not computed. */
template <class T, int WIDTH, bool DROPOUT>
static inline void launch_attention_plain(cudaStream_t stream, T *o, typename Arithmetic<T>::Real *lse, T *p,
                                          const T *q, const T *k, const T *v, const Lathe_attention &g,
                                          const Cuda_masks &m)
{
    constexpr int N = Plain<T, WIDTH>::N;
    constexpr size_t bytes = sizeof(typename Plain<T, WIDTH>::Room);
    launch_tiles(attention_plain<T, WIDTH, DROPOUT>, samples_of(g) * g.H * tiles_of(g.T, N), THREADS, bytes, stream, o,
                 lse, p, q, k, v, g, m);
}

template <class T, int WIDTH, bool DROPOUT>
static inline void launch_attention_plain_back(cudaStream_t stream, T *d_q, T *d_k, T *d_v, const T *q, const T *k,
                                               const T *v, const T *o, const typename Arithmetic<T>::Real *lse,
                                               const T *d_o, const Lathe_attention &g, const Cuda_masks &m)
{
    constexpr int N = Plain<T, WIDTH>::N;
    constexpr size_t bytes = sizeof(typename Plain<T, WIDTH>::Room);
    if (d_q)
        launch_tiles(attention_plain_back_q<T, WIDTH, DROPOUT>, samples_of(g) * g.H * tiles_of(g.T, N), THREADS, bytes,
                     stream, d_q, q, k, v, o, lse, d_o, g, m);
    if (d_k || d_v)
        launch_tiles(attention_plain_back_k<T, WIDTH, DROPOUT>, samples_of(g) * g.G * tiles_of(g.S, N), THREADS, bytes,
                     stream, d_k, d_v, q, k, v, o, lse, d_o, g, m);
}
