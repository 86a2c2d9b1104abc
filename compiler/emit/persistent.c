/* persistent.c: CUDA: a loop that is one launch (plan/persist.c). Its kernel has the text of the loop in the entry.
 * All blocks take parts of each step, and meet where schedule/waits.c says.
 *
 * The parameters of the kernel have the names that the entry uses, so places read the same in both. Loops with the
 * same text share a kernel. */
#include "desc/target.h"
#include "emit/rows.h"
#include "lower/lower.h"

#include <string.h>

enum { COLUMNS = 99 };

bool is_one_launch(Page *page, const Kernel *repeat) { return repeat->barrier && page->target->persists; }
int persistent_loops(Page *page) { return page->launched_loops.n; }

/* ------------------------------------------------------------------ steps */

typedef struct Steps {
    Page *page;
    Text lines, keeping; /* of the loop; before it, copies into shared memory */
    Names blocks;        /* the number of blocks of each step */
    Names kept, names;   /* types of products whose b is kept; names of locals */
    VEC(struct Passed {
        const Buffer *buffer; /* named in a call */
        bool written;
    }) passed;
    int meetings; /* in an iteration */
    int depth;
} Steps;

static void note_blocks(Steps *s, const char *blocks)
{
    if (!name_taken(&s->blocks, blocks)) push(&s->blocks, blocks);
}

static void say_line(Steps *s, int depth, const char *text)
{
    say_within(&s->lines, format("%*s%s", (s->depth + depth) * 4, "", text), COLUMNS);
}

/* index: of the blocks that share the step, or NULL: one block runs it. alone: the step uses shared memory,
 * so the threads of a block must meet before the next step. */
static void say_step(Steps *s, const char *call, const char *index, const char *blocks, bool alone)
{
    const char *open = alone ? " {" : "";
    say_line(s, 0, index ? format("EACH_BLOCK(%s, %s)%s", index, blocks, open) : format("ONE_BLOCK%s", open));
    say_line(s, 1, call);
    if (alone) {
        say_line(s, 1, "__syncthreads();");
        say_line(s, 0, "}");
    }
    note_blocks(s, index ? blocks : "1");
}

static const char *type_of_product(Page *page, const Kernel *k)
{
    const char *text = step_product_type(page, k);
    const char *name = described(&page->step_products, text);
    if (name) return name;
    name = new_file_name(page, upper(identifier(page, k->name)));
    say_comment(function_text(page), 0, remark_of_product(page, k));
    say_wrapped(function_text(page), format("struct %s%s\n\n", name, text));
    push(&page->step_products, ((Described){.text = text, .name = name}));
    return name;
}

static void note_passed(Steps *s, const Buffer *b, bool written)
{
    if (b && b->home == WORK) push(&s->passed, ((struct Passed){b, written}));
}

/* Does the launch read bytes through b and write them under another name? That happens when a value is made in place
 * of another. nvcc assumes that what is not written under its own name is constant, and reads it through a cache that
 * meetings do not clear. */
static bool changes_under(const Steps *s, const Buffer *b)
{
    bool changes = false, read = false;
    for (int i = 0; i < s->passed.n; i++) {
        const struct Passed *p = &s->passed.at[i];
        if (p->buffer == b && p->written) return false;
        read |= p->buffer == b;
        changes |= p->buffer != b && p->written && bytes_overlap(p->buffer, b);
    }
    return read && changes;
}

static const char *passed_to(const Call *c, int part)
{
    Text t = {0};
    const Function *f = c->f;
    if (has_word(f->parts.at[part].body, f->block)) say(&t, "%s", f->block);
    for (int i = 0; i < f->args.n; i++) {
        const Arg *a = &f->args.at[c->order[i]];
        if (given(f, a->parts, part)) say(&t, "%s%s", t.n ? ", " : "", argument(c->f->page, a));
    }
    for (int i = 0; i < f->loops.n; i++)
        if (given(f, f->loop_parts.at[i], part))
            say(&t, "%s%s", t.n ? ", " : "", loop_letter(c->f->page, f->loops.at[i]));
    return t.n ? t.at : "";
}

/* const float *lstm_matmul_kept = keep<Lstm_matmul>(grid, *p->lstm_weight_hh_l0); */
static const char *kept_by(Steps *s, const Kernel *k, const char *type)
{
    if (!k->nest->stays) return "NULL";
    const char *name = new_name(&s->names, format("%s_kept", identifier(s->page, k->name)));
    say_wrapped(&s->keeping, format("    const %s::In *%s = keep<%s>(grid, %s);\n", type, name, type,
                                    flat_pointer(s->page, k->gemm.b.view)));
    push(&s->kept, type);
    return name;
}

