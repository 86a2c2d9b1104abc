/* scope.c: the names of the buffers and loops of an entry, and which of them its text mentions. */
#include "emit/emit.h"
#include "passes/passes.h"

#include <stdlib.h>
#include <string.h>

/* The buffers of outputs are in the order of the values of the entry. "a.b" and "a_b" must be different members. */
static Names output_names(Page *page, const Program *p)
{
    Names names = {0};
    Strings taken = {0};
    for (int i = 0; i < p->graph->outs.n; i++)
        if (p->graph->outs.at[i].kind == OUT_VALUE)
            push(&names, unique_name(&taken, identifier(page, p->graph->outs.at[i].name)));
    return names;
}

const char *state_member(Page *page, const char *state)
{
    const Desc *d = page->desc;
    Names members = {0};
    for (int i = 0; i < d->states.n; i++) {
        const char *name = new_name(&members, identifier(page, d->states.at[i].name));
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

static void name_loops(Page *page, const Kernel *const *kernels, int n, const Names *outer)
{
    for (int i = 0; i < n; i++) {
        if (kernels[i]->kind == PANELS)
            name_loops(page, (const Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, outer);
        if (kernels[i]->kind != REPEAT) continue;
        Names inner = {0};
        for (int k = 0; k < outer->n; k++) push(&inner, outer->at[k]);
        const char *letter = letter_of(kernels[i]->loop, outer);
        push(&inner, letter);
        push(&page->scope.loops, ((struct Lettered_loop){kernels[i]->loop, letter, false}));
        name_loops(page, (const Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, &inner);
    }
}

void take_entry_names(Names *taken)
{
    static const char *const own[] = {
        "p",     "d",    "in",           "out",           "s",          "work",    "c",           "height",
        "from",  "to",   "forward_part", "backward_part", "arrived",    "block",   "blocks",      "grid",
        "slice", "keep", "meet",         "slices",        "kept_bytes", "most_of", "step_product"};
    for (int i = 0; i < COUNT_OF(own); i++) push(taken, own[i]);
}

void enter_scope(Page *page, const Program *p)
{
    memset(&page->scope, 0, sizeof page->scope);
    page->program = p;
    Names none = {0}, own = {0};
    Strings taken = {0};
    name_loops(page, (const Kernel *const *)p->kernels.at, p->kernels.n, &none);
    take_entry_names(&own);
    for (int i = 0; i < own.n; i++) *strings_at(&taken, own.at[i]) = 1;
    for (int i = 0; i < page->scope.loops.n; i++) *strings_at(&taken, page->scope.loops.at[i].letter) = 1;
    Names outputs = output_names(page, p);
    for (int i = 0, output = 0; i < p->buffers.n; i++) {
        Buffer *b = p->buffers.at[i];
        const char *name = NULL;
        b->number = i;
        if (b->home == WORK) name = unique_name(&taken, identifier(page, b->name));
        else if (b->home == OUTPUTS) name = outputs.at[output++];
        else if (b->home == STATES) name = state_member(page, b->value->name);
        else if (b->home == INPUTS) name = identifier(page, b->value->name);
        else if (b->home == TABLES) name = table_name(page, b->value);
        else name = identifier(page, b->param->name);
        push(&page->scope.buffers, ((struct Named_buffer){b, name, false}));
    }
}

static struct Named_buffer *named(Page *page, const Buffer *b)
{
    if (b->number < page->scope.buffers.n && page->scope.buffers.at[b->number].buffer == b)
        return &page->scope.buffers.at[b->number];
    die("buffer %s is not among its program's", b->name);
}

const char *buffer_name(Page *page, const Buffer *b) { return named(page, b)->name; }

static void note_name(Page *page, const Buffer *b)
{
    struct Named_buffer *n = named(page, b);
    bool again = for_good();
    if (!n->noted) push(&page->scope.places, b->number);
    n->noted = true;
    for_a_while(again);
}

void note_place(Page *page, const Buffer *b)
{
    note_name(page, b);
    page->scope.homes[b->home] = true;
}

bool place_noted(Page *page, const Buffer *b) { return named(page, b)->noted; }
bool home_noted(Page *page, Home h) { return page->scope.homes[h]; }

const char *loop_letter(Page *page, const Loop *l)
{
    for (int i = 0; i < page->scope.loops.n; i++)
        if (page->scope.loops.at[i].loop == l) {
            page->scope.loops.at[i].noted = true;
            return page->scope.loops.at[i].letter;
        }
    die("the iteration of a loop is asked for outside of it: %s", l->name ? l->name : "");
}

/* ------------------------------------------------------------------ what a kernel's text mentions */

bool in_kernel(Page *page) { return page->scope.in_kernel; }

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Returns the notes, in the order of the buffers, and clears them. */
static Notes take_notes(Page *page)
{
    Notes n = {0};
    if (page->scope.places.n)
        qsort(page->scope.places.at, (size_t)page->scope.places.n, sizeof *page->scope.places.at, by_number);
    for (int i = 0; i < page->scope.places.n; i++) {
        struct Named_buffer *place = &page->scope.buffers.at[page->scope.places.at[i]];
        push(&n.places, place->buffer);
        place->noted = false;
    }
    page->scope.places.n = 0;
    for (int i = 0; i < page->scope.loops.n; i++) {
        if (page->scope.loops.at[i].noted) push(&n.loops, page->scope.loops.at[i].loop);
        page->scope.loops.at[i].noted = false;
    }
    memcpy(n.homes, page->scope.homes, sizeof n.homes);
    memset(page->scope.homes, 0, sizeof page->scope.homes);
    return n;
}

static void put_notes(Page *page, const Notes *n)
{
    for (int i = 0; i < n->places.n; i++) note_name(page, n->places.at[i]);
    for (int i = 0; i < n->loops.n; i++) (void)loop_letter(page, n->loops.at[i]);
    for (int h = 0; h <= TABLES; h++) page->scope.homes[h] |= n->homes[h];
}

Notes begin_notes(Page *page)
{
    page->scope.in_kernel = true;
    return take_notes(page);
}

Notes end_notes(Page *page, const Notes *before)
{
    Notes between = take_notes(page);
    put_notes(page, before);
    put_notes(page, &between);
    page->scope.in_kernel = false;
    return between;
}
