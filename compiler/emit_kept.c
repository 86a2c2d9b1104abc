/* emit_kept.c: CUDA: rows that a block copies into shared memory, since several of its sweeps read them.
 *
 * Eight blocks of THREADS run on a processor.  Where each sweeps three times over 100 KB of its own, 132 processors
 * have 106 MB of rows under way, and a second sweep finds none of it in an L2 of 50 MB: three reads and a write.  Kept
 * it is one read and a write.
 *
 * Less than LEAST_KEPT is not worth it: of eight blocks a second sweep finds that in the L1 (256 KB; on sm_80 192).
 *
 * More than MOST_KEPT no block of sm_86 and sm_89 could have, less what the ends of reductions take.  Of the longest
 * there is room for two on sm_90 (228 KB), so that one copies while the other computes, and for one on sm_80 (164 KB).
 * All copies of a row are under way at once, and a thread has several elements in hand, so that fewer blocks should do:
 * not measured, and on sm_80 the first thing to measure, where one block copies and computes in turns.
 *
 * A row is kept if its elements lie side by side in whole accesses of 16 bytes, and is not read by all rows: that
 * stays in the caches.  A thread takes the same elements in every sweep (open_steps(), sweep_with_rest()), those that
 * it has copied; so a kernel may also overwrite what it has read. */
#include "emit_threads.h"

#include <string.h>

enum { ACCESS = 16, LEAST_KEPT = 24 * 1024, MOST_KEPT = 99 * 1024 - 512 };

static int sweeps_over(const Rows *r, int load)
{
    int sweeps = 0;
    for (int p = 0; p < r->k->phases.n; p++)
        sweeps += sweep_uses(r, &r->k->phases.at[p], r->k->loads.at[load].node) > 0;
    return sweeps;
}

static DType type_of(const Rows *r, int load) { return r->f->uses.at[r->load[load]].view.buffer->dtype; }

/* Does every row of the kernel have one of its own, that begins at a multiple of 16 bytes? */
static bool is_own_row(const Rows *r, int load)
{
    const Use *u = &r->f->uses.at[r->load[load]];
    if (!u->view.buffer || u->arg < 0 || u->view.guarded || u->view.stride[r->inner] != 1) return false;
    const Arg *a = &r->f->args.at[u->arg];
    int n = ACCESS / (int)dtype_bytes(type_of(r, load));
    bool whole = aligned(a, ACCESS) && a->buffer->dtype == type_of(r, load);
    whole &= r->beside % n == 0 && u->offset.constant % n == 0;
    for (int j = 0; j < r->rows; j++)
        whole &= r->f->axis[j].extent == 1 || (u->view.stride[j] && u->view.stride[j] % n == 0);
    for (int o = 0; o < u->offset.nover; o++) whole &= u->offset.over[o].coef % n == 0;
    return whole;
}

static int64_t bytes_of_row(const Rows *r, int load)
{
    return round_up(r->f->axis[r->inner].extent * dtype_bytes(type_of(r, load)), ACCESS);
}

/* "logits[r]" */
static const char *start_of_row(const Rows *r, int load)
{
    Axis *c = &r->f->axis[r->inner];
    const char *now = c->now;
    c->now = "0";
    char *first = element(r->f, r->load[load]), *last = strrchr(first, '[');
    c->now = now;
    if (!last || !same(last, "[0]")) return format("&%s", first);
    *last = 0;
    return first;
}

/* const bf16 *row = keep_row<8>(logits[r], VOCAB); */
static void keep_row(Rows *r, int load)
{
    const char *type = c_type(type_of(r, load)), *count = r->f->axis[r->inner].count;
    const char *before = r->f->room ? format(", %s", r->f->room) : "", *from = start_of_row(r, load);
    r->kept_load[load] = new_name(&r->f->names, "row");
    line(&r->f->w, "const %s *%s = keep_row<%d>(%s, %s%s);", type, r->kept_load[load], r->beside, from, count, before);
    const char *own = format("row_bytes<%s>(%s)", type, count);
    r->f->room = r->f->room ? format("%s + %s", r->f->room, own) : own;
}

/* In their order as long as there is room: which of them are kept changes no result. */
void keep_rows(Rows *r)
{
    int64_t bytes = 0;
    bool *chosen = NEW_ARRAY(bool, r->k->loads.n + 1);
    r->kept_load = NEW_ARRAY(const char *, r->k->loads.n + 1);
    if (r->team < THREADS || r->k->persistent) return;
    for (int i = 0; i < r->k->loads.n; i++) {
        if (!is_own_row(r, i) || sweeps_over(r, i) < 2 || bytes + bytes_of_row(r, i) > MOST_KEPT) continue;
        chosen[i] = true;
        bytes += bytes_of_row(r, i);
    }
    for (int i = 0; i < r->k->loads.n && bytes >= LEAST_KEPT; i++)
        if (chosen[i]) keep_row(r, i);
    if (r->f->room) line(&r->f->w, "copy_wait<0>();");
}
