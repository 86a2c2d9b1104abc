/* entry.c: prints a function for each entry. It reads as a table of contents: one call on each line, loops kept as
 * loops, pointers into the arena declared at the top, the memory plan drawn above.
 *
 * Each line ends in LAP(n), the number of its kernel, for `trainer profile` and `trainer replay`. Where the text
 * changes between the forward and the backward part (lower/sides.c), forward_part() or backward_part() reads the
 * clock, which takes 0.1 µs per step of mlp. In CUDA text they do nothing until `trainer bench` asks for the parts. */
#include "desc/target.h"
#include "emit/emit.h"
#include "lower/lower.h"

#include <stdlib.h>
#include <string.h>

enum { REMARK_COLUMN = 72, COLUMNS = 99 };

/* ------------------------------------------------------------------ calls and loops */

static bool is_row_of_table(const View *v)
{
    return !v->guarded && !v->nover && (v->shape.dim[0] == 1 || v->stride[0] == 1);
}

/* over_ranks(total, own, 8, stream); */
static char *over_ranks_call(Page *page, const Kernel *k)
{
    View to = k->writes.at[0].view, from = k->reads.at[0].view;
    must(is_row_of_table(&to) && is_row_of_table(&from));
    return format(page->target->over_ranks, flat_pointer(page, to), flat_pointer(page, from),
                  (long long)(elements(to.shape) * dtype_bytes(k->node->dtype)));
}

const char *rows_of_panel(const Kernel *k)
{
    long long each = rows_each(k);
    return each == 1 ? "from, to" : format("from * %lld, to * %lld", each, each);
}

static void say_call(Page *page, Text *t, int depth, const Kernel *k)
{
    const Target *to = page->target;
    char *call = k->kind == REPEAT        ? persistent_call(page, k)
                 : k->kind == GEMM        ? to->product(page, k)
                 : k->kind == PACK        ? pack_call(page, k)
                 : k->kind == ATTENTION   ? to->attention(page, k)
                 : k->kind == CONVOLUTION ? convolution_call(page, k)
                 : k->kind == BY_IDS      ? by_ids_call(page, k)
                 : k->kind == OVER_RANKS  ? over_ranks_call(page, k)
                                          : call_text(page, k);
    char *text = format("%*s%s", depth * 4, "", call);
    if (k->panels) {
        say_within(t, text, COLUMNS);
        return;
    }
    char *lap = format("LAP(%d);", k->step);
    Text lines = {0};
    say_within(&lines, text, COLUMNS - 1 - (int)strlen(lap));
    size_t start = --lines.n; /* the lap number is aligned on the last line */
    while (start > 0 && lines.at[start - 1] != '\n') start--;
    int used = (int)(lines.n - start);
    say_bytes(t, lines.at, lines.n);
    say(t, "%*s%s\n", used < REMARK_COLUMN ? REMARK_COLUMN - used : 1, "", lap);
}

/* now: the part to which the last printed line belongs. */
static void say_kernels(Page *page, Text *t, int depth, Kernel *const *kernels, int n, Side *now);

static void say_part(Text *t, int depth, Side part, Side *now)
{
    if (part == *now || part == NO_SIDE) return;
    say(t, "%*s%s_part();\n", depth * 4, "", part == BACKWARD ? "backward" : "forward");
    *now = part;
}

static void say_repeat(Page *page, Text *t, int depth, const Kernel *k, Side *now)
{
    const Loop *l = k->loop;
    const char *i = loop_letter(page, l), *count = trip_text(page, l);
    say(t, "%*s", depth * 4, "");
    if (l->reverse) say(t, "for (int %s = %s - 1; %s >= 0; %s--) {", i, count, i, i);
    else say(t, "for (int %s = 0; %s < %s; %s++) {", i, i, count, i);
    say(t, "%*s/* %s */\n", 4, "", l->name && *l->name ? in_comment(l->name) : "loop");
    if (first_part(k) != last_part(k)) *now = NO_SIDE; /* an iteration may begin after either part */
    say_kernels(page, t, depth + 1, k->body.at, k->body.n, now);
    say(t, "%*s}\n", depth * 4, "");
}

