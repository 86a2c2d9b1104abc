/* train_optim.c: AdamW and SGD with decoupled weight decay, the norm of the gradient, the learning rate.
 *
 * An update is one pass over the flat arrays in chunks of a fixed size; every element is updated alone and the norm
 * adds up the chunks in order, so that the number of threads changes no bit.  The arithmetic follows torch.optim. */
#include "rt_math.h"
#include "trainer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16384 }; /* elements; several segments may meet in one */

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t chunks_of(const Optimizer *o) { return (o->n + CHUNK - 1) / CHUNK; }

/* ---- which elements decay */

static int by_begin(const void *a, const void *b)
{
    int64_t x = ((const Segment *)a)->begin, y = ((const Segment *)b)->begin;
    return (x > y) - (x < y);
}

static void add_runs(Optimizer *o, const Lathe_param *p)
{
    int64_t run = contiguous_elements(p), n = copy_elements(p);
    for (int64_t copy = 0; copy < copies_of_parameter(p); copy++)
        for (int64_t e = 0; e < n; e += run) {
            int64_t at = copy_place(p, copy, e);
            o->segment[o->segments++] = (Segment){at, at + run, p->decay};
        }
}

/* Sorted; neighbours of one kind become one, and the padding behind a segment belongs to it (it stays zero). */
static void join_segments(Optimizer *o)
{
    int n = 0;
    qsort(o->segment, (size_t)o->segments, sizeof *o->segment, by_begin);
    for (int i = 0; i < o->segments; i++) {
        Segment *s = &o->segment[i];
        if (n > 0 && o->segment[n - 1].decay == s->decay) o->segment[n - 1].end = s->end;
        else {
            if (n > 0) o->segment[n - 1].end = s->begin;
            o->segment[n++] = *s;
        }
    }
    o->segments = n;
    if (n > 0) {
        o->segment[0].begin = 0;
        o->segment[n - 1].end = o->n;
    }
}

static void make_segments(Optimizer *o, const Lathe_model *m)
{
    int64_t runs = 0;
    for (const Lathe_param *p = m->param; p < m->param + m->params; p++)
        if (copy_elements(p) > 0) runs += copies_of_parameter(p) * copy_elements(p) / contiguous_elements(p);
    o->segment = must_alloc((size_t)larger(runs, 1) * sizeof *o->segment);
    for (int i = 0; i < m->params; i++)
        if (copy_elements(&m->param[i]) > 0) add_runs(o, &m->param[i]);
    join_segments(o);
}

/* ---- start */

int optimizer_moments(const Lathe_recipe *r) { return r->optimizer == LATHE_ADAMW ? 2 : r->momentum != 0 ? 1 : 0; }

static size_t moment_bytes(const Lathe_model *m)
{
    return (size_t)m->flat_elements * (m->real == LATHE_F64 ? sizeof(double) : sizeof(float));
}

size_t optimizer_bytes(const Lathe_model *m, const Lathe_recipe *r)
{
    return (size_t)optimizer_moments(r) * moment_bytes(m);
}

void optimizer_init(Optimizer *o, const Lathe_model *m, const Lathe_recipe *r, void *memory)
{
    static const char *const adamw[] = {"exp_avg", "exp_avg_sq"}, *const sgd[] = {"momentum"};
    *o = (Optimizer){.kind = r->optimizer,
                     .real = m->real,
                     .beta1 = r->beta1,
                     .beta2 = r->beta2,
                     .eps = r->eps,
                     .decay = r->decay,
                     .momentum = r->momentum,
                     .n = m->flat_elements,
                     .moments = optimizer_moments(r)};
    for (int k = 0; k < o->moments; k++) {
        o->moment[k] = (char *)memory + (size_t)k * moment_bytes(m);
        o->moment_name[k] = r->optimizer == LATHE_ADAMW ? adamw[k] : sgd[k];
    }
    if (o->moments) clear_memory(memory, (int64_t)optimizer_bytes(m, r));
    make_segments(o, m);
    o->partial = must_alloc((size_t)larger(chunks_of(o), 1) * sizeof *o->partial);
}

void optimizer_free(Optimizer *o)
{
    free(o->segment);
    free(o->partial);
    *o = (Optimizer){0};
}

/* ---- steps */

typedef struct Rates {               /* of one update */
    double scale, lr, keep;          /* of the gradient; learning rate; what decay leaves of a parameter */
    double correction1, correction2; /* 1 - beta^(step + 1) */
} Rates;

#define REAL    float
#define NAME(x) x##_f32
#include "train_optim_real.h"
#undef REAL
#undef NAME
#define REAL    double
#define NAME(x) x##_f64
#include "train_optim_real.h"

double gradient_norm(const Optimizer *o, const void *grads)
{
    double sum = 0;
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < chunks_of(o); k++) {
        int64_t begin = k * CHUNK, n = smaller(o->n - begin, CHUNK);
        o->partial[k] = o->real == LATHE_F64 ? squares_f64((const double *)grads + begin, n)
                                             : squares_f32((const float *)grads + begin, n);
    }
    for (int64_t k = 0; k < chunks_of(o); k++) sum += o->partial[k];
    return sqrt(sum);
}

double clip_scale(double norm, double clip) { return clip > 0 ? fmin(1, clip / (norm + 1e-6)) : 1; }

static int segment_at(const Optimizer *o, int64_t element)
{
    int low = 0, high = o->segments - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (o->segment[middle].end > element) high = middle;
        else low = middle + 1;
    }
    return low;
}

static void update(const Optimizer *o, void *params, const void *grads, int64_t begin, int64_t end, const Rates *r)
{
    if (o->kind == LATHE_ADAMW && o->real == LATHE_F64) adamw_f64(o, params, grads, begin, end, r);
    else if (o->kind == LATHE_ADAMW) adamw_f32(o, params, grads, begin, end, r);
    else if (o->real == LATHE_F64) sgd_f64(o, params, grads, begin, end, r);
    else sgd_f32(o, params, grads, begin, end, r);
}

void optimizer_step(Optimizer *o, void *params, const void *grads, int64_t step, double lr, double scale)
{
    Rates plain = {scale, lr, 1, 1 - pow(o->beta1, (double)step + 1), 1 - pow(o->beta2, (double)step + 1)},
          decaying = plain;
    decaying.keep = 1 - lr * o->decay;
    if (o->segments == 0) return;
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < chunks_of(o); k++) {
        int64_t at = k * CHUNK, end = smaller(at + CHUNK, o->n);
        for (int s = segment_at(o, at); at < end; s++) {
            int64_t stop = smaller(o->segment[s].end, end);
            update(o, params, grads, at, stop, o->segment[s].decay ? &decaying : &plain);
            at = stop;
        }
    }
}

/* ---- the learning rate */

double rate_at(const Lathe_recipe *r, int64_t step)
{
    if (step < r->warmup) return r->lr * (double)(step + 1) / (double)(r->warmup + 1);
    if (r->schedule == LATHE_CONSTANT_RATE) return r->lr;
    if (step >= r->steps) return r->final_lr;
    double done = (double)(step - r->warmup) / (double)(r->steps - r->warmup);
    double left = r->schedule == LATHE_LINEAR ? 1 - done : 0.5 * (1 + cos(3.14159265358979323846 * done));
    return r->final_lr + left * (r->lr - r->final_lr);
}
