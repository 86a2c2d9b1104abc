/* emit_persistent.c: CUDA: a loop that is one launch (pass_persist.c): a kernel whose text is that of an entry's loop,
 * in which all blocks take parts of each step, and meet before a step that touches what another has written or writes
 * what another touches.
 *
 * Which steps those are is decided here, where it is known what lies at the same bytes.  What the kernel is given are
 * the entry's own names, so that places read the same in both; loops with the same text share it. */
#include "emit.h"

#include <string.h>

enum { COLUMNS = 99 };

static VEC(struct Described { const char *text, *name; }) types, loops;

void start_persistent(void)
{
    memset(&types, 0, sizeof types);
    memset(&loops, 0, sizeof loops);
}

bool is_one_launch(const Kernel *repeat) { return repeat->barrier && options.target->persists; }
int persistent_loops(void) { return loops.n; }

/* ------------------------------------------------------------------ who must wait for whom */

/* Gradients that are made as one lie over those that they are made of. */
static bool overlap(const Buffer *a, const Buffer *b)
{
    if (a == b || (a->home == GRADIENTS && b->home == GRADIENTS)) return true;
    return a->home == WORK && b->home == WORK && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static bool clash(const Kernel *a, const Kernel *b)
{
    Touches x = {0}, y = {0};
    own_touches(a, &x);
    own_touches(b, &y);
    for (int i = 0; i < x.n; i++)
        for (int j = 0; j < y.n; j++)
            if ((x.at[i].writes || y.at[j].writes) && overlap(x.at[i].buffer, y.at[j].buffer)) return true;
    return false;
}

/* meets[i]: before kernel i; meets[n]: at the end of an iteration.  A kernel meets those since the last meeting; what
 * stands after an iteration's last one, what the next begins with. */
static bool *meetings(const Kernel *repeat)
{
    Kernel *const *k = repeat->body.at;
    int n = repeat->body.n, since = 0, first = n;
    bool *meets = NEW_ARRAY(bool, n + 1);
    for (int i = 0; i < n; i++) {
        for (int j = since; j < i; j++) meets[i] |= clash(k[j], k[i]);
        if (!meets[i]) continue;
        since = i;
        if (first == n) first = i;
    }
    for (int i = since; i < n; i++)
        for (int j = 0; j < first; j++) meets[n] |= clash(k[i], k[j]);
    return meets;
}

/* ------------------------------------------------------------------ steps */

typedef struct Steps {
    Text lines;
    Names blocks; /* how many each takes */
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

/* once: it says nothing of blocks.  alone: threads must be done with what they share before the next block. */
static void say_step(Steps *s, const char *call, const char *blocks, bool once, bool alone)
{
    say_line(
        s, 0,
        format(once ? "if (blockIdx.x == 0)%s%s" : "EACH_BLOCK(block, %s)%s", once ? "" : blocks, alone ? " {" : ""));
    say_line(s, 1, call);
    if (alone) {
        say_line(s, 1, "__syncthreads();");
        say_line(s, 0, "}");
    }
    note_blocks(s, once ? "1" : blocks);
}

static const char *type_of_product(const Kernel *k)
{
    const char *text = step_product_type(k);
    for (int i = 0; i < types.n; i++)
        if (same(types.at[i].text, text)) return types.at[i].name;
    const char *name = file_name_of(upper(identifier(k->name)));
    say_comment(function_text(), 0, remark_of_product(k));
    say_wrapped(function_text(), format("struct %s%s\n\n", name, text));
    push(&types, ((struct Described){text, name}));
    return name;
}

static const char *passed_to(const Call *c, int part)
{
    Text t = {0};
    const Function *f = c->f;
    if (has_word(f->parts.at[part].body, f->block)) say(&t, "%s", f->block);
    for (int i = 0; i < f->args.n; i++) {
        const Arg *a = &f->args.at[c->order[i]];
        if (given(f, a->parts, part)) say(&t, "%s%s", t.n ? ", " : "", argument(a));
    }
    for (int i = 0; i < f->loops.n; i++)
        if (given(f, f->loop_parts.at[i], part)) say(&t, "%s%s", t.n ? ", " : "", loop_letter(f->loops.at[i]));
    return t.n ? t.at : "";
}

static void say_kernel(Steps *s, const Kernel *k)
{
    if (k->kind == GEMM) {
        const char *type = type_of_product(k);
        say_step(s, step_product_call(k, type), format("slices<%s>", type), false, false);
        return;
    }
    Call c = kernel_call(k);
    for (int i = 0; i < c.f->parts.n; i++) {
        const Part *p = &c.f->parts.at[i];
        if (i) say_line(s, 0, "meet(grid);");
        say_step(s, format("%s(%s);", c.part_names[i], passed_to(&c, i)), p->blocks, !has_word(p->body, c.f->block),
                 strstr(p->body, "__shared__"));
    }
}

static void say_steps(Steps *s, const Kernel *repeat)
{
    const bool *meets = meetings(repeat);
    for (int i = 0; i < repeat->body.n; i++) {
        if (meets[i]) say_line(s, 0, "meet(grid);");
        say_kernel(s, repeat->body.at[i]);
    }
    if (meets[repeat->body.n]) say_line(s, 0, "meet(grid);");
}

/* ------------------------------------------------------------------ the kernel */

typedef struct Parameters {
    Text declared, passed;
} Parameters;

static void add_parameter(Parameters *p, const char *declaration, const char *name)
{
    say(&p->declared, ", %s", declaration);
    say(&p->passed, ", %s", name);
}

static Parameters parameters(const Notes *notes, const Kernel *repeat)
{
    Parameters p = {0};
    for (int i = 0; i < notes->places.n; i++) {
        const Buffer *b = notes->places.at[i];
        if (b->home == WORK) add_parameter(&p, pointer_declaration(b), buffer_name(b));
    }
    for (int h = 0; h < WORK; h++)
        if (notes->homes[h]) add_parameter(&p, home_declaration((Home)h), home_name((Home)h));
    for (int i = 0; i < notes->loops.n; i++) {
        const Loop *l = notes->loops.at[i];
        if (l != repeat->loop) add_parameter(&p, format("int %s", loop_letter(l)), loop_letter(l));
    }
    return p;
}

static const char *head_of_loop(const Kernel *repeat)
{
    const char *i = loop_letter(repeat->loop), *n = trip_text(repeat->loop);
    return repeat->loop->reverse ? format("for (int %s = %s - 1; %s >= 0; %s--) {", i, n, i, i)
                                 : format("for (int %s = 0; %s < %s; %s++) {", i, i, n, i);
}

static const char *remark(const Kernel *repeat)
{
    const char *where =
        repeat->where.file ? format("      %s:%d", file_name(repeat->where.file), repeat->where.line) : "";
    const char *path = repeat->where.path ? repeat->where.path : "";
    return format("%s%s %s      moves %s bytes", formula_text(repeat), where, path, grouped((int64_t)repeat->bytes));
}

static const char *joined(const Names *names)
{
    Text t = {0};
    for (int i = 0; i < names->n; i++) say(&t, "%s%s", i ? ", " : "", names->at[i]);
    return t.at;
}

static const char *kernel_and_launch(const Kernel *repeat, const char *name, const Steps *s, const Parameters *p)
{
    Text t = {0};
    say_wrapped(&t, format("PERSISTENT void %s(unsigned *arrived%s)\n{\n", name, p->declared.n ? p->declared.at : ""));
    say(&t, "    Grid grid = {arrived, 0};\n    %s\n%s    }\n}\n\n", head_of_loop(repeat), s->lines.at);
    say_wrapped(&t, format("void launch_%s(cudaStream_t stream, int *arrived%s)\n{\n", name,
                           p->declared.n ? p->declared.at : ""));
    say_wrapped(&t, format("    const int blocks[] = {%s};\n", joined(&s->blocks)));
    say_wrapped(&t, format("    launch_persistent(%s, most_of(blocks), stream, (unsigned *)arrived%s);\n}\n\n", name,
                           p->passed.n ? p->passed.at : ""));
    return t.at;
}

/* "lstm_time_back" */
static const char *wished_loop_name(const Kernel *repeat)
{
    const char *path = repeat->where.path, *loop = repeat->loop->name;
    for (int i = 0; i < repeat->body.n && !(path && *path); i++) path = repeat->body.at[i]->where.path;
    return identifier(format("%s%s%s%s", path ? path : "", path && *path ? "_" : "", loop && *loop ? loop : "loop",
                             first_part(repeat) == BACKWARD ? "_back" : ""));
}

static const char *name_of_loop(const Kernel *repeat, const Steps *s, const Parameters *p)
{
    const char *text = kernel_and_launch(repeat, "", s, p);
    for (int i = 0; i < loops.n; i++)
        if (same(loops.at[i].text, text)) return loops.at[i].name;
    const char *name = file_name_of(wished_loop_name(repeat));
    say_comment(function_text(), 0, remark(repeat));
    say(function_text(), "%s", kernel_and_launch(repeat, name, s, p));
    push(&loops, ((struct Described){text, name}));
    return name;
}

char *persistent_call(const Kernel *repeat)
{
    Steps s = {.depth = 2};
    Notes before = begin_notes();
    say_steps(&s, repeat);
    Notes own = end_notes(&before);
    Parameters p = parameters(&own, repeat);
    note_place(repeat->barrier);
    return format("launch_%s(stream, %s%s);", name_of_loop(repeat, &s, &p), buffer_name(repeat->barrier),
                  p.passed.n ? p.passed.at : "");
}
