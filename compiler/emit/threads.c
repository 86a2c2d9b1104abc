/* threads.c: ROWS kernels as CUDA threads.
 *
 * Maps: a thread takes elements.  Kernels that reduce: a team of threads takes a row; thread l of n takes elements l,
 * l + n, …, sums them up in a register, and the team ends the sum in a fixed tree.  Reductions over all rows are in
 * emit/columns.c.  Nothing depends on when threads run: the same bits every time. */
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

/* "CEIL_DIV(BATCH * SEQ * WIDTH / 4, THREADS)": the program says how many that are. */
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

const char *thread_number(const Function *f, int64_t n)
{
    return format("%s%s * THREADS + threadIdx.x", n > INT32_MAX - 8 * THREADS ? "(int64_t)" : "", f->block);
}

static const char *inner_type(const Rows *r) { return index_type(r->f->axis[r->inner].extent); }

/* ------------------------------------------------------------------ four elements side by side */

/* Are a use's elements along the inner axis neighbours in memory? */
static bool emit_side_by_side(const Rows *r, int use)
{
    const Use *u = &r->f->uses.at[use];
    return u->view.buffer && u->arg >= 0 && u->view.stride[r->inner] == 1;
}

/* Does what is passed always begin at a multiple of so many bytes?  The arena and the flat arrays do at 64, members of
 * structs lie where C puts them. */
bool aligned(const Arg *a, int64_t bytes)
{
    const Buffer *b = a->buffer;
    bool flat = b->home == PARAMETERS || b->home == GRADIENTS;
    if (b->home != WORK && !flat) return false;
    int64_t size = dtype_bytes(b->dtype), at = flat ? b->param->offset * size : b->offset;
    bool all = at % bytes == 0;
    for (int k = 0; k < a->nlead; k++) {
        all &= a->lead[k].constant * b->stride[k] * size % bytes == 0;
        for (int o = 0; o < a->lead[k].nover; o++) all &= a->lead[k].over[o].coef * b->stride[k] * size % bytes == 0;
    }
    return all;
}

/* The uses of the sweeps that are not wholes: loads and stores of elements. */
static bool swept(const Rows *r, int use)
{
    bool found = false;
    for (int i = 0; i < r->k->loads.n; i++) found |= r->load[i] == use && !is_wide(r, i);
    for (int p = 0; p < r->k->phases.n; p++)
        for (int i = 0; i < r->k->phases.at[p].stores.n; i++)
            found |= r->uses[p].store[i] == use && !is_wide(r, number_of_store(r->n, p, i));
    return found;
}

/* Does a sweep go through neighbours of this array in memory, one by one? */
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

/* UNROLL for (int c = c4; c < c4 + 4; c++) */
void open_beside(Rows *r, const char *from)
{
    Axis *c = &r->f->axis[r->inner];
    open_block(&r->f->w, "UNROLL for (%s %s = %s; %s < %s + %d; %s++)", inner_type(r), c->name, from, c->name, from,
               r->beside, c->name);
}

/* ------------------------------------------------------------------ maps */

const char *row_name(Rows *r) { return r->rows == 1 ? r->f->axis[0].name : new_index(&r->f->names, "r", "row"); }

