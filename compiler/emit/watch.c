/* watch.c: --instrument: the tables with which `trainer replay` finds what each kernel of a step reads and writes. */
#include "emit/emit.h"

#include <string.h>

static bool watched(Page *page, const Program *p)
{
    return page->desc->options->instrument && entry_of(p->graph)->step && p->kernels.n;
}

typedef struct Listing {
    Page *page;
    Text *t;
    const Program *p;
    VEC(const Loop *) loops;
    const Kernel *k;
    int loop;    /* the innermost one that k runs in */
    bool writes; /* list the operands that k writes, or those that it reads */
    Names said;  /* operands of k that are listed: each is listed once */
} Listing;

static int loop_number(const Listing *g, const Loop *l)
{
    for (int i = 0; i < g->loops.n; i++)
        if (g->loops.at[i] == l) return i;
    die("loop %s is not among its entry's", l->name ? l->name : "");
}

static void say_loops(Listing *g, Kernel *const *kernels, int n, int outer)
{
    for (int i = 0; i < n; i++) {
        const Loop *l = kernels[i]->loop;
        if (kernels[i]->kind != REPEAT) continue;
        say(g->t, "    {%s, %d, %lld, %s},\n", quoted(l->name && *l->name ? l->name : "loop"), outer,
            (long long)l->trip, l->reverse ? "true" : "false");
        push(&g->loops, l);
        say_loops(g, kernels[i]->body.at, kernels[i]->body.n, g->loops.n - 1);
    }
}

/* ------------------------------------------------------------------ operands */

static const char *const homes[] = {
    [PARAMETERS] = "LATHE_PARAMS", [GRADIENTS] = "LATHE_GRADS", [STATES] = "LATHE_STATES",
    [INPUTS] = "LATHE_IN",         [OUTPUTS] = "LATHE_OUT",     [WORK] = "LATHE_WORK",
};

/* In bytes from where its array begins, a teacher's behind the model's. */
static int64_t place_in_array(const Listing *g, const Buffer *b)
{
    const Plan *plan = &g->page->module->plan;
    const Param *p = b->param;
    int64_t array = p->teacher ? plan->parameters : 0, e = p->offset - first_of_array(g->page, p);
    if (!in_blocks(b->dtype)) return array + e * dtype_bytes(b->dtype);
    return array + flat_bytes_before(p->teacher ? &plan->taught : &plan->flat, g->page->precision.weights, e);
}

/* The offset in bytes within its home. */
static char *offset_of(const Listing *g, const Buffer *b)
{
    const char *entry = g->p->graph->name, *name = buffer_name(g->page, b);
    switch (b->home) {
    case PARAMETERS:
    case GRADIENTS: return format("%lld", (long long)place_in_array(g, b));
    case STATES: return format("offsetof(%s, %s)", type_name(g->page, NULL, "state"), name);
    case INPUTS: return format("offsetof(%s, %s)", type_name(g->page, entry, "in"), name);
    case OUTPUTS: return format("offsetof(%s, %s)", type_name(g->page, entry, "out"), name);
    default: return format("%lld", (long long)b->offset);
    }
}

static void say_overs(const Listing *g, Text *t, const View *v)
{
    say(t, " .overs = %d, .over = {", v->nover);
    for (int i = 0; i < v->nover; i++)
        say(t, "%s{%d, %lld}", i ? ", " : "", loop_number(g, v->over[i].loop), (long long)v->over[i].stride);
    say(t, "},");
}

/* An axis along which the view does not move is listed with extent 1. */
static char *operand_text(const Listing *g, const View *v)
{
    Text t = {0};
    int64_t dim[MAXRANK];
    int n = v->shape.rank;
    for (int i = 0; i < n; i++) dim[i] = v->stride[i] == 0 && !v->guarded ? 1 : v->shape.dim[i];
    say(&t, "    {.lap = %d, .loop = %d, .written = %s, .name = %s, .home = %s, .dtype = %s, .offset = %s,", g->k->step,
        g->loop, g->writes ? "true" : "false", quoted(buffer_name(g->page, v->buffer)), homes[v->buffer->home],
        dtype_word(v->buffer->dtype), offset_of(g, v->buffer));
    say(&t, " .base = %lld, .rank = %d,", (long long)v->base, n);
    if (n) say(&t, " .dim = %s, .stride = %s,", braces(n, dim), braces(n, v->stride));
    if (v->guarded) say(&t, " .guarded = true, .low = %s, .high = %s,", braces(n, v->low), braces(n, v->high));
    if (v->nover) say_overs(g, &t, v);
    say(&t, "},\n");
    return t.at;
}

static void say_operand(Operand *o, bool writes, void *user)
{
    Listing *g = user;
    const View *v = &o->view;
    if (writes != g->writes || !v->buffer || v->buffer->home == TABLES) return;
    char *text = operand_text(g, v);
    if (name_taken(&g->said, text)) return;
    push(&g->said, text);
    say_wrapped(g->t, text);
}

static void say_operands(Listing *g, Kernel *const *kernels, int n, int loop)
{
    for (int i = 0; i < n; i++) {
        Kernel *k = kernels[i];
        if (k->kind == REPEAT) {
            say_operands(g, k->body.at, k->body.n, loop_number(g, k->loop));
            continue;
        }
        g->k = k, g->loop = loop, g->said = (Names){0};
        for (int writes = 1; writes >= 0; writes--) {
            g->writes = writes;
            each_operand(k, say_operand, g);
        }
    }
}

/* Needs: enter_scope(page, p). */
void say_watch_tables(Page *page, Text *t, const Program *p)
{
    if (!watched(page, p)) return;
    Listing g = {.page = page, .t = t, .p = p};
    const char *name = identifier(page, p->graph->name);
    say(t, "static const Lathe_loop %s_loops[] = { /* name, outer, iterations, backwards */\n", name);
    say_loops(&g, p->kernels.at, p->kernels.n, -1);
    if (!g.loops.n) say(t, "    {\"\", -1, 1, false},\n");
    say(t, "};\nstatic const Lathe_operand %s_operands[] = {\n", name);
    say_operands(&g, p->kernels.at, p->kernels.n, -1);
    say(t, "};\n");
    say(t, "static const Lathe_instruments %s_instruments = {\n", name);
    say(t, "    sizeof %s_loops / sizeof *%s_loops, sizeof %s_operands / sizeof *%s_operands,\n", name, name, name,
        name);
    say(t, "    %s_loops, %s_operands};\n", name, name);
}

const char *instruments_member(Page *page, const Program *p)
{
    if (!page->desc->options->instrument) return "";
    const char *none = ", .instruments = NULL";
    return watched(page, p) ? format(", .instruments = &%s_instruments", identifier(page, p->graph->name)) : none;
}
