/* wide.c: pass wide: which arrays a CUDA thread reads or writes as wholes: its elements side by side in one access of
 * 16 bytes, or less if they are fewer bytes together. A compiler merges several accesses into one only where the code
 * around them is short, and does not say where it fails to.
 *
 * An array is read this way if all elements are present and contiguous in memory, and if those of each thread begin
 * at a multiple of the access. */
#include "desc/passes.h"
#include "desc/target.h"
#include "kernels/nest.h"

static bool may_be_wide(const Nest *n, const View *v, int along)
{
    if (!v->buffer || v->guarded || v->stride[along] != 1) return false;
    return rows_are_aligned(&n->space, v, along, n->beside);
}

static bool gathers_wholes(const Kernel *k)
{
    const Picked *p = k->nest->picked;
    bool may = k->kind == GATHER && p->after && !k->writes.at[0].add;
    return may && may_be_wide(k->nest, &p->x, p->id - 1) && may_be_wide(k->nest, &p->y, p->id - 1);
}

static void make_wide(Kernel *k, const Desc *d)
{
    Nest *n = k->nest;
    if (d->options->target->loops || n->beside < 2) return;
    if (k->kind != ROWS) {
        n->wide = gathers_wholes(k) ? 3 : 0;
        return;
    }
    Swept all = swept_views(n);
    for (int i = 0; i < all.n && i < MOST_WIDE; i++)
        if (may_be_wide(n, all.at[i], n->space.shape.rank - 1)) n->wide |= (uint64_t)1 << i;
}

void pass_wide(Program *p, const Desc *d)
{
    if (!without(d, PASS_wide)) each_nest(p, make_wide, d);
}
