/* harness_train.c: training in the simulator of CUDA beside the C of the same model. */
#include "harness_cuda.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TO_DEVICE = 1, FROM_DEVICE = 2 };

typedef struct Adam { /* of one side: parameters, moments, gradients */
    const Lathe_model *model;
    double *params, *m, *v, *grads;
} Adam;

typedef struct Trained { /* the entry train of model.cu, and its memory on the device */
    const Device *device;
    const Lathe_model *model;
    const Lathe_entry *entry;
    char *params, *grads, *in, *out, *state, *work;
} Trained;

static char *room(const Device *d, int64_t bytes, int filling)
{
    char *at, *host = alloc((size_t)bytes + 1);
    must(d->malloc((void **)&at, (size_t)bytes + 1) == 0);
    memset(host, filling, (size_t)bytes);
    d->copy(at, host, (size_t)bytes, TO_DEVICE);
    return at;
}

static int64_t flat_bytes(const Lathe_model *m) { return m->flat_elements * (m->real == LATHE_F64 ? 8 : 4); }

static const Lathe_entry *train_of(const Lathe_model *m)
{
    for (int i = 0; i < m->entries; i++)
        if (same(m->entry[i].name, "train")) return &m->entry[i];
    die("%s has no entry train", m->name);
}

static Trained trained(const Both *b)
{
    const Device *d = &b->device;
    Trained t = {.device = d, .model = dlsym(d->library, "lathe_model")};
    must(t.model);
    t.entry = train_of(t.model);
    t.params = room(d, flat_bytes(t.model), 0);
    t.grads = room(d, flat_bytes(t.model), 0xff);
    t.state = room(d, t.model->state_bytes, 0);
    t.in = room(d, t.entry->in_bytes, 0);
    t.out = room(d, t.entry->out_bytes, 0xff);
    t.work = room(d, t.entry->work_bytes, 0xff);
    const char *failure = d->start();
    must(!failure);
    return t;
}

static void release(Trained *t)
{
    char *all[] = {t->params, t->grads, t->state, t->in, t->out, t->work};
    for (int i = 0; i < COUNT_OF(all); i++) t->device->free(all[i]);
}

/* The inputs that C has, by their names. */
static void give_inputs(const Trained *t, const Live *c, int entry)
{
    char *in = calloc(1, (size_t)t->entry->in_bytes + 1);
    for (int i = 0; i < t->entry->inputs; i++) {
        const Lathe_tensor *x = &t->entry->input[i];
        int64_t bytes = tensor_elements(x) * (x->dtype == LATHE_F64 ? 8 : x->dtype == LATHE_BOOL ? 1 : 4);
        memcpy(in + x->offset, input_at(c, entry, x->name), (size_t)bytes);
    }
    t->device->copy(t->in, in, (size_t)t->entry->in_bytes, TO_DEVICE);
    free(in);
}

static double loss_there(const Trained *t)
{
    char *out = alloc((size_t)t->entry->out_bytes);
    const Lathe_tensor *loss = find_tensor(t->entry->output, t->entry->outputs, "loss");
    t->device->copy(out, t->out, (size_t)t->entry->out_bytes, FROM_DEVICE);
    return get_element(loss->dtype, out + loss->offset, 0);
}

/* ------------------------------------------------------------------ an optimizer */

static Adam adam_of(const Lathe_model *m)
{
    size_t n = (size_t)m->flat_elements;
    return (Adam){m, calloc(n, 8), calloc(n, 8), calloc(n, 8), calloc(n, 8)};
}

static void free_adam(Adam *s)
{
    free(s->params);
    free(s->m);
    free(s->v);
    free(s->grads);
}

