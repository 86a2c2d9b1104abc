/* threads.c: ROWS kernels as CUDA threads.
 *
 * In a map, a thread takes elements. In a kernel that reduces, a team of threads takes a row: thread l of n sums up
 * elements l, l + n, … in a register, and the team ends the sum in a fixed tree. emit/columns_threads.c has
 * reductions over all rows. Nothing depends on the timing of threads, so the bits are the same every time. */
#include "desc/target.h"
#include "emit/index.h"
#include "emit/threads.h"

#include <string.h>

enum { ACCESS = 16 };

/* ------------------------------------------------------------------ counting */

const char *ceil_text(const char *n, const char *by) { return format("CEIL_DIV(%s, %s)", n, by); }

const Launch *launch_now(const Function *f)
{
    must(f->parts.n < f->nest->launches.n);
    return &f->nest->launches.at[f->parts.n];
}

/* "CEIL_DIV(BATCH * SEQ * WIDTH / 4, THREADS)": the number of blocks, which the program has planned. */
const char *blocks_of(const Function *f, const char *text, int64_t n, int each)
{
    must((n + each - 1) / each == launch_now(f)->blocks);
    return each == 1 ? text : ceil_text(text, each == THREADS ? "THREADS" : each == WARPS ? "WARPS" : "WARP");
}

static const char *quarter(const Rows *r, const char *count)
{
    return r->beside == 1 ? count : divided(count, r->beside);
}

static const char *rows_and_inner(const Rows *r)
{
    const char *rows = r->rows ? row_count_text(r) : NULL, *inner = r->f->axis[r->inner].count;
    const char *all = !rows ? inner : r->f->axis[r->inner].extent == 1 ? rows : multiplied(rows, inner);
    return in_64_bits(all, row_count(r) * r->f->axis[r->inner].extent);
}

const char *index_type(int64_t n) { return n > INT32_MAX - 8 * THREADS ? "int64_t" : "int"; }

static const char *thread_number(const Function *f, int64_t n)
{
    return format("%s%s * THREADS + threadIdx.x", n > INT32_MAX - 8 * THREADS ? "(int64_t)" : "", f->block);
}

void number_threads(Function *f, const char *number, int64_t n, const char *all)
{
    line(&f->w, "const %s %s = %s;", index_type(n), number, thread_number(f, n));
    line(&f->w, "if (%s >= %s) return;", number, all);
}

void number_warps(Function *f, const char *number, const char *all)
{
    line(&f->w, "const int %s = %s * WARPS + threadIdx.x / WARP, lane = threadIdx.x %% WARP;", number, f->block);
    line(&f->w, "if (%s >= %s) return;", number, all);
}

void leave_one_thread(Function *f) { line(&f->w, "if (threadIdx.x > 0) return;"); }

/* ------------------------------------------------------------------ four elements side by side */

/* Are a use's elements along the inner axis neighbours in memory? */
static bool emit_side_by_side(const Rows *r, int use)
{
    const Use *u = &r->f->uses.at[use];
    return u->view.buffer && u->arg >= 0 && u->view.stride[r->inner] == 1;
}

/* Does the argument always begin at a multiple of `bytes`? The arena and the flat arrays begin at multiples of 64; C
 * decides where members of structs are. */
bool aligned(const Arg *a, int64_t bytes)
{
    const Buffer *b = a->buffer;
    bool flat = b->home == PARAMETERS || b->home == GRADIENTS;
    if ((b->home != WORK && !flat) || in_blocks(b->dtype)) return false;
    int64_t size = dtype_bytes(b->dtype), at = flat ? b->param->offset * size : b->offset;
    bool all = at % bytes == 0;
    for (int k = 0; k < a->nlead; k++) {
        all &= a->lead[k].constant * b->stride[k] * size % bytes == 0;
        for (int o = 0; o < a->lead[k].nover; o++) all &= a->lead[k].over[o].coef * b->stride[k] * size % bytes == 0;
    }
    return all;
}

/* Is it a load or store of single elements in a sweep? */
static bool swept(const Rows *r, int use)
{
    bool found = false;
    for (int i = 0; i < r->k->loads.n; i++) found |= r->load[i] == use && !is_wide(r, i);
    for (int p = 0; p < r->k->phases.n; p++)
        for (int i = 0; i < r->k->phases.at[p].stores.n; i++)
            found |= r->uses[p].store[i] == use && !is_wide(r, number_of_store(r->n, p, i));
    return found;
}

