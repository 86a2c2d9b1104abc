/* carry.c: makes the next value of a carry in the carry's own buffer, instead of copying it there at the end of an
 * iteration. States, and gradients that an entry replaces, are treated alike.
 *
 * lower/place.c gives a carry without history one buffer; the next value is made elsewhere and copied. The copy can go
 * if the kernel that makes the next value can run after all other readers of the carry, and reads the carry not at all
 * or only element by element (may_overwrite). The other readers then come before it in the list of the body, and later
 * orders keep that, since the kernel writes what they read. Otherwise the carry keeps two buffers. Needs: kernels.
 * Leaves: fewer copies and buffers. */
#include "desc/passes.h"
#include "plan/plan.h"

typedef struct Body { /* of a loop, or the top of an entry */
    Loop *loop;
    Kernel **list;
    int n;
    Touches *touches; /* of each kernel */
    int copy, maker;  /* positions: of the copy in question; of the kernel that makes what it copies */
    Buffer *carry, *aside;
    View to; /* where the copy stores: strides as those it loads with */
} Body;

static bool touched(const Touches *t, const Buffer *b, bool written)
{
    for (int i = 0; i < t->n; i++)
        if (t->at[i].buffer == b) return !written || t->at[i].writes;
    return false;
}

/* ------------------------------------------------------------------ a copy of all of a buffer into a carry */

static bool is_plain_copy(const Kernel *k)
{
    if (k->kind != ROWS || k->phases.n != 1 || k->loads.n != 1) return false;
    const Phase *p = &k->phases.at[0];
    return !p->row.n && !p->each.n && !p->sums.n && !p->columns.n && !p->row_stores.n && !p->column_stores.n &&
           p->stores.n == 1 && !p->stores.at[0].add && p->stores.at[0].node == k->loads.at[0].node;
}

static bool same_layout(const View *a, const View *b)
{
    for (int i = 0; i < a->shape.rank; i++)
        if (a->shape.dim[i] != 1 && a->stride[i] != b->stride[i]) return false;
    return a->shape.rank == b->shape.rank && !a->guarded && !b->guarded;
}

static bool copies_to_carry(Body *b, int at)
{
    const Kernel *k = b->list[at];
    if (!is_plain_copy(k)) return false;
    const View *from = &k->loads.at[0].view;
    b->to = k->phases.at[0].stores.at[0].view;
    b->aside = from->buffer;
    b->carry = b->to.buffer;
    b->copy = at;
    if (!b->aside || b->aside->home != WORK || b->aside->level != b->loop || from->base || from->nover) return false;
    bool outside = b->loop ? b->carry->level != b->loop : is_replaced(b->carry->value);
    return outside && b->carry->dtype == b->aside->dtype && same_layout(from, &b->to) &&
           elements(k->space) == elements(b->aside->shape);
}

/* The first kernel that writes the buffer aside (those that write more of it come after).  The copy must be the one
 * that writes the carry, and the last that touches it. */
static bool find_maker(Body *b)
{
    b->maker = -1;
    for (int i = 0; i < b->n; i++) {
        if (i != b->copy && touched(&b->touches[i], b->carry, i < b->copy)) return false;
        if (b->maker < 0 && touched(&b->touches[i], b->aside, true)) b->maker = i;
    }
    return b->maker >= 0 && b->maker < b->copy;
}

/* ------------------------------------------------------------------ order */

/* after[i]: kernel i cannot run before the maker has. */
static bool *after_maker(const Body *b)
{
    bool *after = NEW_ARRAY(bool, b->n);
    after[b->maker] = true;
    for (int i = b->maker + 1; i < b->n; i++)
        for (int j = b->maker; j < i && !after[i]; j++)
            after[i] = j != b->copy && after[j] && conflict(&b->touches[i], &b->touches[j]);
    return after;
}

/* The last other kernel that reads the carry; -1: one of them needs what the maker makes. */
static int last_reader(const Body *b, const bool *after)
{
    int last = 0;
    for (int i = 0; i < b->n; i++) {
        if (i == b->copy || i == b->maker || !touched(&b->touches[i], b->carry, false)) continue;
        if (after[i]) return -1;
        last = i;
    }
    return last;
}

