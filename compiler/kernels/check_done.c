/* check_done.c: after the place where gradients are said to be done, nothing touches them, neither in this iteration of
 * the loops around nor in a later one.
 *
 * The distance of an access from the first of those gradients is a sum of terms, one for each loop and each axis. The
 * access is apart from them if every value of that sum is before the first or after the last.  A text that describes
 * itself does not say where parameters are; there each parameter is checked alone. */
#include "desc/target.h"
#include "kernels/check.h"
#include "kernels/text.h"

#include <math.h>

typedef struct Far { /* from the first gradient, in elements, at least and at most */
    double low, high;
} Far;

static void add_steps(Far *f, int64_t step, int64_t many)
{
    *(step < 0 ? &f->low : &f->high) += (double)step * (double)(many - 1);
}

typedef VEC(const Kernel *) Around; /* loops, from the outermost */

/* The loops around `wanted`, a kernel of the list; false: it is not in the list. */
static bool loops_to(Kernel *const *kernels, int n, const Kernel *wanted, Around *loops)
{
    for (int i = 0; i < n; i++) {
        const Kernel *k = kernels[i];
        bool loop = k->kind == REPEAT;
        if (k == wanted) return true;
        if (loop) push(loops, k);
        if (loops_to(k->body.at, k->body.n, wanted, loops)) return true;
        loops->n -= loop;
    }
    return false;
}

static int kernels_in(const Kernel *k)
{
    int n = 1;
    for (int i = 0; i < k->body.n; i++) n += kernels_in(k->body.at[i]);
    return n;
}

/* ------------------------------------------------------------------ steps in the flat array */

static int64_t step_of_access(const View *v, const Loop *l)
{
    int64_t step = 0;
    for (int i = 0; i < v->nover; i++)
        if (v->over[i].loop == l) step += v->over[i].stride;
    return step;
}

/* How far copies of the gradients that are done are from each other; the access may be of another struct. */
static int64_t step_of_copies(const Said *d, const Access *a, int k)
{
    return a->view->buffer->param == d->param ? a->view->buffer->stride[k] : d->param->stride[k];
}

static int64_t step_of_done(const Said *d, const Access *a, const Loop *l)
{
    for (int k = 0; k < d->copies; k++)
        if (d->picks[k] == l) return step_of_copies(d, a, k);
    return 0;
}

static double size_of_done(const Said *d, const Access *a)
{
    const Param *p = d->param;
    int64_t size = 1;
    if (d->copies) return (double)step_of_copies(d, a, d->copies - 1);
    if (p->loops) return (double)p->stride[0] * (double)p->shape.dim[0];
    for (int k = 0; k < p->shape.rank; k++) size += (p->shape.dim[k] - 1) * p->stride[k];
    return (double)size;
}

static bool is_apart(const Said *d, const Access *a, Far f) { return f.high < 0 || f.low >= size_of_done(d, a); }

static int place_among(const Around *loops, const Loop *l)
{
    for (int i = 0; i < loops->n; i++)
        if (loops->at[i]->loop == l) return i;
    return -1;
}

/* But for the loops around both. */
static Far far_without(const Said *d, const Access *a, const Around *both)
{
    const View *v = a->view;
    double start = (double)(v->buffer->param->offset + v->base - d->param->offset);
    Far f = {start, start};
    for (int k = 0; k < v->shape.rank; k++) add_steps(&f, v->stride[k], v->shape.dim[k]);
    for (int i = 0; i < v->nover; i++)
        if (place_among(both, v->over[i].loop) < 0) add_steps(&f, v->over[i].stride, v->over[i].loop->trip);
    return f;
}

/* ------------------------------------------------------------------ what runs later */

/* Is a apart from the gradients in the same iteration of all loops around both? */
static bool is_apart_now(const Said *d, const Access *a, const Around *both)
{
    Far f = far_without(d, a, both);
    for (int i = 0; i < both->n; i++) {
        const Loop *l = both->at[i]->loop;
        add_steps(&f, step_of_access(a->view, l) - step_of_done(d, a, l), l->trip);
    }
    return is_apart(d, a, f);
}

/* The same in any later iteration of loop j: of two iterations, the first is that of the gradients. The sum is largest
 * and smallest where the two are as near to each other as possible, or as far. */
