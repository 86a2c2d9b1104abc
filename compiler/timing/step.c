/* step.c: the kernels of a step in the order in which they run: how often, for how long, and which bytes each finds in
 * no cache. */
#include "timing/timing.h"

enum { DEEPEST = 16 };

typedef struct Run {
    Cache *cache;
    int64_t block, blocks;      /* bytes of a block; how many there are */
    int64_t end;                /* of memory, in bytes: what has its place so far */
    VEC(const Buffer *) placed; /* those that are not in the arena, */
    VEC(int64_t) places;        /* and where they begin */
    struct {
        const Loop *loop;
        int64_t iteration;
    } around[DEEPEST]; /* the kernel that runs */
    int depth;
    double times; /* that the kernel runs so, of a long loop */
    int *part_of; /* by Kernel.step: 1 + its number among the parts; 0: none yet */
    Step_time *time;
    int now;     /* the part that runs */
    bool counts; /* not in the first step, whose caches are empty */
    const Program *program;
    const Rates *rates;
} Run;

double seconds_of_work(const Work *w, const Rates *r)
{
#define COST(name, word, unit, factor, ...) [name] = {unit, factor},
    static const struct {
        Unit unit;
        double factor;
    } cost[] = {
#include "timing/costs.def"
    };
    double seconds = 0;
    for (int i = 0; i < COSTS; i++) seconds += w->amount[i] * cost[i].factor * r->seconds[cost[i].unit];
    return seconds;
}

/* ------------------------------------------------------------------ memory */

static int64_t byte_of_buffer(Run *r, const Buffer *b)
{
    b = bytes_of(b);
    if (b->home == WORK) return b->offset;
    for (int i = 0; i < r->placed.n; i++)
        if (r->placed.at[i] == b) return r->places.at[i];
    push(&r->placed, b);
    push(&r->places, r->end);
    r->end += b->bytes + r->block;
    return r->end - b->bytes - r->block;
}

static int64_t iteration_now(const Run *r, const Loop *l)
{
    for (int i = 0; i < r->depth; i++)
        if (r->around[i].loop == l) return r->around[i].iteration;
    return 0;
}

/* Elements of its buffer from the first to the last that a view shows now, and how many of these it shows. */
typedef struct Reach {
    int64_t low, high;
    double shown;
} Reach;

static Reach elements_reached(const Run *r, const View *v)
{
    Reach x = {v->base, v->base, 1};
    for (int i = 0; i < v->nover; i++) {
        int64_t by = v->over[i].stride * iteration_now(r, v->over[i].loop);
        x.low += by, x.high += by;
    }
    for (int i = 0; i < v->shape.rank; i++) {
        int64_t far = v->stride[i] * (v->shape.dim[i] - 1);
        *(far < 0 ? &x.low : &x.high) += far;
        if (v->stride[i]) x.shown *= (double)v->shape.dim[i];
    }
    int64_t last = v->buffer->bytes / dtype_bytes(v->buffer->dtype) - 1; /* a guarded view reaches beyond */
    x.low = max64(x.low, 0), x.high = min64(x.high, last);
    return x;
}

static void touch_view(Run *r, const View *v, Cost far)
{
    if (!v->buffer || !elements(v->shape)) return;
    Reach x = elements_reached(r, v);
    if (x.high < x.low) return;
    double share = x.shown / (double)(x.high - x.low + 1);
    int64_t size = dtype_bytes(v->buffer->dtype), start = byte_of_buffer(r, v->buffer);
    int64_t from = start + x.low * size, to = start + (x.high + 1) * size;
    double missed = 0;
    for (int64_t b = from / r->block; b <= (to - 1) / r->block && b < r->blocks; b++)
        if (!use_block(r->cache, b)) missed += (double)(min64(to, (b + 1) * r->block) - max64(from, b * r->block));
    if (r->counts) r->time->parts.at[r->now].work.amount[far] += r->times * missed * (share < 1 ? share : 1);
}

static void touch_operand(Operand *o, bool writes, void *run)
{
    if (!writes || o->add) touch_view(run, &o->view, FAR_READ);
    if (writes) touch_view(run, &o->view, FAR_WRITTEN);
}

/* ------------------------------------------------------------------ running */

typedef void Visit_kernel(Run *r, const Kernel *k);