static void say_product(Steps *s, const Kernel *k)
{
    const char *type = type_of_product(s->page, k), *kept = kept_by(s, k, type);
    note_passed(s, k->gemm.a.view.buffer, false);
    note_passed(s, k->gemm.b.view.buffer, false);
    note_passed(s, k->gemm.c.view.buffer, true);
    if (k->gemm.end) note_passed(s, k->gemm.vector.view.buffer, false);
    say_step(s, step_product_call(s->page, k, type, kept), "slice", format("slices<%s>", type), false);
}

static void say_meeting(Steps *s)
{
    say_line(s, 0, "meet(grid);");
    s->meetings++;
}

static void say_launched_kernel(Steps *s, const Kernel *k)
{
    if (k->kind == GEMM) {
        say_product(s, k);
        return;
    }
    Call c = kernel_call(s->page, k);
    for (int i = 0; i < c.f->args.n; i++) note_passed(s, c.f->args.at[i].buffer, c.f->args.at[i].written);
    for (int i = 0; i < c.f->parts.n; i++) {
        const Part *p = &c.f->parts.at[i];
        if (i) say_meeting(s);
        const char *index = has_word(p->body, c.f->block) ? c.f->block : NULL;
        say_step(s, format("%s(%s);", c.part_names[i], passed_to(&c, i)), index, p->blocks, p->launch->shared > 0);
    }
}

static void say_wait(Steps *s, Wait wait)
{
    if (wait == NO_WAIT) return;
    if (wait == OF_BLOCKS) say_meeting(s);
    else say_line(s, 0, "__syncthreads();");
}

static void say_steps(Steps *s, const Kernel *repeat)
{
    for (int i = 0; i < repeat->body.n; i++) {
        say_wait(s, repeat->body.at[i]->nest->wait);
        say_launched_kernel(s, repeat->body.at[i]);
    }
    say_wait(s, repeat->nest->wait_end);
}

/* ------------------------------------------------------------------ the kernel */

typedef struct Parameters {
    Text declared, passed, hidden; /* hidden: lines that hide from nvcc where pointers come from */
} Parameters;

static void add_parameter(Parameters *p, const char *declaration, const char *name)
{
    say(&p->declared, ", %s", declaration);
    say(&p->passed, ", %s", name);
}

static Parameters parameters(const Notes *notes, const Steps *s, const Kernel *repeat)
{
    Parameters p = {0};
    for (int i = 0; i < notes->places.n; i++) {
        const Buffer *b = notes->places.at[i];
        if (b->home == WORK) add_parameter(&p, pointer_declaration(s->page, b), buffer_name(s->page, b));
        if (b->home == WORK && changes_under(s, b)) say(&p.hidden, "    CHANGES(%s);\n", buffer_name(s->page, b));
    }
    for (int h = 0; h < WORK; h++)
        if (notes->homes[h]) add_parameter(&p, home_declaration(s->page, (Home)h), home_name((Home)h));
    for (int i = 0; i < notes->loops.n; i++) {
        const Loop *l = notes->loops.at[i];
        if (l != repeat->loop) add_parameter(&p, format("int %s", loop_letter(s->page, l)), loop_letter(s->page, l));
    }
    return p;
}

/* The iterations from grid.from to grid.to, in the order in which they run. */
static const char *head_of_loop(Page *page, const Kernel *repeat)
{
    const char *i = loop_letter(page, repeat->loop), *n = trip_text(page, repeat->loop);
    return repeat->loop->reverse
               ? format("for (int %s = %s - 1 - grid.from; %s >= %s - grid.to; %s--) {", i, n, i, n, i)
               : format("for (int %s = grid.from; %s < grid.to; %s++) {", i, i, i);
}

static const char *remark(Page *page, const Kernel *repeat)
{
    const char *where =
        repeat->where.file ? format("      %s:%d", file_name(repeat->where.file), repeat->where.line) : "";
    const char *path = repeat->where.path ? repeat->where.path : "";
    return format("%s%s %s      moves %s bytes", formula_text(page, repeat, false), where, path,
                  grouped((int64_t)repeat->bytes));
}

static const char *joined(const Names *names)
{
    Text t = {0};
    for (int i = 0; i < names->n; i++) say(&t, "%s%s", i ? ", " : "", names->at[i]);
    return t.at;
}

static const char *room_text(const Steps *s)
{
    Text t = {0};
    for (int i = 0; i < s->kept.n; i++) say(&t, "%skept_bytes<%s>", i ? " + " : "", s->kept.at[i]);
    return t.n ? t.at : "0";
}

