/* watch.c: --instrument: the tables by which `trainer replay` finds what each kernel of a step reads and writes. */
#include "emit/emit.h"

#include <string.h>

static VEC(const Loop *) loops;

static bool watched(const Program *p)
{
    return described()->options->instrument && entry_of(p->graph)->step && p->kernels.n;
}

static int loop_number(const Loop *l)
{
    for (int i = 0; i < loops.n; i++)
        if (loops.at[i] == l) return i;
    die("loop %s is not among its entry's", l->name ? l->name : "");
}

static void say_loops(Text *t, Kernel *const *kernels, int n, int outer)
{
    for (int i = 0; i < n; i++) {
        const Loop *l = kernels[i]->loop;
        if (kernels[i]->kind != REPEAT) continue;
        say(t, "    {%s, %d, %lld, %s},\n", quoted(l->name && *l->name ? l->name : "loop"), outer, (long long)l->trip,
            l->reverse ? "true" : "false");
        push(&loops, l);
        say_loops(t, kernels[i]->body.at, kernels[i]->body.n, loops.n - 1);
    }
}

/* ------------------------------------------------------------------ operands */

typedef struct Listing {
    Text *t;
    const Module *m;
    const Program *p;
    const Kernel *k;
    int loop;    /* the innermost one that k runs in */
    bool writes; /* which operands it is the turn of */
    Names said;  /* of k: what is read twice is told once */
} Listing;

static const char *const homes[] = {
    [PARAMETERS] = "LATHE_PARAMS", [GRADIENTS] = "LATHE_GRADS", [STATES] = "LATHE_STATES",
    [INPUTS] = "LATHE_IN",         [OUTPUTS] = "LATHE_OUT",     [WORK] = "LATHE_WORK",
};

/* Bytes into its home. */
static char *offset_of(const Listing *g, const Buffer *b)
{
    const char *entry = g->p->graph->name, *name = buffer_name(b);
    switch (b->home) {
    case PARAMETERS:
    case GRADIENTS: return format("%lld", (long long)(b->param->offset * dtype_bytes(b->dtype)));
    case STATES: return format("offsetof(%s, %s)", type_name(g->m, NULL, "state"), name);
    case INPUTS: return format("offsetof(%s, %s)", type_name(g->m, entry, "in"), name);
    case OUTPUTS: return format("offsetof(%s, %s)", type_name(g->m, entry, "out"), name);
    default: return format("%lld", (long long)b->offset);
    }
}

static void say_overs(Text *t, const View *v)
{
    say(t, " .overs = %d, .over = {", v->nover);
    for (int i = 0; i < v->nover; i++)
        say(t, "%s{%d, %lld}", i ? ", " : "", loop_number(v->over[i].loop), (long long)v->over[i].stride);
    say(t, "},");
}

/* An axis that the view does not move along is told as one of a single element. */
static char *operand_text(const Listing *g, const View *v)
{
    Text t = {0};
    int64_t dim[MAXRANK];
    int n = v->shape.rank;
    for (int i = 0; i < n; i++) dim[i] = v->stride[i] == 0 && !v->guarded ? 1 : v->shape.dim[i];
    say(&t, "    {.lap = %d, .loop = %d, .written = %s, .name = %s, .home = %s, .dtype = %s, .offset = %s,", g->k->step,
        g->loop, g->writes ? "true" : "false", quoted(buffer_name(v->buffer)), homes[v->buffer->home],
        dtype_word(v->buffer->dtype), offset_of(g, v->buffer));
    say(&t, " .base = %lld, .rank = %d,", (long long)v->base, n);
    if (n) say(&t, " .dim = %s, .stride = %s,", braces(n, dim), braces(n, v->stride));
    if (v->guarded) say(&t, " .guarded = true, .low = %s, .high = %s,", braces(n, v->low), braces(n, v->high));
    if (v->nover) say_overs(&t, v);
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
            say_operands(g, k->body.at, k->body.n, loop_number(k->loop));
            continue;
        }
        g->k = k, g->loop = loop, g->said = (Names){0};
        for (int writes = 1; writes >= 0; writes--) {
            g->writes = writes;
            each_operand(k, say_operand, g);
        }
    }
}

/* Needs: enter_scope of p. */
void say_watch_tables(Text *t, const Module *m, const Program *p)
{
    if (!watched(p)) return;
    memset(&loops, 0, sizeof loops);
    say(t, "static const Lathe_loop train_loops[] = { /* name, outer, iterations, backwards */\n");
    say_loops(t, p->kernels.at, p->kernels.n, -1);
    if (!loops.n) say(t, "    {\"\", -1, 1, false},\n");
    say(t, "};\nstatic const Lathe_operand train_operands[] = {\n");
    say_operands(&(Listing){.t = t, .m = m, .p = p}, p->kernels.at, p->kernels.n, -1);
    say(t, "};\n");
    say(t, "static const Lathe_instruments train_instruments = {\n");
    say(t, "    sizeof train_loops / sizeof *train_loops, sizeof train_operands / sizeof *train_operands,\n");
    say(t, "    train_loops, train_operands};\n");
}

char *watch_table(const Program *p) { return watched(p) ? "&train_instruments" : "NULL"; }
