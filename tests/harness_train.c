/* harness_train.c: the entries of a model in the simulator of CUDA beside those of the CPU target's text. */
#include "harness_cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TO_DEVICE = 1, FROM_DEVICE = 2 };

typedef struct Adam { /* of one side: parameters, moments, gradients */
    const Lathe_model *model;
    double *params, *m, *v, *grads;
} Adam;

typedef struct There { /* model.cu, and its memory on the device */
    const Device *device;
    const Lathe_model *model;
    char *params, *grads, *state;
    struct There_room {
        char *in, *out, *work;
    } * room; /* by entry */
} There;

typedef struct Pairing { /* an entry of both */
    Live *here;
    const There *there;
    const char *what;
    int entry, entry_there;
    double bound, gradients;
} Pairing;

static char *room(const Device *d, int64_t bytes, int filling)
{
    char *at, *host = alloc((size_t)bytes + 1);
    must(d->malloc((void **)&at, (size_t)bytes + 1) == 0);
    memset(host, filling, (size_t)bytes);
    d->copy(at, host, (size_t)bytes, TO_DEVICE);
    return at;
}

static char *room_of_states(const Device *d)
{
    char *at = room(d, d->model->state_bytes, 0), *host = calloc(1, (size_t)d->model->state_bytes + 1);
    fill_statistics(d->model, host);
    d->copy(at, host, (size_t)d->model->state_bytes, TO_DEVICE);
    free(host);
    return at;
}

static int64_t flat_bytes(const Lathe_model *m) { return m->flat_elements * (m->real == LATHE_F64 ? 8 : 4); }
static int64_t weight_bytes(const Lathe_model *m) { return m->weights ? 2 * m->flat_elements : flat_bytes(m); }

static There there_of(const Device *d)
{
    There t = {.device = d, .model = d->model};
    t.params = room(d, weight_bytes(t.model), 0);
    t.grads = room(d, flat_bytes(t.model), 0xff);
    t.state = room_of_states(d);
    t.room = calloc((size_t)t.model->entries, sizeof *t.room);
    for (int i = 0; i < t.model->entries; i++) {
        const Lathe_entry *e = &t.model->entry[i];
        t.room[i] =
            (struct There_room){room(d, e->in_bytes, 0), room(d, e->out_bytes, 0xff), room(d, e->work_bytes, 0xff)};
    }
    const char *failure = d->start();
    must(!failure);
    return t;
}

static void release(There *t)
{
    char *all[] = {t->params, t->grads, t->state};
    for (int i = 0; i < COUNT_OF(all); i++) t->device->free(all[i]);
    for (int i = 0; i < t->model->entries; i++) {
        t->device->free(t->room[i].in);
        t->device->free(t->room[i].out);
        t->device->free(t->room[i].work);
    }
    free(t->room);
}

static int entry_there(const There *t, const Lathe_entry *here)
{
    for (int i = 0; i < t->model->entries; i++) {
        const Lathe_entry *e = &t->model->entry[i];
        if (same(e->name, here->name) && same(e->turn ? e->turn : "", here->turn ? here->turn : "")) return i;
    }
    die("%s has no entry %s", t->model->name, here->name);
}

static int64_t tensor_bytes(const Lathe_tensor *x)
{
    return tensor_elements(x) * (x->dtype == LATHE_F64 ? 8 : x->dtype == LATHE_BOOL ? 1 : 4);
}

/* ------------------------------------------------------------------ a call */

enum { LOSS_SCALE = 1024 }; /* of fp16 */

/* The number of the update, from 1, which an optimizer's entry may ask for on one side alone. */
static void give_update(const Pairing *p, int call, const Lathe_tensor *x, char *in)
{
    const Lathe_entry *here = &p->here->model->entry[p->entry];
    const Lathe_tensor *own = find_tensor(here->input, here->inputs, x->name);
    set_element(x->dtype, in + x->offset, 0, call + 1);
    if (own) set_element(own->dtype, p->here->room[p->entry].in + own->offset, 0, call + 1);
}