/* The element's indices, from the number of the thread. */
static const char *indices_of_map(Rows *r)
{
    Axis *c = &r->f->axis[r->inner];
    Writer *w = &r->f->w;
    const char *own = r->beside == 1 ? c->name : new_name(&r->f->names, format("%s%d", c->name, r->beside));
    int64_t elements = row_count(r) * c->extent, threads = elements / r->beside;
    const char *all = quarter(r, rows_and_inner(r));
    if (elements == 1) {
        line(w, "if (threadIdx.x > 0) return;");
        return own;
    }
    if (r->rows == 0) {
        const char *format_of = r->beside == 1 ? "const %s %s = %s;" : "const %s %s = (%s) * %d;";
        line(w, format_of, inner_type(r), own, thread_number(r->f, elements), r->beside);
        line(w, "if (%s >= %s) return;", own, rows_and_inner(r));
        return own;
    }
    const char *row = r->rows == 1 ? r->f->axis[0].name : new_index(&r->f->names, "r", "row");
    if (c->extent == 1) {
        line(w, "const %s %s = %s;", index_type(threads), row, thread_number(r->f, threads));
        line(w, "if (%s >= %s) return;", row, all);
    } else {
        const char *i = new_index(&r->f->names, "i", "element"), *of = in_parentheses(quarter(r, c->count));
        line(w, "const %s %s = %s;", index_type(threads), i, thread_number(r->f, threads));
        line(w, "if (%s >= %s) return;", i, all);
        const char *last = r->beside == 1 ? "" : format(" * %d", r->beside);
        line(w, "const int %s = %s / %s, %s = %s %% %s%s;", row, i, of, own, i, of, last);
    }
    row_indices(r, row);
    return own;
}

static void one_element_a_thread(Rows *r) { one_element(r, ""); }

void four_a_thread(Rows *r)
{
    int names = r->f->names.n;
    elements_beside(r);
    r->f->names.n = names;
}

static const char *map(Rows *r)
{
    if (r->k->sliced) return map_of_slice(r);
    const Axis *c = &r->f->axis[r->inner];
    r->beside = r->n->beside;
    say_aligned(r);
    r->four = indices_of_map(r);
    r->sweep = r->beside == 1 ? one_element_a_thread : four_a_thread;
    one_row(r);
    int64_t elements = row_count(r) * c->extent;
    if (elements == 1) return blocks_of(r->f, "1", 1, 1);
    return blocks_of(r->f, quarter(r, rows_and_inner(r)), elements / r->beside, THREADS);
}

/* ------------------------------------------------------------------ a row by a team */

static const char *first_of_team(const Rows *r) { return r->team == WARP ? "lane" : "threadIdx.x"; }
static const char *size_of_team(const Rows *r) { return r->team == WARP ? "WARP" : "THREADS"; }

static void start_totals(Rows *r)
{
    r->totals.n = 0;
    for (int i = 0; i < r->phase->sums.n; i++) {
        const Node *n = r->phase->sums.at[i];
        Total t = {.node = n, .name = name_told_apart(r, n, word_for_total(r, n))};
        line(&r->f->w, "%s %s = %s;", c_type(n->dtype), t.name, start_of(n));
        push(&r->totals, t);
    }
}

/* All threads of the team call the end of a reduction, so it stands by itself and not where the value is read. */
static void finish_totals(Rows *r)
{
    for (int i = 0; i < r->totals.n; i++) {
        const Total *t = &r->totals.at[i];
        if (r->team > 1)
            line(&r->f->w, "%s = %s_%s_%s(%s);", t->name, r->team == WARP ? "warp" : "block", end_of(t->node),
                 type_suffix(t->node->dtype), t->name);
        know(r, t->node, (Expr){t->name, PRIMARY});
    }
}

/* for (int c = lane; c < C; c += WARP), or four of them at a time.  Where a thread keeps elements of its row its turns
 * are counted, so that a compiler sees which: they stay in registers. */
static void open_steps(Rows *r, const char *from, const char *first, const char *size)
{
    const Axis *c = &r->f->axis[r->inner];
    Writer *w = &r->f->w;
    const char *each = r->beside == 1 ? "" : format(" * %d", r->beside);
    if (!r->turn) {
        open_block(w, "for (%s %s = %s%s; %s < %s; %s += %s%s)", inner_type(r), from, first, each, from, c->count, from,
                   size, each);
        return;
    }
    open_block(w, "UNROLL for (int %s = 0; %s < %s; %s++)", r->turn, r->turn, r->turns, r->turn);
    line(w, r->beside == 1 ? "const int %s = %s * %s + %s;" : "const int %s = (%s * %s + %s) * %d;", from, r->turn,
         size, first, r->beside);
    if (c->extent % (r->team * r->beside)) line(w, "if (%s >= %s) break;", from, c->count);
}