/* Moves the maker and what needs it behind the kernel at `last`. */
static void move_behind(const Body *b, const bool *after, int last)
{
    Kernel **list = b->list, **moved = NEW_ARRAY(Kernel *, last + 1);
    int n = 0, at = b->maker;
    for (int i = b->maker; i <= last; i++) {
        if (after[i]) moved[n++] = list[i];
        else list[at++] = list[i];
    }
    for (int i = 0; i < n; i++) list[at++] = moved[i];
}

/* ------------------------------------------------------------------ moving in */

static View moved_view(const Body *b, View v)
{
    v.buffer = b->carry;
    v.base += b->to.base;
    for (int o = 0; o < b->to.nover; o++) v.over[v.nover++] = b->to.over[o];
    return v;
}

static bool maker_can(const Body *b)
{
    const Kernel *k = b->list[b->maker];
    int phase;
    if (!touched(&b->touches[b->maker], b->carry, false)) return true;
    const Operand *store = k->kind == ROWS ? only_store(k, b->aside, &phase) : NULL;
    if (!store) return false;
    View there = moved_view(b, store->view);
    return may_overwrite(k, phase, &there, b->carry);
}

static void count_over(Operand *o, bool writes, void *most)
{
    (void)writes;
    if (o->view.nover > *(int *)most) *(int *)most = o->view.nover;
}

static bool has_room(const Body *b, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        int most = 0;
        each_operand(kernels[i], count_over, &most);
        if (most + b->to.nover > MAXRANK || !has_room(b, kernels[i]->body.at, kernels[i]->body.n)) return false;
    }
    return true;
}

static void move_operand(Operand *o, bool writes, void *body)
{
    const Body *b = body;
    (void)writes;
    if (o->view.buffer == b->aside) o->view = moved_view(b, o->view);
}

static void move_in(Body *b, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        each_operand(kernels[i], move_operand, b);
        move_in(b, kernels[i]->body.at, kernels[i]->body.n);
    }
}

/* ------------------------------------------------------------------ the pass */

/* A carry that begins with the state that it has moved into. */
static bool copies_to_itself(const Kernel *k)
{
    if (!is_plain_copy(k)) return false;
    const View *from = &k->loads.at[0].view, *to = &k->phases.at[0].stores.at[0].view;
    return from->buffer == to->buffer && from->base == to->base && !from->nover && !to->nover && same_layout(from, to);
}

static bool drop_copy(Body *b, int at)
{
    if (!find_maker(b) || !maker_can(b) || !has_room(b, b->list, b->n)) return false;
    bool *after = after_maker(b);
    int last = last_reader(b, after);
    if (last < 0) return false;
    move_behind(b, after, last);
    Kernel **list = b->list;
    for (int i = at; i + 1 < b->n; i++) list[i] = list[i + 1];
    b->n--;
    move_in(b, b->list, b->n);
    int n = b->n;
    b->n = 0;
    for (int i = 0; i < n; i++)
        if (!copies_to_itself(list[i])) list[b->n++] = list[i];
    return true;
}

static void forget_carry(Program *p, const Buffer *gone)
{
    int n = 0;
    for (int i = 0; i < p->buffers.n; i++)
        if (p->buffers.at[i] != gone) p->buffers.at[n++] = p->buffers.at[i];
    p->buffers.n = n;
}

/* Returns how many kernels are left. */
static int drop_copies(Program *p, Loop *loop, Kernel **list, int n)
{
    for (int i = 0; i < n; i++) {
        Kernel *k = list[i];
        if (k->kind == REPEAT) k->body.n = drop_copies(p, k->loop, k->body.at, k->body.n);
    }
    for (int i = n; i-- > 0;) {
        Body b = {.loop = loop, .list = list, .n = n};
        if (!copies_to_carry(&b, i)) continue;
        b.touches = NEW_ARRAY(Touches, n);
        for (int k = 0; k < n; k++) touches_of(list[k], &b.touches[k]);
        if (!drop_copy(&b, i)) continue;
        forget_carry(p, b.aside);
        p->carried++;
        n = b.n;
    }
    return n;
}

void pass_carry(Program *p, const Desc *d)
{
    if (without(d, PASS_carry) || without(d, PASS_plan) || without(d, PASS_in_place)) return;
    p->kernels.n = drop_copies(p, NULL, p->kernels.at, p->kernels.n);
}
