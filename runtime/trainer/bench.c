/* bench.c: `trainer bench` times whole training steps on random data, or on one batch again and again.  The losses on
 * one batch can be compared with those of another program that trains on it. */
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "interface/lathe_model.h"
#include "math/math.h"
#include "math/measure.h"
#include "model/block.h"
#include "model/init.h"
#include "model/tables.h"
#include "model/weights.h"
#include "step/average.h"
#include "step/entry.h"
#include "step/optim.h"
#include "step/statistics.h"
#include "trainer/adapters.h"
#include "trainer/memory.h"
#include "trainer/step.h"
#include "trainer/teacher.h"
#include "trainer/trainer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BENCH_SITE = 0x7fff0004, WARM_UP = 2, MOST_APART = 10 };
enum { FORWARD, BACKWARD, UPDATE, PARTS };

/* Milliseconds since the kernel made this process, in its clock ticks (10 ms); -1 if /proc does not say. */
static double ms_since_start(void)
{
    char text[1024];
    unsigned long long ticks;
    FILE *f = fopen("/proc/self/stat", "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    char *at = strrchr(text, ')'); /* names may contain spaces and brackets; 20 fields after it is the start time */
    struct timespec now;
    if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                      &ticks) != 1)
        return -1;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return 1e3 * ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec - (double)ticks / (double)sysconf(_SC_CLK_TCK));
}

static int64_t peak_rss_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

/* Resident memory: the program, its libraries and tables; 0 if /proc does not say. */
static int64_t resident_bytes(void)
{
    long long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%lld %lld", &all, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return resident * sysconf(_SC_PAGESIZE);
}

/* An id below the vocabulary.  Where several documents may share a sequence, it has one document. */
static int32_t random_id(const Lathe_model *m, const Lathe_tensor *x, int64_t i, int word, int64_t limit)
{
    if (x->below) limit = x->below;
    if (x->role == LATHE_SEGMENTS || x->role == LATHE_BEGINS) return 1;
    if (x->role == LATHE_LENGTHS) return (int32_t)m->seq; /* full rows */
    if (x->role == LATHE_SOURCE_LENGTHS) return (int32_t)m->source_seq;
    if (x->role == LATHE_POSITIONS) return (int32_t)(i % x->dim[x->rank - 1]);
    return (int32_t)((uint64_t)(uint32_t)word * (uint64_t)limit >> 32);
}

