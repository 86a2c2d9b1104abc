/* emit_entry.c: one function an entry, which reads as a table of contents: a call and its number a line, loops kept as
 * loops, pointers into the arena declared on top, the memory plan drawn above. */
#include "emit.h"

#include <string.h>

enum { REMARK_COLUMN = 72, COLUMNS = 99 };

/* ------------------------------------------------------------------ matrix products */

static VEC(struct Described { const char *text, *name, *remark; }) shapes;
static Names shape_names;

static void say_numbers(Text *t, const char *field, int n, const int64_t *x)
{
    say(t, " .%s = {", field);
    for (int i = 0; i < n; i++) say(t, "%s%lld", i ? ", " : "", (long long)x[i]);
    say(t, "},");
}

static const char *description(const Kernel *k)
{
    const struct Gemm *g = &k->gemm;
    Text t = {0};
    say(&t, "{");
    if (g->nbatch) {
        say(&t, ".nbatch = %d,", g->nbatch);
        say_numbers(&t, "batch", g->nbatch, g->batch);
        say_numbers(&t, "a_batch", g->nbatch, g->a_batch);
        say_numbers(&t, "b_batch", g->nbatch, g->b_batch);
        say_numbers(&t, "c_batch", g->nbatch, g->c_batch);
        say(&t, " ");
    }
    say(&t, ".M = %lld, .N = %lld, .K = %lld,", (long long)g->M, (long long)g->N, (long long)g->K);
    say(&t, " .a_m = %lld, .a_k = %lld,", (long long)g->a_m, (long long)g->a_k);
    say(&t, " .b_k = %lld, .b_n = %lld,", (long long)g->b_k, (long long)g->b_n);
    say(&t, " .c_m = %lld, .c_n = %lld}", (long long)g->c_m, (long long)g->c_n);
    for (int i = 0; i < shapes.n; i++)
        if (same(shapes.at[i].text, t.at)) return shapes.at[i].name;
    const char *name = new_name(&shape_names, format("%s_shape", identifier(k->name)));
    const char *remark = formula_text(k);
    if (k->where.file)
        remark = format("%s      %s:%d %s", remark, file_name(k->where.file), k->where.line,
                        k->where.path ? k->where.path : "");
    push(&shapes, ((struct Described){t.at, name, remark}));
    return name;
}

void say_shapes(Text *t)
{
    if (shapes.n) say(t, "/* Matrix products that are no plain ones: extents, and strides in numbers. */\n\n");
    for (int i = 0; i < shapes.n; i++) {
        say_comment(t, 0, shapes.at[i].remark);
        say_wrapped(t, format("static const Lathe_gemm %s = %s;\n\n", shapes.at[i].name, shapes.at[i].text));
    }
    memset(&shapes, 0, sizeof shapes);
    shape_names = (Names){0};
}

static bool strides(int64_t row, int64_t column, int64_t rows, int64_t columns)
{
    return (column == 1 || columns == 1) && (row == columns || rows == 1);
}

static bool turned(int64_t row, int64_t column, int64_t rows, int64_t columns)
{
    return (row == 1 || rows == 1) && (column == rows || columns == 1);
}

/* matmul_nt(c, a, b, M, N, K): b given as its transpose [N][K]. */
static const char *plain_product(const struct Gemm *g)
{
    bool an = strides(g->a_m, g->a_k, g->M, g->K), at = turned(g->a_m, g->a_k, g->M, g->K);
    bool bn = strides(g->b_k, g->b_n, g->K, g->N), bt = turned(g->b_k, g->b_n, g->K, g->N);
    if (g->packed || g->nbatch || !strides(g->c_m, g->c_n, g->M, g->N) || !(an || at) || !(bn || bt)) return NULL;
    return format("%c%c", an ? 'n' : 't', bn ? 'n' : 't');
}

/* Whether the product is added to what is there. */
static const char *adds(const struct Gemm *g)
{
    if (!g->afresh) return g->c.add ? "true" : "false";
    const char *i = loop_letter(g->afresh);
    return g->afresh->reverse ? format("%s < %s - 1", i, trip_text(g->afresh)) : format("%s > 0", i);
}

