/* profile.c: `trainer profile`: where a training step's time goes, kernel by kernel, against the least it could be.
 *
 * A kernel's floor is the longer of two times: its bytes at the rate of a copy as large as the whole plan, and its
 * multiply-adds at the rate of a large product.  Its loss is its time beyond the floor; it is negative if the data was
 * in cache. */
#include "base/json_text.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "lathe_rt.h"
#include "math/measure.h"
#include "model/block.h"
#include "model/init.h"
#include "model/tables.h"
#include "step/average.h"
#include "step/entry.h"
#include "step/optim.h"
#include "step/statistics.h"
#include "trainer/memory.h"
#include "trainer/step.h"
#include "trainer/teacher.h"
#include "trainer/trainer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 2 };

void (*rt_lap)(int kernel);

/* ------------------------------------------------------------------ the clock */

static struct Laps { /* of the current step */
    int n, room;
    struct Lap {
        int kernel;
        double end; /* seconds_now() */
    } * at;
} laps;

static void add_lap(int kernel, double end)
{
    if (laps.n == laps.room) { /* grows in the first step only */
        laps.room = 2 * laps.room + 64;
        laps.at = must_grow(laps.at, sizeof *laps.at * (size_t)laps.room);
    }
    laps.at[laps.n++] = (struct Lap){kernel, end};
}

static void take_lap(int kernel) { add_lap(kernel, seconds_now()); }

/* For a step on a device, whose clock starts with the step. */
static void take_lap_there(int kernel, double seconds)
{
    add_lap(kernel, (laps.n ? laps.at[laps.n - 1].end : 0) + seconds);
}

/* ------------------------------------------------------------------ what is timed */

typedef struct Row {
    Lathe_kernel k;
    int64_t calls;      /* in a step */
    double *seconds;    /* [steps] of all its calls */
    double time, floor; /* of all its calls: median, least possible */
} Row;

typedef struct Profile {
    const Trainer *t;
    int64_t steps;
    int rows, *row_of; /* by lap - FIRST_LAP */
    Row *row;
    double copy_rate, product_rate; /* bytes/s, flop/s */
    double *step, step_time;        /* [steps], median */
    double begin;                   /* of the last step */
} Profile;

enum { FIRST_LAP = LAP_UPDATE };

static void add_row(Profile *p, Lathe_kernel k)
{
    p->row[p->rows] = (Row){.k = k, .seconds = must_alloc(sizeof(double) * (size_t)p->steps)};
    p->row_of[k.lap - FIRST_LAP] = p->rows++;
}

/* Lists the entry's kernels, and those of the optimizer. */
/* All kernels of the entry direction, in one row. */
static void add_direction(Profile *p, const Lathe_model *m)
{
    const Lathe_entry *e = find_entry(m, ENTRY_direction);
    double bytes = (double)m->directed_elements * dtype_size(m->real);
    if (e)
        add_row(p, (Lathe_kernel){LAP_DIRECTION, "direction", m->direction.name, "", "", e->flops, 2 * bytes, false});
}

static void list_kernels(Profile *p, const Lathe_entry *e, const Optimizer *o)
{
    int last = 0;
    for (int i = 0; i < e->kernels; i++) last = e->kernel[i].lap > last ? e->kernel[i].lap : last;
    double flat = (double)o->n * dtype_size(o->real);
    p->row = must_alloc(sizeof *p->row * (size_t)(e->kernels + 3));
    p->row_of = must_alloc(sizeof *p->row_of * (size_t)(last - FIRST_LAP + 1));
    for (int i = 0; i < e->kernels; i++) add_row(p, e->kernel[i]);
    add_row(p, (Lathe_kernel){LAP_NORM, "gradient_norm", "norm of all gradients", "", "", 0, flat, false});
    add_direction(p, p->t->model);
    add_row(p, (Lathe_kernel){LAP_UPDATE, "optimizer_step", "clipping, moments, decay, update", "", "", 0,
                              flat * 3 + 2 * (double)optimizer_bytes(p->t->model, &p->t->recipe), false});
}

static void count_laps(Profile *p, int64_t step, double begin)
{
    double before = begin;
    for (int i = 0; i < p->rows; i++) p->row[i].calls = 0;
    for (int i = 0; i < laps.n; i++) {
        Row *r = &p->row[p->row_of[laps.at[i].kernel - FIRST_LAP]];
        r->calls++;
        r->seconds[step] += laps.at[i].end - before;
        before = laps.at[i].end;
    }
    p->step[step] = before - begin;
    p->begin = begin;
}