void random_inputs(const Trainer *t, const Lathe_entry *e, char *in, int64_t step)
{
    int64_t limit = class_count(t->model) ? class_count(t->model) : 2;
    for (int k = 0; k < e->inputs; k++) {
        const Lathe_tensor *x = &e->input[k];
        char *at = in + x->offset;
        for (int64_t i = 0; i < tensor_size(x); i++) {
            int word = philox_word(t->seed, (int)step, BENCH_SITE, k, (int)i);
            if (x->dtype == LATHE_I32) ((int32_t *)at)[i] = random_id(t->model, x, i, word, limit);
            else if (x->dtype == LATHE_F64) ((double *)at)[i] = 2 * u01_f64(word) - 1;
            else ((float *)at)[i] = 2 * u01_f32(word) - 1;
        }
    }
    set_scalars(e, in, t->seed, step, 0);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_of(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

typedef struct Bench {
    int64_t steps;
    double *ms;                         /* [steps], sorted at the end */
    double startup_ms, total_ms, items; /* items: tokens or rows per step */
    double median_ms, floor_ms; /* floor: all contractions of a step at the rate that one large product reaches */
    int64_t peak_rss, program;  /* bytes: maximum until the end of the steps; before the planned memory was taken */
    double *part[PARTS];        /* ms [apart], sorted at the end: of steps that measured them */
    int64_t apart;
    double part_ms[PARTS]; /* medians */
    int64_t skipped;       /* steps skipped because gradients overflowed fp16 */
    double *loss;          /* [WARM_UP + steps] */
} Bench;

static void add_parts(Bench *b, const Step *s)
{
    b->part[FORWARD][b->apart] = 1e3 * s->forward;
    b->part[BACKWARD][b->apart] = 1e3 * s->backward;
    b->part[UPDATE][b->apart++] = 1e3 * s->update;
}

/* Steps after one that is not finite would skip the update. */
static void check_bench_step(const Trainer *t, const Step *s)
{
    if (has_diverged(s))
        fail(EXIT_DIVERGED, NULL, "step %lld: %s\n  %s", (long long)s->number + 1, divergence_text(s, NULL),
             divergence_remedy(&t->recipe, s, NULL));
}

static void end_bench_step(Bench *b, const Trainer *t)
{
    Step s = end_turn();
    b->skipped += s.skipped;
    b->loss[s.number] = s.loss;
    if (s.number >= WARM_UP && !on_device()) add_parts(b, &s);
    check_bench_step(t, &s);
}

/* 0 if there is no room for a large product.  The block is overwritten. */
static double floor_of(const Trainer *t, const Lathe_entry *e, const Memory *m)
{
    double copy = 0, product = 0;
    if (on_device()) device_rates(&copy, &product);
    else product = product_rate(t->model->real, m->base, m->bytes);
    return product > 0 ? 1e3 * e->flops / product : 0;
}

/* A device times the parts of a step only on request, so a few more steps are run one by one. */
static void run_apart(Bench *b, const Trainer *t, Turn *u, Memory *m)
{
    const int64_t from = b->steps + WARM_UP, n = b->steps < MOST_APART ? b->steps : MOST_APART;
    time_parts(true);
    for (int64_t step = from; step < from + n + WARM_UP; step++) {
        set_scalars(u->entry, m->call, t->seed, step, 0);
        Step s = take_turn(t, u, m, step);
        check_bench_step(t, &s);
        if (step >= from + WARM_UP) add_parts(b, &s);
    }
    time_parts(false);
}

static void run_steps(Bench *b, const Trainer *t, Turn *u, Memory *m)
{
    const Lathe_entry *e = u->entry;
    b->startup_ms = ms_since_start();
    for (int64_t step = 0; step < b->steps + WARM_UP; step++) {
        double begin = seconds_now();
        if (t->inputs) set_scalars(e, m->call, t->seed, step, 0);
        else random_inputs(t, e, m->call, step);
        begin_turn(t, u, m, step, 0);
        while (turn_must_end()) end_bench_step(b, t);
        double ms = 1e3 * (seconds_now() - begin);
        if (step < WARM_UP) continue;
        b->ms[step - WARM_UP] = ms;
        b->total_ms += ms;
    }
    while (turns_begun()) end_bench_step(b, t);
    b->median_ms = median_of(b->ms, b->steps);
    if (on_device()) run_apart(b, t, u, m);
    for (int i = 0; i < PARTS; i++) b->part_ms[i] = median_of(b->part[i], b->apart);
    b->peak_rss = peak_rss_bytes(); /* before the large product, which allocates memory if the model is small */
    b->floor_ms = floor_of(t, e, m);
}

static void print_object(const Bench *b, const Lathe_model *m, const Lathe_entry *e)
{
    json_t *all = json_pack("{s:s, s:s?, s:s, s:i, s:I}", "model", utf8_of(m->name), "config", utf8_of(m->config),
                            "precision", m->precision, "threads", omp_get_max_threads(), "steps", (json_int_t)b->steps);
    put_json(all, "tokens_per_s", real_json(b->items * (double)b->steps / (b->total_ms * 1e-3)));
    put_json(all, "step_ms",
             json_pack("{s:f, s:f, s:f}", "median", b->median_ms, "min", b->ms[0], "max", b->ms[b->steps - 1]));
    put_json(all, "parts_ms",
             json_pack("{s:f, s:f, s:f}", "forward", b->part_ms[FORWARD], "backward", b->part_ms[BACKWARD], "update",
                       b->part_ms[UPDATE]));
    put_json(all, "flops_per_step", real_json(e->flops));
    put_json(all, "gemm_floor_ms", b->floor_ms > 0 ? real_json(b->floor_ms) : json_null());
    json_t *losses = json_array();
    for (int64_t i = 0; i < b->steps + WARM_UP; i++) add_json(losses, real_json(b->loss[i]));
    put_json(all, "losses", losses);
    put_json(all, "skipped_steps", json_integer(b->skipped));
    put_json(all, "planned_bytes", json_integer(m->planned_bytes));
    put_json(all, "lower_bound_bytes", json_integer(m->lower_bound_bytes));
    put_json(all, "peak_rss_bytes", json_integer(b->peak_rss));
    put_json(all, "program_bytes", json_integer(b->program));
    put_json(all, "startup_ms", real_json(b->startup_ms));
    print_json(all);
}

static void print_text(const Bench *b, const Lathe_model *m, const Lathe_entry *e)
{
    show(stdout, "%lld steps, %d threads: median %.2f ms, minimum %.2f, maximum %.2f\n", (long long)b->steps,
         omp_get_max_threads(), b->median_ms, b->ms[0], b->ms[b->steps - 1]);
    show(stdout, "forward %.2f ms, backward %.2f, update %.2f\n", b->part_ms[FORWARD], b->part_ms[BACKWARD],
         b->part_ms[UPDATE]);
    show(stdout, "%.0f tokens or rows a second, %.2f GFLOP/s in contractions\n",
         b->items * (double)b->steps / (b->total_ms * 1e-3), e->flops / b->median_ms * 1e-6);
    if (b->floor_ms > 0) show(stdout, "contractions at the rate of one large product: %.2f ms\n", b->floor_ms);
    if (b->skipped) show(stdout, "%lld steps were skipped: gradients overflowed fp16\n", (long long)b->skipped);
    show(stdout,
         "memory: planned %s, at most %s resident, %s of it the program itself; first step began %.0f ms after the "
         "process\n",
         bytes_text(m->planned_bytes), bytes_text(b->peak_rss), bytes_text(b->program), b->startup_ms);
}

int bench_command(Trainer *t)
{
    static const Entry entries[] = {ENTRY_train, ENTRY_direction, NO_ENTRY};
    const Lathe_entry *e = need_entry(t->model, ENTRY_train);
    const Lathe_tensor *tokens = tensor_with_role(e, LATHE_TOKENS);
    Bench b = {.steps = t->steps ? t->steps : 10};
    Memory m;
    Step_turns turns;
    check_memory(t);
    if (t->teacher) find_teacher(t, NULL);
    b.program = resident_bytes();
    b.items = (double)(tokens ? tensor_size(tokens) : e->rows);
    b.ms = must_alloc(sizeof *b.ms * (size_t)b.steps);
    for (int i = 0; i < PARTS; i++) b.part[i] = must_alloc(sizeof **b.part * (size_t)b.steps);
    b.loss = must_alloc(sizeof *b.loss * (size_t)(b.steps + WARM_UP));
    use_threads(t);
    take_memory(&m, t, true, true, entries);
    open_turns(&turns, t->model, &t->recipe, m.moments);
    Turn *u = wanted_turn(t, &turns);
    if (t->weights) load_weights(t->model, t->weights, m.params, m.statistics, NULL);
    if (t->adapter) take_adapter(t, t->adapter, t->weights, m.params);
    if (!t->weights) init_weights(t->model, (uint64_t)t->seed, &m);
    begin_averages(&u->optimizer, m.params);
    fill_teacher(t, &m, NULL);
    if (t->inputs) take_inputs(t, e, m.call);
    weights_up(t->model, &m);
    optimizer_up(&u->optimizer);
    ready_optimizers(&turns, &m);
    run_steps(&b, t, u, &m);
    if (t->json) print_object(&b, t->model, u->entry);
    else print_text(&b, t->model, u->entry);
    close_turns(&turns);
    return 0;
}
