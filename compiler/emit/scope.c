/* scope.c: what the buffers and loops of an entry are called in C, and which of them its text mentions. */
#include "emit/emit.h"
#include "passes/passes.h"

#include <stdlib.h>
#include <string.h>

static struct {
    VEC(struct Named {
        const Buffer *buffer;
        const char *name;
        bool noted;
    }) buffers;
    VEC(struct Lettered {
        const Loop *loop;
        const char *letter;
        bool noted;
    }) loops;
    VEC(int) places; /* the buffers that are noted */
    bool homes[TABLES + 1];
    const Module *module;
    const Program *program;
    bool in_kernel;
} scope;

static const Desc *description; /* whose names and spellings are used */

bool anonymous;

/* The outputs' buffers are made in the order of the entry's values.  "a.b" and "a_b" are two members. */
static Names output_names(const Program *p)
{
    Names names = {0};
    Strings taken = {0};
    for (int i = 0; i < p->graph->outs.n; i++)
        if (p->graph->outs.at[i].kind == OUT_VALUE)
            push(&names, unique_name(&taken, identifier(p->graph->outs.at[i].name)));
    return names;
}

const char *state_member(const Desc *d, const char *state)
{
    Names members = {0};
    for (int i = 0; i < d->states.n; i++) {
        const char *name = new_name(&members, identifier(d->states.at[i].name));
        if (same(d->states.at[i].name, state)) return name;
    }
    die("there is no state %s", state);
}

static const char *letter_of(const Loop *l, const Names *outer)
{
    char first[2] = {l->name && *l->name ? l->name[0] : 'i', 0};
    Names taken = {0};
    for (int i = 0; i < outer->n; i++) push(&taken, outer->at[i]);
    return new_name(&taken, copy_string(first));
}

static void name_loops(const Kernel *const *kernels, int n, const Names *outer)
{
    for (int i = 0; i < n; i++) {
        if (kernels[i]->kind == PANELS)
            name_loops((const Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, outer);
        if (kernels[i]->kind != REPEAT) continue;
        Names inner = {0};
        for (int k = 0; k < outer->n; k++) push(&inner, outer->at[k]);
        const char *letter = letter_of(kernels[i]->loop, outer);
        push(&inner, letter);
        push(&scope.loops, ((struct Lettered){kernels[i]->loop, letter, false}));
        name_loops((const Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, &inner);
    }
}

void take_entry_names(Names *taken)
{
    static const char *const own[] = {
        "p",     "d",    "in",           "out",           "s",          "work",    "c",           "tall",
        "from",  "to",   "forward_part", "backward_part", "arrived",    "block",   "blocks",      "grid",
        "slice", "keep", "meet",         "slices",        "kept_bytes", "most_of", "step_product"};
    for (int i = 0; i < COUNT_OF(own); i++) push(taken, own[i]);
}

void enter_scope(const Module *m, const Program *p)
{
    memset(&scope, 0, sizeof scope);
    scope.module = m;
    description = m->desc;
    scope.program = p;
    Names none = {0}, own = {0};
    Strings taken = {0};
    name_loops((const Kernel *const *)p->kernels.at, p->kernels.n, &none);
    take_entry_names(&own);
    for (int i = 0; i < own.n; i++) *strings_at(&taken, own.at[i]) = 1;
    for (int i = 0; i < scope.loops.n; i++) *strings_at(&taken, scope.loops.at[i].letter) = 1;
    Names outputs = output_names(p);
    for (int i = 0, output = 0; i < p->buffers.n; i++) {
        Buffer *b = p->buffers.at[i];
        const char *name = NULL;
        b->number = i;
        if (b->home == WORK) name = unique_name(&taken, identifier(b->name));
        else if (b->home == OUTPUTS) name = outputs.at[output++];
        else if (b->home == STATES) name = state_member(m->desc, b->value->name);
        else if (b->home == INPUTS) name = identifier(b->value->name);
        else if (b->home == TABLES) name = table_name(b->value);
        else name = identifier(b->param->name);
        push(&scope.buffers, ((struct Named){b, name, false}));
    }
}

static struct Named *named(const Buffer *b)
{
    if (b->number < scope.buffers.n && scope.buffers.at[b->number].buffer == b) return &scope.buffers.at[b->number];
    die("buffer %s is not among its program's", b->name);
}

void take_description(const Desc *d) { description = d; }
const Desc *described(void) { return description; }
Precision precision_in_scope(void) { return precision_of(description->options); }
const Target *target(void) { return description->options->target; }
const Module *module_in_scope(void) { return scope.module; }
const Program *program_in_scope(void) { return scope.program; }
const char *buffer_name(const Buffer *b) { return named(b)->name; }

static void note_name(const Buffer *b)
{
    struct Named *n = named(b);
    bool again = for_good();
    if (!n->noted) push(&scope.places, b->number);
    n->noted = true;
    for_a_while(again);
}

void note_place(const Buffer *b)
{
    note_name(b);
    scope.homes[b->home] = true;
}

bool place_noted(const Buffer *b) { return named(b)->noted; }
bool home_noted(Home h) { return scope.homes[h]; }

const char *loop_letter(const Loop *l)
{
    for (int i = 0; i < scope.loops.n; i++)
        if (scope.loops.at[i].loop == l) {
            scope.loops.at[i].noted = true;
            return scope.loops.at[i].letter;
        }
    die("the iteration of a loop is asked for outside of it: %s", l->name ? l->name : "");
}

/* ------------------------------------------------------------------ what a kernel's text mentions */

bool in_kernel(void) { return scope.in_kernel; }

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Takes the notes away, in the buffers' order. */
static Notes take_notes(void)
{
    Notes n = {0};
    if (scope.places.n) qsort(scope.places.at, (size_t)scope.places.n, sizeof *scope.places.at, by_number);
    for (int i = 0; i < scope.places.n; i++) {
        struct Named *place = &scope.buffers.at[scope.places.at[i]];
        push(&n.places, place->buffer);
        place->noted = false;
    }
    scope.places.n = 0;
    for (int i = 0; i < scope.loops.n; i++) {
        if (scope.loops.at[i].noted) push(&n.loops, scope.loops.at[i].loop);
        scope.loops.at[i].noted = false;
    }
    memcpy(n.homes, scope.homes, sizeof n.homes);
    memset(scope.homes, 0, sizeof scope.homes);
    return n;
}

static void put_notes(const Notes *n)
{
    for (int i = 0; i < n->places.n; i++) note_name(n->places.at[i]);
    for (int i = 0; i < n->loops.n; i++) (void)loop_letter(n->loops.at[i]);
    for (int h = 0; h <= TABLES; h++) scope.homes[h] |= n->homes[h];
}

Notes begin_notes(void)
{
    scope.in_kernel = true;
    return take_notes();
}

Notes end_notes(const Notes *before)
{
    Notes between = take_notes();
    put_notes(before);
    put_notes(&between);
    scope.in_kernel = false;
    return between;
}
