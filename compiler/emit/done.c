/* done.c: where an entry says which gradients are done: that no kernel behind that line reads or writes them.
 *
 * What is said is a parameter, or a copy of a stack's struct, where a loop goes through the copies one by one (each
 * iteration touches its own, and nothing behind the loop touches any).  The place is behind the last kernel that
 * touches it: if that is a loop, behind the last one in its body, and, unless each iteration has its own copy, in the
 * last iteration alone. */
#include "desc/target.h"
#include "emit/emit.h"

#include <string.h>

typedef struct Piece {   /* of the flat arrays: a parameter, or all copies of a struct */
    const Param *param;  /* the first */
    int64_t first, end;  /* elements */
    const Kernel *after; /* NULL: nothing touches it */
    int copies;          /* so many loops pick a copy, one after the other; those: */
    const Loop *picks[MAXRANK];
    VEC(const Loop *) last; /* only in the last iteration of these */
} Piece;

static VEC(Piece) pieces;

/* ------------------------------------------------------------------ who touches a piece */

typedef struct Question {
    const Piece *piece;
    const Loop *loop;  /* picks asks of it: */
    bool touches, own; /* own: all that was asked about so far touch, in an iteration, the copy of its number */
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

static bool touches(const Kernel *k, const Piece *p)
{
    Question q = {.piece = p};
    ask(k, &q);
    return q.touches;
}

static bool has_own_copies(const Kernel *repeat, const Piece *p)
{
    Question q = {.piece = p, .loop = repeat->loop, .own = true};
    bool copies =
        group_of(p->param) && p->copies < p->param->loops && p->param->shape.dim[p->copies] == repeat->loop->trip;
    if (copies) ask(repeat, &q);
    return copies && q.own;
}

/* ------------------------------------------------------------------ places */

static void find_place(Piece *p, Kernel *const *kernels, int n)
{
    while (n > 0 && !touches(kernels[n - 1], p)) n--;
    if (n == 0) return;
    const Kernel *k = kernels[n - 1];
    p->after = k;
    if (k->kind != REPEAT || is_one_launch(k)) return;
    if (has_own_copies(k, p)) p->picks[p->copies++] = k->loop;
    else push(&p->last, k->loop);
    find_place(p, k->body.at, k->body.n);
}

static int64_t end_of(const Param *p)
{
    int64_t end = p->offset + 1;
    if (p->loops) return p->offset + p->stride[0] * p->shape.dim[0];
    for (int k = 0; k < p->shape.rank; k++) end += (p->shape.dim[k] - 1) * p->stride[k];
    return end;
}

/* Needs: name_parameters. */
void find_done(const Program *p, const Desc *d)
{
    memset(&pieces, 0, sizeof pieces);
    if (!options.target->tells_gradients || !entry_of(p->graph)->step) return;
    for (int i = 0; i < d->params.n; i++) {
        const Param *q = d->params.at[i];
        bool told = false;
        for (int k = 0; k < pieces.n && group_of(q); k++) {
            Piece *same_group = &pieces.at[k];
            if (!group_of(same_group->param) || !same(group_of(same_group->param), group_of(q))) continue;
            told = true;
            if (q->offset < same_group->first) *same_group = (Piece){.param = q, .first = q->offset, .end = end_of(q)};
        }
        if (!told) push(&pieces, ((Piece){.param = q, .first = q->offset, .end = end_of(q)}));
    }
    for (int i = 0; i < pieces.n; i++) find_place(&pieces.at[i], p->kernels.at, p->kernels.n);
}

/* ------------------------------------------------------------------ the line */

static char *piece_text(const Piece *p)
{
    const char *group = group_of(p->param);
    if (!group) return param_text(p->param, "d->", NULL);
    Text t = {0};
    say(&t, "d->%s", group);
    for (int k = 0; k < p->copies; k++) say(&t, "[%s]", loop_letter(p->picks[k]));
    return t.at;
}

void say_done(Text *t, int depth, const Kernel *after)
{
    for (int i = 0; i < pieces.n; i++) {
        const Piece *p = &pieces.at[i];
        if (p->after != after) continue;
        say(t, "%*s", depth * 4, "");
        for (int k = 0; k < p->last.n; k++) {
            const Loop *l = p->last.at[k];
            const char *end = l->reverse ? "0" : format("%s - 1", trip_text(l));
            say(t, "%s%s == %s%s", k ? " && " : "if (", loop_letter(l), end, k == p->last.n - 1 ? ") " : "");
        }
        char *what = piece_text(p);
        say(t, "gradients_done(&%s, sizeof %s, stream);\n", what, what);
    }
}
