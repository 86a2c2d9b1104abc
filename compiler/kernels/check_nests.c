/* check_nests.c: can a kernel run as its nest says? It must touch the same elements, no two threads may write the same
 * one, and the rows that a block keeps must fit and be aligned for the copies. */
#include "desc/target.h"
#include "kernels/check_nests.h"

/* ------------------------------------------------------------------ axes */

/* The number of elements of the walked axis j per element of the kernel's axis i, which is part of it. */
static int64_t step_of(const Space *s, int j, int i)
{
    int64_t step = 1;
    for (int k = i + 1; k < s->own.rank; k++)
        if (s->of[j] >> k & 1) step *= s->own.dim[k];
    return step;
}

static int walked_axis(const Space *s, int i)
{
    for (int j = 0; j < s->shape.rank; j++)
        if (s->of[j] >> i & 1) return j;
    return -1;
}

static int64_t low_of(const View *v, int j) { return v->guarded ? max64(v->low[j], 0) : 0; }
static int64_t high_of(const View *v, int j, int64_t extent) { return v->guarded ? min64(v->high[j], extent) : extent; }

/* Does the walked view show what the kernel's own does? */
static bool shows_the_same(const Space *s, const View *own, const View *walked)
{
    for (int i = 0; i < s->own.rank; i++) {
        int j = walked_axis(s, i);
        int64_t extent = s->own.dim[i];
        bool all = low_of(own, i) == 0 && high_of(own, i, extent) == extent;
        if (extent > 1 && own->stride[i] != walked->stride[j] * step_of(s, j, i)) return false;
        if (j < 0 || !is_made_of(s, j, i)) {
            if (!all) return false;
        } else if (low_of(own, i) != low_of(walked, j) || high_of(own, i, extent) != high_of(walked, j, extent)) {
            return false;
        }
    }
    return own->base == walked->base && own->buffer == walked->buffer;
}

/* A kernel whose elements have nothing to do with each other. */
static bool is_plain_map(const Kernel *k)
{
    const Phase *p = &k->phases.at[0];
    return !k->block && !k->share && k->phases.n == 1 && !p->row.n && !p->sums.n && !p->columns.n && !p->row_stores.n;
}

static const char *space_fault(const Kernel *k, const Nest *n)
{
    const Space *s = &n->space;
    const Nest *own = new_nest(k);
    int64_t elements = 1;
    for (int j = 0; j < s->shape.rank; j++) {
        int64_t extent = 1;
        for (int i = 0; i < s->own.rank; i++)
            if (s->of[j] >> i & 1) extent *= s->own.dim[i];
        if (extent != s->shape.dim[j] || extent > INT32_MAX)
            return "an axis has another extent than what it is made of";
        elements *= extent;
    }
    for (int i = 0; i < s->own.rank; i++)
        if (walked_axis(s, i) < 0 && s->own.dim[i] > 1) return "an axis is not walked";
    if (!is_made_of(s, s->shape.rank - 1, s->own.rank - 1) && !(k->kind == ROWS && is_plain_map(k)))
        return "its last axis is walked apart from the others";
    for (int i = 0; i < s->views.n; i++)
        if (!shows_the_same(s, own->space.views.at[i], s->views.at[i]))
            return "axes that do not lie in memory as one are walked as one";
    return NULL;
}

/* ------------------------------------------------------------------ loops of C */

static bool is_sum_of(const Kernel *k, const Node *n)
{
    for (int p = 0; p < k->phases.n; p++)
        for (int i = 0; i < k->phases.at[p].sums.n; i++)
            if (k->phases.at[p].sums.at[i] == n) return true;
    return false;
}

/* Reductions first, each over the row alone, and then values per row. */
static bool may_go_across(const Kernel *k)
{
    const Phase *first = &k->phases.at[0];
    bool all = !k->block && !k->share && !k->kept.n && first->sums.n && !first->stores.n && !first->row.n;
    for (int p = 1; p < k->phases.n; p++) all &= !k->phases.at[p].sums.n && !k->phases.at[p].stores.n;
    return all;
}