/* The loop over the inner axis, whose turns are each thread's of the team in every sweep. */
static void open_turns(Rows *r)
{
    Axis *c = &r->f->axis[r->inner];
    if (r->team == 1 && c->extent > 1) {
        open_block(&r->f->w, "for (%s %s = 0; %s < %s; %s++)", inner_type(r), c->name, c->name, c->count, c->name);
    } else if (r->team > 1) {
        open_steps(r, r->four, first_of_team(r), size_of_team(r));
        c->now = c->name;
    }
}

/* And that over the elements of a turn. */
void open_sweep(Rows *r)
{
    open_turns(r);
    if (r->team > 1 && r->beside > 1) open_beside(r, r->four);
}

/* Does an element's text say which it is? */
static bool says_which(Rows *r)
{
    Writer kept = r->f->w;
    r->f->w = (Writer){.depth = kept.depth};
    one_element(r, "");
    bool says = r->f->w.text.n && has_word(r->f->w.text.at, r->f->axis[r->inner].name);
    r->f->w = kept;
    return says;
}

/* each(c, own_logits[c - c4]); */
static void call_each(Rows *r, const char *each, bool which)
{
    const char *elements = elements_to_give(r), *c = r->f->axis[r->inner].name;
    line(&r->f->w, "%s(%s%s);", each, which ? c : "", which || !*elements ? elements : elements + strlen(", "));
}

/* const auto each = [&](int c, float logits) { … };  of all elements, most of them side by side.  What is read or
 * written as wholes it is given, an element of each. */
static void sweep_with_rest(Rows *r)
{
    Axis *c = &r->f->axis[r->inner];
    Writer *w = &r->f->w;
    const char *first = first_of_team(r), *size = size_of_team(r), *all = in_parentheses(c->count);
    start_totals(r);
    const char *each = new_name(&r->f->names, "each");
    int n = r->beside, names = r->f->names.n;
    c->now = c->name;
    const char *given = given_elements(r);
    bool which = says_which(r);
    if (which) open_block(w, "const auto %s = [&](%s %s%s)", each, inner_type(r), c->name, given);
    else open_block(w, "const auto %s = [&](%s)", each, *given ? given + strlen(", ") : "");
    one_element(r, "");
    close_lambda(w);
    r->f->names.n = names;
    open_block(w, "ROLLED for (%s %s = %s * %d; %s + %d <= %s; %s += %s * %d)", inner_type(r), r->four, first, n,
               r->four, n, c->count, r->four, size, n);
    begin_wholes(r);
    open_beside(r, r->four);
    call_each(r, each, which);
    close_block(w);
    end_wholes(r);
    close_block(w);
    open_block(w, "for (%s %s = %s / %d * %d + %s; %s < %s; %s += %s)", inner_type(r), c->name, all, n, n, first,
               c->name, c->count, c->name, size);
    call_each(r, each, which);
    close_block(w);
    r->f->names.n = names;
    finish_totals(r);
}

void close_down_to(Rows *r, int depth)
{
    while (r->f->w.depth > depth) close_block(&r->f->w);
}

static void sweep_by_team(Rows *r)
{
    int depth = r->f->w.depth;
    start_totals(r);
    int names = r->f->names.n;
    open_turns(r);
    if (r->team > 1 && r->beside > 1) elements_beside(r);
    else one_element(r, "");
    close_down_to(r, depth);
    r->f->names.n = names;
    finish_totals(r);
}

/* What a thread keeps of its row, or adds up of all: the elements of its turns. */
void count_turns(Rows *r)
{
    const Axis *c = &r->f->axis[r->inner];
    const char *size = size_of_team(r);
    r->turn = new_name(&r->f->names, "k");
    r->turns = ceil_text(c->count, r->beside == 1 ? size : format("%s * %d", size, r->beside));
    r->kept_count = r->beside == 1 ? r->turns : format("%s][%d", r->turns, r->beside);
    r->kept_at = r->beside == 1 ? r->turn : format("%s][%s - %s", r->turn, c->name, r->four);
}

