/* check_lives.c: how long each value of the arena is needed, and that no two that are needed at once share bytes.
 *
 * A buffer is needed from the first step that touches it to the last.  What a loop touches that others touch too, or
 * that comes from an iteration before, is needed for the whole loop: unless all who touch it are in the loop, the first
 * of them writes it, and it is in one place in all iterations, it was not made in this one.  In panels and in a loop
 * that is one launch some threads are ahead of others: there bytes are needed for all of it, but for what takes over
 * another's, element by element (check_bytes.c). */
#include "kernels/check.h"

#include <stdlib.h>
#include <string.h>

typedef struct Life {
    const Buffer *buffer;
    int first, last; /* its bytes */
    int begin, end;  /* its value */
} Life;
typedef VEC(Life) Lives;

/* ------------------------------------------------------------------ found from the kernels */

static bool moves_with(const Access *a, const Loop *l)
{
    for (int i = 0; i < a->view->nover; i++)
        if (a->view->over[i].loop == l && a->view->over[i].stride) return true;
    return false;
}

/* Is it made anew in each iteration, and gone at its end? */
static bool is_of_iteration(const Run *r, const Touched *t, const Body *loop)
{
    const Access *first = &r->all.at[t->first];
    if (!first->writes || first->adds || first->reads) return false;
    for (int i = t->first; i >= 0; i = r->all.at[i].next)
        if (!inside(r->all.at[i].body, loop) || moves_with(&r->all.at[i], loop->kernel->loop)) return false;
    return true;
}

static void extend(int *first, int *last, int from, int to)
{
    if (from < *first) *first = from;
    if (to > *last) *last = to;
}

static bool in_no_order(const Body *b) { return b->kernel && (b->kernel->kind == PANELS || b->kernel->barrier); }

const Body *own_loop(const Run *r, const Buffer *b)
{
    const Touched *t = &r->buffers.at[b->number];
    const Body *l = t->first < 0 ? NULL : loop_around(r->all.at[t->first].body);
    while (l && !is_of_iteration(r, t, l)) l = loop_around(l->out);
    return l;
}

static Life life_of(const Run *r, const Buffer *b)
{
    const Touched *t = &r->buffers.at[b->number];
    Life l = {b, r->steps, -1, r->steps, -1};
    const Body *own = own_loop(r, b);
    for (int i = t->first; i >= 0; i = r->all.at[i].next) {
        const Access *a = &r->all.at[i];
        const Body *at = loop_around(a->body);
        extend(&l.begin, &l.end, a->step, a->step);
        for (; at && at != own; at = loop_around(at->out)) extend(&l.begin, &l.end, at->kernel->step, at->last);
        extend(&l.first, &l.last, l.begin, l.end);
        for (at = a->body; at; at = at->out)
            if (in_no_order(at)) extend(&l.first, &l.last, at->kernel->step, at->last);
    }
    return l;
}

/* The lives that pass_order finds may be longer. */
static void check_life(const Run *r, const Life *l)
{
    const Buffer *b = l->buffer;
    if (b->first > l->first || b->last < l->last || b->begin > l->begin || b->end < l->end)
        unsound(r, "%s lasts from step %d to %d (%d to %d), and is needed from %d to %d (%d to %d)", b->name, b->first,
                b->last, b->begin, b->end, l->first, l->last, l->begin, l->end);
}

/* ------------------------------------------------------------------ who takes over whose bytes */

static int by_begin(const void *a, const void *b)
{
    const Life *x = a, *y = b;
    return x->begin != y->begin ? x->begin - y->begin : x->end - y->end;
}

static void check_taken_over(const Run *r, const Life *l)
{
    const Buffer *b = l->buffer, *old = b->in_place_of;
    if (!old) return;
    if (old->home != WORK || b->bytes > old->bytes || b->dtype != old->dtype ||
        (r->planned && b->offset != old->offset))
        unsound(r, "%s cannot be in place of %s", b->name, old->name);
}

/* One after another: where one ends the next is made.  Sorted by their beginning. */
static void check_chain(const Run *r, const Life *a, const Life *b)
{
    if (a->end > b->begin || a->begin == b->begin)
        unsound(r, "%s takes the bytes of %s at step %d, and that is needed until %d", b->buffer->name, a->buffer->name,
                b->begin, a->end);
}

/* The lives of those that share bytes so become one, of the first of them. */
static Lives joined_lives(const Run *r, Lives *all)
{
    Lives out = {0};
    int *of = NEW_ARRAY(int, r->program->buffers.n + 1); /* of each origin: 1 + its place in out */
    Lives latest = {0};
    if (all->n) qsort(all->at, (size_t)all->n, sizeof *all->at, by_begin);
    for (int i = 0; i < all->n; i++) {
        const Life *l = &all->at[i];
        int *place = &of[origin(l->buffer)->number];
        check_taken_over(r, l);
        if (!*place) {
            push(&out, *l);
            push(&latest, *l);
            *place = out.n;
            continue;
        }
        check_chain(r, &latest.at[*place - 1], l);
        latest.at[*place - 1] = *l;
        extend(&out.at[*place - 1].first, &out.at[*place - 1].last, l->first, l->last);
    }
    return out;
}

/* ------------------------------------------------------------------ bytes */

static int by_first(const void *a, const void *b)
{
    const Life *x = a, *y = b;
    return x->first != y->first ? x->first - y->first : x->buffer->number - y->buffer->number;
}

/* The first of those that live, sorted by offset, that ends behind the byte. */
static int first_behind(const Lives *live, int64_t byte)
{
    int low = 0, high = live->n;
    while (low < high) {
        int middle = (low + high) / 2;
        const Buffer *b = live->at[middle].buffer;
        if (b->offset + b->bytes <= byte) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Places a life; buffers whose lives have ended are removed when their bytes are needed. */
static void place_life(const Run *r, Lives *live, const Life *l)
{
    const Buffer *b = l->buffer;
    int at = first_behind(live, b->offset), n = at;
    for (; n < live->n && live->at[n].buffer->offset < b->offset + b->bytes; n++)
        if (live->at[n].last >= l->first)
            unsound(r, "%s and %s live together at the same bytes", live->at[n].buffer->name, b->name);
    int more = 1 - (n - at);
    if (more > 0) push(live, *l);
    else live->n += more;
    int after = live->n - at - 1, from = n;
    if (after > 0) memmove(&live->at[at + 1], &live->at[from], (size_t)after * sizeof *live->at);
    live->at[at] = *l;
}

static void check_shared(const Run *r, Lives *lives)
{
    Lives live = {0};
    if (lives->n) qsort(lives->at, (size_t)lives->n, sizeof *lives->at, by_first);
    for (int i = 0; i < lives->n; i++) {
        const Buffer *b = lives->at[i].buffer;
        if (b->offset < 0 || b->offset + b->bytes > r->program->work_bytes)
            unsound(r, "%s lies outside of the arena", b->name);
        place_life(r, &live, &lives->at[i]);
    }
}

void check_lives(const Run *r)
{
    Lives all = {0};
    if (!r->ordered) return;
    for (int i = 0; i < r->program->buffers.n; i++) {
        const Buffer *b = r->program->buffers.at[i];
        if (b->home != WORK || r->buffers.at[i].first < 0) continue;
        push(&all, life_of(r, b));
        check_life(r, &all.at[all.n - 1]);
    }
    Lives apart = joined_lives(r, &all);
    if (r->planned) check_shared(r, &apart);
}