static int64_t loops_around(const Kernel *k, const Nest *n)
{
    int rows = n->space.shape.rank - 1;
    if (k->share) return 0;
    if (k->block) return n->blocks > 1;
    return n->across ? rows - 1 + (n->space.shape.dim[rows - 1] > n->across) : rows;
}

/* The number of indices along the row that an integer is the sum of, whatever else it is made of; an index times a
 * number, or one that a guard hides, counts as many. counted: 1 more than that of values that were met before. */
static int indices_of_row(const Nest *n, const Node *x, Table *counted)
{
    enum { MANY = 1000 };
    int inner = n->space.shape.rank - 1, all = 0;
    if (table_get(counted, x)) return (int)(intptr_t)table_get(counted, x) - 1;
    for (int i = 0; i < n->rows->loads.n; i++) {
        const View *v = &n->rows->loads.at[i].view;
        if (n->rows->loads.at[i].node != x) continue;
        if (v->guarded || (v->buffer && v->stride[inner])) return MANY;
        return v->stride[inner] == 0 || v->stride[inner] == 1 ? (int)v->stride[inner] : MANY;
    }
    for (int i = 0; i < x->nin; i++) all += indices_of_row(n, x->in[i], counted);
    if (all > MANY || (all && x->op != OP_add && !is_view(x))) all = MANY;
    *table_at(counted, x) = (void *)(intptr_t)(all + 1);
    return all;
}

static bool has_neighbouring_bits(const Nest *n, const Node *drawn, Table *counted)
{
    int fixed = 0;
    if (drawn->op != OP_philox) return false;
    for (int i = 0; i < 4; i++) fixed += indices_of_row(n, drawn->in[i], counted);
    return !fixed && indices_of_row(n, drawn->in[4], counted) == 1;
}

static const char *draws_fault(const Nest *n)
{
    Table counted = {0};
    if (n->draws.n && (n->across || n->sweep_shared)) return "threads that share a row do not draw it together";
    for (int i = 0; i < n->draws.n; i++)
        if (!has_neighbouring_bits(n, n->draws.at[i], &counted))
            return "what is drawn together is random bits of a row, in order";
    return NULL;
}

static const char *loops_of_rows_fault(const Kernel *k, const Nest *n)
{
    int rows = n->space.shape.rank - 1;
    if (n->by_columns || n->start_shared) return "what goes by ids has columns that threads share";
    if (n->across && (!rows || !may_go_across(k))) return "rows are reduced side by side that do more in their sweeps";
    if (n->threads > loops_around(k, n)) return "threads share more loops than there are";
    bool alone = !k->block && !k->share && !n->across && extent_of(&n->space, 0, rows) == 1;
    if (n->sweep_shared && !(alone && k->phases.n == 1 && !k->phases.at[0].sums.n))
        return "threads share a sweep that reduces, or that is not the only one";
    for (int i = 0; i < n->lanes.n; i++)
        if (!is_sum_of(k, n->lanes.at[i]) || n->across) return "lanes are of reductions over the inner axis";
    return draws_fault(n);
}

/* Ids may send to one place: threads must not share them. */
static const char *loops_of_ids_fault(const Kernel *k, const Nest *n)
{
    const Picked *p = n->picked;
    bool writes_by_ids = k->kind != GATHER;
    if (n->sweep_shared || n->lanes.n || n->draws.n || n->across) return "by ids there are no sweeps";
    if (n->threads > 1) return "by ids threads share one loop";
    if (n->threads && writes_by_ids && extent_of(&n->space, 0, p->batch) == 1)
        return "threads share ids that may send to one place";
    if (n->by_columns && k->kind == OVERWRITE && in_blocks(k->node->dtype)) return "columns would cut blocks";
    if (n->by_columns && (n->threads || !writes_by_ids || !p->after)) return "there are no columns to share";
    return n->start_shared && !p->starts ? "it starts from what is there" : NULL;
}

