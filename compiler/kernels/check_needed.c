/* check_needed.c: what a kernel reads of parameters was said to be needed, and has not been dropped; what it touches of
 * gradients has begun, and is not done.
 *
 * The program is run through in order, with each iteration of the loops that say something.  Elements are counted in
 * the flat arrays, so a text that describes itself is not checked: it does not say where parameters are. */
#include "desc/target.h"
#include "kernels/check.h"

typedef struct Span { /* elements of a flat array */
    int64_t first, end;
} Span;
typedef VEC(Span) Spans;
typedef struct Iteration {
    const Loop *loop;
    int64_t at;
} Iteration;

typedef struct Holding {
    const Run *run;
    const Kernel *kernel; /* at hand */
    Spans held[2];        /* of parameters, of gradients */
    bool checked[2];
    VEC(Iteration) around; /* of the loops around */
} Holding;

static int flat_array_of(Lathe_saying s) { return s == LATHE_BEGUN || s == LATHE_DONE; }

/* ------------------------------------------------------------------ what is held */

static const Iteration *turn_in_loop(const Holding *h, const Loop *l)
{
    for (int i = 0; i < h->around.n; i++)
        if (h->around.at[i].loop == l) return &h->around.at[i];
    return NULL;
}

static Span span_of_said(const Holding *h, const Said *s)
{
    const Param *p = s->param;
    int64_t first = p->offset, size = 1;
    for (int k = 0; k < s->copies; k++) first += turn_in_loop(h, s->picks[k])->at * p->stride[k];
    if (s->copies) size = p->stride[s->copies - 1];
    else if (p->loops) size = p->stride[0] * p->shape.dim[0];
    for (int k = 0; k < p->shape.rank && !p->loops; k++) size += (p->shape.dim[k] - 1) * p->stride[k];
    return (Span){first, first + size};
}

static void hold(Spans *all, Span s)
{
    for (int i = 0; i < all->n; i++)
        if (all->at[i].first <= s.first && s.end <= all->at[i].end) return;
    push(all, s);
}

/* false: nothing of it was held. */
static bool let_go(Spans *all, Span s)
{
    Spans rest = {0};
    bool any = false;
    for (int i = 0; i < all->n; i++) {
        const Span h = all->at[i];
        const Span before = {h.first, min64(h.end, s.first)}, after = {max64(h.first, s.end), h.end};
        any |= h.first < s.end && s.first < h.end;
        if (before.first < before.end) push(&rest, before);
        if (after.first < after.end) push(&rest, after);
    }
    *all = rest;
    return any;
}

static bool is_held(const Spans *all, Span s)
{
    for (bool moved = true; moved && s.first < s.end;) {
        moved = false;
        for (int i = 0; i < all->n; i++) {
            if (all->at[i].first > s.first || all->at[i].end <= s.first) continue;
            s.first = all->at[i].end;
            moved = true;
        }
    }
    return s.first >= s.end;
}

/* ------------------------------------------------------------------ what is touched */

static void widen_span(Span *s, int64_t step, int64_t many)
{
    if (step < 0) s->first += step * (many - 1);
    else s->end += step * (many - 1);
}

static Span span_of_buffer(const Buffer *b)
{
    Span s = {b->param->offset, b->param->offset + 1};
    for (int k = 0; k < b->shape.rank; k++) widen_span(&s, b->stride[k], b->shape.dim[k]);
    return s;
}

static void check_touch(Operand *o, bool writes, void *user)
{
    Holding *h = user;
    const View *v = &o->view;
    const int array = v->buffer && v->buffer->home == GRADIENTS;
    (void)writes;
    if (!v->buffer || !v->buffer->param || v->buffer->param->frozen || !h->checked[array]) return;
    const int64_t start = v->buffer->param->offset + v->base;
    Span s = {start, start + 1};
    for (int k = 0; k < v->shape.rank; k++) widen_span(&s, v->stride[k], v->shape.dim[k]);
    for (int i = 0; i < v->nover; i++) {
        const Iteration *own = turn_in_loop(h, v->over[i].loop);
        if (own) s.first += own->at * v->over[i].stride, s.end += own->at * v->over[i].stride;
        else widen_span(&s, v->over[i].stride, v->over[i].loop->trip);
    }
    const Span whole = span_of_buffer(v->buffer);
    if (v->guarded) s = (Span){max64(s.first, whole.first), min64(s.end, whole.end)}; /* nothing beyond is read */
    if (!is_held(&h->held[array], s))
        unsound(h->run, "%s touches %s, which is not said to be %s", h->kernel->name, v->buffer->name,
                array ? "begun and not done" : "needed");
}

static void check_touches(Holding *h, const Kernel *k)
{
    h->kernel = k;
    each_operand((Kernel *)k, check_touch, h);
    for (int i = 0; i < k->body.n; i++) check_touches(h, k->body.at[i]);
}

/* ------------------------------------------------------------------ in order */

static bool is_iteration(const Holding *h, const Said *s)
{
    bool is = true;
    for (int i = 0; i < s->last.n; i++) {
        const Loop *l = s->last.at[i];
        is &= turn_in_loop(h, l)->at == (l->reverse ? 0 : l->trip - 1);
    }
    return is;
}

static void take_said(Holding *h, const Kernel *k, bool before)
{
    const Program *p = h->run->program;
    for (int i = 0; i < p->said.n; i++) {
        const Said *s = &p->said.at[i];
        if (s->at != k || is_said_before(s) != before || !h->checked[flat_array_of(s->what)] || !is_iteration(h, s))
            continue;
        Spans *all = &h->held[flat_array_of(s->what)];
        if (before) hold(all, span_of_said(h, s));
        else if (!let_go(all, span_of_said(h, s)))
            unsound(h->run, "%s is said to be %s, and was not %s", s->param->name,
                    s->what == LATHE_DONE ? "done" : "dropped", s->what == LATHE_DONE ? "begun" : "needed");
    }
}

static bool says_inside(const Program *p, const Kernel *k)
{
    for (int i = 0; i < k->body.n; i++) {
        for (int n = 0; n < p->said.n; n++)
            if (p->said.at[n].at == k->body.at[i]) return true;
        if (says_inside(p, k->body.at[i])) return true;
    }
    return false;
}

static void run_through(Holding *h, Kernel *const *kernels, int n);

static void run_iterations(Holding *h, const Kernel *k)
{
    const Loop *l = k->loop;
    for (int64_t i = 0; i < l->trip; i++) {
        push(&h->around, ((Iteration){l, l->reverse ? l->trip - 1 - i : i}));
        run_through(h, k->body.at, k->body.n);
        h->around.n--;
    }
}

static void run_through(Holding *h, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        const Kernel *k = kernels[i];
        take_said(h, k, true);
        if (k->kind == REPEAT && says_inside(h->run->program, k)) run_iterations(h, k);
        else check_touches(h, k);
        take_said(h, k, false);
    }
}

static bool has_saying(const Program *p, Lathe_saying what)
{
    for (int i = 0; i < p->said.n; i++)
        if (p->said.at[i].what == what) return true;
    return false;
}

void check_needed(const Run *r, const Desc *d)
{
    const Program *p = r->program;
    Holding h = {.run = r, .checked = {has_saying(p, LATHE_NEEDED), has_saying(p, LATHE_BEGUN)}};
    if (!d->of_text && p->said.n) run_through(&h, p->kernels.at, p->kernels.n);
    if (has_saying(p, LATHE_DROPPED) && h.held[0].n)
        unsound(r, "parameters are needed to the end of %s", p->graph->name);
}
