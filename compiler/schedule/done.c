/* done.c: pass done: finds the kernel after which a gradient is done: no later kernel reads or writes it. From there
 * on, several ranks add it up while the rest of the backward part runs.
 *
 * The unit is a parameter. If a loop goes through the copies of a stack one by one (each iteration touches its own
 * copy, and nothing after the loop touches any), it is one copy of the struct. The place is after the last kernel
 * that touches the unit. If that is a loop, it is after the last such kernel of the body, and only in the last
 * iteration unless each iteration has its own copy. */
#include "desc/passes.h"
#include "kernels/nest.h"

typedef struct Piece {  /* a part of the flat arrays: a parameter, or all copies of a struct */
    const Param *param; /* the first parameter */
    int64_t first, end; /* elements */
    int copies;         /* the number of axes of copies along which a loop around it has picked one */
} Piece;

static int64_t end_of_piece(const Param *p)
{
    int64_t end = p->offset + 1;
    if (p->loops) return p->offset + p->stride[0] * p->shape.dim[0];
    for (int k = 0; k < p->shape.rank; k++) end += (p->shape.dim[k] - 1) * p->stride[k];
    return end;
}

/* ------------------------------------------------------------------ who touches a piece */

typedef struct Question {
    const Piece *piece;
    const Loop *loop;  /* picks asks of it: */
    bool touches, own; /* own: all uses so far touch, in each iteration, the copy with its number */
} Question;

static bool picks_copy(const View *v, const Piece *p, const Loop *l)
{
    const Param *of = v->buffer->param;
    int64_t size = of->stride[p->copies], reach = v->base;
    if (of->loops <= p->copies || size != p->param->stride[p->copies] || v->guarded) return false;
    for (int k = 0; k < v->shape.rank; k++) {
        if (v->stride[k] < 0) return false;
        reach += (v->shape.dim[k] - 1) * v->stride[k];
    }
    for (int k = 0; k < v->nover; k++)
        if (v->over[k].loop == l) return v->over[k].stride == size && v->base >= 0 && reach < size;
    return false;
}

static void ask_operand(Operand *o, bool writes, void *user)
{
    Question *q = user;
    const Buffer *b = o->view.buffer;
    (void)writes;
    if (!b || b->home != GRADIENTS) return;
    int64_t first = b->param->offset, end = first + 1;
    for (int k = 0; k < b->param->shape.rank; k++) end += (b->param->shape.dim[k] - 1) * b->param->stride[k];
    if (end <= q->piece->first || first >= q->piece->end) return;
    q->touches = true;
    if (q->loop) q->own &= picks_copy(&o->view, q->piece, q->loop);
}

static void ask(const Kernel *k, Question *q)
{
    each_operand((Kernel *)k, ask_operand, q);
    for (int i = 0; i < k->body.n; i++) ask(k->body.at[i], q);
}

static bool touches_piece(const Kernel *k, const Piece *p)
{
    Question q = {.piece = p};
    ask(k, &q);
    return q.touches;
}

static bool has_own_copies(const Kernel *repeat, const Piece *p)
{
    Question q = {.piece = p, .loop = repeat->loop, .own = true};
    bool copies = p->copies < p->param->loops && p->param->shape.dim[p->copies] == repeat->loop->trip;
    if (copies) ask(repeat, &q);
    return copies && q.own;
}

/* ------------------------------------------------------------------ places */

/* d->after is NULL if no kernel touches it. */
static void find_place(Done *d, Piece *p, Kernel *const *kernels, int n)
{
    while (n > 0 && !touches_piece(kernels[n - 1], p)) n--;
    if (n == 0) return;
    const Kernel *k = kernels[n - 1];
    d->after = k;
    if (k->kind != REPEAT || k->barrier) return;
    if (has_own_copies(k, p)) d->picks[d->copies++] = k->loop;
    else push(&d->last, k->loop);
    p->copies = d->copies;
    find_place(d, p, k->body.at, k->body.n);
}

void pass_done(Program *p, const Desc *d)
{
    if (without(d, PASS_done) || !made_for_ranks(d->options) || !entry_of(p->graph)->step) return;
    for (int i = 0; i < d->params.n; i++) {
        const Param *q = d->params.at[i];
        Piece piece = {.param = q, .first = q->offset, .end = end_of_piece(q)};
        Done done = {.param = q};
        if (q->struct_of && q->struct_of != q) continue;
        find_place(&done, &piece, p->kernels.at, p->kernels.n);
        if (done.after) push(&p->done, done);
    }
}