static const char *loops_of_walk_fault(const Nest *n)
{
    if (n->sweep_shared || n->by_columns || n->start_shared || n->lanes.n || n->draws.n || n->across)
        return "along an axis threads share rows";
    return n->threads > 1 ? "along an axis threads share one loop" : NULL;
}

/* Does element [i][j] lie at i * columns + j, as far as there are several? */
static bool without_gaps(int64_t row, int64_t column, int64_t rows, int64_t columns)
{
    return (rows == 1 || row == columns) && (columns == 1 || column == 1);
}

static const char *dense_fault(const Kernel *k, Dense dense)
{
    const struct Gemm *g = &k->gemm;
    if (dense == STRIDED) return NULL;
    if (k->kind != GEMM || g->packed || g->nbatch) return "what is called by its sizes is one product of two matrices";
    bool at = dense == DENSE_TN || dense == DENSE_TT, bt = dense == DENSE_NT || dense == DENSE_TT;
    bool a = at ? without_gaps(g->a_k, g->a_m, g->K, g->M) : without_gaps(g->a_m, g->a_k, g->M, g->K);
    bool b = bt ? without_gaps(g->b_n, g->b_k, g->N, g->K) : without_gaps(g->b_k, g->b_n, g->K, g->N);
    return a && b && without_gaps(g->c_m, g->c_n, g->M, g->N) ? NULL : "a product is called by its sizes, and has gaps";
}

static const char *loops_fault(const Kernel *k, const Nest *n)
{
    if (n->team || n->beside || n->wide || n->columns || n->rest || n->kept.n || n->by_warps || n->tensor || n->words ||
        n->stays || n->wait || n->wait_end || n->wait_copied || n->plain || n->launches.n)
        return "loops of C have no teams of threads";
    if (dense_fault(k, n->dense)) return dense_fault(k, n->dense);
    return k->kind == ROWS ? loops_of_rows_fault(k, n)
           : n->picked     ? loops_of_ids_fault(k, n)
           : n->along      ? loops_of_walk_fault(n)
                           : NULL;
}

/* ------------------------------------------------------------------ CUDA */

enum { WORD = 16, STATIC_ROOM = 48 * 1024, ROOM = 99 * 1024 };

/* Bytes of shared memory in which the teams of a block add up columns; one: one column after another. */
static int64_t room_for_sums(const Kernel *k, const Nest *n, bool one)
{
    int64_t bytes = 0;
    for (int i = 0; i < k->partials.n; i++) {
        int64_t size = dtype_bytes(k->partials.at[i]->dtype);
        bytes = one ? max64(bytes, size) : bytes + size;
    }
    return bytes * n->space.shape.dim[n->space.shape.rank - 1] * (TEAM_OF_BLOCK / n->team);
}

static bool reduces_rows(const Kernel *k)
{
    const Phase *p = &k->phases.at[0];
    return k->phases.n > 1 || p->sums.n || p->row_stores.n || k->kept.n;
}

static const char *columns_fault(const Kernel *k, const Nest *n)
{
    bool alike = true;
    for (int i = 1; i < k->partials.n; i++) alike &= k->partials.at[i]->dtype == k->partials.at[0]->dtype;
    switch (n->columns) {
    case NO_COLUMN_SUMS: return "it has sums over all rows, which run somewhere";
    case IN_SHARED:
        if (n->team != TEAM_OF_ONE && n->team != TEAM_OF_WARP) return "sums in shared memory are of several teams";
        return room_for_sums(k, n, false) > STATIC_ROOM ? "its sums have no room in shared memory" : NULL;
    case IN_REGISTERS:
        if (n->team == TEAM_OF_BLOCK) return NULL;
        if (n->team != TEAM_OF_WARP || !alike) return "sums in registers are a warp's, of one type, or a block's";
        return room_for_sums(k, n, true) > STATIC_ROOM ? "its sums have no room in shared memory" : NULL;
    case IN_PARTIALS: return n->team == TEAM_OF_BLOCK ? NULL : "sums in memory are of a block as one team";
    case APART:
        return n->team == TEAM_OF_ONE && !reduces_rows(k) ? NULL : "columns are a thread's where no row reduces";
    }
    return NULL;
}