static void run_steps(Profile *p, Turn *u, Memory *m)
{
    rt_lap = take_lap;
    watch_laps(take_lap_there);
    for (int64_t step = 0; step < p->steps + WARM_UP; step++) {
        random_inputs(p->t, u->entry, m->call, step);
        laps.n = 0;
        double begin = on_device() ? 0 : seconds_now();
        take_turn(p->t, u, m, step);
        if (step >= WARM_UP) count_laps(p, step - WARM_UP, begin);
    }
    rt_lap = NULL;
    watch_laps(NULL);
}

static int by_seconds_lost(const void *a, const void *b)
{
    const Row *x = a, *y = b;
    double lost = (y->time - y->floor) - (x->time - x->floor);
    return lost ? (lost > 0) - (lost < 0) : x->k.lap - y->k.lap;
}

static void settle(Profile *p)
{
    p->step_time = median_of(p->step, p->steps);
    for (int i = 0; i < p->rows; i++) {
        Row *r = &p->row[i];
        double moving = r->k.bytes / p->copy_rate, computing = p->product_rate > 0 ? r->k.flops / p->product_rate : 0;
        r->time = median_of(r->seconds, p->steps);
        r->floor = (double)r->calls * (moving > computing ? moving : computing);
    }
}

/* ------------------------------------------------------------------ for people */

typedef struct Total {
    double time, floor;
} Total;

static const char *part_of_step(const Lathe_kernel *k)
{
    return k->lap < 0 ? "update" : k->backward ? "backward" : "forward";
}

static bool is_of(const Lathe_kernel *k, const char *what)
{
    if (strcmp(what, "products") == 0) return k->flops > 0;
    if (strcmp(what, "the rest") == 0) return k->flops <= 0;
    return strcmp(what, "all") == 0 || strcmp(what, part_of_step(k)) == 0;
}

/* Sums over the rows of a part of the step, of "products" (rows with contractions), of "the rest", or of "all". */
static Total total(const Profile *p, const char *what)
{
    Total sum = {0, 0};
    for (int i = 0; i < p->rows; i++)
        if (is_of(&p->row[i].k, what)) {
            sum.time += p->row[i].time;
            sum.floor += p->row[i].floor;
        }
    return sum;
}

static void print_total(const Profile *p, const char *what)
{
    Total t = total(p, what);
    show(stdout, "%9.3f %9.3f %9.3f  %s\n", 1e3 * (t.time - t.floor), 1e3 * t.time, 1e3 * t.floor, what);
}

static const char *const totals[] = {"products", "the rest", "forward", "backward", "update", "all"};

static void print_table(const Profile *p)
{
    const Lathe_model *m = p->t->model;
    show(stdout,
         "%s%s, %s, %s: a step takes %.2f ms (median of %lld); copies run at %.1f GB/s, products at %.0f "
         "GFLOP/s\n\n",
         m->name, config_of(m), m->precision,
         on_device() ? "on the GPU, kernel by kernel" : text_of("%d threads", omp_get_max_threads()),
         1e3 * p->step_time, (long long)p->steps, 1e-9 * p->copy_rate, 1e-9 * p->product_rate);
    show(stdout, "%9s %9s %9s %5s %7s %8s  %-28s %s\n", "lost ms", "time ms", "floor ms", "calls", "GB/s", "GFLOP/s",
         "kernel", "what");
    for (int i = 0; i < p->rows; i++) {
        const Row *r = &p->row[i];
        double rate = r->time > 0 ? (double)r->calls / r->time * 1e-9 : 0;
        show(stdout, "%9.3f %9.3f %9.3f %5lld %7.2f %8.1f  %-28s %s", 1e3 * (r->time - r->floor), 1e3 * r->time,
             1e3 * r->floor, (long long)r->calls, rate * r->k.bytes, rate * r->k.flops, r->k.name, r->k.formula);
        show(stdout, "%s%s%s%s\n", *r->k.where ? "   " : "", r->k.where, *r->k.path ? " " : "", r->k.path);
    }
    show(stdout, "\n");
    for (int i = 0; i < (int)(sizeof totals / sizeof *totals); i++) print_total(p, totals[i]);
}

