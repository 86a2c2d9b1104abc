/* teams.c: passes teams and beside: how many CUDA threads take a row, and how many elements a thread takes in one
 * access.
 *
 * In a map, a thread takes an element, or four side by side (eight of 16 bits) if they are contiguous. In a kernel
 * that reduces, a team of threads takes a row: one thread if the row is short, a warp, or the whole block if the row
 * is long. Thread l of n takes elements l, l + n, … */
#include "desc/passes.h"
#include "desc/target.h"
#include "kernels/nest.h"

enum { SHORT = 16, LONG = 1024, ACCESS = 16 };

static int inner_of(const Nest *n) { return n->space.shape.rank - 1; }
static int64_t inner_extent(const Nest *n) { return n->space.shape.dim[inner_of(n)]; }

/* ------------------------------------------------------------------ teams */

static bool is_map(const Kernel *k)
{
    const Phase *p = &k->phases.at[0];
    return !k->block && k->phases.n == 1 && !p->sums.n && !p->row_stores.n && !k->kept.n;
}

static int team_for_rows(const Nest *n)
{
    int64_t inner = inner_extent(n), rows = extent_of(&n->space, 0, inner_of(n));
    return inner < SHORT ? TEAM_OF_ONE : rows == 1 || inner > LONG ? TEAM_OF_BLOCK : TEAM_OF_WARP;
}

/* If several ids may address one place, a block takes an id. */
static void give_teams(Kernel *k, const Desc *d)
{
    Nest *n = k->nest;
    bool alone = without(d, PASS_teams);
    if (d->options->target->loops || n->columns) return;
    if (k->kind == ROWS) n->team = is_map(k) ? TEAM_OF_ELEMENTS : alone ? TEAM_OF_ONE : team_for_rows(n);
    if (k->kind == SCATTER || k->kind == OVERWRITE) n->team = TEAM_OF_BLOCK;
    if (k->kind == GATHER) n->team = TEAM_OF_ELEMENTS;
    if (is_lengthwise(k)) n->team = TEAM_OF_ONE;
    if (k->kind == ARGMAX && inner_extent(n) >= SHORT && !alone) n->team = TEAM_OF_WARP;
}

void pass_teams(Program *p, const Desc *d) { each_nest(p, give_teams, d); }

/* ------------------------------------------------------------------ side by side */

bool shows_nothing(const Space *s, const View *v)
{
    for (int j = 0; v->guarded && j < s->shape.rank; j++)
        if (v->high[j] <= v->low[j]) return true;
    return false;
}

/* The views that sweeps read and write. */
Swept swept_views(const Nest *n)
{
    Swept all = {0};
    for (int i = 0; i < n->rows->loads.n; i++) push(&all, &n->rows->loads.at[i].view);
    for (int p = 0; p < n->rows->phases.n; p++)
        for (int i = 0; i < n->rows->phases.at[p].stores.n; i++) push(&all, &n->rows->phases.at[p].stores.at[i].view);
    return all;
}

int number_of_store(const Nest *n, int phase, int store)
{
    int at = n->rows->loads.n;
    for (int p = 0; p < phase; p++) at += n->rows->phases.at[p].stores.n;
    return at + store;
}

/* Are its elements along the inner axis contiguous in memory? */
static bool side_by_side(const Nest *n, const View *v)
{
    return v->buffer && !shows_nothing(&n->space, v) && v->stride[inner_of(n)] == 1;
}

/* The number of elements in an access of 16 bytes (they have 16 or 32 bits) if there are enough for all threads that
 * share the axis; else 1. */
static int most_beside(const Nest *n, int threads)
{
    int64_t extent = inner_extent(n);
    Swept all = swept_views(n);
    int most = 1;
    for (int i = 0; i < all.n; i++) {
        if (!side_by_side(n, all.at[i])) continue;
        int many = dtype_bytes(all.at[i]->buffer->dtype) == 2 ? ACCESS / 2 : ACCESS / 4;
        if (extent % many || extent < (int64_t)many * threads) many = ACCESS / 4;
        if (extent % many == 0 && extent >= (int64_t)many * threads && many > most) most = many;
    }
    return most;
}

