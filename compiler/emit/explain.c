/* explain.c: `lathe explain`: what a name of the source, the plan, a profile or a crash means: where it comes from,
 * what it computes, who makes it and who reads it. */
#include "emit/emit.h"
#include "runtime/interface/names.h"

#include <string.h>

typedef struct Question {
    Page *page;
    Text *answer;
    const char *name;
    const Program *program; /* that is being looked at */
    int found;
    Texts *known; /* names that there are; NULL: they are not asked for */
} Question;

/* ------------------------------------------------------------------ walking */

typedef void Visit_kernel(Question *q, Kernel *k, const char *times);

/* times: " x LAYERS" of the loops around it */
static void each_kernel(Question *q, Kernel *const *kernels, int n, const char *times, Visit_kernel visit)
{
    for (int i = 0; i < n; i++) {
        Kernel *k = kernels[i];
        visit(q, k, times);
        const char *inside = times;
        if (k->kind == REPEAT)
            inside = format("%s x %lld (%s)", times, (long long)k->loop->trip, k->loop->name ? k->loop->name : "loop");
        each_kernel(q, k->body.at, k->body.n, inside, visit);
    }
}

static void in_program(Question *q, const Program *p, Visit_kernel visit)
{
    q->program = p;
    enter_scope(q->page, p);
    each_kernel(q, p->kernels.at, p->kernels.n, "", visit);
}

/* ------------------------------------------------------------------ what uses a buffer or a parameter */

typedef struct Users {
    const Buffer *buffer; /* or */
    const Param *param;
    bool gradient, writes; /* which uses of it are meant */
    bool any;
    VEC(const char *) names;
} Users;

static bool is_of_param(const Buffer *b, const Param *p)
{
    for (const Param *q = b->param; q; q = q->wide)
        if (q == p) return true;
    return b->param && p->wide && b->param == p->wide;
}

static void note_use(Operand *o, bool writes, void *users)
{
    Users *u = users;
    const Buffer *b = o->view.buffer;
    if (!b || writes != u->writes) return;
    if (u->param) u->any |= is_of_param(b, u->param) && (b->home == GRADIENTS) == u->gradient;
    else u->any |= b == u->buffer;
}

static void note_users(Page *page, Users *u, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        Kernel *k = kernels[i];
        note_users(page, u, k->body.at, k->body.n);
        u->any = false;
        if (!k->body.n) each_operand(k, note_use, u);
        if (u->any) push(&u->names, format("%s (step %d)", kernel_called(page, k), k->step));
    }
}

static void say_users(Question *q, const char *label, Users u)
{
    enum { MOST = 8 };
    const Program *p = q->program;
    note_users(q->page, &u, p->kernels.at, p->kernels.n);
    if (!u.names.n) return;
    say(q->answer, "  %-10s%s", label, strlen(label) < 10 ? "" : " ");
    for (int i = 0; i < u.names.n && i < MOST; i++) say(q->answer, "%s%s", i ? ", " : "", u.names.at[i]);
    if (u.names.n > MOST) say(q->answer, " and %d more", u.names.n - MOST);
    say(q->answer, "\n");
}

/* ------------------------------------------------------------------ a kernel */

static void say_place(Question *q, Where w)
{
    if (!w.file || !w.line) return;
    say(q->answer, "  %-10s%s:%d%s%s\n", "from", w.file, w.line, w.path && *w.path ? ", layer " : "",
        w.path ? w.path : "");
}

static const char *name_of_operand(Page *page, const Buffer *b)
{
    if (!b->param) return buffer_name(page, b);
    return format("%s%s", b->home == GRADIENTS ? "gradient of " : "", b->param->name);
}

typedef struct Listed {
    Page *page;
    bool writes;
    VEC(const char *) names;
} Listed;