static char *product_call(const Kernel *k)
{
    const struct Gemm *g = &k->gemm;
    const char *type = type_suffix(g->c.node->dtype), *plain = plain_product(g);
    char *c = flat_pointer(g->c.view), *a = flat_pointer(g->a.view), *b = flat_pointer(g->b.view);
    if (plain)
        return format("matmul_%s%s_%s(%s, %s, %s, %s, %s, %s%s);", plain,
                      g->afresh  ? "_sum"
                      : g->c.add ? "_add"
                                 : "",
                      type, c, a, b, extent_text(g->M, true), extent_text(g->N, plain[0] == 't'),
                      extent_text(g->K, plain[0] == 't'), g->afresh ? format(", %s", adds(g)) : "");
    bool some = k->share == SOME_ROWS;
    return format("gemm_%s%s%s(%s, %s, %s, &%s, %s%s);", g->packed ? "packed_" : "", some ? "rows_" : "", type, c, a, b,
                  description(k), adds(g), some ? ", from, to" : "");
}

static char *pack_call(const Kernel *k)
{
    const struct Gemm *g = &k->gemm;
    return format("pack_%s%s(%s, %s, %s, %s, %lld, %lld);", k->panels ? "shared_" : "", type_suffix(g->b.node->dtype),
                  flat_pointer(k->writes.at[0].view), flat_pointer(g->b.view), extent_text(g->K, false),
                  extent_text(g->N, false), (long long)g->b_k, (long long)g->b_n);
}

/* ------------------------------------------------------------------ calls and loops */

static void say_call(Text *t, int depth, const Kernel *k)
{
    char *call = k->kind == GEMM        ? product_call(k)
                 : k->kind == PACK      ? pack_call(k)
                 : k->kind == ATTENTION ? attention_call(k)
                                        : call_text(k);
    char *text = format("%*s%s", depth * 4, "", call);
    if (k->panels) {
        say_within(t, text, COLUMNS);
        return;
    }
    char *lap = format("LAP(%d);", k->step);
    Text lines = {0};
    say_within(&lines, text, COLUMNS - 1 - (int)strlen(lap));
    size_t start = --lines.n; /* the number goes to the end of the last line */
    while (start > 0 && lines.at[start - 1] != '\n') start--;
    int used = (int)(lines.n - start);
    say_bytes(t, lines.at, lines.n);
    say(t, "%*s%s\n", used < REMARK_COLUMN ? REMARK_COLUMN - used : 1, "", lap);
}

static void say_kernels(Text *t, int depth, Kernel *const *kernels, int n);

static Side part_now; /* in which what was said last is */

static void say_part(Text *t, int depth, Side part)
{
    if (part == part_now || part == NO_SIDE) return;
    say(t, "%*s%s_part();\n", depth * 4, "", part == BACKWARD ? "backward" : "forward");
    part_now = part;
}

static void say_loop(Text *t, int depth, const Kernel *k)
{
    const Loop *l = k->loop;
    const char *i = loop_letter(l), *count = trip_text(l);
    say(t, "%*s", depth * 4, "");
    if (l->reverse) say(t, "for (int %s = %s - 1; %s >= 0; %s--) {", i, count, i, i);
    else say(t, "for (int %s = 0; %s < %s; %s++) {", i, i, count, i);
    say(t, "%*s/* %s */\n", 4, "", l->name && *l->name ? l->name : "loop");
    if (first_part(k) != last_part(k)) part_now = NO_SIDE; /* the one before is not known: it may be the loop's end */
    say_kernels(t, depth + 1, k->body.at, k->body.n);
    say(t, "%*s}\n", depth * 4, "");
}

/* What is packed for the products comes first; then the threads share the panels. */
static void say_panels(Text *t, int depth, const Kernel *k)
{
    const char *rows = extent_text(k->rows, true);
    int in = depth * 4 + 4, packs = 0;
    char *height = options.all_panels ? format("%lld", (long long)k->unit)
                                      : format("panel_rows(%s, %lld, %s)", rows, (long long)k->unit,
                                               k->highest == k->rows ? rows : format("%lld", (long long)k->highest));
    while (k->body.at[packs]->kind == PACK) packs++;
    say(t, "%*sTEAM {   /* panels of rows */\n", depth * 4, "");
    say(t, "%*sconst int tall = %s;\n", in, "", height);
    say_kernels(t, depth + 1, k->body.at, packs);
    if (packs) say(t, "%*sMEET\n", in, "");
    say(t, "%*sSHARED for (int from = 0; from < %s; from += tall) {\n", in, "", rows);
    say(t, "%*sconst int to = min_i32(from + tall, %s);\n", in + 4, "", rows);
    say_kernels(t, depth + 2, k->body.at + packs, k->body.n - packs);
    say(t, "%*s}\n", in, "");
    say(t, "%*s}%*sLAP(%d);\n", depth * 4, "", REMARK_COLUMN - depth * 4 - 1, "", k->step);
}