/* Does a buffer begin at an aligned address? The arena and the flat arrays begin at multiples of 64; C decides where
 * members of structs are. */
static bool begins_aligned(const Buffer *b)
{
    int64_t size = dtype_bytes(b->dtype);
    bool flat = b->home == PARAMETERS || b->home == GRADIENTS;
    return flat ? b->param->offset * size % ACCESS == 0 : b->home == WORK && b->offset % ACCESS == 0;
}

bool rows_are_aligned(const Space *s, const View *v, int along, int many)
{
    int64_t size = dtype_bytes(v->buffer->dtype);
    bool all = begins_aligned(v->buffer) && v->base * size % ACCESS == 0 && v->base % many == 0;
    for (int o = 0; o < v->nover; o++) all &= v->over[o].stride * size % ACCESS == 0 && v->over[o].stride % many == 0;
    for (int j = 0; j < s->shape.rank; j++) all &= j == along || s->shape.dim[j] == 1 || v->stride[j] % many == 0;
    return all;
}

/* The same if the length of the row is no multiple, but the rows of its buffers are padded to one: some elements are
 * left over. */
static int most_with_rest(const Nest *n, int threads)
{
    Swept all = swept_views(n);
    int most = 1;
    for (int i = 0; i < all.n; i++) {
        if (!side_by_side(n, all.at[i])) continue;
        int many = ACCESS / (int)max64(dtype_bytes(all.at[i]->buffer->dtype), 2);
        if (!rows_are_aligned(&n->space, all.at[i], inner_of(n), many)) return 1;
        if (many > most) most = many;
    }
    return inner_extent(n) >= (int64_t)most * threads ? most : 1;
}

static void take_beside(Nest *n, bool sliced)
{
    if (n->team == TEAM_OF_ELEMENTS) n->beside = sliced ? 1 : most_beside(n, 1);
    else if (n->columns == APART) n->beside = most_beside(n, 1);
    else if (n->team > TEAM_OF_ONE) n->beside = most_beside(n, n->team);
    if (n->columns || n->team < TEAM_OF_BLOCK || n->beside > 1 || n->rows->kept.n) return;
    n->beside = most_with_rest(n, n->team);
    n->rest = n->beside > 1;
}

/* Elements side by side must be contiguous on both sides. */
static void gather_beside(Nest *n)
{
    const Picked *p = n->picked;
    int c = p->id - 1;
    int64_t extent = c < 0 ? 1 : n->space.shape.dim[c];
    if (!p->after || extent == 1 || p->x.stride[c] != 1 || p->y.stride[c] != 1) return;
    int many = (int)(ACCESS / max64(dtype_bytes(p->x.buffer->dtype), 2));
    if (extent % many == 0) n->beside = many;
}

/* Do all rows of a begin at even elements? Then two elements of 16 bits can be read as a word. */
static bool rows_of_words(const struct Gemm *g)
{
    const View *a = &g->a.view;
    bool all =
        is_stored(g->a.node->dtype) && a->buffer->home == WORK && a->base % 2 == 0 && g->a_k == 1 && g->a_m % 2 == 0;
    for (int i = 0; i < a->nover; i++) all &= a->over[i].stride % 2 == 0;
    for (int i = 0; i < g->nbatch; i++) all &= g->a_batch[i] % 2 == 0;
    return all;
}

static void put_beside(Kernel *k, const Desc *d)
{
    if (d->options->target->loops) return;
    if (k->kind == ROWS || k->kind == GATHER) k->nest->beside = 1;
    if (without(d, PASS_beside)) return;
    if (k->kind == ROWS) take_beside(k->nest, k->sliced);
    if (k->kind == GATHER) gather_beside(k->nest);
    if (k->kind == GEMM) k->nest->words = k->persistent && rows_of_words(&k->gemm);
}

void pass_beside(Program *p, const Desc *d) { each_nest(p, put_beside, d); }