static void list_operand(Operand *o, bool writes, void *listed)
{
    Listed *l = listed;
    if (!o->view.buffer || writes != l->writes) return;
    const char *name = name_of_operand(l->page, o->view.buffer);
    for (int i = 0; i < l->names.n; i++)
        if (same(l->names.at[i], name)) return;
    push(&l->names, name);
}

static void say_operands(Question *q, Kernel *k, const char *label, bool writes)
{
    Listed l = {.page = q->page, .writes = writes};
    each_operand(k, list_operand, &l);
    if (!l.names.n) return;
    say(q->answer, "  %-10s", label);
    for (int i = 0; i < l.names.n; i++) say(q->answer, "%s%s", i ? ", " : "", l.names.at[i]);
    say(q->answer, "\n");
}

/* "mean = …;  centred = …": each on a line */
static void say_formulas(Question *q, const char *formulas)
{
    const char *label = "computes";
    while (*formulas) {
        const char *end = strstr(formulas, ";  ");
        int n = end ? (int)(end - formulas) : (int)strlen(formulas);
        say(q->answer, "  %-10s%.*s\n", label, n, formulas);
        formulas += end ? n + 3 : n;
        label = "";
    }
}

/* Of panels. */
static void say_body(Question *q, const Kernel *k)
{
    say(q->answer, "  %-10s", "runs");
    for (int i = 0; i < k->body.n; i++) say(q->answer, "%s%s", i ? ", " : "", kernel_called(q->page, k->body.at[i]));
    say(q->answer, ": one after another, some rows at a time (ask for these)\n");
}

static void about_kernel(Question *q, Kernel *k, const char *times)
{
    if (k->kind == REPEAT && !is_one_launch(q->page, k)) return;
    const char *called = kernel_called(q->page, k);
    if (q->known) push(q->known, called);
    if (!same(called, q->name) && !same(k->name, q->name)) return;
    q->found++;
    say(q->answer, "%s: a kernel of the entry %s, step %d of %d%s\n", called, q->program->graph->name, k->step,
        q->program->steps, times);
    say_place(q, k->where);
    if (k->body.n) say_body(q, k);
    else say_formulas(q, formula_text(q->page, k, true));
    say_operands(q, k, "reads", false);
    say_operands(q, k, "writes", true);
    if (k->flops > 0) say(q->answer, "  %-10s%s flop, each time\n", "work", grouped((int64_t)k->flops));
    else if (k->bytes > 0) say(q->answer, "  %-10smoves %s bytes, each time\n", "work", grouped((int64_t)k->bytes));
    say(q->answer, "\n");
}

/* ------------------------------------------------------------------ a buffer */

static const char *home_words(Home home)
{
    static const char *const words[] = {[STATES] = "a state that calls keep",
                                        [INPUTS] = "an input",
                                        [OUTPUTS] = "an output",
                                        [WORK] = "a value",
                                        [TABLES] = "a table of constants"};
    return words[home];
}

static void say_bytes_of(Question *q, const Buffer *b)
{
    say(q->answer, "  %-10s%s %s, %s bytes", "holds", dtype_name(b->dtype), array_text(q->page, b->shape, 0),
        grouped(b->bytes));
    if (b->home == WORK)
        say(q->answer, " at %s of the work memory, from step %d to %d", grouped(b->offset), b->first, b->last);
    if (b->in_place_of) say(q->answer, ", in the place of %s", buffer_name(q->page, b->in_place_of));
    say(q->answer, "\n");
}

static void about_buffer(Question *q, const Buffer *b)
{
    if (b->param) return;
    const char *name = buffer_name(q->page, b);
    if (q->known) push(q->known, name);
    if (!same(name, q->name) && !same(b->name, q->name)) return;
    q->found++;
    say(q->answer, "%s: %s of the entry %s\n", name, home_words(b->home), q->program->graph->name);
    say_place(q, b->value->where);
    say_bytes_of(q, b);
    say_users(q, "made by", (Users){.buffer = b, .writes = true});
    say_users(q, "read by", (Users){.buffer = b});
    say(q->answer, "\n");
}