static void say_kernels(Text *t, int depth, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        const Kernel *k = kernels[i];
        if (!k->panels && first_part(k) == last_part(k)) say_part(t, depth, first_part(k));
        if (k->kind == REPEAT) say_loop(t, depth, k);
        else if (k->kind == PANELS) say_panels(t, depth, k);
        else say_call(t, depth, k);
    }
}

/* ------------------------------------------------------------------ the arena */

typedef VEC(const Buffer *) Buffers;

static bool earlier(const Buffer *a, const Buffer *b)
{
    return a->first != b->first ? a->first < b->first : a->begin < b->begin;
}

/* The arena's buffers in the order in which they come to life. */
static Buffers arena(const Program *p)
{
    Buffers all = {0};
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *b = p->buffers.at[i];
        if (b->home != WORK || b->first < 0) continue;
        int at = all.n;
        push(&all, b);
        for (; at > 0 && earlier(b, all.at[at - 1]); at--) all.at[at] = all.at[at - 1];
        all.at[at] = b;
    }
    return all;
}

static void say_pointers(Text *t, const Program *p)
{
    Buffers all = arena(p);
    for (int i = 0; i < all.n; i++) {
        const Buffer *b = all.at[i];
        if (!place_noted(b)) continue;
        const char *type = c_type(b->dtype), *name = buffer_name(b);
        char *pointer = b->shape.rank > 1 ? format("%s (*%s)%s", type, name, array_text(b->shape, 1))
                                          : format("%s *%s", type, name);
        const Buffer *old = b->in_place_of;
        bool over = old && place_noted(old);
        const char *at = over ? buffer_name(old) : format("(work + %lld)", (long long)b->offset);
        say_wrapped(t, format("    %s = (void *)%s;", pointer, at));
    }
}

/* first - last, drawn over so many columns */
static char *drawing(const Buffer *b, int steps, int columns)
{
    Text t = {0};
    int last = steps > 1 ? steps - 1 : 1;
    int from = (int)((int64_t)b->first * (columns - 1) / last), to = (int)((int64_t)b->last * (columns - 1) / last);
    for (int i = 0; i <= to; i++) say(&t, "%s", i < from ? " " : i == from || i == to ? "|" : "-");
    return t.at ? t.at : "";
}

static const char *shortened(const char *s, int width)
{
    int n = (int)strlen(s);
    return n <= width ? s : format("..%s", s + n - width + 2);
}

/* Names where there is room for them, else numbers. */
static const char *shape_within(Shape s, int width)
{
    const char *names = array_text(s, 0);
    if ((int)strlen(names) <= width) return names;
    Text t = {0};
    for (int k = 0; k < s.rank; k++) say(&t, "[%lld]", (long long)s.dim[k]);
    return shortened(t.at, width);
}

/* The last step of those that take over the bytes of b, one after another. */
static int last_of_bytes(const Program *p, const Buffer *b)
{
    int last = b->last;
    for (int i = 0; i < p->buffers.n; i++)
        if (bytes_of(p->buffers.at[i]) == b && p->buffers.at[i]->last > last) last = p->buffers.at[i]->last;
    return last;
}

/* A row for all that lie at the same bytes by taking them over; the entry's pointers say which those are.  drawn: with
 * those rows, not the sums alone. */
