/* attention_tiles.cuh: tiles of attention on tensor cores: sizes, copying and reading; part of cuda/attention.cuh. */

enum { TENSOR_WARPS = 4, TENSOR_THREADS = WARP * TENSOR_WARPS, OWN = 16 * TENSOR_WARPS };
enum { LEAST_SHARED = 99 * 1024 }; /* the limit per block on sm_86 and sm_89; others allow more */

#define TENSOR_KERNEL __global__ __launch_bounds__(TENSOR_THREADS)
#define LOG2_E        1.4426950408889634
#define LN_2          0.6931471805599453

constexpr int wider(int d, int e) { return d > e ? d : e; }

template <int ROWS, int WIDTH> struct Tile {
    uint16_t at[ROWS][WIDTH + 8];
};

/* Shared memory of a block: own rows of two operands (forward: one), and tiles of the others. */
template <int D, int E, int OTHER, int STAGES, int OWNS> struct Tensor_room {
    Tile<OWN, D> own_d;
    Tile<OWNS == 2 ? OWN : 1, E> own_e;
    Tile<OTHER, D> other_d[STAGES];
    Tile<OTHER, E> other_e[STAGES];
    float lse[OTHER], delta[OTHER]; /* back_k: of the current queries */
};

template <class Room> constexpr size_t room_bytes(void)
{
    static_assert(sizeof(Room) <= LEAST_SHARED, "more shared memory than every GPU of sm_80 and later has");
    return sizeof(Room);
}

/* Rows per tile, chosen so that sums fit into registers and tiles into shared memory. */
template <int D, int E> struct Tensor_forward {
    static constexpr int WIDTH = wider(D, E), OTHER = WIDTH <= 128 ? 64 : 32, STAGES = WIDTH <= 128 ? 2 : 1;
    typedef Tensor_room<D, E, OTHER, STAGES, 1> Room;
};
template <int D, int E> struct Tensor_back {
    static constexpr int WIDTH = wider(D, E), OTHER = WIDTH <= 64 ? 64 : WIDTH <= 128 ? 32 : 16;
    static constexpr int STAGES = WIDTH <= 128 ? 2 : 1;
    typedef Tensor_room<D, E, OTHER, STAGES, 2> Room;
};

/* Starts to copy the rows of a tile; zero beyond the rows and the width. */
template <class T, int ROWS, int WIDTH> DEVICE void bring(Tile<ROWS, WIDTH> &to, const Plain_rows<T> &x, bool aligned)
{
    constexpr int PIECES = WIDTH / 8;
    for (int i = threadIdx.x; i < ROWS * PIECES; i += TENSOR_THREADS) {
        int r = i / PIECES, w = i % PIECES * 8;
        const T *row = x.at + r * x.step;
        if (aligned) {
            bool there = r < x.n && w < x.width;
            copy_async(&to.at[r][w], there ? row + w : x.at, there);
        } else {
            for (int e = w; e < w + 8; e++) to.at[r][e] = r < x.n && e < x.width ? row[e].bits : 0;
        }
    }
}

/* Rotary positions: turns an arrived tile in place. */
template <class T, int ROWS, int WIDTH> DEVICE void turn_tile(Tile<ROWS, WIDTH> &tile, const Plain_rows<T> &x)
{
    if (!x.turns) return;
    int half = x.width / 2;
    for (int i = threadIdx.x; i < x.n * half; i += TENSOR_THREADS) {
        uint16_t *low = &tile.at[i / half][i % half], *high = low + half;
        const T *turn = x.turns + i / half * x.turns_step + i % half;
        T u, v;
        u.bits = *low, v.bits = *high;
        float a = u, b = v, c = turn[0], s = turn[half];
        *low = T(a * c - b * s).bits;
        *high = T(b * c + a * s).bits;
    }
    __syncthreads();
}

