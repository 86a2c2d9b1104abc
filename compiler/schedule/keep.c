/* keep.c: pass keep: rows that a block of CUDA threads copies into shared memory, since several of its sweeps read
 * them.
 *
 * Eight blocks of THREADS run on a processor. If each sweeps three times over 100 KB, 132 processors have 106 MB of
 * rows in use. An L2 of 50 MB holds none of it until the second sweep, so memory does three reads and a write. With
 * copies it does one read and a write.
 *
 * Below LEAST_KEPT a copy is not worth it: a second sweep of eight blocks finds the rows in the L1 (256 KB; 192 KB on
 * sm_80).
 *
 * MOST_KEPT is what a block may have on sm_86 and sm_89, less what the ends of reductions take. Of the longest rows,
 * two fit on sm_90 (228 KB), so one block copies while the other computes; one fits on sm_80 (164 KB). All copies of
 * a row are in flight at once, and a thread has several elements, so few blocks should be enough. This is not
 * measured. On sm_80, where one block copies and computes in turns, it is the first thing to measure.
 *
 * A row is kept if its elements are contiguous in whole accesses of 16 bytes and if not all rows read it: such an
 * array stays in the caches. A thread takes the same elements in every sweep, those that it has copied, so a kernel
 * may also overwrite what it has read. */
#include "desc/passes.h"
#include "desc/target.h"
#include "kernels/nest.h"

enum { ACCESS = 16, LEAST_KEPT = 24 * 1024, MOST_KEPT = 99 * 1024 - 512 };

static int sweeps_over(const Values *v, const Node *load)
{
    int sweeps = 0;
    for (int p = 0; p < v->k->phases.n; p++) sweeps += uses_in_sweep(v, p, load) > 0;
    return sweeps;
}

/* Do all uses of these bytes in the kernel have one type? */
static bool of_one_type(const Nest *n, const Buffer *b)
{
    bool all = true;
    for (int i = 0; i < n->space.views.n; i++) {
        const Buffer *other = n->space.views.at[i]->buffer;
        if (other && bytes_of(other) == bytes_of(b)) all &= other->dtype == b->dtype;
    }
    return all;
}

/* Does each row of the kernel read a row of its own, and do these begin at multiples of 16 bytes? */
static bool is_own_row(const Nest *n, const View *v)
{
    int inner = n->space.shape.rank - 1;
    if (!v->buffer || v->guarded || v->stride[inner] != 1 || !of_one_type(n, v->buffer)) return false;
    int many = ACCESS / (int)dtype_bytes(v->buffer->dtype);
    if (n->beside % many || !rows_are_aligned(&n->space, v, inner, many)) return false;
    for (int j = 0; j < inner; j++)
        if (n->space.shape.dim[j] > 1 && !v->stride[j]) return false;
    return true;
}

static int64_t bytes_of_row(const Nest *n, const View *v)
{
    return round_up(n->space.shape.dim[n->space.shape.rank - 1] * dtype_bytes(v->buffer->dtype), ACCESS);
}

/* Keeps rows in order as long as there is room. Which rows are kept changes no result. */
static void keep_rows_of_block(Kernel *k, const Desc *d)
{
    Nest *n = k->nest;
    int64_t bytes = 0;
    if (d->options->target->loops || k->kind != ROWS || n->columns || n->team < TEAM_OF_BLOCK || k->persistent) return;
    Values values = values_of(n);
    for (int i = 0; i < n->rows->loads.n; i++) {
        const Operand *o = &n->rows->loads.at[i];
        if (!is_own_row(n, &o->view) || sweeps_over(&values, o->node) < 2) continue;
        if (bytes + bytes_of_row(n, &o->view) > MOST_KEPT) continue;
        push(&n->kept, o->node);
        bytes += bytes_of_row(n, &o->view);
    }
    if (bytes < LEAST_KEPT) n->kept.n = 0;
}

void pass_keep(Program *p, const Desc *d)
{
    if (!without(d, PASS_keep)) each_nest(p, keep_rows_of_block, d);
}
