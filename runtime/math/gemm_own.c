/* gemm_own.c: our own matrix products, as fast as OpenBLAS; their bits depend neither on threads nor on the machine.
 *
 * Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008).  K is cut into equal chunks of at
 * most CHUNK; a chunk of a is packed in panels of ROWS rows, one of b in panels of two vectors, both with k outermost,
 * and a tile of c stays in registers while k runs through the chunk.  An element of c is Σ over chunks, in order, of
 * (one chain of fused multiply-adds over k), whatever its tile, task or vector.  So tasks may be cut by the number of
 * threads, as large as possible.  If c is small and K is long (gradients of small weights), each task takes some of the
 * chunks and keeps their sums separate; these are then added in the order of the chunks, which gives the same bits. */
#include "math/blocks.h"
#include "math/context.h"
#include "math/gemm.h"
#include "math/ways.h"
#include "math/width.h"
#include "threads/threads.h"

#include <stdlib.h>
#include <string.h>

/* ROWS × two vectors of sums, two vectors of b and a factor fill the registers; FEW_ROWS rows of one vector leave room. */
#if defined __AVX512F__ || defined __aarch64__
#define TILE_ROWS 14
enum { FEW_ROWS = 16 };
#else
#define TILE_ROWS 6
enum { FEW_ROWS = 12 };
#endif

enum {
    ROWS = TILE_ROWS,
    CHUNK = TASK_CHUNK,         /* of K */
    A_BYTES = 1008 * CHUNK * 4, /* of packed a, in the third level of cache */
    B_BYTES = 256 * CHUNK * 4,  /* of packed b, in the second */
    SLACK = 4096,               /* after each: panels are rounded up, and packing may write a little beyond */
    AHEAD = 256,                /* elements of b, fetched before they are read */
    LINES_AHEAD = 64,           /* lines of b that is not packed, into the second cache: 25 GB/s of 28 (16 into the first: 17) */
    PACK_ALONE = 1 << 16,       /* elements that one thread packs in the time to wake another */
    TASK_FLOPS = 2000000,       /* a smaller task is not worth waking a thread */
    PARTIAL = 32,               /* cost in multiply-adds of storing and adding a partial sum */
    WAVE = 1000000              /* likewise, of two barriers */
};

#define UNROLL _Pragma("GCC unroll 16")

/* ---- rooms: buffers for packing */

_Static_assert(A_BYTES + B_BYTES + 2 * SLACK == LATHE_ROOM_BYTES, "what the plan counts");
_Static_assert((int)FEW_ROWS <= (int)MOST_FEW_ROWS, "what a library leaves out");

/* n cut into the fewest equal parts of at most `most`, rounded up to a multiple of `unit`. */
static INLINE int64_t equal_part(int64_t n, int64_t most, int64_t unit)
{
    most = at_least(most / unit, 1) * unit;
    int64_t parts = parts_of(n, most);
    return parts_of(parts_of(n, parts), unit) * unit;
}

#ifdef LATHE_PRODUCTS
#include "math/rooms.h"
#else
static INLINE bool has_tiles_of(size_t real, int rows) { return real && rows; }
static INLINE int64_t behind_packed_a(void) { return A_BYTES + SLACK; }
int64_t gemm_room_bytes(void) { return LATHE_ROOM_BYTES; }
#endif

static char *gemm_room(int64_t number)
{
    const Lathe_context *now = lathe_context();
    if (number >= now->threads_with_room) abort();
    return now->rooms + number * gemm_room_bytes();
}

/* In nested regions, which have one thread, the thread number of the outermost region counts. */
void *thread_room(void) { return gemm_room(omp_get_level() > 0 ? omp_get_ancestor_thread_num(1) : 0); }

/* ---- how a product is cut */

enum { FEWEST = 8 }; /* rows of a panel: a smaller tile wastes most of its reads */

int panel_rows(int rows, int unit, int most)
{
    int64_t threads = omp_get_max_threads(), panels = parts_of(parts_of(rows, most), threads) * threads;
    panels = at_most(panels, at_least(rows / FEWEST, 1));
    return (int)(parts_of(parts_of(rows, panels), unit) * unit);
}