/* Random gradients, for an entry that reads them. */
static void give_gradients(const Pairing *p, Rng *rng)
{
    const There *t = p->there;
    const Lathe_model *m = p->here->model;
    const int64_t n = lathe_trained_elements(m);
    if (!same(m->entry[p->entry].name, "direction")) return;
    for (int64_t i = 0; i < n; i++) set_element(m->real, p->here->grads, i, normal(rng));
    t->device->copy(t->grads, p->here->grads, (size_t)n * (m->real == LATHE_F64 ? 8 : 4), TO_DEVICE);
}

/* Random inputs for the call-th call, from 0: the same on both sides. */
static void give_inputs(const Pairing *p, int call, Rng *rng)
{
    const There *t = p->there;
    const Lathe_entry *e = &t->model->entry[p->entry_there];
    char *in = calloc(1, (size_t)e->in_bytes + 1);
    fill_inputs(p->here, p->entry, rng);
    give_gradients(p, rng);
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *x = &e->input[i];
        if (x->role == LATHE_LOSS_SCALE) set_element(x->dtype, in + x->offset, 0, LOSS_SCALE);
        if (x->role == LATHE_UPDATE) give_update(p, call, x, in);
        if (x->role == LATHE_LOSS_SCALE || x->role == LATHE_UPDATE) continue;
        void *from = input_at(p->here, p->entry, x->name);
        if (x->role == LATHE_STEP || x->role == LATHE_POSITION) set_element(x->dtype, from, 0, call);
        memcpy(in + x->offset, from, (size_t)tensor_bytes(x));
    }
    t->device->copy(t->room[p->entry_there].in, in, (size_t)e->in_bytes, TO_DEVICE);
    free(in);
}

/* Both; false: the simulator has something to say. */
static bool call_both(const Pairing *p, int call)
{
    const There *t = p->there;
    const struct There_room *r = &t->room[p->entry_there];
    call_entry(p->here, p->entry);
    t->model->entry[p->entry_there].run(&(Lathe_call){t->params, t->grads, r->in, r->out, t->state, r->work, NULL});
    const char *report = t->device->report(), *failure = t->device->start();
    return expect(!*report && !failure, "%s: call %d: %s%s", p->what, call + 1, report, failure ? failure : "");
}

/* By the norm of what is real, of numbers that are finite in both; the rest is equal or not. */
static double difference(const Lathe_tensor *x, const char *here, const char *there)
{
    double off = 0, norm = 0;
    bool real = x->dtype != LATHE_I32 && x->dtype != LATHE_BOOL;
    for (int64_t i = 0; i < tensor_elements(x); i++) {
        double a = get_element(x->dtype, here, i), b = get_element(x->dtype, there, i);
        if (a == b) norm += real && isfinite(a) ? a * a : 0;
        else if (!real || isfinite(a) != isfinite(b)) return INFINITY;
        else if (isfinite(a)) off += (a - b) * (a - b), norm += a * a;
    }
    return off > 0 ? sqrt(off / (norm + 1e-300)) : 0;
}

/* The share of tokens that are right jumps where two of a token's scores are equal but for rounding. */
static bool jumps(const Pairing *p, const Lathe_tensor *x) { return p->bound > 1e-3 && same(x->name, "accuracy"); }

static double compare_tensors(const Pairing *p, int call, const Lathe_tensor *list, int n,
                              const Lathe_tensor *list_there, int n_there, const char *here, const char *there)
{
    double worst = 0;
    for (int i = 0; i < n; i++) {
        const Lathe_tensor *x = &list[i], *y = find_tensor(list_there, n_there, x->name);
        must(y && tensor_elements(y) == tensor_elements(x));
        double off = difference(x, here + x->offset, there + y->offset);
        if (jumps(p, x)) {
            double a = get_element(x->dtype, here + x->offset, 0), b = get_element(y->dtype, there + y->offset, 0);
            expect(fabs(a - b) <= 0.1, "%s: call %d: %s is %.3g, not %.3g", p->what, call + 1, x->name, b, a);
            continue;
        }
        expect(off <= p->bound, "%s: call %d: %s differs by %.3g of its norm", p->what, call + 1, x->name, off);
        worst = fmax(worst, off);
    }
    return worst;
}

