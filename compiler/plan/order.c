/* order.c: chooses the order of the kernels of each level, numbers them, and finds how long each buffer must
 * last.
 *
 * Among the kernels whose operands are ready, the next is the one that frees the most bytes of the arena, less the
 * bytes that it begins to use; ties go to the kernel that was made first. Two kernels keep their order if one writes a
 * buffer that the other touches. The forward part comes before the backward part (lower/sides.c), unless the level
 * would need more memory.
 *
 * A buffer lasts from the first kernel that touches it to the last. A buffer from outside that a loop's body uses lasts
 * for the whole loop, since the next iteration may read it again. A buffer that PANELS touch lasts for all of them,
 * since some threads are ahead of others. So does a buffer touched in a loop that is one launch: otherwise blocks would
 * have to meet before its memory is used again. Needs: kernels. Leaves: step, first, last, begin, end. */
#include "lower/lower.h"

#include <string.h>

/* ------------------------------------------------------------------ order */

typedef struct Item { /* a kernel waiting for its turn */
    Kernel *kernel;
    Touches touches;
    VEC(int) after; /* what waits for it */
    int waits;      /* kernels that must run first and have not */
    int64_t inside; /* a loop's: the most bytes of its body's own buffers that live at once */
    bool back, done;
} Item;

typedef struct Shared { /* a buffer, as the level's kernels touch it */
    VEC(int) by;        /* the kernels that touch it */
    int done, writer;   /* how many of them have run; while edges are made: the last that wrote it, or -1 */
    int readers;        /* where in `by` the readers since that write begin */
} Shared;

typedef struct Turn { /* an item that may run, as things stood */
    int64_t growth;
    int item;
    bool back; /* it is of the backward part, and that comes last */
} Turn;

typedef struct Order {
    Item *items;
    Shared *shared;
    int n, buffers;
    const Loop *level;
    VEC(Turn) turns;    /* a heap: least growth first, then in the order of making; some are out of date */
    bool parts;         /* the forward part first */
    int64_t live, most; /* bytes of the level's own buffers: now, and at most so far */
} Order;

static void must_follow(Order *o, int i, int first)
{
    if (first < 0 || first == i) return;
    push(&o->items[first].after, i);
    o->items[i].waits++;
}

/* A writer follows the last writer and all who have read since; a reader the last writer. */
static void note_touch(Order *o, int i, const Touch *t)
{
    Shared *s = &o->shared[t->buffer->number];
    must_follow(o, i, s->writer);
    for (int k = s->readers; t->writes && k < s->by.n; k++) must_follow(o, i, s->by.at[k]);
    push(&s->by, i);
    if (!t->writes) return;
    s->writer = i;
    s->readers = s->by.n;
}

static bool is_own(const Order *o, const Buffer *b) { return b->home == WORK && b->level == o->level; }

/* Bytes of the level's own buffers that live on after item i has run, less those that lived before. */
static int64_t growth(const Order *o, int i)
{
    int64_t bytes = 0;
    const Touches *touches = &o->items[i].touches;
    for (int t = 0; t < touches->n; t++) {
        const Buffer *b = touches->at[t].buffer;
        const Shared *s = &o->shared[b->number];
        if (is_own(o, b)) bytes += b->bytes * ((s->by.n > s->done + 1) - (s->done > 0));
    }
    return bytes;
}

/* The bytes of the buffers that item i begins to use. */
static int64_t begun(const Order *o, int i)
{
    int64_t bytes = 0;
    const Touches *touches = &o->items[i].touches;
    for (int t = 0; t < touches->n; t++) {
        const Buffer *b = touches->at[t].buffer;
        if (is_own(o, b) && !o->shared[b->number].done) bytes += b->bytes;
    }
    return bytes;
}

static bool sooner(Turn a, Turn b)
{
    if (a.back != b.back) return b.back;
    return a.growth != b.growth ? a.growth < b.growth : a.item < b.item;
}

static void add_turn(Order *o, int item)
{
    if (o->items[item].done || o->items[item].waits) return;
    push(&o->turns, ((Turn){growth(o, item), item, o->parts && o->items[item].back}));
    Turn *at = o->turns.at;
    for (int i = o->turns.n - 1; i > 0 && sooner(at[i], at[(i - 1) / 2]); i = (i - 1) / 2) {
        Turn up = at[i];
        at[i] = at[(i - 1) / 2];
        at[(i - 1) / 2] = up;
    }
}

static Turn first_turn(Order *o)
{
    must(o->turns.n);
    Turn *at = o->turns.at, first = at[0], moved = at[--o->turns.n];
    int i = 0, n = o->turns.n;
    for (int k = 1; k < n; k = 2 * i + 1) {
        k += k + 1 < n && sooner(at[k + 1], at[k]);
        if (!sooner(at[k], moved)) break;
        at[i] = at[k];
        i = k;
    }
    at[i] = moved;
    return first;
}

/* Runs item i. The growth of other items that touch its buffers changes when a buffer's first kernel has run, and when
 * all but one have. */