void say_memory(Text *t, const Program *p, const char *margin, bool drawn)
{
    enum { NAME = 24, SHAPE = 26, DRAWING = 15 };
    int name = 6, shape = 5;
    Buffers all = arena(p);
    for (int i = 0; i < all.n; i++) {
        name = (int)min64(NAME, max64(name, (int64_t)strlen(buffer_name(all.at[i]))));
        shape = (int)max64(shape, (int64_t)strlen(shape_within(all.at[i]->shape, SHAPE)));
    }
    say(t, "%smemory: %s bytes for %d buffers, %d of them made over an input\n", margin, grouped(p->work_bytes), all.n,
        p->taken_over);
    say(t, "%s        %s without sharing, no less than %s\n", margin, grouped(p->unshared_bytes),
        grouped(p->lower_bound));
    if (!all.n || !drawn) return;
    int room = COLUMNS - (int)strlen(margin) - name - shape - 30;
    say(t, "%s%-*s %-*s %9s %9s steps\n", margin, name, "buffer", shape, "shape", "bytes", "offset");
    for (int i = 0; i < all.n; i++) {
        Buffer b = *all.at[i];
        if (b.in_place_of) continue;
        b.last = last_of_bytes(p, all.at[i]);
        say(t, "%s%-*s %-*s %9lld %9lld %3d-%-3d %s\n", margin, name, shortened(buffer_name(all.at[i]), name), shape,
            shape_within(b.shape, shape), (long long)b.bytes, (long long)b.offset, b.first, b.last,
            drawing(&b, p->steps, (int)max64(DRAWING, min64(room, 40))));
    }
}

/* ------------------------------------------------------------------ the entry */

static double entry_flops_of(Kernel *const *kernels, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const Kernel *k = kernels[i];
        if (k->kind == REPEAT) sum += (double)k->loop->trip * entry_flops_of(k->body.at, k->body.n);
        else sum += k->flops; /* of its contractions */
    }
    return sum;
}

double entry_flops(const Program *p) { return entry_flops_of(p->kernels.at, p->kernels.n); }

/* The parameters that the entry's text mentions, or what the thunk passes for them. */
char *entry_arguments(const Module *m, const Program *p, bool declared)
{
    const char *e = p->graph->name;
    struct {
        Home home;
        const char *declaration, *argument;
    } all[] = {{PARAMETERS, format("const %s *p", type_name(m, NULL, "params")), "c->params"},
               {GRADIENTS, format("%s *d", type_name(m, NULL, "params")), "c->grads"},
               {INPUTS, format("const %s *in", type_name(m, e, "in")), "c->in"},
               {OUTPUTS, format("%s *out", type_name(m, e, "out")), "c->out"},
               {STATES, format("%s *s", type_name(m, NULL, "state")), "c->state"},
               {WORK, "char *work", "c->work"}};
    Text t = {0};
    for (int i = 0; i < COUNT_OF(all); i++)
        if (home_noted(all[i].home)) say(&t, "%s%s", t.n ? ", " : "", declared ? all[i].declaration : all[i].argument);
    return t.n ? t.at : declared ? "void" : "";
}

char *entry_head(const Module *m, const Program *p)
{
    return format("void %s(%s)", identifier(format("%s_%s", m->desc->model, p->graph->name)),
                  entry_arguments(m, p, true));
}

static void say_thunk(Text *t, const Module *m, const Program *p)
{
    const char *name = p->graph->name;
    char *passed = entry_arguments(m, p, false);
    say(t, "static void run_%s(const Lathe_call *c)\n{\n", identifier(name));
    if (!*passed) say(t, "    (void)c;\n");
    if (options.poison && p->work_bytes)
        say(t, "    memset(c->work, 0xff, %lld);      /* NaN everywhere: built with --poison */\n",
            (long long)p->work_bytes);
    say_wrapped(t, format("    %s(%s);\n", identifier(format("%s_%s", m->desc->model, name)), passed));
    say(t, "}\n\n");
}

/* Of the entries, which use one arena in turn, the memory of the first is drawn; that of all is in plan.txt.
 * Needs: enter_scope(m, p). */
void emit_entry(Text *t, const Module *m, const Program *p)
{
    Text body = {0};
    find_parts(p);
    part_now = NO_SIDE;
    say_kernels(&body, 1, p->kernels.at, p->kernels.n);
    say(t, "/* %s\n *\n", p->graph->name);
    say_memory(t, p, " *   ", p == m->programs.at[0]);
    say(t, " */\n");
    say_wrapped(t, entry_head(m, p));
    say(t, "{\n");
    Text pointers = {0};
    say_pointers(&pointers, p);
    if (pointers.n) say(t, "%s\n", pointers.at);
    say(t, "%s}\n\n", body.n ? body.at : "");
    say_thunk(t, m, p);
}