void make_team(Rows *r)
{
    const Axis *c = &r->f->axis[r->inner];
    int team = r->team = r->n->team;
    r->beside = r->n->beside;
    r->first = team == 1 ? NULL : team == WARP ? "lane == 0" : "threadIdx.x == 0";
    r->meet = team == 1 ? NULL : team == WARP ? "__syncwarp();" : "__syncthreads();";
    r->sweep = r->n->rest ? sweep_with_rest : sweep_by_team;
    r->four = team > 1 && r->beside > 1 ? new_name(&r->f->names, format("%s%d", c->name, r->beside)) : c->name;
    r->turn = NULL;
    if (team > 1 && r->k->kept.n) count_turns(r);
}

static const char *row_by_row(Rows *r)
{
    Writer *w = &r->f->w;
    int64_t rows = row_count(r);
    make_team(r);
    say_aligned(r);
    const char *all = r->rows ? in_64_bits(row_count_text(r), rows) : "1";
    if (rows == 1) {
        if (r->team == 1) line(w, "if (threadIdx.x > 0) return;");
    } else {
        const char *row = row_name(r);
        if (r->team == 1) line(w, "const %s %s = %s;", index_type(rows), row, thread_number(r->f, rows));
        else if (r->team == WARP)
            line(w, "const int %s = %s * WARPS + threadIdx.x / WARP, lane = threadIdx.x %% WARP;", row, r->f->block);
        else line(w, "const int %s = %s;", row, r->f->block);
        if (r->team < THREADS) line(w, "if (%s >= %s) return;", row, all);
        row_indices(r, row);
    }
    keep_rows(r);
    one_row(r);
    return blocks_of(r->f, all, rows, rows == 1 ? 1 : THREADS / r->team);
}

/* ------------------------------------------------------------------ the parts of a kernel */

void begin_part(Function *f)
{
    f->w = (Writer){0};
    f->room = NULL;
    open_block(&f->w, "%s", "");
}

void end_part(Function *f, const char *remark, const char *blocks)
{
    const Launch *l = launch_now(f);
    close_block(&f->w);
    must((l->room > 0) == (f->room != NULL) && (l->shared > 0) == (strstr(f->w.text.at, "__shared__") != NULL));
    push(&f->parts, ((Part){l, remark, blocks, f->w.text.at, f->room}));
}

void print_part(Rows *r, const char *remark, const char *(*body)(Rows *))
{
    int names = r->f->names.n;
    begin_part(r->f);
    end_part(r->f, remark, body(r));
    r->f->names.n = names;
}

void rows_by_threads(Rows *r)
{
    if (r->n->team == TEAM_OF_ELEMENTS) print_part(r, NULL, map);
    else if (!r->n->columns) print_part(r, NULL, row_by_row);
    else columns_by_threads(r);
}

/* Of CUDA and lathe_cuda.cuh; then those by which C++ is more than C. */
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
    "keep_row",   "row_bytes",  "rows_bytes", "copy_async",   "copy_commit",   "copy_wait",
    "Wide",       "read_wide",  "write_wide", "cuda_lap",     "is_due",        "stretch",
    "WHOLE_LOOP", "over_ranks", "plain_loop", "Step_product", "Grid",          NULL};

/* Of math/quick.h. */
static const char *const quick[] = {"exp", "log", "tanh", "erf", NULL};

/* Blocks of column partials: two for each of an H200's 132 processors. */
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
                            .tells_gradients = true,
                            .product = cuda_product_call,
                            .attention = cuda_attention_call,
                            .device = "lathe_cuda",
                            .quick = quick,
                            .words = words,
                            .nests = &cuda_threads};