/* First the operands of products are packed; then the threads share the panels. */
static void say_panels(Page *page, Text *t, int depth, const Kernel *k, Side *now)
{
    const char *rows = extent_text(page, k->rows, k->axis_rows);
    int in = depth * 4 + 4, packs = 0;
    bool of_samples = are_of_samples((const Kernel *const *)k->body.at, k->body.n);
    char *height =
        page->desc->options->all_panels
            ? format("%lld", (long long)k->unit)
            : format("%s(%s, %lld, %s)", of_samples ? "panel_samples" : "panel_rows", rows, (long long)k->unit,
                     k->highest == k->rows ? rows : format("%lld", (long long)k->highest));
    while (k->body.at[packs]->kind == PACK) packs++;
    say(t, "%*sTEAM {   /* %s: panels of rows */\n", depth * 4, "", kernel_called(page, k));
    const char *steps = k->unit > 1 ? format(", in steps of %lld", (long long)k->unit) : "";
    const char *most = k->highest < k->rows ? format("   /* at most %lld%s */", (long long)k->highest, steps) : "";
    say(t, "%*sconst int height = %s;%s\n", in, "", height, most);
    say_kernels(page, t, depth + 1, k->body.at, packs, now);
    if (packs) say(t, "%*sMEET\n", in, "");
    say(t, "%*sSHARED for (int from = 0; from < %s; from += height) {\n", in, "", rows);
    say(t, "%*sconst int to = min_i32(from + height, %s);\n", in + 4, "", rows);
    say_kernels(page, t, depth + 2, k->body.at + packs, k->body.n - packs, now);
    say(t, "%*s}\n", in, "");
    say(t, "%*s}%*sLAP(%d);\n", depth * 4, "", REMARK_COLUMN - depth * 4 - 1, "", k->step);
}

static void say_kernels(Page *page, Text *t, int depth, Kernel *const *kernels, int n, Side *now)
{
    for (int i = 0; i < n; i++) {
        const Kernel *k = kernels[i];
        if (!k->panels && first_part(k) == last_part(k)) say_part(t, depth, first_part(k), now);
        say_before_or_after(page, t, depth, k, true);
        if (k->kind == REPEAT && !is_one_launch(page, k)) say_repeat(page, t, depth, k, now);
        else if (k->kind == PANELS) say_panels(page, t, depth, k, now);
        else say_call(page, t, depth, k);
        say_before_or_after(page, t, depth, k, false);
    }
}

/* ------------------------------------------------------------------ the arena */

char *pointer_declaration(Page *page, const Buffer *b)
{
    const char *type = c_type(b->dtype), *name = buffer_name(page, b);
    return b->shape.rank > 1 ? format("%s (*%s)%s", type, name, array_text(page, b->shape, 1))
                             : format("%s *%s", type, name);
}

static void say_pointers(Page *page, Text *t, const Program *p)
{
    Buffers all = buffers_of_arena(p);
    for (int i = 0; i < all.n; i++) {
        const Buffer *b = all.at[i];
        if (!place_noted(page, b)) continue;
        char *pointer = pointer_declaration(page, b);
        const Buffer *old = b->in_place_of;
        bool over = old && place_noted(page, old);
        const char *at = over ? buffer_name(page, old) : format("(work + %lld)", (long long)b->offset);
        say_wrapped(t, format("    %s = %s%s;", pointer, page->target->untyped, at));
    }
}

/* ------------------------------------------------------------------ the entry */

static double entry_flops_of(Kernel *const *kernels, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const Kernel *k = kernels[i];
        if (k->kind == REPEAT) sum += (double)k->loop->trip * entry_flops_of(k->body.at, k->body.n);
        else sum += k->flops;
    }
    return sum;
}

double entry_flops(const Program *p) { return entry_flops_of(p->kernels.at, p->kernels.n); }

