/* profile.c: `trainer profile`: where a training step's time goes, kernel by kernel, against the least it could be.
 *
 * A kernel's loss is its time beyond its floor (trainer/laps.c); it is negative if the data was in cache. */
#include "base/json_text.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "math/measure.h"
#include "model/block.h"
#include "model/init.h"
#include "model/tables.h"
#include "step/average.h"
#include "step/entry.h"
#include "step/optim.h"
#include "step/statistics.h"
#include "trainer/laps.h"
#include "trainer/memory.h"
#include "trainer/step.h"
#include "trainer/teacher.h"
#include "trainer/trainer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 2 };

typedef struct Profile {
    const Trainer *t;
    int64_t steps;
    Lap_times laps;
    Machine_rates rates;
} Profile;

static void run_steps(Profile *p, Turn *u, Memory *m)
{
    for (int64_t step = 0; step < p->steps + WARM_UP; step++) {
        random_inputs(p->t, u->entry, m->call, step);
        begin_laps(&p->laps);
        take_turn(p->t, u, m, step);
        if (step >= WARM_UP) count_laps(&p->laps);
    }
    end_laps();
}

static int by_seconds_lost(const void *a, const void *b)
{
    const Lap_row *x = a, *y = b;
    double lost = (y->time - y->floor) - (x->time - x->floor);
    return lost ? (lost > 0) - (lost < 0) : x->k.lap - y->k.lap;
}

/* ------------------------------------------------------------------ for people */

typedef struct Total {
    double time, floor;
} Total;

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
    for (int i = 0; i < p->laps.rows; i++)
        if (is_of(&p->laps.row[i].k, what)) {
            sum.time += p->laps.row[i].time;
            sum.floor += p->laps.row[i].floor;
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
         1e3 * p->laps.step_time, (long long)p->steps, 1e-9 * p->rates.copy, 1e-9 * p->rates.product);
    show(stdout, "%9s %9s %9s %5s %7s %8s  %-28s %s\n", "lost ms", "time ms", "floor ms", "calls", "GB/s", "GFLOP/s",
         "kernel", "what");
    for (int i = 0; i < p->laps.rows; i++) {
        const Lap_row *r = &p->laps.row[i];
        double rate = r->time > 0 ? (double)r->calls / r->time * 1e-9 : 0;
        show(stdout, "%9.3f %9.3f %9.3f %5lld %7.2f %8.1f  %-28s %s", 1e3 * (r->time - r->floor), 1e3 * r->time,
             1e3 * r->floor, (long long)r->calls, rate * r->k.bytes, rate * r->k.flops, r->k.name, r->k.formula);
        show(stdout, "%s%s%s%s\n", *r->k.where ? "   " : "", r->k.where, *r->k.path ? " " : "", r->k.path);
    }
    show(stdout, "\n");
    for (int i = 0; i < (int)(sizeof totals / sizeof *totals); i++) print_total(p, totals[i]);
}

/* ------------------------------------------------------------------ for programs */

static json_t *total_json(const Profile *p, const char *what)
{
    Total t = total(p, what);
    return times_json(t.time, t.floor);
}

static void print_object(const Profile *p)
{
    const Lathe_model *m = p->t->model;
    json_t *all =
        json_pack("{s:s, s:s?, s:s, s:i, s:I, s:f, s:f, s:f}", "model", utf8_of(m->name), "config", utf8_of(m->config),
                  "precision", m->precision, "threads", omp_get_max_threads(), "steps", (json_int_t)p->steps, "step_ms",
                  1e3 * p->laps.step_time, "copy_bytes_per_s", p->rates.copy, "product_flops_per_s", p->rates.product);
    put_json(all, "kernels", lap_rows_json(&p->laps));
    put_json(all, "products", total_json(p, "products"));
    put_json(all, "rest", total_json(p, "the rest"));
    for (int i = 2; i < 5; i++) put_json(all, totals[i], total_json(p, totals[i]));
    put_json(all, "total", total_json(p, "all"));
    print_json(all);
}

static int by_seconds(const void *a, const void *b)
{
    const Lap_row *x = a, *y = b;
    return x->time != y->time ? (x->time < y->time ? 1 : -1) : x->k.lap - y->k.lap;
}

static int (*row_order(const Trainer *t))(const void *, const void *)
{
    if (!t->sort || strcmp(t->sort, "lost") == 0) return by_seconds_lost;
    if (strcmp(t->sort, "time") == 0) return by_seconds;
    fail(EXIT_USAGE, NULL, "--sort %s: expected lost or time", t->sort);
}

int profile_command(Trainer *t)
{
    static const Entry entries[] = {ENTRY_train, ENTRY_direction, NO_ENTRY};
    Profile p = {.t = t, .steps = t->steps ? t->steps : 10};
    Memory m;
    Step_turns turns;
    int (*order)(const void *, const void *) = row_order(t);
    if (t->trace) check_trace(t->trace);
    check_memory(t);
    use_threads(t);
    if (!t->model->device) p.rates.copy = copy_rate(t->model->planned_bytes);
    if (!t->model->device) p.rates.product = product_rate(t->model->real, NULL, 0);
    take_memory(&m, t, true, true, entries);
    if (on_device()) device_rates(&p.rates.copy, &p.rates.product);
    open_turns(&turns, t->model, &t->recipe, m.moments);
    Turn *u = wanted_turn(t, &turns);
    init_weights(t->model, (uint64_t)t->seed, &m);
    begin_averages(&u->optimizer, m.params);
    fill_teacher(t, &m, NULL);
    weights_up(t->model, &m);
    optimizer_up(&u->optimizer);
    ready_optimizers(&turns, &m);
    open_laps(&p.laps, t->model, u->entry, &u->optimizer, &t->recipe, p.steps);
    p.laps.lists = t->trace != NULL;
    p.laps.grads = m.grads;
    run_steps(&p, u, &m);
    settle_laps(&p.laps, &p.rates);
    if (t->trace) write_trace(&p.laps, t->trace, "trainer profile");
    qsort(p.laps.row, (size_t)p.laps.rows, sizeof *p.laps.row, order);
    if (t->json) print_object(&p);
    else print_table(&p);
    close_turns(&turns);
    return 0;
}