/* The byte at which an element begins in the arena or in a flat array, which begin at multiples of 64; -1: it is
 * elsewhere. */
static int64_t begin_of(const Buffer *b, int64_t element)
{
    int64_t size = dtype_bytes(b->dtype);
    if (b->home == PARAMETERS || b->home == GRADIENTS) return (b->param->offset + element) * size;
    return b->home == WORK ? b->offset + element * size : -1;
}

static bool is_at_word(const View *v, int64_t element)
{
    int64_t at = begin_of(v->buffer, element);
    return at >= 0 && at % WORD == 0;
}

/* Does each row of the load begin at a whole access, all in one piece, and is it the row's own? */
static bool can_be_kept(const Nest *n, const View *v)
{
    int inner = n->space.shape.rank - 1;
    bool all = v->buffer && !v->guarded && v->stride[inner] == 1 && is_at_word(v, v->base);
    for (int j = 0; all && j < inner; j++)
        if (n->space.shape.dim[j] > 1) all = v->stride[j] && is_at_word(v, v->base + v->stride[j]);
    for (int o = 0; all && o < v->nover; o++) all = is_at_word(v, v->base + v->over[o].stride);
    return all && n->beside * dtype_bytes(v->buffer->dtype) % WORD == 0;
}

static const Operand *load_named(const Kernel *k, const Node *n)
{
    for (int i = 0; i < k->loads.n; i++)
        if (k->loads.at[i].node == n) return &k->loads.at[i];
    return NULL;
}

static const char *kept_fault(const Kernel *k, const Nest *n)
{
    int64_t bytes = 0;
    if (n->kept.n && (n->team != TEAM_OF_BLOCK || n->columns || k->persistent)) return "a block keeps rows of its own";
    for (int i = 0; i < n->kept.n; i++) {
        const Operand *o = load_named(n->rows, n->kept.at[i]);
        if (!o || !can_be_kept(n, &o->view)) return "it keeps what is no row of its own, or begins amid an access";
        bytes += n->space.shape.dim[n->space.shape.rank - 1] * dtype_bytes(o->view.buffer->dtype) + WORD;
    }
    return bytes > ROOM ? "what it keeps has no room in shared memory" : NULL;
}

static bool is_power_to_8(int n) { return n == 1 || n == 2 || n == 4 || n == 8; }

/* Does each thread find its elements along the axis at a multiple of 16 bytes, or of what they have together, all of
 * them there? */
static bool can_be_wide(const Nest *n, const View *v, int along)
{
    if (!v || !v->buffer || v->guarded || v->stride[along] != 1) return false;
    int64_t bytes = min64(n->beside * dtype_bytes(v->buffer->dtype), WORD), at = begin_of(v->buffer, v->base);
    bool all = at >= 0 && at % bytes == 0;
    for (int j = 0; j < n->space.shape.rank; j++)
        if (n->space.shape.dim[j] > 1 && j != along) all &= begin_of(v->buffer, v->base + v->stride[j]) % bytes == 0;
    for (int o = 0; o < v->nover; o++) all &= begin_of(v->buffer, v->base + v->over[o].stride) % bytes == 0;
    return all;
}

static const char *wide_fault(const Nest *n)
{
    if (n->wide && n->beside < 2) return "nothing is read as a whole";
    Swept all = swept_views(n);
    for (int i = 0; i < MOST_WIDE; i++)
        if (n->wide >> i & 1 && !can_be_wide(n, i < all.n ? all.at[i] : NULL, n->space.shape.rank - 1))
            return "what is read as a whole lies apart, or begins amid an access";
    return NULL;
}

