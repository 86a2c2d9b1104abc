/* pass_schedule.c: chooses the order of the kernels of each level, numbers them, and finds how long each buffer must
 * last.
 *
 * Of the kernels whose operands are ready the one runs next that frees the most bytes of the arena, less what it begins
 * to use; the first in the order of making where several are equal.  Two kernels keep their order if one writes a
 * buffer that the other touches.
 *
 * A buffer lasts from the first kernel that touches it to the last.  What a loop's body uses of a buffer that belongs
 * outside lasts for the whole loop, since the next iteration may want it again; what PANELS touch lasts for all of
 * them, since some threads are ahead of others; so does what the body of a loop in one launch touches, whose blocks
 * would have to meet before one value lies where another ended.  Needs: kernels.  Leaves: step, first, last, begin,
 * end. */
#include "lathe.h"

/* ------------------------------------------------------------------ order */

typedef struct Item { /* a kernel waiting for its turn */
    Kernel *kernel;
    Touches touches;
    int waits; /* kernels that must run first and have not */
    bool done;
} Item;

/* Bytes of the level's own buffers that live on after item i has run, less those that lived before. */
static int64_t growth(const Item *items, int n, int i, const Loop *level)
{
    int64_t bytes = 0;
    for (int t = 0; t < items[i].touches.n; t++) {
        const Buffer *b = items[i].touches.at[t].buffer;
        if (b->home != WORK || b->level != level) continue;
        bool before = false, after = false;
        for (int k = 0; k < n; k++) {
            if (k == i) continue;
            for (int m = 0; m < items[k].touches.n; m++)
                if (items[k].touches.at[m].buffer == b) *(items[k].done ? &before : &after) = true;
        }
        bytes += b->bytes * ((int)after - (int)before);
    }
    return bytes;
}

static void order(Kernel **kernels, int n, const Loop *level)
{
    Item *items = NEW_ARRAY(Item, n);
    bool *first = NEW_ARRAY(bool, (int64_t)n *n); /* [i][j]: i before j */
    for (int i = 0; i < n; i++) {
        items[i].kernel = kernels[i];
        touches_of(kernels[i], &items[i].touches);
        for (int j = 0; j < i; j++)
            if (conflict(&items[i].touches, &items[j].touches)) first[j * n + i] = true, items[i].waits++;
        if (kernels[i]->kind == REPEAT) order(kernels[i]->body.at, kernels[i]->body.n, kernels[i]->loop);
    }
    for (int at = 0; at < n; at++) {
        int best = -1;
        int64_t least = INT64_MAX;
        for (int i = 0; i < n; i++) {
            if (items[i].done || items[i].waits) continue;
            int64_t g = growth(items, n, i, level);
            if (g < least) least = g, best = i;
        }
        must(best >= 0);
        items[best].done = true;
        kernels[at] = items[best].kernel;
        for (int i = 0; i < n; i++) items[i].waits -= first[best * n + i];
    }
}

/* ------------------------------------------------------------------ steps and lifetimes */

typedef struct Span {
    Loop *level;
    bool panels, together; /* together: of a loop in one launch */
    int first, last;
    struct Span *out;
} Span; /* a level's steps, or those of PANELS in it; out: the level around */

static int number(Kernel *const *kernels, int n, int step)
{
    for (int i = 0; i < n; i++) {
        kernels[i]->step = step++;
        if (kernels[i]->body.n) step = number((Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, step);
    }
    return step;
}

static void extend(int *first, int *last, int from, int to)
{
    if (*first < 0 || from < *first) *first = from;
    if (to > *last) *last = to;
}

static void touch(Buffer *b, int step, const Span *at)
{
    int begin = step, end = step, first = step, last = step;
    for (bool outside = true; at; at = at->out) {
        if (!at->panels && at->level == b->level) outside = false;
        if (!at->panels && outside) begin = at->first, end = at->last;
        if (at->panels || at->together || outside) first = at->first, last = at->last;
    }
    extend(&b->first, &b->last, first, last);
    extend(&b->begin, &b->end, begin, end);
}

static void touch_kernel(const Kernel *k, const Span *at)
{
    Touches t = {0};
    own_touches(k, &t);
    for (int i = 0; i < t.n; i++) touch(t.at[i].buffer, k->step, at);
}

static int last_step(const Kernel *k) { return k->body.n ? last_step(k->body.at[k->body.n - 1]) : k->step; }

static void lifetimes(Kernel *const *kernels, int n, const Span *at)
{
    for (int i = 0; i < n; i++) {
        touch_kernel(kernels[i], at);
        if (!kernels[i]->body.n) continue;
        if (kernels[i]->barrier) touch(kernels[i]->barrier, last_step(kernels[i]), at);
        Span inside = {kernels[i]->loop, kernels[i]->kind == PANELS, kernels[i]->barrier != NULL,
                       kernels[i]->step, last_step(kernels[i]),      (Span *)at};
        lifetimes((Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, &inside);
    }
}

void pass_schedule(Program *p, const Desc *d)
{
    (void)d;
    if (p->kernels.n) order(p->kernels.at, p->kernels.n, NULL);
    p->steps = number(p->kernels.at, p->kernels.n, 0);
    Span top = {NULL, false, false, 0, p->steps - 1, NULL};
    lifetimes(p->kernels.at, p->kernels.n, &top);
}
