/* done.c: pass done: finds where train reads each parameter first, and the kernel after which a gradient is done: no
 * later kernel reads or writes it.  Ranks then send what is done, and wait for what is needed, while kernels run.  With
 * --shard-parameters all that ranks run together also says from where on a parameter is not read, and train where its
 * gradient is touched first.
 *
 * The unit is a parameter. If that kernel is a loop through the copies of a stack, one by one (each iteration touches
 * its own copy), it is one copy of the struct. The place is before the first or after
 * the last kernel that touches the unit. If that is a loop over copies, it is inside. A gradient is also done inside
 * any other loop, in the last iteration. */
#include "desc/passes.h"
#include "desc/target.h"
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
    Home home;         /* of what is touched */
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
    if (!b || b->home != q->home) return;
    int64_t first = b->param->offset, end = first + 1;
    for (int k = 0; k < b->shape.rank; k++)
        end += (b->shape.dim[k] - 1) * b->stride[k]; /* it may hold several, side by side */
    if (end <= q->piece->first || first >= q->piece->end) return;
    q->touches = true;
    if (q->loop) q->own &= picks_copy(&o->view, q->piece, q->loop);
}

static void ask(const Kernel *k, Question *q)
{
    each_operand((Kernel *)k, ask_operand, q);
    for (int i = 0; i < k->body.n; i++) ask(k->body.at[i], q);
}

static bool touches_piece(const Kernel *k, const Piece *p, Home home)
{
    Question q = {.piece = p, .home = home};
    ask(k, &q);
    return q.touches;
}

static bool has_own_copies(const Kernel *repeat, const Piece *p, Home home)
{
    Question q = {.piece = p, .home = home, .loop = repeat->loop, .own = true};
    bool copies = p->copies < p->param->loops && p->param->shape.dim[p->copies] == repeat->loop->trip;
    if (copies) ask(repeat, &q);
    return copies && q.own;
}

/* ------------------------------------------------------------------ places */

typedef struct List { /* of kernels, in order */
    Kernel *const *at;
    int n;
} List;

static Piece piece_with(const Param *q) { return (Piece){.param = q, .first = q->offset, .end = end_of_piece(q)}; }
static Home home_of_said(Lathe_saying s) { return s == LATHE_NEEDED || s == LATHE_DROPPED ? PARAMETERS : GRADIENTS; }

/* s->at is NULL if no kernel touches it.  copies: so many axes of copies may be picked. */
static void find_place(Said *s, Piece *p, List of, int copies)
{
    const Home home = home_of_said(s->what);
    const bool first = is_said_before(s);
    int i = first ? 0 : of.n - 1;
    while (i >= 0 && i < of.n && !touches_piece(of.at[i], p, home)) i += first ? 1 : -1;
    if (i < 0 || i == of.n) return;
    const Kernel *k = s->at = of.at[i];
    if (k->kind != REPEAT || k->barrier) return;
    if (s->copies < copies && has_own_copies(k, p, home)) s->picks[s->copies++] = k->loop;
    else if (s->what == LATHE_DONE) push(&s->last, k->loop);
    else return;
    p->copies = s->copies;
    find_place(s, p, (List){k->body.at, k->body.n}, copies);
}

static Said place_said(Lathe_saying what, const Param *q, List of, int copies)
{
    Said s = {.what = what, .param = q};
    Piece piece = piece_with(q);
    find_place(&s, &piece, of, copies);
    return s;
}

static void say_of(Program *p, Lathe_saying what, const Param *q, List of)
{
    const Said s = place_said(what, q, of, MAXRANK);
    if (s.at) push(&p->said, s);
}

/* ------------------------------------------------------------------ what is read */

static bool has_side(const Kernel *k, bool backward)
{
    bool has = !k->body.n && (k->part == BACKWARD) == backward;
    for (int i = 0; !has && i < k->body.n; i++) has = has_side(k->body.at[i], backward);
    return has;
}

static bool has_both_sides(const Kernel *k) { return has_side(k, false) && has_side(k, true); }

/* The loop with both sides, over micro-batches, if it alone touches the piece; each of its iterations then says what it
 * reads. */
static const Kernel *only_loop_with_both(List of, const Piece *p)
{
    const Kernel *only = NULL;
    for (int i = 0; i < of.n; i++) {
        if (!touches_piece(of.at[i], p, PARAMETERS)) continue;
        if (only) return NULL;
        only = of.at[i];
    }
    return only && only->kind == REPEAT && !only->barrier && has_both_sides(only) ? only : NULL;
}

/* Before the first kernel that touches it for gradients; none if one does for both. */
static int first_of_backward(List of, const Piece *p)
{
    int first = of.n;
    for (int i = of.n - 1; i >= 0; i--) {
        if (!touches_piece(of.at[i], p, PARAMETERS)) continue;
        if (has_both_sides(of.at[i])) return of.n;
        if (has_side(of.at[i], true)) first = i;
    }
    return first;
}

/* If ranks keep parameters apart, forward drops what backward needs again. */
static void say_reads(Program *p, const Param *q, List of, bool sharded)
{
    const Piece piece = piece_with(q);
    const Kernel *steps = only_loop_with_both(of, &piece);
    if (steps) {
        say_reads(p, q, (List){steps->body.at, steps->body.n}, sharded);
        return;
    }
    const int cut = first_of_backward(of, &piece);
    const List parts[] = {{of.at, cut}, {of.at + cut, of.n - cut}};
    for (int k = 0; k < COUNT_OF(parts); k++) {
        const Said needed = place_said(LATHE_NEEDED, q, parts[k], MAXRANK);
        if (!needed.at) continue;
        push(&p->said, needed);
        if (!sharded) return;
        push(&p->said, place_said(LATHE_DROPPED, q, parts[k], needed.copies)); /* needed whole, dropped whole */
    }
}

/* Several ranks run it together.  Not sample: it would need all parameters through its loop over steps of time. */
static bool is_shared(const Graph *g)
{
    switch (g->entry) {
    case ENTRY_eval:
    case ENTRY_predict:
    case ENTRY_encode:
    case ENTRY_prefill:
    case ENTRY_decode: return true;
    default: return entry_of(g)->step && g->entry != ENTRY_grad;
    }
}

void pass_done(Program *p, const Desc *d)
{
    const bool step = entry_of(p->graph)->step, sharded = d->options->shard_parameters && is_shared(p->graph);
    const List all = {p->kernels.at, p->kernels.n};
    if (without(d, PASS_done) || !made_for_ranks(d->options) || (!step && !sharded)) return;
    for (int i = 0; i < d->params.n; i++) {
        const Param *q = d->params.at[i];
        if (q->struct_of && q->struct_of != q) continue;
        if (d->options->target->says[LATHE_NEEDED] && !q->frozen) say_reads(p, q, all, sharded);
        if (!step) continue;
        if (sharded) say_of(p, LATHE_BEGUN, q, all);
        say_of(p, LATHE_DONE, q, all);
    }
}