int panel_samples(int samples, int unit, int most)
{
    int64_t threads = omp_get_max_threads(), panels = parts_of(parts_of(samples, most), threads) * threads;
    return (int)(parts_of(parts_of(samples, at_most(panels, samples)), unit) * unit);
}

/* Rows of a task lie in the fewest panels, of nearly equal heights: the first `tall` rows in panels of `most` rows, the
 * others in panels of one row less.  So 171 rows are two panels of 14 and eleven of 13, and no tile is padded. */
typedef struct Heights {
    int most;
    int64_t tall;
} Heights;

static Heights heights_of(int64_t rows)
{
    int64_t panels = parts_of(rows, ROWS), most = parts_of(rows, panels), less = panels * most - rows;
    return (Heights){(int)most, (panels - less) * most};
}

static int height_at(Heights h, int64_t row) { return h.most - (row >= h.tall); }

typedef struct Grid {
    int64_t batch, m, n;   /* tasks: products, and parts of each */
    int64_t rows, columns; /* of a part */
    bool shared;           /* packed once for all threads */
    int64_t split;         /* number of tasks that share the chunks of K; 1: one task has all chunks */
    int64_t kept;          /* chunks whose sums such a task stores at a time */
} Grid;

static Grid parts_by(const Lathe_gemm *g, int64_t batch, int64_t m, int64_t n, int unit)
{
    int64_t rows = m == 1 ? g->M : parts_of(parts_of(g->M, m), ROWS) * ROWS;
    int64_t columns = n == 1 ? g->N : parts_of(parts_of(g->N, n), unit) * unit;
    return (Grid){batch, parts_of(g->M, rows), parts_of(g->N, columns), rows, columns, true, 1, 0};
}

/* The cost in multiply-adds of one step of k in the largest part, packing included. */
static double cost_of_step(const Grid *x)
{
    return (double)(x->rows * x->columns) + 32.0 * (double)(x->rows + x->columns);
}

/* Likewise for all parts on `threads` threads, at least a thread's share. */
static double cost_of_all_steps(const Lathe_gemm *g, const Grid *x, int64_t threads)
{
    double packed = (double)(g->M * x->n + g->N * x->m), all = (double)(g->M * g->N) + 32.0 * packed;
    double share = (double)x->batch * all / (double)threads, largest = cost_of_step(x);
    return share > largest ? share : largest;
}

/* The number of chunks whose sums, rows × columns elements of `size` bytes each, fit into a room after packed a. */
static int64_t kept_in_room(int64_t rows, int64_t columns, int64_t size)
{
    int64_t left = A_BYTES - (rows + ROWS) * CHUNK * size;
    return left > 0 ? left / (rows * columns * size) : 0;
}

/* A grid of at most `threads` tasks in which several share the chunks of one part, if it costs less than `best`. */
static Grid split_grid(const Lathe_gemm *g, Grid best, int unit, int64_t threads)
{
    double least = (double)g->K * cost_of_all_steps(g, &best, threads);
    int64_t chunk = equal_part(g->K, CHUNK, 1), chunks = parts_of(g->K, chunk), tasks = threads / best.batch;
    for (int64_t m = 1; 2 * m <= tasks; m *= 2)
        for (int64_t n = 1; 2 * m * n <= tasks; n *= 2) {
            Grid x = parts_by(g, best.batch, m, n, unit);
            x.split = at_most(tasks / (x.m * x.n), chunks);
            x.kept = kept_in_room(x.rows, x.columns, 2 * VECTOR_BYTES / unit);
            if (x.split < 2 || !x.kept) continue;
            int64_t own = parts_of(chunks, x.split), waves = parts_of(own, x.kept);
            x.kept = parts_of(own, waves);
            double cost = (double)(own * chunk) * cost_of_step(&x) + (double)(own * PARTIAL * x.rows * x.columns) +
                          (double)(waves * WAVE);
            if (cost >= least) continue;
            least = cost;
            best = x;
        }
    return best;
}