/* ------------------------------------------------------------------ for programs */

static json_t *kernel_json(const Lathe_kernel *k)
{
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:f, s:f}", "lap", k->lap, "name", k->name, "part",
                     part_of_step(k), "formula", k->formula, "path", k->path, "where", utf8_of(k->where), "bytes",
                     k->bytes, "flops", k->flops);
}

static json_t *times_json(Total t)
{
    return json_pack("{s:f, s:f, s:f}", "ms", 1e3 * t.time, "floor_ms", 1e3 * t.floor, "lost_ms",
                     1e3 * (t.time - t.floor));
}

static void print_object(const Profile *p)
{
    const Lathe_model *m = p->t->model;
    json_t *rows = json_array();
    for (int i = 0; i < p->rows; i++) {
        json_t *row = kernel_json(&p->row[i].k);
        put_json(row, "calls", json_integer(p->row[i].calls));
        json_object_update_new(row, times_json((Total){p->row[i].time, p->row[i].floor}));
        add_json(rows, row);
    }
    json_t *all =
        json_pack("{s:s, s:s?, s:s, s:i, s:I, s:f, s:f, s:f}", "model", utf8_of(m->name), "config", utf8_of(m->config),
                  "precision", m->precision, "threads", omp_get_max_threads(), "steps", (json_int_t)p->steps, "step_ms",
                  1e3 * p->step_time, "copy_bytes_per_s", p->copy_rate, "product_flops_per_s", p->product_rate);
    put_json(all, "kernels", rows);
    put_json(all, "products", times_json(total(p, "products")));
    put_json(all, "rest", times_json(total(p, "the rest")));
    for (int i = 2; i < 5; i++) put_json(all, totals[i], times_json(total(p, totals[i])));
    put_json(all, "total", times_json(total(p, "all")));
    print_json(all);
}

/* The last step, for chrome://tracing or Perfetto; microseconds. */
static void write_trace(const Profile *p, const char *path)
{
    json_t *events = json_array();
    double before = p->begin;
    for (int i = 0; i < laps.n; i++) {
        const Lathe_kernel *k = &p->row[p->row_of[laps.at[i].kernel - FIRST_LAP]].k;
        json_t *event = json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f}", "name", k->name, "cat",
                                  k->flops > 0 ? "product" : "kernel", "ph", "X", "pid", 1, "tid", 1, "ts",
                                  1e6 * (before - p->begin), "dur", 1e6 * (laps.at[i].end - before));
        put_json(event, "args", kernel_json(k));
        add_json(events, event);
        before = laps.at[i].end;
    }
    json_t *all = json_pack("{s:s, s:o}", "displayTimeUnit", "ms", "traceEvents", events);
    if (json_dump_file(all, path, JSON_COMPACT) != 0)
        fail(EXIT_DATA, path, "the trace cannot be written; choose another file with --trace");
    json_decref(all);
}

int profile_command(Trainer *t)
{
    static const Entry entries[] = {ENTRY_train, ENTRY_direction, NO_ENTRY};
    Profile p = {.t = t, .steps = t->steps ? t->steps : 10};
    Memory m;
    Step_turns turns;
    check_memory(t);
    p.step = must_alloc(sizeof *p.step * (size_t)p.steps);
    use_threads(t);
    if (!t->model->device) p.copy_rate = copy_rate(t->model->planned_bytes);
    if (!t->model->device) p.product_rate = product_rate(t->model->real, NULL, 0);
    take_memory(&m, t, true, true, entries);
    if (on_device()) device_rates(&p.copy_rate, &p.product_rate);
    open_turns(&turns, t->model, &t->recipe, m.moments);
    Turn *u = wanted_turn(t, &turns);
    init_weights(t->model, (uint64_t)t->seed, &m);
    begin_averages(&u->optimizer, m.params);
    fill_teacher(t, &m, NULL);
    weights_up(t->model, &m);
    ready_optimizers(&turns, &m);
    list_kernels(&p, u->entry, &u->optimizer);
    run_steps(&p, u, &m);
    settle(&p);
    if (t->trace) write_trace(&p, t->trace);
    qsort(p.row, (size_t)p.rows, sizeof *p.row, by_seconds_lost);
    if (t->json) print_object(&p);
    else print_table(&p);
    close_turns(&turns);
    return 0;
}
