/* laps.c: times of the kernels of training steps, for `trainer profile` and for a run's own profile.
 *
 * A kernel's floor is the longer of two times: its bytes at the rate of a copy as large as the whole plan, and its
 * multiply-adds at the rate of a large product. */
#include "trainer/laps.h"
#include "base/json_text.h"
#include "base/words.h"
#include "lathe_rt.h"
#include "math/measure.h"
#include "model/init.h"
#include "model/tables.h"
#include "step/entry.h"
#include "trainer/travels.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void (*rt_lap)(int kernel);

/* ------------------------------------------------------------------ the clock */

static Lap_times *timed; /* whose step runs */
static double last_end;  /* of a kernel of it: seconds_now(); on a device, since the step began */

static struct Laps { /* all calls of the step, for a trace */
    int n, room;
    struct Lap {
        int kernel;
        double end;
    } * at;
    int pieces, piece_room;
    struct Piece_done {       /* of the gradients, as the entry tells ranks */
        int64_t first, bytes; /* first: bytes from the first gradient on */
        double at;
    } * piece;
    bool listens;
    void (*told)(const void *first, int64_t bytes); /* who is told besides */
} laps;

static void list_lap(int kernel, double end)
{
    if (laps.n == laps.room) { /* grows in the first step only */
        laps.room = 2 * laps.room + 64;
        laps.at = must_grow(laps.at, sizeof *laps.at * (size_t)laps.room);
    }
    laps.at[laps.n++] = (struct Lap){kernel, end};
}

static void list_gradients(const void *first, int64_t bytes)
{
    if (laps.pieces == laps.piece_room) {
        laps.piece_room = 2 * laps.piece_room + 64;
        laps.piece = must_grow(laps.piece, sizeof *laps.piece * (size_t)laps.piece_room);
    }
    laps.piece[laps.pieces++] = (struct Piece_done){(const char *)first - timed->grads, bytes, seconds_now()};
    if (laps.told) laps.told(first, bytes);
}

static void listen(bool starts)
{
    if (starts == laps.listens) return;
    if (starts) laps.told = rt_gradients_done;
    rt_gradients_done = starts ? list_gradients : laps.told;
    laps.listens = starts;
}

static void end_lap(int kernel, double end)
{
    if (kernel != LAP_ASIDE) {
        Lap_row *r = &timed->row[timed->row_of[kernel - FIRST_LAP]];
        r->calls++;
        r->now += end - last_end;
        if (timed->lists) list_lap(kernel, end);
    }
    last_end = end;
}

static void take_lap(int kernel) { end_lap(kernel, seconds_now()); }

/* For a step on a device, whose clock starts with the step. */
static void take_lap_there(int kernel, double seconds) { end_lap(kernel, last_end + seconds); }

void begin_laps(Lap_times *p)
{
    for (int i = 0; i < p->rows; i++) p->row[i].calls = 0, p->row[i].now = 0;
    laps.n = laps.pieces = 0;
    listen(p->lists && p->grads);
    timed = p;
    rt_lap = take_lap;
    watch_laps(take_lap_there);
    p->begin = last_end = on_device() ? 0 : seconds_now();
}

void end_laps(void)
{
    rt_lap = NULL;
    listen(false);
    watch_laps(NULL);
}

/* ------------------------------------------------------------------ rows */

static void add_row(Lap_times *p, Lathe_kernel k)
{
    p->row[p->rows] = (Lap_row){.k = k, .seconds = must_alloc(sizeof(double) * (size_t)p->most)};
    p->row_of[k.lap - FIRST_LAP] = p->rows++;
}

static const Lathe_direction *direction_of_entry(const Lathe_model *m, const Lathe_entry *e)
{
    for (int k = 0; e->turn && k < m->turns; k++)
        if (strcmp(m->turn[k].name, e->turn) == 0) return &m->turn[k].direction;
    return &m->direction;
}

/* All kernels of the entry direction, in one row. */
static void add_direction(Lap_times *p, const Lathe_model *m, const Lathe_entry *train)
{
    const Lathe_entry *e = entry_beside(m, ENTRY_direction, train);
    const Lathe_direction *d = direction_of_entry(m, train);
    int64_t directed = 0;
    if (!e) return;
    for (const Lathe_param *q = m->param; q < m->param + m->params; q++)
        if (q->directed && lathe_direction_of(m, q) == d) directed += copies_of_parameter(q) * copy_elements(q);
    double bytes = 2 * (double)directed * dtype_size(m->real);
    add_row(p, (Lathe_kernel){LAP_DIRECTION, "direction", d->name, "", "", e->flops, bytes, false});
}

/* The entry's kernels, and those of the optimizer. */
void open_laps(Lap_times *p, const Lathe_model *m, const Lathe_entry *e, const Optimizer *o, const Lathe_recipe *r,
               int64_t most)
{
    int last = 0;
    for (int i = 0; i < e->kernels; i++) last = e->kernel[i].lap > last ? e->kernel[i].lap : last;
    double flat = (double)o->n * dtype_size(o->real);
    *p = (Lap_times){.most = most, .step = must_alloc(sizeof(double) * (size_t)most)};
    p->row = must_alloc(sizeof *p->row * (size_t)(e->kernels + 3));
    p->row_of = must_alloc(sizeof *p->row_of * (size_t)(last - FIRST_LAP + 1));
    for (int i = 0; i < e->kernels; i++) add_row(p, e->kernel[i]);
    add_row(p, (Lathe_kernel){LAP_NORM, "gradient_norm", "norm of all gradients", "", "", 0, flat, false});
    add_direction(p, m, e);
    add_row(p, (Lathe_kernel){LAP_UPDATE, "optimizer_step", "clipping, moments, decay, update", "", "", 0,
                              flat * 3 + 2 * (double)optimizer_bytes(m, r), false});
}