static void run_kernel(Order *o, int i)
{
    Item *item = &o->items[i];
    item->done = true;
    o->most = max64(o->most, o->live + begun(o, i) + item->inside);
    o->live += growth(o, i);
    for (int t = 0; t < item->touches.n; t++) o->shared[item->touches.at[t].buffer->number].done++;
    for (int k = 0; k < item->after.n; k++)
        if (!--o->items[item->after.at[k]].waits) add_turn(o, item->after.at[k]);
    for (int t = 0; t < item->touches.n; t++) {
        const Shared *s = &o->shared[item->touches.at[t].buffer->number];
        bool changed = s->done == 1 || s->done == s->by.n - 1;
        for (int k = 0; changed && k < s->by.n; k++) add_turn(o, s->by.at[k]);
    }
}

/* Numbers the buffers that the items touch: how many. */
static int number_buffers(const Item *items, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        for (int t = 0; t < items[i].touches.n; t++) items[i].touches.at[t].buffer->number = -1;
    for (int i = 0; i < n; i++)
        for (int t = 0; t < items[i].touches.n; t++) {
            Buffer *b = items[i].touches.at[t].buffer;
            if (b->number < 0) b->number = count++;
        }
    return count;
}

/* All are waiting again. */
static void begin_order(Order *o, bool parts)
{
    o->shared = NEW_ARRAY(Shared, o->buffers + 1);
    o->parts = parts;
    o->live = o->most = o->turns.n = 0;
    for (int i = 0; i < o->buffers; i++) o->shared[i].writer = -1;
    for (int i = 0; i < o->n; i++) o->items[i].after.n = o->items[i].waits = o->items[i].done = 0;
    for (int i = 0; i < o->n; i++)
        for (int t = 0; t < o->items[i].touches.n; t++) note_touch(o, i, &o->items[i].touches.at[t]);
}

static void put_in_order(Order *o, bool parts, Kernel **kernels)
{
    begin_order(o, parts);
    for (int i = 0; i < o->n; i++) add_turn(o, i);
    for (int at = 0; at < o->n;) {
        Turn t = first_turn(o);
        if (o->items[t.item].done || t.growth != growth(o, t.item)) continue;
        run_kernel(o, t.item);
        kernels[at++] = o->items[t.item].kernel;
    }
}

static int64_t order(Kernel **kernels, int n, const Loop *level);

static Item *order_items(Kernel **kernels, int n)
{
    Item *items = NEW_ARRAY(Item, n + 1);
    for (int i = 0; i < n; i++) {
        Kernel *k = kernels[i];
        items[i] = (Item){.kernel = k};
        if (k->kind == REPEAT) items[i].inside = order(k->body.at, k->body.n, k->loop);
        items[i].back = first_part(k) == BACKWARD;
        touches_of(k, &items[i].touches);
    }
    return items;
}

static bool in_both_parts(const Order *o)
{
    int back = 0;
    for (int i = 0; i < o->n; i++) back += o->items[i].back;
    return back && back < o->n;
}

/* Orders the kernels of a level. Returns the most bytes of the level's buffers, and of those inside it, that live at
 * once. This is an estimate: in-place values and the packing of the arena are decided later. */
static int64_t order(Kernel **kernels, int n, const Loop *level)
{
    Order o = {.items = order_items(kernels, n), .n = n, .level = level};
    Kernel **in_parts = NEW_ARRAY(Kernel *, n + 1);
    o.buffers = number_buffers(o.items, n);
    put_in_order(&o, false, kernels);
    if (!in_both_parts(&o)) return o.most;
    int64_t most = o.most;
    put_in_order(&o, true, in_parts);
    if (o.most > most) return most;
    memcpy(kernels, in_parts, sizeof *kernels * (size_t)n);
    return o.most;
}

/* Of a layer's kernels, those that its outputs need come first: how many they are.  Whatever of these reads is one of
 * them, which fusion has seen to. */
static int order_in_halves(Kernel **kernels, int n)
{
    int half = 0;
    Order o = {.items = order_items(kernels, n), .n = n};
    o.buffers = number_buffers(o.items, n);
    begin_order(&o, true);
    for (int i = n - 1; i >= 0; i--) { /* as they were made, so what follows one has been seen */
        bool needed = has_forward(kernels[i]);
        for (int k = 0; k < o.items[i].after.n; k++) needed |= !o.items[o.items[i].after.at[k]].back;
        o.items[i].back = !needed;
        half += needed;
    }
    put_in_order(&o, true, kernels);
    return half;
}

/* ------------------------------------------------------------------ steps and lifetimes */

typedef struct Span {
    Loop *level;
    bool panels, together; /* together: of a loop in one launch */
    int first, last;
    struct Span *out;
} Span; /* a level's steps, or those of PANELS in it; out: the level around */

static int number_steps(Kernel *const *kernels, int n, int step)
{
    for (int i = 0; i < n; i++) {
        kernels[i]->step = step++;
        if (kernels[i]->body.n) step = number_steps((Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, step);
    }
    return step;
}

static void extend_life(int *first, int *last, int from, int to)
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
    extend_life(&b->first, &b->last, first, last);
    extend_life(&b->begin, &b->end, begin, end);
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

void pass_order(Program *p, const Desc *d)
{
    if (entry_of(p->graph)->pulls) p->half = order_in_halves(p->kernels.at, p->kernels.n);
    else if (p->kernels.n && !without(d, PASS_order)) order(p->kernels.at, p->kernels.n, NULL);
    p->steps = number_steps(p->kernels.at, p->kernels.n, 0);
    Span top = {NULL, false, false, 0, p->steps - 1, NULL};
    lifetimes(p->kernels.at, p->kernels.n, &top);
}