/* Of a long loop the first iterations run, each for several. */
static void repeat(Run *r, const Kernel *k, Visit_kernel visit)
{
    enum { LONG = 512 };
    const Loop *l = k->loop;
    const int64_t run = min64(l->trip, LONG);
    const double times = r->times;
    must(r->depth < DEEPEST);
    r->around[r->depth++].loop = l;
    r->times *= (double)l->trip / (double)run;
    for (int64_t i = 0; i < run; i++) {
        r->around[r->depth - 1].iteration = l->reverse ? l->trip - 1 - i : i;
        for (int j = 0; j < k->body.n; j++) visit(r, k->body.at[j]);
    }
    r->times = times;
    r->depth--;
}

static void touch_all(Run *r, const Kernel *k)
{
    if (k->kind == REPEAT) {
        repeat(r, k, touch_all);
        return;
    }
    each_operand((Kernel *)k, touch_operand, r);
    for (int i = 0; i < k->body.n; i++) touch_all(r, k->body.at[i]);
}

static void time_kernel(Run *r, const Kernel *k)
{
    if (k->kind == REPEAT) {
        repeat(r, k, time_kernel);
        return;
    }
    if (!r->part_of[k->step]) {
        push(&r->time->parts,
             ((Time_part){.kernel = k, .program = r->program, .work = kernel_work(k, r->rates->threads)}));
        r->part_of[k->step] = r->time->parts.n;
    }
    r->now = r->part_of[k->step] - 1;
    if (r->counts) r->time->parts.at[r->now].calls += r->times;
    touch_all(r, k);
}

static void add_part(Step_time *t, Time_part p, const Rates *r)
{
    if (r->gpu) time_on_gpu(&p, r);
    else p.seconds = p.calls * seconds_of_work(&p.work, r);
    t->seconds += p.seconds;
    push(&t->parts, p);
}

/* It runs twice: what a step finds in the cache is what the one before has left there. */
static void add_program(Step_time *t, const Program *p, const Module *m, const Rates *rates)
{
    enum { SMALLEST = 4096, MOST_BLOCKS = 1 << 18 };
    int64_t block = SMALLEST;
    while (m->plan.total / block > MOST_BLOCKS) block *= 2;
    const int64_t room = (int64_t)rates->cache / block;
    Step_time own = {0};
    Run *r = NEW(Run);
    *r = (Run){.block = block, .blocks = 2 * m->plan.total / block + 64, .end = p->work_bytes + block, .time = &own};
    r->cache = new_cache(r->blocks, room);
    r->part_of = NEW_ARRAY(int, p->steps + 1);
    r->program = p;
    r->times = 1;
    r->rates = rates;
    for (int again = 0; again < 2; again++) {
        r->counts = again;
        for (int i = 0; i < p->kernels.n; i++) time_kernel(r, p->kernels.at[i]);
    }
    for (int i = 0; i < own.parts.n; i++) {
        Time_part x = own.parts.at[i];
        x.work.amount[FAR_READ] /= x.calls, x.work.amount[FAR_WRITTEN] /= x.calls;
        add_part(t, x, rates);
    }
}

static void add_update(Step_time *t, const Module *m, const Rates *r)
{
    const Plan *p = &m->plan;
    Time_part norm = {.name = "gradient_norm", .calls = 1}, update = {.name = "optimizer_step", .calls = 1};
    norm.work.amount[NORMED] = (double)p->gradients;
    update.work.amount[UPDATED] = (double)(3 * p->gradients + 2 * p->optimizer);
    if (m->desc->recipe.bits == 8) update.work.amount[CODED] = (double)p->flat.moments;
    norm.work.amount[CALLS] = update.work.amount[CALLS] = 1;
    add_part(t, norm, r);
    add_part(t, update, r);
}

Step_time step_time(const Module *m, const Rates *r, const Program *turn)
{
    Step_time t = {0};
    add_program(&t, turn, m, r);
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        if (p->graph->entry == ENTRY_direction && is_of_turn(p->graph, turn->graph->turn)) add_program(&t, p, m, r);
    }
    if (r->gpu) time_update_on_gpu(&t, m, r->gpu);
    else add_update(&t, m, r);
    return t;
}

const Program *longest_step(const Module *m, const Rates *r, Step_time *t)
{
    const Program *longest = NULL;
    *t = (Step_time){0};
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        if (!entry_of(p->graph)->step) continue;
        Step_time own = step_time(m, r, p);
        if (!longest || own.seconds > t->seconds) longest = p, *t = own;
    }
    return longest;
}

double step_ms(const Module *m, const Rates *r)
{
    Step_time t;
    longest_step(m, r, &t);
    return 1e3 * t.seconds;
}