/* ------------------------------------------------------------------ a parameter */

/* The name with a number for each %d: "h.%d.w" for "h.3.w". */
static bool is_copy_of(const char *pattern, const char *name)
{
    for (; *pattern; pattern++, name++) {
        if (pattern[0] == '%' && pattern[1] == 'd') {
            size_t digits = strspn(name, "0123456789");
            if (!digits) return false;
            name += digits - 1;
            pattern++;
        } else if (*pattern != *name) {
            return false;
        }
    }
    return !*name;
}

static void about_param(Question *q, const Param *p)
{
    const Module *m = q->page->module;
    const char *zero[MAXRANK] = {"0", "0", "0", "0", "0", "0", "0", "0"}, *at = param_text(q->page, p, "p->", zero);
    if (q->known) push(q->known, p->name);
    const char *member = strrchr(at, '.') ? strrchr(at, '.') + 1 : strrchr(at, '>') + 1;
    const char *asked = starts_with(q->name, "d_") && !same(member, q->name) ? q->name + 2 : q->name;
    if (!same(p->name, asked) && !is_copy_of(p->export_name, asked) && !same(member, asked)) return;
    q->found++;
    say(q->answer, "%s: a parameter%s\n", p->name,
        p->frozen     ? ", frozen"
        : p->directed ? ", updated by the entry direction"
                      : "");
    say_place(q, p->where);
    say(q->answer, "  %-10s%s, %s numbers; in files %s, in the source %s\n", "holds", array_text(q->page, p->shape, 0),
        grouped(elements(p->shape)), p->export_name, at);
    for (int i = 0; i < m->programs.n; i++) {
        q->program = m->programs.at[i];
        enter_scope(q->page, q->program);
        const char *entry = q->program->graph->name;
        say_users(q, format("%s: read by", entry), (Users){.param = p});
        say_users(q, format("%s: gradient read by", entry), (Users){.param = p, .gradient = true});
        say_users(q, format("%s: gradient made by", entry), (Users){.param = p, .gradient = true, .writes = true});
    }
    say(q->answer, "\n");
}

/* ------------------------------------------------------------------ a name */

/* What q.name is in one entry; returns how many things. */
static int in_entry(Question *q, const Program *p)
{
    const int before = q->found;
    in_program(q, p, about_kernel);
    for (int b = 0; b < p->buffers.n; b++) about_buffer(q, p->buffers.at[b]);
    return q->found - before;
}

/* Without an entry the first that has the name answers; the others are named. */
static void in_first_entry(Question *q)
{
    const Module *m = q->page->module;
    Text also = {0}, *answer = q->answer;
    for (int i = 0; i < m->programs.n; i++) {
        Text ignored = {0};
        const bool first = !q->found;
        q->answer = first ? answer : &ignored;
        const char *entry = m->programs.at[i]->graph->name;
        if (in_entry(q, m->programs.at[i]) && !first) say(&also, "%s%s", also.n ? ", " : "", entry);
    }
    q->answer = answer;
    if (also.n) say(answer, "also in %s: ask for ENTRY:%s\n\n", also.at, q->name);
}

int explain(Page *page, Text *answer, const char *name, Texts *known)
{
    const Module *m = page->module;
    const char *colon = strchr(name, ':'), *entry = colon ? copy_bytes_as_string(name, (size_t)(colon - name)) : NULL;
    Question q = {.page = page, .answer = answer, .name = colon ? colon + 1 : name, .known = known};
    if (!entry) {
        for (int i = 0; i < page->desc->params.n; i++) about_param(&q, page->desc->params.at[i]);
        in_first_entry(&q);
    }
    for (int i = 0; entry && i < m->programs.n; i++)
        if (same(m->programs.at[i]->graph->name, entry)) in_entry(&q, m->programs.at[i]);
    return q.found;
}