/* Of the grids with as many tasks as threads, or slightly more, the one that packs least. */
static Grid grid_of(const Lathe_gemm *g, int64_t batch, int unit)
{
    Grid best = {batch, 1, 1, g->M, g->N, false, 1, 0};
    double flops = 2.0 * (double)g->M * (double)g->N * (double)g->K * (double)batch, least = 0;
    int64_t threads = omp_in_parallel() ? 1 : omp_get_max_threads();
    if (flops < TASK_FLOPS || threads == 1) return best;
    best.shared = true;
    if (batch % threads == 0 || batch >= 4 * threads) return best;
    int64_t wanted = parts_of(threads, batch);
    for (int64_t m = 1; m <= wanted; m++) {
        Grid x = parts_by(g, batch, m, parts_of(wanted, m), unit);
        double cost = cost_of_step(&x) * (double)parts_of(batch * x.m * x.n, threads); /* rounds of tasks */
        if (least && cost >= least) continue;
        least = cost;
        best = x;
    }
    return split_grid(g, best, unit, threads);
}

/* to[8][8] = from[8][8] transposed; lines of `to` and `from` are W and step apart.  Lines are written in order; if W <
 * 8, each overlaps the beginning of the next. */
#ifdef __GNUC__
typedef float Eight __attribute__((vector_size(32), aligned(4), may_alias));
#define MIX __builtin_shufflevector

static INLINE void transpose_f32(float *to, int64_t W, const float *from, int64_t step)
{
    Eight x[8], y[8];
    UNROLL for (int i = 0; i < 8; i++) x[i] = *(const Eight *)(from + i * step);
    UNROLL for (int i = 0; i < 8; i += 2)
    {
        y[i] = MIX(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        y[i + 1] = MIX(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    UNROLL for (int i = 0; i < 8; i += 4) UNROLL for (int h = 0; h < 2; h++)
    {
        x[i + 2 * h] = MIX(y[i + h], y[i + 2 + h], 0, 1, 8, 9, 4, 5, 12, 13);
        x[i + 2 * h + 1] = MIX(y[i + h], y[i + 2 + h], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    UNROLL for (int k = 0; k < 4; k++)
    {
        y[k] = MIX(x[k], x[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        y[k + 4] = MIX(x[k], x[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int k = 0; k < 8; k++) *(Eight *)(to + k * W) = y[k];
}
#else
static void transpose_f32(float *to, int64_t W, const float *from, int64_t step)
{
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < 8; i++) to[k * W + i] = from[i * step + k];
}
#endif

static INLINE void transpose_f64(double *to, int64_t W, const double *from, int64_t step)
{
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < 8; i++) to[k * W + i] = from[i * step + k];
}

#include "math/gemm_by_ids.h"

#define REAL     float
#define NAME(x)  x##_f32
#define IS_FLOAT 1
#include "math/gemm_tile.h"
#include "math/gemm_by_ids_real.h"

void gemm_own_blocks(float *c, const float *a, const void *b, Lathe_dtype type, const Lathe_gemm *g, bool add)
{
    tasks_f32(c, a, (Right_f32){.blocks = b, .type = type}, g, add);
}

#define OF_BLOCKS(member, word, name)                                                                                  \
    void dot_by_ids_##name(float *y, const float *x, const Lathe_##name *w, const int *ids, const Lathe_by_ids *g)     \
    {                                                                                                                  \
        rows_by_ids_f32(y, x, (Right_f32){.blocks = w, .type = LATHE_##member}, ids, g);                               \
    }                                                                                                                  \
    void pack_##name(float *packed, const Lathe_##name *b, const Lathe_gemm *g)                                        \
    {                                                                                                                  \
        if (gemm_watch) gemm_watch->packs(packed, b, LATHE_##member, g->b_k, g->b_n);                                  \
        pack_all_f32(packed, (Right_f32){.blocks = b, .type = LATHE_##member}, g);                                     \
    }                                                                                                                  \
    void pack_shared_##name(float *packed, const Lathe_##name *b, const Lathe_gemm *g)                                 \
    {                                                                                                                  \
        if (gemm_watch) gemm_watch->packs(packed, b, LATHE_##member, g->b_k, g->b_n);                                  \
        pack_all_shared_f32(packed, (Right_f32){.blocks = b, .type = LATHE_##member}, g);                              \
    }
LATHE_BLOCK_TYPES(OF_BLOCKS)
#undef OF_BLOCKS

#undef REAL
#undef NAME
#undef IS_FLOAT
#define REAL     double
#define NAME(x)  x##_f64
#define IS_FLOAT 0
#include "math/gemm_tile.h"
#include "math/gemm_by_ids_real.h"
