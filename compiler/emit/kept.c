/* kept.c: CUDA: copies of rows in shared memory, where several sweeps of a block read a row (schedule/keep.c). */
#include "emit/threads.h"

#include <string.h>

static DType type_of_row(const Rows *r, int load) { return r->f->uses.at[r->load[load]].view.buffer->dtype; }

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
    const char *type = c_type(type_of_row(r, load)), *count = r->f->axis[r->inner].count;
    const char *before = r->f->room ? format(", %s", r->f->room) : "", *from = start_of_row(r, load);
    r->kept_load[load] = new_name(&r->f->names, "row");
    line(&r->f->w, "const %s *%s = keep_row<%d>(%s, %s%s);", type, r->kept_load[load], r->beside, from, count, before);
    const char *own = format("row_bytes<%s>(%s)", type, count);
    r->f->room = r->f->room ? format("%s + %s", r->f->room, own) : own;
}

void keep_rows(Rows *r)
{
    r->kept_load = NEW_ARRAY(const char *, r->k->loads.n + 1);
    for (int i = 0; i < r->n->kept.n; i++)
        for (int l = 0; l < r->k->loads.n; l++)
            if (r->k->loads.at[l].node == r->n->kept.at[i]) keep_row(r, l);
    if (r->f->room) line(&r->f->w, "copy_wait<0>();");
}
