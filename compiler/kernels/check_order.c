/* check_order.c: what a kernel reads was written before, and is what it means.
 *
 *   1. A buffer that an entry makes is written before it is read or added to; each element by somebody who runs before
 *      the reader, or in the same loop (then in an iteration before).
 *   2. A value is read from where it is stored after a kernel that stores it.
 *   3. The old value of a carry or a state is not read once its elements have been written in this iteration.
 *
 * 1 and 3 look at some elements of each view (each_sample). */
#include "kernels/check.h"

enum { FEW_WRITERS = 16 }; /* of a buffer, that its readers' elements are looked for in */

/* ------------------------------------------------------------------ written before read */

typedef struct Writers {
    Points at[FEW_WRITERS];
    int n;
    int64_t size; /* of a reader's element */
} Writers;

static bool is_written(void *writers, const Point *p)
{
    const Writers *w = writers;
    for (int i = 0; i < w->n; i++)
        if (!each_point_at(&w->at[i], p->byte, w->size, none, NULL)) return true;
    return false;
}

/* Do the two share a loop, in which one of them may come before the other's next iteration?  Not the one that makes
 * their buffer anew in each, nor what is around that. */
static bool in_one_loop(const Access *a, const Access *b, const Body *own)
{
    for (const Body *l = loop_around(a->body); l && l != own; l = loop_around(l->out))
        if (inside(b->body, l)) return true;
    return false;
}

/* Elements that a comes by have been written; of a buffer of many writers that is not asked. */
static void check_elements(const Run *r, const Access *a, const Buffer *b, const Body *own)
{
    const Touched *t = &r->buffers.at[b->number];
    Writers w = {.size = dtype_bytes(b->dtype)};
    if (t->writes > FEW_WRITERS) return;
    Points p = all_points(r, a);
    for (int i = t->first; i >= 0; i = r->all.at[i].next) {
        const Access *other = &r->all.at[i];
        if (!other->writes || (other->step >= a->step && !in_one_loop(other, a, own))) continue;
        w.at[w.n] = all_points(r, other);
        if (are_same_points(&p, &w.at[w.n]) || (is_solid(&w.at[w.n]) && lies_in(&p, &w.at[w.n]))) return;
        w.n++;
    }
    if (!each_sample(&p, is_written, &w))
        unsound(r, "kernel %s reads elements of %s that nobody has written", a->kernel->name, b->name);
}

static void check_written(const Run *r, const Buffer *b)
{
    bool written = false;
    const Body *own = own_loop(r, b);
    const Touched *t = &r->buffers.at[b->number];
    for (int i = t->first; i >= 0; i = r->all.at[i].next) {
        const Access *a = &r->all.at[i];
        if ((a->reads || a->adds) && !written)
            unsound(r, "kernel %s reads %s before it is written", a->kernel->name, b->name);
        if (a->reads) check_elements(r, a, b, own);
        written |= a->writes;
    }
}

/* ------------------------------------------------------------------ the value that is meant */

typedef struct Stored { /* a node's value is put somewhere */
    const Access *by;
    struct Stored *next;
} Stored;

static Table all_stores(const Run *r)
{
    Table stores = {0};
    for (int i = 0; i < r->all.n; i++) {
        const Access *a = &r->all.at[i];
        if (!a->writes || !a->operand || !a->operand->node) continue;
        void **slot = table_at(&stores, a->operand->node);
        Stored *s = NEW(Stored);
        *s = (Stored){a, *slot};
        *slot = s;
    }
    return stores;
}

typedef struct Other {
    const Points *of;
    int64_t size;
} Other;

static bool is_apart(void *other, const Point *p)
{
    const Other *o = other;
    return each_point_at(o->of, p->byte, o->size, none, NULL);
}

static bool are_apart(void *user, const Points *a, const Points *b)
{
    (void)user;
    return !may_meet(a, b) ||
           (each_sample(a, is_apart, &(Other){b, a->size}) && each_sample(b, is_apart, &(Other){a, b->size}));
}

/* The first access that stores n where a reads it; NULL: there is none. */
static const Access *who_stores(const Run *r, const Table *stores, const Node *n, const Access *a)
{
    const Access *first = NULL;
    for (const Stored *s = table_get(stores, n); s; s = s->next) {
        if (s->by->view->buffer != a->view->buffer) continue;
        Points p = all_points(r, s->by), q = all_points(r, a);
        if (!are_apart(NULL, &p, &q)) first = s->by; /* the last of the list was put there first */
    }
    return first;
}

static const Node *moved_from(const Node *n) { return is_view(n) ? n->in[0] : NULL; }

/* The body at whose beginning n is what its buffer holds; NULL: n is no such value. */
static const Body *begins_with(const Access *a, const Node *n)
{
    const Body *b = a->body;
    bool carry = n->op == OP_loop_arg && n->ints[0] == ARG_CARRY;
    if (!carry && !is_replaced(n)) return NULL;
    for (; b->out; b = b->out)
        if (carry && b->kernel->kind == REPEAT && b->kernel->loop == n->loop) return b;
    return carry ? NULL : b;
}

/* Has `other` written before a reads, in the same iteration of `body`? */
static bool comes_first(const Access *other, const Access *a, const Body *body)
{
    if (!other->writes || !inside(other->body, body)) return false;
    if (other->step < a->step) return true;
    for (const Body *l = loop_around(a->body); l && l != body && inside(l, body); l = loop_around(l->out))
        if (inside(other->body, l)) return other->step != a->step;
    return false;
}

static void check_old(const Run *r, const Access *a, const Body *body)
{
    const View *v = &a->operand->view;
    Points p = points_at(bytes_at(r, v->buffer), v);
    add_shape(&p, v);
    for (int i = r->buffers.at[v->buffer->number].first; i >= 0; i = r->all.at[i].next) {
        const Access *other = &r->all.at[i];
        if (!other->operand || !comes_first(other, a, body)) continue;
        const View *w = &other->operand->view;
        Points q = points_at(bytes_at(r, w->buffer), w);
        add_shape(&q, w);
        if (!each_iteration(v, &p, w, &q, body, are_apart, NULL))
            unsound(r, "kernel %s reads an old value from %s, where %s has put the next", a->kernel->name,
                    v->buffer->name, other->kernel->name);
    }
}

/* The node of a load leads through moves to the value that a kernel stores there, or that is there from the start. */
static void check_meaning(const Run *r, const Access *a, const Table *stores)
{
    for (const Node *n = a->operand->node; n; n = moved_from(n)) {
        const Access *by = who_stores(r, stores, n, a);
        const Body *body = by ? NULL : begins_with(a, n);
        if (body) check_old(r, a, body);
        if (by && by->step >= a->step)
            unsound(r, "kernel %s reads a value from %s before %s puts it there", a->kernel->name,
                    a->view->buffer->name, by->kernel->name);
        if (by || body) return;
    }
}

void check_order(const Run *r)
{
    Table stores = all_stores(r);
    for (int i = 0; i < r->program->buffers.n; i++) {
        const Buffer *b = r->program->buffers.at[i];
        bool made = b->home == WORK || b->home == OUTPUTS || (b->home == GRADIENTS && b->value->op != OP_gradient);
        if (made) check_written(r, b);
    }
    for (int i = 0; i < r->all.n; i++)
        if (r->all.at[i].reads && r->all.at[i].operand) check_meaning(r, &r->all.at[i], &stores);
}