static const struct Place {
    Home home;
    const char *name, *type,
        *argument; /* type: of the struct. own: each entry has its own type; else the model has one */
    bool own, read;
} places[] = {{PARAMETERS, "p", "params", "c->params", false, true},
              {GRADIENTS, "d", "gradients", "c->grads", false, false},
              {INPUTS, "in", "in", "c->in", true, true},
              {OUTPUTS, "out", "out", "c->out", true, false},
              {STATES, "s", "state", "c->state", false, false},
              {WORK, "work", NULL, "c->work", false, false}};

static const struct Place *place_at(Home home)
{
    for (int i = 0; i < COUNT_OF(places); i++)
        if (places[i].home == home) return &places[i];
    die("home %d is nothing that an entry is given", home);
}

const char *home_name(Home home) { return place_at(home)->name; }

const char *home_declaration(Page *page, Home home)
{
    const struct Place *q = place_at(home);
    if (!q->type) return format("char *%s", q->name);
    const char *type =
        home == GRADIENTS ? gradients_type(page) : type_name(page, q->own ? page->program->graph->name : NULL, q->type);
    return format("%s%s *%s", q->read ? "const " : "", type, q->name);
}

/* The parameters of the entry, which are those that its text mentions; not declared: the arguments that its caller
 * passes. Needs: enter_scope(page, p). */
char *entry_arguments(Page *page, bool declared)
{
    Text t = {0};
    const char *cast = *page->target->stream ? page->target->untyped : ""; /* C++ does not convert void * implicitly */
    if (*page->target->stream) say(&t, "%s", declared ? page->target->stream : "(cudaStream_t)c->stream");
    for (int i = 0; i < COUNT_OF(places); i++)
        if (home_noted(page, places[i].home))
            say(&t, "%s%s%s", t.n ? ", " : "", declared ? "" : cast,
                declared ? home_declaration(page, places[i].home) : places[i].argument);
    return t.n ? t.at : declared ? "void" : "";
}

/* gpt_train. run_… is the function that calls it, and lathe_… are names of the runtime.  In a library gpt_… are its own
 * functions. */
char *entry_name(Page *page, const Program *p)
{
    if (page->library) return identifier(page, format("compute_%s", p->graph->name));
    char *name = identifier(page, format("%s_%s", page->desc->model, p->graph->name));
    return starts_with(name, "run_") || starts_with(name, "lathe_") ? format("%s_", name) : name;
}

char *entry_head(Page *page, const Program *p)
{
    return format("%svoid %s(%s)", page->target->entry, entry_name(page, p), entry_arguments(page, true));
}

static void say_thunk(Page *page, Text *t, const Program *p)
{
    const char *name = p->graph->name;
    char *passed = entry_arguments(page, false);
    say(t, "%s void run_%s(const Lathe_call *c)\n{\n", page->target->run, identifier(page, name));
    if (!*passed) say(t, "    (void)c;\n");
    if (page->desc->options->poison && p->work_bytes)
        say(t, "    %s;      /* NaN everywhere: built with --poison */\n",
            format(page->target->fill_work, (long long)p->work_bytes));
    say_wrapped(t, format("    %s(%s);\n", entry_name(page, p), passed));
    say(t, "}\n\n");
}

/* All entries use the same arena, one after another. Only the first has its memory drawn; plan.txt has all of them.
 * Needs: enter_scope(page, p). */
void emit_entry(Page *page, Text *t, const Program *p)
{
    Text body = {0};
    Side now = NO_SIDE;
    say_kernels(page, &body, 1, p->kernels.at, p->kernels.n, &now);
    say(t, "/* %s\n *\n", p->graph->name);
    say_memory(page, t, p, " *   ", p == page->module->programs.at[0]);
    say(t, " */\n");
    say_wrapped(t, entry_head(page, p));
    say(t, "{\n");
    Text pointers = {0};
    say_pointers(page, &pointers, p);
    if (pointers.n) say(t, "%s\n", pointers.at);
    say(t, "%s}\n\n", body.n ? body.at : "");
    say_thunk(page, t, p);
}