/* Does a sweep go through neighbours in this array, one by one? */
static bool touches_neighbours(const Rows *r, int arg)
{
    for (int i = 0; i < r->f->uses.n; i++)
        if (r->f->uses.at[i].arg == arg && swept(r, i) && emit_side_by_side(r, i)) return true;
    return false;
}

void say_aligned(Rows *r)
{
    Function *f = r->f;
    for (int a = 0; a < f->args.n && r->beside > 1; a++)
        if (touches_neighbours(r, a) && aligned(&f->args.at[a], ACCESS))
            line(&f->w, "ALIGNED(%s);", f->args.at[a].name);
}

/* ------------------------------------------------------------------ maps */

/* The indices of the element, from the number of the thread. */
static const char *indices_of_map(Rows *r)
{
    Axis *c = &r->f->axis[r->inner];
    Writer *w = &r->f->w;
    const char *own = r->beside == 1 ? c->name : new_name(&r->f->names, format("%s%d", c->name, r->beside));
    int64_t elements = row_count(r) * c->extent, threads = elements / r->beside;
    const char *all = quarter(r, rows_and_inner(r));
    if (elements == 1) {
        leave_one_thread(r->f);
        return own;
    }
    if (r->rows == 0 && r->beside == 1) {
        number_threads(r->f, own, elements, all);
        return own;
    }
    if (r->rows == 0) {
        line(w, "const %s %s = (%s) * %d;", inner_type(r), own, thread_number(r->f, elements), r->beside);
        line(w, "if (%s >= %s) return;", own, rows_and_inner(r));
        return own;
    }
    const char *row = row_name(r);
    if (c->extent == 1) {
        number_threads(r->f, row, threads, all);
    } else {
        const char *i = new_index(&r->f->names, "i", "element"), *of = in_parentheses(quarter(r, c->count));
        number_threads(r->f, i, threads, all);
        const char *last = r->beside == 1 ? "" : format(" * %d", r->beside);
        line(w, "const int %s = %s / %s, %s = %s %% %s%s;", row, i, of, own, i, of, last);
    }
    row_indices(r, row);
    return own;
}

static const char *map(Rows *r)
{
    if (r->k->sliced) return map_of_slice(r);
    const Axis *c = &r->f->axis[r->inner];
    r->team = r->n->team;
    r->beside = r->n->beside;
    say_aligned(r);
    r->four = indices_of_map(r);
    one_row(r);
    int64_t elements = row_count(r) * c->extent;
    if (elements == 1) return blocks_of(r->f, "1", 1, 1);
    return blocks_of(r->f, quarter(r, rows_and_inner(r)), elements / r->beside, THREADS);
}

/* ------------------------------------------------------------------ a row by a team */

void make_team(Rows *r)
{
    const Axis *c = &r->f->axis[r->inner];
    int team = r->team = r->n->team;
    r->beside = r->n->beside;
    r->first = team == 1 ? NULL : team == WARP ? "lane == 0" : "threadIdx.x == 0";
    r->meet = team == 1 ? NULL : team == WARP ? "__syncwarp();" : "__syncthreads();";
    r->four = team > 1 && r->beside > 1 ? new_name(&r->f->names, format("%s%d", c->name, r->beside)) : c->name;
    r->turn = NULL;
    if (team > 1 && r->k->kept.n) count_turns(r);
}

static const char *row_by_row(Rows *r)
{
    int64_t rows = row_count(r);
    make_team(r);
    say_aligned(r);
    const char *all = r->rows ? in_64_bits(row_count_text(r), rows) : "1";
    if (rows == 1) {
        if (r->team == 1) leave_one_thread(r->f);
    } else {
        const char *row = row_name(r);
        if (r->team == 1) number_threads(r->f, row, rows, all);
        else if (r->team == WARP) number_warps(r->f, row, all);
        else line(&r->f->w, "const int %s = %s;", row, r->f->block);
        row_indices(r, row);
    }
    keep_rows(r);
    one_row(r);
    return blocks_of(r->f, all, rows, rows == 1 ? 1 : THREADS / r->team);
}

/* ------------------------------------------------------------------ the parts of a kernel */

static const char plain_remark[] = "the same by a plain loop, in case the one above is wrong on some machine";

static void begin_launched(Function *f)
{
    f->w = (Writer){0};
    f->room = NULL;
    open_block(&f->w, "%s", "");
}