/* Outputs and states of both: the largest difference. */
static double compare_results(const Pairing *p, int call)
{
    const There *t = p->there;
    const Lathe_entry *e = &p->here->model->entry[p->entry], *f = &t->model->entry[p->entry_there];
    char *out = alloc((size_t)f->out_bytes + 1), *state = alloc((size_t)t->model->state_bytes + 1);
    t->device->copy(out, t->room[p->entry_there].out, (size_t)f->out_bytes, FROM_DEVICE);
    t->device->copy(state, t->state, (size_t)t->model->state_bytes, FROM_DEVICE);
    return fmax(
        compare_tensors(p, call, e->output, e->outputs, f->output, f->outputs, p->here->room[p->entry].out, out),
        compare_tensors(p, call, p->here->model->state, p->here->model->states, t->model->state, t->model->states,
                        p->here->state, state));
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

/* Has the entry a gradient of the parameter? */
static bool has_gradient(const Lathe_model *m, const Lathe_entry *e, const Lathe_param *p)
{
    for (int k = 0; k < m->turns; k++)
        if (e->turn && same(m->turn[k].name, e->turn)) return lathe_in_scopes(m->turn[k].of, p->name);
    return true;
}

/* Gradients of padding, and those of other turns, are nobody's: zero. */
static void gradients(double *to, const char *flat, const Lathe_model *m, const Lathe_entry *e)
{
    memset(to, 0, (size_t)m->flat_elements * sizeof *to);
    for (int p = 0; p < m->params; p++)
        for (int64_t i = 0; has_gradient(m, e, &m->param[p]) && i < param_elements(&m->param[p]); i++) {
            int64_t at = flat_place(&m->param[p], i);
            to[at] = get_element(m->real, flat, at);
        }
}

static void flatten(char *flat, const double *from, const Lathe_model *m)
{
    for (int64_t i = 0; i < m->flat_elements; i++) set_element(lathe_weights(m), flat, i, from[i]);
}

static void give_params(const There *t, const double *params)
{
    char *flat = alloc((size_t)weight_bytes(t->model));
    flatten(flat, params, t->model);
    t->device->copy(t->params, flat, (size_t)weight_bytes(t->model), TO_DEVICE);
}

/* What another entry left there would hide that this one does not write all. */
static void forget_gradients(const There *t)
{
    char *nothing = alloc((size_t)flat_bytes(t->model));
    memset(nothing, 0xff, (size_t)flat_bytes(t->model));
    t->device->copy(t->grads, nothing, (size_t)flat_bytes(t->model), TO_DEVICE);
}

static void take_gradients(const There *t, const Lathe_entry *e, double *to)
{
    char *flat = alloc((size_t)flat_bytes(t->model));
    t->device->copy(flat, t->grads, (size_t)flat_bytes(t->model), FROM_DEVICE);
    gradients(to, flat, t->model, e);
}

/* ------------------------------------------------------------------ both */

/* Weights that are drawn small are made large enough for every layer to be heard in the loss. */
static void fill_loud(Live *l, Rng *rng)
{
    enum { TIMES = 6 };
    fill_params(l, rng);
    for (int k = 0; k < l->model->params; k++) {
        const Lathe_param *p = &l->model->param[k];
        for (int64_t i = 0; p->init == LATHE_NORMAL && p->init_a < 0.1 && i < param_elements(p); i++) {
            int64_t at = flat_place(p, i);
            set_element(l->model->real, l->params, at, TIMES * get_element(l->model->real, l->params, at));
        }
    }
}

Differences worst;

static bool is_scaled(const Pairing *p)
{
    const Lathe_entry *e = &p->there->model->entry[p->entry_there];
    bool scaled = false;
    for (int i = 0; i < e->inputs; i++) scaled |= e->input[i].role == LATHE_LOSS_SCALE;
    return scaled;
}

static double compare_gradients(const Pairing *p, Adam *here, Adam *there)
{
    int64_t n = here->model->flat_elements;
    gradients(here->grads, p->here->grads, here->model, &p->here->model->entry[p->entry]);
    take_gradients(p->there, &p->there->model->entry[p->entry_there], there->grads);
    for (int64_t i = 0; i < n && is_scaled(p); i++) there->grads[i] /= LOSS_SCALE;
    return norm_of_difference(here->grads, there->grads, n) / norm_of(here->grads, n);
}

/* Each side goes its own way from the same parameters; the first gradients are compared too. */
static void compare_training(const Pairing *p, int steps, Adam *here, Adam *there, Rng *rng)
{
    for (int step = 0; step < steps; step++) {
        flatten(p->here->params, here->params, here->model);
        give_params(p->there, there->params);
        give_inputs(p, step, rng);
        if (!call_both(p, step)) return;
        worst.training = fmax(worst.training, compare_results(p, step));
        double off = compare_gradients(p, here, there);
        if (step == 0) worst.gradient = fmax(worst.gradient, off);
        expect(step > 0 || off <= p->gradients, "%s: the gradients differ by %.3g of their norm", p->what, off);
        update(here, step + 1);
        update(there, step + 1);
    }
}

/* `calls` calls, of decode one position after another. */
static void compare_calls(const Pairing *p, int calls, Adam *here, Adam *there, Rng *rng)
{
    flatten(p->here->params, here->params, here->model);
    give_params(p->there, here->params);
    forget_gradients(p->there);
    for (int call = 0; call < calls; call++) {
        give_inputs(p, call, rng);
        if (!call_both(p, call)) return;
        worst.other = fmax(worst.other, compare_results(p, call));
    }
    if (!same(p->here->model->entry[p->entry].name, "grad")) return;
    double off = compare_gradients(p, here, there);
    expect(off <= p->gradients, "%s: the gradients differ by %.3g of their norm", p->what, off);
    worst.gradient = fmax(worst.gradient, off);
}

void compare_entries(const Device *d, Live *c, const char *what, int steps, double bound, double gradients, Rng *rng)
{
    enum { POSITIONS = 3 };
    There t = there_of(d);
    must(t.model->flat_elements == c->model->flat_elements && t.model->entries == c->model->entries);
    fill_loud(c, rng);
    Adam here = adam_of(c->model), there = adam_of(t.model);
    numbers(here.params, c->params, c->model);
    memcpy(there.params, here.params, (size_t)c->model->flat_elements * sizeof *here.params);
    d->order(0, 7);
    for (int i = 0; i < c->model->entries; i++) {
        const Lathe_entry *e = &c->model->entry[i];
        const char *name = e->name, *turn = e->turn ? e->turn : "";
        Pairing p = {c, &t, format("%s: %s %s", what, name, turn), i, entry_there(&t, e), bound, gradients};
        if (same(name, "train")) compare_training(&p, steps, &here, &there, rng);
        else compare_calls(&p, same(name, "decode") ? POSITIONS : 1, &here, &there, rng);
    }
    free_adam(&here);
    free_adam(&there);
    release(&t);
}

static uint64_t bits_there(const There *t, const char *at, int64_t bytes, uint64_t hash)
{
    char *copy = alloc((size_t)bytes + 1);
    t->device->copy(copy, at, (size_t)bytes, FROM_DEVICE);
    return hash_bytes(copy, (size_t)bytes, hash);
}

uint64_t entry_bits(const Device *d, Live *c, const char *entry, uint64_t seed, const char **said)
{
    There t = there_of(d);
    int number = 0;
    while (!same(c->model->entry[number].name, entry)) must(++number < c->model->entries);
    Pairing p = {c, &t, entry, number, entry_there(&t, &c->model->entry[number]), 0, 0};
    const struct There_room *r = &t.room[p.entry_there];
    Rng rng = rng_of(seed);
    fill_loud(c, &rng);
    t.device->copy(t.params, c->params, (size_t)flat_bytes(t.model), TO_DEVICE);
    give_inputs(&p, 0, &rng);
    t.model->entry[p.entry_there].run(&(Lathe_call){t.params, t.grads, r->in, r->out, t.state, r->work, NULL});
    *said = copy_string(d->report());
    double *grads = calloc((size_t)t.model->flat_elements, sizeof *grads);
    take_gradients(&t, &t.model->entry[p.entry_there], grads);
    uint64_t hash = hash_bytes(grads, (size_t)t.model->flat_elements * sizeof *grads, 1);
    hash = bits_there(&t, r->out, t.model->entry[p.entry_there].out_bytes, hash);
    hash = bits_there(&t, t.state, t.model->state_bytes, hash);
    free(grads);
    release(&t);
    return hash;
}