static bool is_apart_later(const Said *d, const Access *a, const Around *both, int j)
{
    const Loop *own = both->at[j]->loop;
    int64_t n = own->trip;
    const int64_t ends[][2] = {{0, 1}, {0, n - 1}, {n - 2, n - 1}};
    Far all = {INFINITY, -INFINITY};
    if (n < 2) return true;
    for (int e = 0; e < COUNT_OF(ends); e++) {
        int64_t from = own->reverse ? n - 1 - ends[e][0] : ends[e][0],
                to = own->reverse ? n - 1 - ends[e][1] : ends[e][1];
        double moved =
            (double)step_of_access(a->view, own) * (double)to - (double)step_of_done(d, a, own) * (double)from;
        Far f = far_without(d, a, both);
        for (int i = 0; i < both->n; i++) {
            const Loop *l = both->at[i]->loop;
            int64_t x = step_of_access(a->view, l), y = step_of_done(d, a, l);
            if (i < j) add_steps(&f, x - y, l->trip);
            if (i > j) add_steps(&f, x, l->trip), add_steps(&f, -y, l->trip);
        }
        all = (Far){fmin(all.low, f.low + moved), fmax(all.high, f.high + moved)};
    }
    return is_apart(d, a, all);
}

static bool is_last(const Said *d, const Loop *l)
{
    for (int i = 0; i < d->last.n; i++)
        if (d->last.at[i] == l) return true;
    return false;
}

static void check_access(const Run *r, const Said *d, const Access *a, const Around *around)
{
    Around both = {0};
    for (int i = 0; i < around->n; i++) {
        const Body *b = a->body;
        while (b && b->kernel != around->at[i]) b = b->out;
        if (b) push(&both, around->at[i]);
    }
    bool apart = a->step < d->at->step + kernels_in(d->at) || is_apart_now(d, a, &both);
    for (int j = 0; j < both.n; j++) apart &= is_last(d, both.at[j]->loop) || is_apart_later(d, a, &both, j);
    if (!apart)
        unsound(r, "%s comes by %s when the gradients of %s are said to be done", a->kernel->name,
                a->view->buffer->name, d->param->name);
}

/* ------------------------------------------------------------------ what is said */

/* In each loop around, either every iteration has a copy of its own, or only the last iteration says it. */
static const char *fault_of_loops(const Said *d, const Around *around, bool in_text)
{
    if (d->what == LATHE_DONE && d->copies + d->last.n != around->n) return "is not said once";
    if (d->what != LATHE_DONE && d->last.n) return "is said at the end alone";
    for (int k = 0; k < d->copies; k++) {
        bool copy = in_text || (k < d->param->shape.rank && d->param->shape.dim[k] == d->picks[k]->trip);
        if (!copy || place_among(around, d->picks[k]) < 0) return "is said of copies that there are not";
        if (k && place_among(around, d->picks[k]) <= place_among(around, d->picks[k - 1]))
            return "is said of copies twice";
    }
    for (int k = 0; k < d->last.n; k++) {
        if (place_among(around, d->last.at[k]) < 0) return "is said by a loop that is not around it";
        for (int i = 0; i < d->copies; i++)
            if (d->picks[i] == d->last.at[k]) return "is said of each copy, and at the end";
    }
    return NULL;
}

static const char *fault_of_done(const Run *r, const Said *d, const Around *around, bool in_text)
{
    if (d->param->struct_of && d->param->struct_of != d->param) return "is said of the middle of a struct";
    for (const Said *other = r->program->said.at; other < d; other++)
        if (d->what == LATHE_DONE && other->what == LATHE_DONE && other->param == d->param) return "is said twice";
    return fault_of_loops(d, around, in_text);
}

void check_done(const Run *r, const Desc *desc)
{
    const Program *p = r->program;
    if (p->said.n && !(made_for_ranks(desc->options) && r->ordered))
        unsound(r, "kernels of a library, or in no order, do not say which gradients are done");
    for (int i = 0; i < p->said.n; i++) {
        const Said *d = &p->said.at[i];
        Around around = {0};
        must(loops_to(p->kernels.at, p->kernels.n, d->at, &around));
        const char *fault = fault_of_done(r, d, &around, desc->of_text);
        if (fault) unsound(r, "that %s is %s %s", d->param->name, saying_words[d->what], fault);
        for (int k = 0; k < r->all.n && d->what == LATHE_DONE; k++) {
            const Buffer *b = r->all.at[k].view->buffer;
            if (b->home == GRADIENTS && (!desc->of_text || b->param == d->param))
                check_access(r, d, &r->all.at[k], &around);
        }
    }
}
