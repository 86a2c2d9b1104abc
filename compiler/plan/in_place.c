/* in_place.c: lets a value lie where an input ends that its kernel reads for the last time.
 *
 * A ROWS kernel may store over what it reads if
 *   1. every load of those bytes shows the element that the store overwrites, and no other;
 *   2. no phase after the store reads them: of one row, what earlier phases read is read before, and inside a sweep
 *      the emitter reads all before it stores;
 *   3. the old value dies there, and both belong to one level.
 * The emitted function has one parameter for both.  Decided before packing, as one set of values: Buffer.in_place_of is
 * the value whose bytes are taken over, which may have taken over others'.  Needs: lifetimes (pass_order). */
#include "desc/passes.h"
#include "plan/plan.h"

/* ------------------------------------------------------------------ may a kernel do so */

static bool equal_views(const View *a, const View *b)
{
    if (a->base != b->base || a->nover != b->nover || a->shape.rank != b->shape.rank) return false;
    for (int i = 0; i < a->shape.rank; i++)
        if (a->shape.dim[i] != 1 && a->stride[i] != b->stride[i]) return false;
    for (int o = 0; o < a->nover; o++)
        if (a->over[o].loop != b->over[o].loop || a->over[o].stride != b->over[o].stride) return false;
    return true;
}

static bool shows(const Node *n, const Node *value)
{
    for (; n != value; n = n->in[0])
        if (!is_view(n)) return false;
    return true;
}

static bool any_shows(const Nodes *nodes, const Node *value)
{
    for (int i = 0; i < nodes->n; i++)
        for (int k = 0; k < nodes->at[i]->nin; k++)
            if (shows(nodes->at[i]->in[k], value)) return true;
    return false;
}

static bool any_stores(const Operands *stores, const Node *value)
{
    for (int i = 0; i < stores->n; i++)
        if (shows(stores->at[i].node, value)) return true;
    return false;
}

static bool phase_reads(const Phase *p, const Node *value)
{
    return any_shows(&p->row, value) || any_shows(&p->each, value) || any_shows(&p->sums, value) ||
           any_shows(&p->columns, value) || any_stores(&p->stores, value) || any_stores(&p->row_stores, value);
}

bool may_overwrite(const Kernel *k, int phase, const View *store, const Buffer *old)
{
    for (int i = 0; i < k->loads.n; i++) {
        const Operand *o = &k->loads.at[i];
        if (o->view.buffer != old) continue;
        if (o->once_a_row || o->view.guarded || !equal_views(&o->view, store)) return false;
        for (int p = phase + 1; p < k->phases.n; p++)
            if (phase_reads(&k->phases.at[p], o->node)) return false;
    }
    return true;
}

const Operand *only_store(const Kernel *k, const Buffer *b, int *phase)
{
    const Operand *found = NULL;
    for (int p = 0; p < k->phases.n; p++) {
        const Operands *all[] = {&k->phases.at[p].stores, &k->phases.at[p].row_stores, &k->phases.at[p].column_stores};
        for (int s = 0; s < COUNT_OF(all); s++)
            for (int i = 0; i < all[s]->n; i++) {
                if (all[s]->at[i].view.buffer != b) continue;
                if (found || s || all[s]->at[i].add || all[s]->at[i].view.guarded) return NULL;
                found = &all[s]->at[i];
                *phase = p;
            }
    }
    return found;
}

/* ------------------------------------------------------------------ choosing */

static bool stores_into(const Kernel *k, const Buffer *b)
{
    Touches t = {0};
    own_touches(k, &t);
    for (int i = 0; i < t.n; i++)
        if (t.at[i].buffer == b) return t.at[i].writes;
    return false;
}

/* The number of elements of a buffer, without the gaps between its rows. */
static int64_t used_elements(const Buffer *b)
{
    Shape s = b->shape;
    int last = s.rank - 1;
    if (!b->value) return elements(s);
    if (last >= 0 && b->value->shape.rank == s.rank) s.dim[last] = b->value->shape.dim[last];
    return elements(same_shape(s, b->value->shape) ? s : b->shape);
}

/* k stores all of `new`, and could store it over `old`. */
static bool rows_overwrite(const Kernel *k, const Buffer *new, const Buffer *old)
{
    int phase;
    const Operand *store = only_store(k, new, &phase);
    return store && elements(k->space) == used_elements(new) && may_overwrite(k, phase, &store->view, old);
}

static bool entries_overwrite(const Kernel *k, const Buffer *new, const Buffer *old)
{
    const View *to = &k->writes.at[0].view, *from = &k->reads.at[0].view;
    if (to->buffer != new || from->buffer != old || !equal_views(to, from)) return false;
    for (int i = 1; i < k->reads.n; i++)
        if (k->reads.at[i].view.buffer == old) return false;
    return elements(to->shape) == elements(new->shape);
}

/* k makes `new`, and may make it where `old` ends. */
static bool works_in_place(const Kernel *k, const Buffer *new, const Buffer *old)
{
    if (new->home != WORK || old->home != WORK || new->level != k->in_loop || old->level != k->in_loop) return false;
    if (new->dtype != old->dtype || new->bytes != old->bytes) return false;
    if (new->begin != k->step || old->end != k->step || old->begin == k->step || stores_into(k, old)) return false;
    if (k->panels && !panels_allow(k->panels, new, old)) return false;
    if (k->kind == OVERWRITE) return entries_overwrite(k, new, old);
    return k->kind == ROWS && rows_overwrite(k, new, old);
}

static void choose_victim(Program *p, const Kernel *k)
{
    Touches t = {0};
    for (int i = 0; i < k->body.n; i++) choose_victim(p, k->body.at[i]);
    own_touches(k, &t);
    for (int i = 0; i < t.n; i++) {
        Buffer *new = t.at[i].buffer;
        for (int j = 0; j < t.n && t.at[i].writes && !new->in_place_of; j++) {
            Buffer *old = t.at[j].buffer;
            if (old != new && !t.at[j].writes && !old->given && works_in_place(k, new, old))
                new->in_place_of = old, old->given = true, p->taken_over++;
        }
    }
}

void pass_in_place(Program *p, const Desc *d)
{
    if (without(d, PASS_plan) || without(d, PASS_in_place)) return;
    for (int i = 0; i < p->kernels.n; i++) choose_victim(p, p->kernels.at[i]);
}