static const char *kernel_and_launch(const Kernel *repeat, const char *name, const Steps *s, const Parameters *p)
{
    Text t = {0};
    const char *declared = p->declared.n ? p->declared.at : "", *passed = p->passed.n ? p->passed.at : "";
    say_wrapped(&t, format("PERSISTENT void %s(Grid grid%s)\n{\n", name, declared));
    if (p->hidden.n) say(&t, "%s", p->hidden.at);
    if (s->keeping.n) say(&t, "%s%s", s->keeping.at, repeat->nest->wait_copied ? "    __syncthreads();\n" : "");
    say(&t, "    %s\n%s    }\n}\n\n", head_of_loop(s->page, repeat), s->lines.at);
    say_wrapped(&t, format("void launch_%s(cudaStream_t stream, int *arrived%s)\n{\n", name, declared));
    say_wrapped(&t, format("    const int blocks[] = {%s};\n", joined(&s->blocks)));
    const char *turns = format("{%s, %d}", trip_text(s->page, repeat->loop), s->meetings);
    say_wrapped(&t,
                format("    launch_persistent(%s, %s, most_of(blocks), %s, %s, stream, (unsigned *)arrived%s);\n}\n\n",
                       quoted(name_and_place(repeat, name)), name, turns, room_text(s), passed));
    return t.at;
}

/* "lstm_time_back" */
static const char *wished_loop_name(Page *page, const Kernel *repeat)
{
    const char *path = repeat->where.path, *loop = repeat->loop->name;
    for (int i = 0; i < repeat->body.n && !(path && *path); i++) path = repeat->body.at[i]->where.path;
    return identifier(page, format("%s%s%s%s", path ? path : "", path && *path ? "_" : "",
                                   loop && *loop ? loop : "loop", first_part(repeat) == BACKWARD ? "_back" : ""));
}

static const char *name_of_loop(const Kernel *repeat, const Steps *s, const Parameters *p)
{
    const char *text = kernel_and_launch(repeat, "", s, p);
    const char *name = described(&s->page->launched_loops, text);
    if (name) return name;
    name = new_file_name(s->page, wished_loop_name(s->page, repeat));
    say_comment(function_text(s->page), 0, remark(s->page, repeat));
    say(function_text(s->page), "%s", kernel_and_launch(repeat, name, s, p));
    push(&s->page->launched_loops, ((Described){.text = text, .name = name}));
    return name;
}

char *persistent_call(Page *page, const Kernel *repeat)
{
    Steps s = {.page = page, .depth = 2};
    const Program *p = page->program;
    for (int i = 0; i < p->buffers.n; i++)
        if (p->buffers.at[i]->home == WORK) push(&s.names, buffer_name(page, p->buffers.at[i]));
    Notes before = begin_notes(page);
    say_steps(&s, repeat);
    Notes own = end_notes(page, &before);
    Parameters all = parameters(&own, &s, repeat);
    note_place(page, repeat->barrier);
    return format("launch_%s(stream, %s%s);", name_of_loop(repeat, &s, &all), buffer_name(page, repeat->barrier),
                  all.passed.n ? all.passed.at : "");
}

/* ------------------------------------------------------------------ maps by slices */

const char *map_of_slice(Rows *r)
{
    Writer *w = &r->f->w;
    const Axis *c = &r->f->axis[r->inner];
    int64_t period = r->k->persistent->period, wide = r->k->persistent->wide, own = c->extent / period * wide;
    const char *i = new_name(&r->f->names, "i"), *row = row_count(r) > 1 ? row_name(r) : NULL;
    const char *within = row && own > 1 ? format("%s %% %lld", i, (long long)own) : own > 1 ? i : "0";
    Text at = {0};
    say(&at, wide > 1 ? "slice * %lld" : "slice", (long long)wide);
    if (c->extent > period)
        say(&at, " + %s / %lld * %s", within, (long long)wide,
            factor_text(r->f->page, period, r->k->persistent->axis_period));
    if (wide > 1 && own == wide) say(&at, " + %s", within);
    else if (wide > 1) say(&at, " + %s %% %lld", i, (long long)wide);
    const char *all =
        row ? multiplied(row_count_text(r), format("%lld", (long long)own)) : format("%lld", (long long)own);
    open_for(w, (For){.name = i, .from = "threadIdx.x", .to = all, .step = "THREADS"});
    if (row) line(w, "const int %s = %s / %lld;", row, i, (long long)own);
    line(w, "const int %s = %s;", c->name, at.at);
    if (row) row_indices(r, row);
    r->team = r->n->team;
    r->beside = 1;
    one_row(r);
    close_block(w);
    return blocks_of(r->f, divided(extent_text(r->f->page, period, r->k->persistent->axis_period), wide), period / wide,
                     1);
}