/* Adam, with an epsilon large enough for gradients that are rounding alone not to move anything. */
static void update(Adam *s, int step)
{
    const double rate = 1e-3, beta1 = 0.9, beta2 = 0.99, epsilon = 1e-4;
    for (int64_t i = 0; i < s->model->flat_elements; i++) {
        double g = s->grads[i];
        s->m[i] = beta1 * s->m[i] + (1 - beta1) * g;
        s->v[i] = beta2 * s->v[i] + (1 - beta2) * g * g;
        double m = s->m[i] / (1 - pow(beta1, step)), v = s->v[i] / (1 - pow(beta2, step));
        s->params[i] -= rate * m / (sqrt(v) + epsilon);
    }
}

static void numbers(double *to, const char *flat, const Lathe_model *m)
{
    for (int64_t i = 0; i < m->flat_elements; i++) to[i] = get_element(m->real, flat, i);
}

/* Gradients of padding are nobody's: zero. */
static void gradients(double *to, const char *flat, const Lathe_model *m)
{
    memset(to, 0, (size_t)m->flat_elements * sizeof *to);
    for (int p = 0; p < m->params; p++)
        for (int64_t i = 0; i < param_elements(&m->param[p]); i++) {
            int64_t at = flat_place(&m->param[p], i);
            to[at] = get_element(m->real, flat, at);
        }
}

static void flatten(char *flat, const double *from, const Lathe_model *m)
{
    for (int64_t i = 0; i < m->flat_elements; i++) set_element(m->real, flat, i, from[i]);
}

/* ------------------------------------------------------------------ both */

/* A step of CUDA: its loss; gradients in s. */
static double step_there(const Trained *t, Adam *s)
{
    char *flat = alloc((size_t)flat_bytes(t->model));
    flatten(flat, s->params, t->model);
    t->device->copy(t->params, flat, (size_t)flat_bytes(t->model), TO_DEVICE);
    t->entry->run(&(Lathe_call){t->params, t->grads, t->in, t->out, t->state, t->work, NULL});
    t->device->copy(flat, t->grads, (size_t)flat_bytes(t->model), FROM_DEVICE);
    gradients(s->grads, flat, t->model);
    return loss_there(t);
}

static double step_here(Live *c, int entry, Adam *s)
{
    flatten(c->params, s->params, c->model);
    call_entry(c, entry);
    gradients(s->grads, c->grads, c->model);
    return loss_of(c, entry);
}

double worst_loss, worst_gradient;

void compare_training(const Both *b, const char *what, int steps, Rng *rng)
{
    Live *c = live_in(dlopen(format("%s/probe.so", b->c_folder), RTLD_LAZY | RTLD_LOCAL));
    Trained t = trained(b);
    int entry = entry_index(c, "train");
    int64_t n = c->model->flat_elements;
    must(t.model->flat_elements == n);
    fill_params(c, rng);
    fill_inputs(c, entry, rng);
    give_inputs(&t, c, entry);
    Adam here = adam_of(c->model), there = adam_of(t.model);
    numbers(here.params, c->params, c->model);
    memcpy(there.params, here.params, (size_t)n * sizeof *here.params);
    b->device.order(0, 7);
    for (int step = 1; step <= steps; step++) {
        double ours = step_here(c, entry, &here), theirs = step_there(&t, &there);
        const char *report = b->device.report(), *failure = b->device.start();
        if (!expect(!*report && !failure, "%s: step %d: %s%s", what, step, report, failure ? failure : "")) break;
        double off = fabs(ours - theirs) / fabs(ours);
        double grad = norm_of_difference(here.grads, there.grads, n) / norm_of(here.grads, n);
        worst_loss = fmax(worst_loss, off);
        if (step == 1) worst_gradient = fmax(worst_gradient, grad);
        if (!expect(off <= 1e-4, "%s: step %d: the loss is %.9g in C, %.9g in CUDA", what, step, ours, theirs)) break;
        if (step == 1) expect(grad <= 1e-4, "%s: the gradients differ by %.3g of their norm", what, grad);
        update(&here, step);
        update(&there, step);
    }
    free_adam(&here);
    free_adam(&there);
    release(&t);
    unload(c);
}
