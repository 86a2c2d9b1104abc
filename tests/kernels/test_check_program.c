/* test_check_program.c: the checker of kernels lets good programs pass, and catches what is broken in one on purpose,
 * wherever that can be broken, each time in a process of its own. */
#include "../graph/apart.h"

#include <string.h>

enum { MOST_SITES = 60 }; /* of one fault in one program */

/* Breaks p at its n-th place for that. */
typedef enum Broken { NO_SUCH_PLACE, BROKEN, NOT_HERE } Broken;
typedef Broken (*Break)(Program *p, int n);

/* ------------------------------------------------------------------ finding kernels */

typedef VEC(Kernel *) List;

static void all_kernels(Kernel *const *kernels, int n, List *out)
{
    for (int i = 0; i < n; i++) {
        push(out, kernels[i]);
        all_kernels((Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, out);
    }
}

static List kernels_of(const Program *p)
{
    List out = {0};
    all_kernels((Kernel *const *)p->kernels.at, p->kernels.n, &out);
    return out;
}

static int number(Kernel *const *kernels, int n, int step)
{
    for (int i = 0; i < n; i++) {
        kernels[i]->step = step++;
        step = number((Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, step);
    }
    return step;
}

static bool among(const Touches *t, const Buffer *b, bool writes)
{
    for (int i = 0; i < t->n; i++)
        if (t->at[i].buffer == b && t->at[i].writes == writes) return true;
    return false;
}

static Kernel *at_step(const Program *p, int step)
{
    List all = kernels_of(p);
    for (int i = 0; i < all.n; i++)
        if (all.at[i]->step == step) return all.at[i];
    return NULL;
}

/* The kernel that makes the n-th buffer that is made over another; NULL: there are not so many. */
static Kernel *n_th_over(const Program *p, int n, Buffer **new)
{
    for (int i = 0; i < p->buffers.n; i++) {
        Buffer *b = p->buffers.at[i];
        if (!b->in_place_of || n--) continue;
        *new = b;
        return at_step(p, b->begin);
    }
    return NULL;
}

static Operand *load_from(Kernel *k, const Buffer *b)
{
    for (int i = 0; i < k->loads.n; i++)
        if (k->loads.at[i].view.buffer == b) return &k->loads.at[i];
    return NULL;
}

/* ------------------------------------------------------------------ order */

/* One of the two reads what the other writes. */
static bool depend(const Kernel *first, const Kernel *second)
{
    Touches a = {0}, b = {0};
    touches_of(first, &a);
    touches_of(second, &b);
    for (int i = 0; i < a.n; i++)
        if (among(&b, a.at[i].buffer, !a.at[i].writes)) return true;
    return false;
}

/* Two kernels that run one after another. */
static bool swap_in(Kernel **kernels, int count, int *n)
{
    for (int i = 0; i + 1 < count; i++) {
        if (kernels[i]->kind != PACK && depend(kernels[i], kernels[i + 1]) && !(*n)--) {
            Kernel *first = kernels[i];
            kernels[i] = kernels[i + 1];
            kernels[i + 1] = first;
            return true;
        }
    }
    for (int i = 0; i < count; i++)
        if (swap_in(kernels[i]->body.at, kernels[i]->body.n, n)) return true;
    return false;
}

static Broken swapped(Program *p, int n)
{
    if (!swap_in(p->kernels.at, p->kernels.n, &n)) return NO_SUCH_PLACE;
    number((Kernel *const *)p->kernels.at, p->kernels.n, 0);
    return BROKEN;
}

/* Nobody makes what others read. */
static Broken dropped(Program *p, int n)
{
    for (int i = 0; i < p->kernels.n; i++) {
        Touches made = {0};
        own_touches(p->kernels.at[i], &made);
        for (int k = 0; k < made.n; k++) {
            const Buffer *b = made.at[k].buffer;
            bool only = made.at[k].writes && b->home == WORK && b->begin == p->kernels.at[i]->step;
            if (!only || b->end == b->begin || n--) continue;
            memmove(&p->kernels.at[i], &p->kernels.at[i + 1], sizeof(Kernel *) * (size_t)(--p->kernels.n - i));
            number((Kernel *const *)p->kernels.at, p->kernels.n, 0);
            return BROKEN;
        }
    }
    return NO_SUCH_PLACE;
}

/* ------------------------------------------------------------------ lifetimes and offsets */

static bool is_made(const Buffer *b) { return b->home == WORK && b->first >= 0 && b->bytes > 0; }

static Broken shortened(Program *p, int n)
{
    for (int i = 0; i < p->buffers.n; i++) {
        Buffer *b = p->buffers.at[i];
        if (!is_made(b) || b->first == b->last || n--) continue;
        if (i % 2) b->last = b->last - 1, b->end = b->end > b->last ? b->last : b->end;
        else b->first = b->first + 1, b->begin = b->begin < b->first ? b->first : b->begin;
        return BROKEN;
    }
    return NO_SUCH_PLACE;
}

/* The n-th pair of buffers that are needed at once, of those that the plan has apart. */
static bool live_pair(const Program *p, int n, Buffer **a, Buffer **b)
{
    for (int i = 0; i < p->buffers.n; i++)
        for (int j = 0; j < p->buffers.n; j++) {
            *a = p->buffers.at[i], *b = p->buffers.at[j];
            if (i == j || !is_made(*a) || !is_made(*b) || bytes_of(*a) == bytes_of(*b)) continue;
            if ((*a)->begin < (*b)->begin && (*b)->begin < (*a)->end && !n--) return true;
        }
    return false;
}

static Broken moved_onto(Program *p, int n)
{
    Buffer *a, *b;
    if (!live_pair(p, 7 * n, &a, &b)) return NO_SUCH_PLACE;
    b->offset = a->offset;
    return BROKEN;
}

static Broken partly_onto(Program *p, int n)
{
    Buffer *a, *b;
    if (!live_pair(p, 5 * n, &a, &b)) return NO_SUCH_PLACE;
    b->offset = a->offset + a->bytes - 4;
    p->work_bytes += b->bytes;
    return BROKEN;
}

static Broken made_over_a_live_one(Program *p, int n)
{
    Buffer *a, *b;
    if (!live_pair(p, 3 * n, &a, &b)) return NO_SUCH_PLACE;
    b->in_place_of = a;
    b->offset = a->offset;
    b->nearer = NULL;
    return BROKEN;
}

/* Made over what the same kernel reads for the last time, but in another order than it reads: products, attention. */
static Broken made_over_an_operand(Program *p, int n)
{
    List all = kernels_of(p);
    for (int i = 0; i < all.n; i++) {
        Touches t = {0};
        if (all.at[i]->kind != GEMM && all.at[i]->kind != ATTENTION) continue;
        own_touches(all.at[i], &t);
        for (int a = 0; a < t.n; a++)
            for (int b = 0; b < t.n; b++) {
                Buffer *new = t.at[a].buffer, *old = t.at[b].buffer;
                if (!is_made(new) || !is_made(old) || !among(&t, new, true) || !among(&t, old, false)) continue;
                if (new->begin != all.at[i]->step || old->end != all.at[i]->step || n--) continue;
                new->offset = old->offset;
                new->in_place_of = old;
                new->nearer = NULL;
                p->work_bytes += new->bytes;
                return BROKEN;
            }
    }
    return NO_SUCH_PLACE;
}

/* ------------------------------------------------------------------ element by element */

/* What a kernel reads of the old value lies `axis` one further on, as far as there is any. */
static bool shift(Operand *o, int axis)
{
    View *v = &o->view;
    if (axis < 0 || v->high[axis] - v->low[axis] < 2 || !v->stride[axis]) return false;
    v->base += v->stride[axis];
    v->high[axis]--;
    v->guarded = true;
    return true;
}

static Broken shifted(Program *p, int n, int from_last)
{
    Buffer *new;
    Kernel *k = n_th_over(p, n, &new);
    if (!k) return NO_SUCH_PLACE;
    Operand *o = k->kind == OVERWRITE ? &k->reads.at[0] : load_from(k, new->in_place_of);
    if (k->phases.n > 1 && !from_last) o = NULL; /* an earlier phase may read all columns */
    for (int axis = o ? o->view.shape.rank - 1 - from_last : -1; axis >= 0; axis--)
        if (shift(o, axis)) return BROKEN;
    return NOT_HERE;
}

static Broken a_column_on(Program *p, int n) { return shifted(p, n, 0); }
static Broken a_row_on(Program *p, int n) { return shifted(p, n, 1); }

static Broken read_once_a_row(Program *p, int n)
{
    Buffer *new;
    Kernel *k = n_th_over(p, n, &new);
    Operand *o = k ? load_from(k, new->in_place_of) : NULL;
    if (!k) return NO_SUCH_PLACE;
    if (!o) return NOT_HERE;
    o->once_a_row = true;
    return BROKEN;
}

/* A later phase reads the value again, in whose place another lies by then. */
static Broken read_later(Program *p, int n)
{
    Buffer *new;
    Kernel *k = n_th_over(p, n, &new);
    if (!k) return NO_SUCH_PLACE;
    Operand *o = load_from(k, new->in_place_of);
    if (!o) return NOT_HERE;
    Phase more = {0};
    push(&more.sums, reduce(OP_sum, o->node, 1, &(int){0}));
    if (!o->node->shape.rank) push(&more.each, map1(OP_neg, o->node));
    push(&k->phases, more);
    return BROKEN;
}

/* ------------------------------------------------------------------ panels */

typedef struct Wanted { /* a write of what a view shows, but for its extents */
    const View *view;
    bool found;
} Wanted;

static void compare(Operand *o, bool writes, void *wanted)
{
    Wanted *w = wanted;
    w->found |= writes && o->view.buffer == w->view->buffer && o->view.base == w->view->base;
}

static bool makes(const Kernel *k, const View *v)
{
    Wanted w = {v, false};
    each_operand((Kernel *)k, compare, &w);
    for (int i = 0; i < k->body.n; i++) w.found |= makes(k->body.at[i], v);
    return w.found;
}

/* The n-th load of a kernel in panels that reads what one of them makes in the same iteration.  each: rows of the
 * kernel that are one of the panels'. */
static Operand *read_in_panels(const Program *p, int n, int64_t *each)
{
    List all = kernels_of(p);
    for (int i = 0; i < all.n; i++) {
        Kernel *k = all.at[i];
        for (int l = 0; k->panels && k->kind == ROWS && l < k->loads.n; l++) {
            if (!k->loads.at[l].view.buffer || !makes(k->panels, &k->loads.at[l].view) || n--) continue;
            *each = kernel_rows(k) / k->panels->rows;
            return &k->loads.at[l];
        }
    }
    return NULL;
}

static Broken another_panels_row(Program *p, int n)
{
    int64_t each, apart = 1; /* apart: rows from one index to the next */
    Operand *o = read_in_panels(p, n, &each);
    if (!o) return NO_SUCH_PLACE;
    for (int axis = o->view.shape.rank - 2; axis >= 0; apart *= o->view.shape.dim[axis--])
        if (apart >= each && shift(o, axis)) return BROKEN;
    return NOT_HERE;
}

static Broken cut_blocks(Program *p, int n)
{
    List all = kernels_of(p);
    for (int i = 0; i < all.n; i++) {
        if (!all.at[i]->panels || all.at[i]->block < 2 || n--) continue;
        all.at[i]->panels->unit = 1;
        return kernel_rows(all.at[i]) / all.at[i]->panels->rows % all.at[i]->block ? BROKEN : NOT_HERE;
    }
    return NO_SUCH_PLACE;
}

static Broken rows_that_meet(Program *p, int n)
{
    List all = kernels_of(p);
    for (int i = 0; i < all.n; i++) {
        Kernel *k = all.at[i];
        if (!k->panels || k->kind != GEMM || n--) continue;
        k->gemm.c_m--;
        return BROKEN;
    }
    return NO_SUCH_PLACE;
}

static Broken samples_that_meet(Program *p, int n)
{
    List all = kernels_of(p);
    for (int i = 0; i < all.n; i++) {
        Kernel *k = all.at[i];
        if (!k->panels || k->kind != CONVOLUTION || n--) continue;
        k->writes.at[0].view.stride[0]--;
        return BROKEN;
    }
    return NO_SUCH_PLACE;
}

static Broken rows_without_a_sample(Program *p, int n)
{
    List all = kernels_of(p);
    for (int i = 0; i < all.n; i++) {
        if (all.at[i]->kind != PANELS || n--) continue;
        all.at[i]->rows++;
        return BROKEN;
    }
    return NO_SUCH_PLACE;
}

/* ------------------------------------------------------------------ numbers of kernels and views */

static Broken outside(Program *p, int n)
{
    List all = kernels_of(p);
    for (int i = 0; i < all.n; i++)
        if (all.at[i]->kind == GEMM && !n--) {
            all.at[i]->gemm.a.view.base += all.at[i]->gemm.a.view.buffer->bytes;
            return BROKEN;
        }
    return NO_SUCH_PLACE;
}

static Broken numbered_wrongly(Program *p, int n)
{
    if (n >= p->kernels.n) return NO_SUCH_PLACE;
    p->kernels.at[n]->step++;
    return BROKEN;
}

/* ------------------------------------------------------------------ the test */

static const struct Fault {
    const char *what;
    Break breaks;
    int least; /* places in all programs together */
} faults[] = {
    {"kernels swapped", swapped, 60},
    {"a kernel dropped", dropped, 40},
    {"a lifetime shortened", shortened, 60},
    {"an offset of another", moved_onto, 60},
    {"an offset within another", partly_onto, 60},
    {"made over a live value", made_over_a_live_one, 60},
    {"made over an operand", made_over_an_operand, 10},
    {"read a column on", a_column_on, 5},
    {"read a row on", a_row_on, 10},
    {"read once a row", read_once_a_row, 10},
    {"read by a later phase", read_later, 10},
    {"another row in panels", another_panels_row, 6},
    {"blocks of sums cut by panels", cut_blocks, 1},
    {"rows of a product that meet", rows_that_meet, 5},
    {"samples of a convolution that meet", samples_that_meet, 3},
    {"panels whose rows do not divide those of a kernel", rows_without_a_sample, 5},
    {"a view that begins behind", outside, 10},
    {"a wrong step", numbered_wrongly, 60},
};

typedef struct Try {
    const struct Fault *fault;
    Program *program;
    int n;
} Try;

static const Desc *described;

/* Nests would know what the kernels were. */
static void forget_nests(Program *p, Kernel *const *kernels, int n)
{
    p->after = "plan";
    for (int i = 0; i < n; i++) {
        kernels[i]->nest = NULL;
        forget_nests(p, (Kernel *const *)kernels[i]->body.at, kernels[i]->body.n);
    }
}

static void check_broken(const void *with)
{
    const Try *t = with;
    Broken broken = t->fault ? t->fault->breaks(t->program, t->n) : BROKEN;
    if (broken != BROKEN) _exit(broken == NOT_HERE ? 78 : 77);
    check_program(t->program, "this", described);
}

/* How often the fault was put into the program, and caught. */
static int caught(const char *model, const struct Fault *f, Program *p)
{
    int sites = 0;
    for (int n = 0; n < MOST_SITES; n++) {
        char *said;
        int code = apart(check_broken, &(Try){f, p, n}, &said);
        if (code == 77) break;
        if (code == 78) continue;
        sites++;
        expect(code && strstr(said, "after this: "), "%s, %s: %s at place %d is not caught: %s", model, p->graph->name,
               f->what, n, said);
    }
    return sites;
}

static int sites[COUNT_OF(faults)];

static void check_model(const char *arguments)
{
    const Module *m = compile_model(arguments);
    described = m->desc;
    for (int i = 0; i < m->programs.n; i++) {
        Program *p = m->programs.at[i];
        forget_nests(p, (Kernel *const *)p->kernels.at, p->kernels.n);
        if (p->graph->entry != ENTRY_train && p->graph->entry != ENTRY_decode) continue;
        char *said;
        int code = apart(check_broken, &(Try){.program = p}, &said);
        expect(code == 0, "%s: %s", arguments, said);
        for (int f = 0; f < COUNT_OF(faults); f++) sites[f] += caught(arguments, &faults[f], p);
    }
}

int main(void)
{
    check_model("models/gpt.lua --config char --set layers=2 --set width=24 --set heads=2 --set batch=4 --set seq=8");
    check_model("models/char_rnn.lua --config tiny --set batch=20 --set hidden=33");
    check_model("models/gpt.lua --config char --set layers=2 --set seq=40 --set batch=13 --set width=48 --set heads=2");
    check_model("models/mu.lua --config tiny --target cuda");
    check_model("models/convnet.lua --set batch=32 --set blocks=1");
    for (int f = 0; f < COUNT_OF(faults); f++) {
        printf("note: %4d times %s\n", sites[f], faults[f].what);
        expect(sites[f] >= faults[f].least, "%s: in %d places, and %d are the least", faults[f].what, sites[f],
               faults[f].least);
    }
    return finish();
}