static const char *looked_up_fault(const Kernel *k, const Nest *n)
{
    const Picked *p = n->picked;
    int c = p->id - 1;
    bool one = n->beside < 2 || (p->after && n->space.shape.dim[c] % n->beside == 0);
    if (!one || (n->beside && !is_power_to_8(n->beside))) return "its rows do not divide so";
    if (!n->wide) return NULL;
    bool both = n->wide == 3 && n->beside > 1 && !k->writes.at[0].add;
    return both && can_be_wide(n, &p->x, c) && can_be_wide(n, &p->y, c) ? NULL : "its rows are no wholes";
}

static const char *threads_of_rows_fault(const Kernel *k, const Nest *n)
{
    int64_t inner = n->space.shape.dim[n->space.shape.rank - 1];
    if (k->block && n->columns == NO_COLUMN_SUMS && !n->team) return NULL; /* not decided */
    if (n->columns && !k->block) return "it has no sums over all rows";
    if (k->block && columns_fault(k, n)) return columns_fault(k, n);
    if (n->by_warps && !k->block) return "it has no partial sums";
    if (!n->team) return n->kept.n || n->beside || n->wide ? "it has no team" : NULL;
    if (n->team == TEAM_OF_ELEMENTS && (k->block || reduces_rows(k)))
        return "threads that take elements reduce no rows";
    if (!n->beside) return n->kept.n || n->rest || n->wide ? "it takes no elements side by side" : NULL;
    if (n->rest && (n->team != TEAM_OF_BLOCK || n->columns || k->kept.n)) return "a rest of a row is a block's";
    if (!is_power_to_8(n->beside) || (inner % n->beside && !n->rest)) return "its rows do not divide so";
    if (n->beside > 1 && n->team == TEAM_OF_ONE && n->columns != APART)
        return "a thread with a row takes one at a time";
    if (k->sliced && n->beside > 1) return "a slice is taken one by one";
    return wide_fault(n) ? wide_fault(n) : kept_fault(k, n);
}

static const char *threads_of_others_fault(const Kernel *k, const Nest *n)
{
    if (n->columns || n->rest || n->kept.n || n->by_warps) return "it has no rows";
    if ((k->kind == SCATTER || k->kind == OVERWRITE) && n->team && n->team != TEAM_OF_BLOCK)
        return "a block takes an id, in the ids' order";
    if (n->along && n->team && n->team != TEAM_OF_ONE && !(k->kind == ARGMAX && n->team == TEAM_OF_WARP))
        return "what runs along an axis is a thread's";
    if (k->kind == GATHER) return looked_up_fault(k, n);
    return n->beside || n->wide ? "it takes no elements side by side" : NULL;
}

static const char *threads_fault(const Kernel *k, const Nest *n)
{
    if (n->threads || n->sweep_shared || n->by_columns || n->start_shared || n->lanes.n || n->draws.n || n->across ||
        n->rolled || n->apart || n->dense)
        return "CUDA's threads are no loops of C";
    if (n->tensor && (k->kind != ATTENTION || !is_stored(k->node->dtype))) return "tensor cores take 16 bits";
    if ((n->words || n->stays) && (k->kind != GEMM || !k->persistent)) return "it is no product in one launch";
    if (n->words && (!is_stored(k->gemm.a.node->dtype) || k->gemm.a_k != 1 || k->gemm.a_m % 2))
        return "words are two elements of 16 bits, side by side";
    if ((n->wait && !k->persistent) || ((n->wait_end || n->wait_copied) && !k->barrier))
        return "only kernels in one launch wait";
    return k->kind == ROWS ? threads_of_rows_fault(k, n) : threads_of_others_fault(k, n);
}

const char *nest_fault(const Kernel *k, const Target *t)
{
    const Nest *n = k->nest;
    const char *fault = n->space.shape.rank ? space_fault(k, n) : NULL;
    if (fault) return fault;
    return t->loops ? loops_fault(k, n) : threads_fault(k, n);
}
