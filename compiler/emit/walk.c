/* walk.c: loops over axes, which threads may share. In C these are nested loops. In CUDA, indices follow from the
 * number of the thread, and loops cover the other axes. The target decides (Spelling). */
#include "desc/target.h"
#include "emit/index.h"

void open_for(Writer *w, For f)
{
    const char *step = f.step ? format(" += %s", f.step) : "++";
    open_block(w, "%sfor (%s %s = %s; %s < %s; %s%s)", f.mark ? f.mark : "", f.type ? f.type : "int", f.name,
               f.from ? f.from : "0", f.name, f.to, f.name, step);
}

static void open_axis_by(Function *f, int j, const char *mark, const char *step)
{
    open_for(&f->w, (For){.mark = mark, .name = f->axis[j].name, .to = f->axis[j].count, .step = step});
}

void open_axis(Function *f, int j, const char *mark) { open_axis_by(f, j, mark, NULL); }

void close_down_to(Writer *w, int depth)
{
    while (w->depth > depth) close_block(w);
}

/* ------------------------------------------------------------------ parts of a kernel */

void begin_kernel(Function *f)
{
    if (f->page->target->spelling->begin) f->page->target->spelling->begin(f);
}

void end_kernel(Function *f)
{
    if (f->page->target->spelling->end) f->page->target->spelling->end(f);
}

void begin_part(Function *f)
{
    if (f->page->target->spelling->begin_part) f->page->target->spelling->begin_part(f);
}

void end_part(Function *f, const char *remark, const char *blocks)
{
    if (f->page->target->spelling->end_part) f->page->target->spelling->end_part(f, remark, blocks);
}

/* ------------------------------------------------------------------ several axes */

void walk_axes(Walk *w, int from, int to)
{
    for (int j = from; j < to; j++) w->axis[w->n++] = j;
}

void share_axes(Walk *w, int from, int to)
{
    walk_axes(w, from, to);
    w->shared = w->n;
}

/* The last of the axes along which the ids lie; -1: none. */
static int last_of_ids(const Function *f, const Walk *w)
{
    int last = -1;
    for (int i = 0; w->by && i < w->n; i++)
        if (loops_over(f, &w->by->by, w->axis[i])) last = i;
    return last;
}

/* Threads share the outermost loop. Inside it, the iterations of the innermost one are independent. */
static const char *mark_of_loop(const Function *f, bool *share, bool *inside, bool innermost)
{
    if (!*share) return innermost && *inside && f->nest->apart ? "EACH " : NULL;
    *share = false;
    *inside = true;
    return "PARALLEL ";
}

const char *open_walk(Function *f, const Walk *w)
{
    bool by_number = f->page->target->spelling->share, share = w->threads, inside = w->inside;
    const char *blocks = by_number ? f->page->target->spelling->share(f, w->axis, w->shared) : NULL;
    int first = by_number ? w->shared : 0, ids = last_of_ids(f, w);
    if (w->by && ids < first) declare_id(f, w->by);
    for (int i = first; i < w->n; i++) {
        int j = w->axis[i];
        if (f->axis[j].extent == 1) continue;
        bool last = i == w->n - 1, blocks = last && w->by_blocks;
        open_axis_by(f, j, mark_of_loop(f, &share, &inside, last && i > ids && !blocks), blocks ? "LATHE_BLOCK" : NULL);
        if (i == ids) declare_id(f, w->by);
    }
    return blocks;
}
