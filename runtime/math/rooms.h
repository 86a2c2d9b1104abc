/* rooms.h: the part of math/gemm_own.c that finds which tiles and how large a room the products of a library need
 * (LATHE_PRODUCTS). */

static INLINE bool is_one_task(const Lathe_gemm *g)
{
    return 2.0 * (double)g->M * (double)g->N * (double)g->K * (double)batch_of(g) < TASK_FLOPS;
}

/* ---- tiles */

/* Heights of its panels, as bits: of M rows, or of N where it is turned.  If threads share the rows, any. */
static INLINE unsigned heights_of_rows(int64_t rows)
{
    const int64_t panels = parts_of(rows, ROWS), most = panels ? parts_of(rows, panels) : 1;
    return 1U << most | (panels * most > rows ? 1U << (most - 1) : 0);
}

static INLINE unsigned heights_for(const Lathe_gemm *g, bool packed, int64_t real)
{
    const int64_t chunk = equal_part(at_least(g->K, 1), CHUNK, 1), most = A_BYTES / real / chunk;
    if (!packed && is_thin(g)) return 0;
    if (packed || !is_one_task(g) || g->M > most || g->N > most) return ~0U;
    return heights_of_rows(g->M) | heights_of_rows(g->N);
}

#define HEIGHTS_FOR(type, packed, ...)                                                                                 \
    | (sizeof(type) == real ? heights_for(&(const Lathe_gemm)__VA_ARGS__, packed, (int64_t)sizeof(type)) : 0)

static INLINE bool has_tiles_of(size_t real, int rows) { return ((0 LATHE_PRODUCTS(HEIGHTS_FOR)) >> rows & 1) != 0; }

/* ---- rooms */

typedef struct Room {
    int64_t a, b; /* bytes of packed operands of the engine, each followed by SLACK; 0: the engine is not used */
    int64_t thin; /* of the loops of thin products, which may pack */
} Room;

/* Of its tasks, whatever the number of threads.  Those that share the chunks of K keep sums behind packed a. */
static INLINE void add_task_room(Room *to, int64_t M, int64_t N, const Lathe_gemm *g, int64_t real, bool packed)
{
    const int64_t chunk = equal_part(at_least(g->K, 1), CHUNK, 1), unit = 2 * VECTOR_BYTES / real;
    const int64_t columns = at_most(parts_of(N, unit) * unit, at_least(B_BYTES / real / chunk / unit, 1) * unit);
    const int64_t rows = at_most(at_least(M, FEW_ROWS), A_BYTES / real / chunk);
    to->a = at_least(to->a, g->K > CHUNK && !is_one_task(g) ? A_BYTES : rows * chunk * real);
    to->b = at_least(to->b, packed ? 0 : columns * chunk * real);
}

static INLINE void add_room(Room *to, const Lathe_gemm *g, int64_t real, bool packed)
{
    const bool turned = !packed && is_turned(g);
    const int64_t M = turned ? g->N : g->M, N = turned ? g->M : g->N;
    if (!packed && is_thin(g)) {
        const bool copies = g->K > 1 && (g->a_k != 1 || g->b_k != 1) && !is_by_columns(N, turned ? g->a_m : g->b_n);
        to->thin = at_least(to->thin, copies ? 10 * THIN_CHUNK * real : 0);
        return;
    }
    add_task_room(to, M, N, g, real, packed);
    if (!packed && N <= FEW_ROWS) add_task_room(to, N, M, g, real, packed); /* its columns may be the few rows */
}

static INLINE Room room_of_products(void)
{
#ifdef LATHE_WHOLE_ROOMS
    Room all = {A_BYTES, B_BYTES, 0};
#else
    Room all = {0, 0, 0};
#endif
#define ADD_ROOM(type, packed, ...) add_room(&all, &(const Lathe_gemm)__VA_ARGS__, (int64_t)sizeof(type), packed);
    LATHE_PRODUCTS(ADD_ROOM)
    return all;
}

static INLINE int64_t behind_packed_a(void) { return room_of_products().a + SLACK; }

int64_t gemm_room_bytes(void)
{
    const Room r = room_of_products();
    const int64_t packed = r.a ? r.a + r.b + 2 * SLACK : 0;
    return (at_least(packed, r.thin) + 63) / 64 * 64;
}
