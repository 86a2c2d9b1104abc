/* plain.c: pass plain: kernels by ids, and kernels that find the largest element of a row, get a slow plain loop
 * beside them, in case they are wrong on some machine: a trainer compares the two (trainer/selftest.c). There is no
 * plain loop if it would be the same text, or inside a loop that is one launch. */
#include "desc/passes.h"
#include "desc/target.h"
#include "kernels/nest.h"

/* Is the plain loop another text? The kernel takes elements of all columns at once, or ids in the order in which
 * threads come to them. */
static bool is_another_text(const Kernel *k)
{
    const Nest *n = k->nest;
    const Picked *p = n->picked;
    if (k->kind == GATHER) return extent_of(&n->space, p->batch + p->ids, p->id) > 1;
    if (p) return extent_of(&n->space, p->batch, p->batch + p->ids) > 1;
    return k->kind == ARGMAX && n->team == TEAM_OF_WARP;
}

static void give_plain_loop(Kernel *k, const Desc *d)
{
    if (!d->options->target->loops && !k->persistent) k->nest->plain = is_another_text(k);
}

void pass_plain(Program *p, const Desc *d)
{
    if (!without(d, PASS_plain)) each_nest(p, give_plain_loop, d);
}