/* s[n] = own rows 16 warp … · rows 8 n … of the other tile, over the width */
template <class T, int ROWS, int WIDTH>
DEVICE void tile_products(float (&s)[ROWS / 8][4], const Tile<OWN, WIDTH> &own, const Tile<ROWS, WIDTH> &other)
{
    int lane = threadIdx.x % WARP, first = threadIdx.x / WARP * 16;
    UNROLL for (int n = 0; n < ROWS / 8; n++) UNROLL for (int r = 0; r < 4; r++) s[n][r] = 0;
    UNROLL for (int w = 0; w < WIDTH; w += 16)
    {
        uint32_t a[4], b[4];
        load_matrices(a, &own.at[first + lane % 16][w + lane / 16 * 8]);
        UNROLL for (int n = 0; n < ROWS; n += 16)
        {
            load_matrices(b, &other.at[n + lane / 16 * 8 + lane % 8][w + lane / 8 % 2 * 8]);
            mma<T>(s[n / 8], a, b);
            mma<T>(s[n / 8 + 1], a, b + 2);
        }
    }
}

/* sum[w] += Σ over the other rows r of weights · other[r][8 w …] */
template <class T, int ROWS, int WIDTH>
DEVICE void gather_tile(float (&sum)[WIDTH / 8][4], const float (&weights)[ROWS / 8][4], const Tile<ROWS, WIDTH> &other)
{
    int lane = threadIdx.x % WARP;
    UNROLL for (int n = 0; n < ROWS; n += 16)
    {
        uint32_t a[4], b[4];
        UNROLL for (int r = 0; r < 4; r++)
        {
            const float *two = &weights[n / 8 + r / 2][r % 2 * 2];
            a[r] = pair_of<T>(two[0], two[1]);
        }
        UNROLL for (int w = 0; w < WIDTH; w += 16)
        {
            load_columns(b, &other.at[n + lane / 8 % 2 * 8 + lane % 8][w + lane / 16 * 8]);
            mma<T>(sum[w / 8], a, b);
            mma<T>(sum[w / 8 + 1], a, b + 2);
        }
    }
}

/* The layout of a warp's registers: register r of s[n] is in own row row_of(r) of the block, column column_of(n, r). */
DEVICE int row_of(int r) { return threadIdx.x / WARP * 16 + threadIdx.x % WARP / 4 + r / 2 * 8; }
DEVICE int column_of(int n, int r) { return n * 8 + threadIdx.x % 4 * 2 + r % 2; }

/* Rows below n, columns below the width; row_of(0)'s times factor[0], row_of(2)'s times factor[1]. */
template <class T, int N>
DEVICE void store_tile(T *to, int64_t step, int n, int width, const float (&x)[N][4], const float (&factor)[2])
{
    bool pairs = width % 2 == 0 && step % 2 == 0 && (size_t)to % 4 == 0;
    UNROLL for (int w = 0; w < N; w++) UNROLL for (int r = 0; r < 4; r += 2)
    {
        int row = row_of(r), column = column_of(w, 0);
        if (row >= n || column >= width) continue;
        T *at = to + row * step + column;
        uint32_t two = pair_of<T>(x[w][r] * factor[r / 2], x[w][r + 1] * factor[r / 2]);
        if (pairs) {
            *(uint32_t *)at = two;
            continue;
        }
        at[0].bits = (uint16_t)two;
        if (column + 1 < width) at[1].bits = (uint16_t)(two >> 16);
    }
}

/* Sum over the four lanes of a row. */
DEVICE float sum_of_4(float x)
{
    x += __shfl_xor_sync(ALL_LANES, x, 1);
    return x + __shfl_xor_sync(ALL_LANES, x, 2);
}
DEVICE float max_of_4(float x)
{
    x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 1));
    return fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 2));
}

/* Whether each of these queries sees each of these keys. */
DEVICE bool all_seen(const Sight &s, int t, int queries, int key, int keys)
{
    int i = s.offset + t;
    return !s.q_segment && key + keys <= s.length && !(s.causal && key + keys - 1 > i) &&
           !(s.window && key <= i + queries - 1 - s.window);
}