static void end_launched(Function *f, const char *remark, const char *blocks)
{
    const Launch *l = launch_now(f);
    if (l->what == LAUNCHED_PLAIN) remark = plain_remark;
    close_block(&f->w);
    must((l->room > 0) == (f->room != NULL) && (l->shared > 0) == (strstr(f->w.text.at, "__shared__") != NULL));
    push(&f->parts, ((Part){l, remark, blocks, f->w.text.at, f->room}));
}

void rows_by_threads(Rows *r) { print_part(r, NULL, r->n->team == TEAM_OF_ELEMENTS ? map : row_by_row); }

const Spelling cuda_threads = {.begin_part = begin_launched,
                               .end_part = end_launched,
                               .share = thread_indices,
                               .begin_block = begin_launched_block,
                               .end_block = end_launched_block,
                               .add_blocks = add_launched_blocks};

/* Words of CUDA and of lathe_cuda.cuh, then keywords that C++ has and C has not. */
static const char *const words[] = {
    "lane",       "stream",     "threadIdx",  "blockIdx",     "blockDim",      "gridDim",
    "launch",     "max",        "min",        "norm",         "rsqrt",         "exp10",
    "clock",      "assert",     "sinpi",      "cospi",        "normcdf",       "rnorm",
    "THREADS",    "WARP",       "WARPS",      "UNROLL",       "ALIGNED",       "KERNEL",
    "DEVICE",     "CEIL_DIV",   "alignas",    "alignof",      "and",           "asm",
    "bitand",     "bitor",      "catch",      "class",        "compl",         "constexpr",
    "decltype",   "delete",     "explicit",   "export",       "friend",        "mutable",
    "namespace",  "new",        "noexcept",   "not",          "nullptr",       "operator",
    "or",         "private",    "protected",  "public",       "template",      "this",
    "Any",        "TABLE",      "on_device",  "LAP",          "number",        "least",
    "most",       "begin_of",   "head_of",    "kept",         "block_any",     "block_list",
    "tiles_of",   "samples_of", "block",      "grid",         "slice",         "slices",
    "keep",       "kept_bytes", "meet",       "most_of",      "step_product",  "column_of",
    "PERSISTENT", "EACH_BLOCK", "ONE_BLOCK",  "throw",        "try",           "gradients_done",
    "typename",   "using",      "virtual",    "xor",          "attention",     "attention_back",
    "typeid",     "cuda_part",  "STEP_PARTS", "FORWARD_PART", "BACKWARD_PART", "UPDATE_PART",
    "keep_row",   "row_bytes",  "rows_bytes", "copy_async",   "copy_commit",   "parameters_needed",
    "copy_wait",  "Wide",       "read_wide",  "write_wide",   "cuda_lap",      "parameters_dropped",
    "is_due",     "stretch",    "WHOLE_LOOP", "Step_product", "plain_loop",    "gradients_begun",
    "over_ranks", "Grid",       NULL};

/* The functions of math/quick.h. */
static const char *const quick[] = {"exp", "log", "tanh", "erf", NULL};

/* column_blocks: two for each of the 132 processors of an H200. */
const Target target_cuda = {.name = "cuda",
                            .row_budget = 8 * 1024,
                            .column_blocks = 264,
                            .columns_alone = 128 * 1024,
                            .row_bytes = 16,
                            .narrow = INT32_MAX,
                            .ends = ENDS_BIAS | ENDS_SUM | ENDS_GELU,
                            .narrow_products = true,
                            .persists = true,
                            .shared = shared_for_columns,
                            .by_value = false,
                            .call = "launch_",
                            .first_argument = "stream",
                            .interface = "interface/lathe_model.h",
                            .stream = "cudaStream_t stream",
                            .entry = "static ",
                            .run = "extern \"C\"",
                            .untyped = "(Any)",
                            .table = "TABLE",
                            .table_at = "on_device(%s)",
                            .fill_work = "(void)cudaMemsetAsync(c->work, 0xff, %lld, (cudaStream_t)c->stream)",
                            .over_ranks = "over_ranks(%s, %s, %lld, stream);",
                            .says = {[LATHE_NEEDED] = "parameters_needed(&%s, sizeof %s, stream);",
                                     [LATHE_DROPPED] = "parameters_dropped(&%s, sizeof %s, stream);",
                                     [LATHE_BEGUN] = "gradients_begun(&%s, sizeof %s, stream);",
                                     [LATHE_DONE] = "gradients_done(&%s, sizeof %s, stream);"},
                            .product = cuda_product_call,
                            .attention = cuda_attention_call,
                            .device = "lathe_cuda",
                            .quick = quick,
                            .words = words,
                            .spelling = &cuda_threads};