void close_laps(Lap_times *p)
{
    for (int i = 0; i < p->rows; i++) free(p->row[i].seconds);
    free(p->row);
    free(p->row_of);
    free(p->step);
    *p = (Lap_times){0};
}

void count_laps(Lap_times *p)
{
    if (p->steps == p->most) return;
    double sum = 0;
    for (int i = 0; i < p->rows; i++) sum += p->row[i].seconds[p->steps] = p->row[i].now;
    p->step[p->steps++] = sum;
}

/* Leaves x as it is: more steps may come. */
static double median_of_copy(const double *x, int64_t n)
{
    double *copy = must_alloc(sizeof *copy * (size_t)n);
    memcpy(copy, x, sizeof *copy * (size_t)n);
    double median = median_of(copy, n);
    free(copy);
    return median;
}

void settle_laps(Lap_times *p, const Machine_rates *m)
{
    if (!p->steps) return;
    p->step_time = median_of_copy(p->step, p->steps);
    for (int i = 0; i < p->rows; i++) {
        Lap_row *r = &p->row[i];
        double moving = m->copy > 0 ? r->k.bytes / m->copy : 0;
        double computing = m->product > 0 ? r->k.flops / m->product : 0;
        r->time = median_of_copy(r->seconds, p->steps);
        r->floor = (double)r->calls * (moving > computing ? moving : computing);
    }
}

/* ------------------------------------------------------------------ for programs */

const char *part_of_step(const Lathe_kernel *k) { return k->lap < 0 ? "update" : k->backward ? "backward" : "forward"; }

json_t *kernel_json(const Lathe_kernel *k)
{
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:f, s:f}", "lap", k->lap, "name", k->name, "part",
                     part_of_step(k), "formula", utf8_of(k->formula), "path", utf8_of(k->path), "where",
                     utf8_of(k->where), "bytes", k->bytes, "flops", k->flops);
}

json_t *times_json(double seconds, double floor)
{
    return json_pack("{s:f, s:f, s:f}", "ms", 1e3 * seconds, "floor_ms", 1e3 * floor, "lost_ms",
                     1e3 * (seconds - floor));
}

json_t *lap_rows_json(const Lap_times *p)
{
    json_t *rows = json_array();
    for (int i = 0; i < p->rows; i++) {
        json_t *row = kernel_json(&p->row[i].k);
        put_json(row, "calls", json_integer(p->row[i].calls));
        json_object_update_new(row, times_json(p->row[i].time, p->row[i].floor));
        add_json(rows, row);
    }
    return rows;
}

static void name_in_trace(json_t *events, const char *what, int row, const char *name)
{
    add_json(events, json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "name", what, "ph", "M", "pid", 1, "tid", row, "args",
                               "name", name));
}

static json_t *trace_json(const Lap_times *p, const char *process)
{
    json_t *events = json_array();
    double before = p->begin;
    name_in_trace(events, "process_name", TRACE_KERNELS, process);
    name_in_trace(events, "thread_name", TRACE_KERNELS, "kernels, and waiting for ranks");
    if (laps.pieces || any_travels()) name_in_trace(events, "thread_name", TRACE_RANKS, "between ranks");
    for (int i = 0; i < laps.n; i++) {
        const Lathe_kernel *k = &p->row[p->row_of[laps.at[i].kernel - FIRST_LAP]].k;
        json_t *event = json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f}", "name", k->name, "cat",
                                  k->flops > 0 ? "product" : "kernel", "ph", "X", "pid", 1, "tid", TRACE_KERNELS, "ts",
                                  1e6 * (before - p->begin), "dur", 1e6 * (laps.at[i].end - before));
        put_json(event, "args", kernel_json(k));
        add_json(events, event);
        before = laps.at[i].end;
    }
    for (const struct Piece_done *d = laps.piece; d < laps.piece + laps.pieces; d++)
        add_json(events,
                 json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:f, s:{s:I, s:I}}", "name", "gradients done", "cat",
                           "ranks", "ph", "i", "s", "t", "pid", 1, "tid", TRACE_RANKS, "ts", 1e6 * (d->at - p->begin),
                           "args", "first", (json_int_t)d->first, "bytes", (json_int_t)d->bytes));
    add_travels(events, p->begin);
    return json_pack("{s:s, s:o}", "displayTimeUnit", "ms", "traceEvents", events);
}

static _Noreturn void refuse_trace(const char *path)
{
    fail(EXIT_DATA, path, "the trace cannot be written: %s; choose another file with --trace", error_text(errno));
}

/* A file that was there stays as it is, and one that was not is not there afterwards. */
void check_trace(const char *path)
{
    const bool there = access(path, F_OK) == 0;
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0) refuse_trace(path);
    close(fd);
    if (!there) unlink(path);
}

void write_trace(const Lap_times *p, const char *path, const char *process)
{
    json_t *all = trace_json(p, process);
    if (json_dump_file(all, path, JSON_COMPACT) != 0) refuse_trace(path);
    json_decref(all);
}
