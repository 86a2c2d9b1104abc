/* rooms.h: the part of math/gemm_own.c that finds how large a room the products of a library need (LATHE_PRODUCTS). */

typedef struct Room {
    int64_t a, b; /* bytes of packed operands of the engine, each followed by SLACK; 0: the engine is not used */
    int64_t thin; /* of the loops of thin products, which may pack */
} Room;

/* Whether its tasks may share the chunks of K; they keep sums behind packed a. */
static INLINE bool may_share_chunks(const Lathe_gemm *g)
{
    return g->K > CHUNK && 2.0 * (double)g->M * (double)g->N * (double)g->K * (double)batch_of(g) >= TASK_FLOPS;
}

/* Of its tasks, whatever the number of threads. */
static INLINE void add_task_room(Room *to, int64_t M, int64_t N, const Lathe_gemm *g, int64_t real, bool packed)
{
    const int64_t chunk = equal_part(at_least(g->K, 1), CHUNK, 1), unit = 2 * VECTOR_BYTES / real;
    const int64_t columns = at_most(parts_of(N, unit) * unit, at_least(B_BYTES / real / chunk / unit, 1) * unit);
    const int64_t rows = at_most(at_least(M, FEW_ROWS), A_BYTES / real / chunk);
    to->a = at_least(to->a, may_share_chunks(g) ? A_BYTES : rows * chunk * real);
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
    Room all = {0, 0, 0};
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
