/* test_precision.c: --precision bf16 on every model, fp16 on two: the first loss is fp32's, gradients are within what
 * rounding may do, 20 steps of Adam stay with fp32, any number of threads gives the same bits, and plans of models with
 * layers are smaller.  With parameters in bf16 every bit is that of the same numbers in fp32.
 *
 * A saved value is off by at most 2^-9 of itself (2^-12 under fp16), so each factor of a gradient's terms that comes
 * from one is: a path through n layers has a handful in each.  They are off to either side, so what they do together is
 * to some sixteen roundings in one. */
#include "harness.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "math/engine.h"
#include "math/math.h"

#include <math.h>
#include <string.h>

enum { STEPS = 20 };
static const double together = 16, with_fp32 = 2e-3;

static const struct Kind {
    const char *name;
    double rounding;
} bf16_kind = {"bf16", 0x1p-9}, fp16_kind = {"fp16", 0x1p-12};

static const struct Case {
    const char *model, *arguments;
    double smaller; /* work memory at most this part of fp32's */
} cases[] = {
    {"gpt", "--config char --set layers=3 --set width=32 --set heads=2 --set seq=32 --set batch=4", 0.8},
    {"llama", "--config char --set layers=3 --set width=32 --set heads=4 --set hidden=80 --set seq=32 --set batch=4",
     0.85},
    {"char_rnn", "--config tiny --set batch=8 --set hidden=24 --set seq=32", 0.8},
    {"postnorm", "--set width=24 --set heads=3 --set hidden=40 --set seq=16 --set batch=3 --set vocab=31", 0.95},
    {"pointer_generator", "--config tiny", 0.85},
    {"seq2seq", "--config tiny", 0.9},
    {"mu", "--config tiny --set seq=12 --set vocab=13", 0.95},
    {"diffusion",
     "--config cpu --set layers=3 --set width=18 --set heads=3 --set cond=5 --set seq=16 --set batch=3 --set vocab=7",
     0.8},
    {"mlp", "", 1.3}, /* what is stored of its three layers lives beside the values themselves */
};

static int64_t flat_bytes(const Live *l) { return l->model->flat_elements * 4; }

static double norm(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * x[i];
    return sqrt(sum);
}

/* Adam (Kingma, Ba 2015) with its paper's settings; m and v have a number for each parameter. */
static void descend(Live *l, double *m, double *v, int step)
{
    float *p = (float *)(void *)l->params;
    const float *g = (const float *)(const void *)l->grads;
    double m_share = 1 - pow(0.9, step), v_share = 1 - pow(0.999, step);
    for (int64_t i = 0; i < l->model->flat_elements; i++) {
        m[i] += 0.1 * (g[i] - m[i]);
        v[i] += 0.001 * ((double)g[i] * g[i] - v[i]);
        p[i] -= (float)(1e-3 * m[i] / m_share / (sqrt(v[i] / v_share) + 1e-8));
    }
}

static void unscale(Live *l, float scale)
{
    float *g = (float *)(void *)l->grads;
    for (int64_t i = 0; i < l->model->flat_elements; i++) g[i] /= scale;
}

static double call(Live *l, int entry)
{
    memset(l->grads, 0, (size_t)flat_bytes(l));
    call_entry(l, entry);
    const Lathe_entry *e = &l->model->entry[entry];
    for (int i = 0; i < e->inputs; i++)
        if (e->input[i].role == LATHE_LOSS_SCALE) unscale(l, *(float *)input_at(l, entry, e->input[i].name));
    return loss_of(l, entry);
}

static void compare_gradients(const char *model, const struct Kind *k, const Live *fp32, const Live *bf16)
{
    double worst = 0;
    const char *whose = "";
    for (int i = 0; i < fp32->model->params; i++) {
        const Lathe_param *p = &fp32->model->param[i];
        double *a = read_param(fp32, fp32->grads, p), *b = read_param(bf16, bf16->grads, p);
        double all = norm((const float *)(const void *)fp32->grads, fp32->model->flat_elements),
               size = norm_of(a, param_elements(p));
        double off = norm_of_difference(a, b, param_elements(p)) / (size + 1e-3 * all);
        expect(off < together * k->rounding, "%s: the gradient of %s is off by %.2g of its norm", model, p->name, off);
        if (off > worst) worst = off, whose = p->name;
    }
    expect(worst > 0, "%s: nothing is rounded", model);
    printf("note: %s %-18s gradients off by %.2g roundings at the most (%s)", k->name, model, worst / k->rounding,
           whose);
}

static void same_for_threads(const char *model, Live *l, int entry)
{
    char *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        rt_init_gemm(threads);
        call(l, entry);
        if (!first) first = memcpy(NEW_ARRAY(char, flat_bytes(l)), l->grads, (size_t)flat_bytes(l));
        expect(!memcmp(first, l->grads, (size_t)flat_bytes(l)), "%s: %d threads give other gradients", model, threads);
    }
}

static void train_both(const char *model, const struct Kind *k, Live *fp32, Live *bf16, int entry)
{
    double worst = 0, a = 0, b = 0, begun = 0;
    double *moments[4];
    for (int i = 0; i < 4; i++) moments[i] = NEW_ARRAY(double, fp32->model->flat_elements);
    for (int step = 0; step < STEPS; step++) {
        a = call(fp32, entry);
        b = call(bf16, entry);
        if (step == 0) {
            begun = a;
            expect(a == b, "%s: the first losses are %.9g, %.9g", model, a, b);
            compare_gradients(model, k, fp32, bf16);
        }
        double off = fabs(a - b) / fabs(a);
        if (!(off <= worst)) worst = off;
        descend(fp32, moments[0], moments[1], step + 1);
        descend(bf16, moments[2], moments[3], step + 1);
    }
    expect(a < begun, "%s: nothing is learnt", model);
    expect(worst < with_fp32, "%s: losses are off by %.2g", model, worst);
    printf(", losses by %.1e after %d steps (%.4g -> %.4g)", worst, STEPS, begun, a);
}

static void give_inputs(Live *to, const Live *from, int entry)
{
    const Lathe_entry *e = &from->model->entry[entry];
    for (int i = 0; i < e->inputs; i++)
        memcpy(input_at(to, entry, e->input[i].name), input_at(from, entry, e->input[i].name),
               (size_t)(tensor_elements(&e->input[i]) * 4));
}

static void check_case(const struct Case *c, const struct Kind *k)
{
    Rng r = rng_of(5);
    Live *fp32 = build_model(format("models/%s.lua %s", c->model, c->arguments));
    Live *bf16 = build_model(format("models/%s.lua %s --precision %s", c->model, c->arguments, k->name));
    int entry = entry_index(fp32, "train");
    const Lathe_entry *wide = &fp32->model->entry[entry], *narrow = &bf16->model->entry[entry];
    fill_params(fp32, &r);
    fill_inputs(fp32, entry, &r);
    memcpy(bf16->params, fp32->params, (size_t)flat_bytes(fp32));
    fill_inputs(bf16, entry, &r);
    give_inputs(bf16, fp32, entry);
    train_both(c->model, k, fp32, bf16, entry);
    same_for_threads(c->model, bf16, entry);
    double part = (double)narrow->work_bytes / (double)wide->work_bytes;
    expect(part <= c->smaller, "%s: work memory is %.2f of that of fp32", c->model, part);
    printf(", memory %.2f\n", part);
    unload(fp32);
    unload(bf16);
}

/* The same numbers in 16 bits: widened they are what is computed with, so that every bit is that of parameters in 32.
 */
static void check_weights(const struct Case *c)
{
    Rng r = rng_of(5);
    Live *wide = build_model(format("models/%s.lua %s --precision bf16", c->model, c->arguments));
    Live *narrow = build_model(format("models/%s.lua %s --precision bf16 --parameters bf16", c->model, c->arguments));
    int entry = entry_index(wide, "train");
    fill_params(narrow, &r);
    for (int i = 0; i < wide->model->params; i++)
        write_param(wide, &wide->model->param[i], read_param(narrow, narrow->params, &narrow->model->param[i]));
    fill_inputs(wide, entry, &r);
    give_inputs(narrow, wide, entry);
    double a = call(wide, entry), b = call(narrow, entry);
    expect(a == b, "%s: the losses are %.9g, and %.9g with weights of bf16", c->model, a, b);
    expect(!memcmp(wide->grads, narrow->grads, (size_t)flat_bytes(wide)), "%s: other gradients with weights of bf16",
           c->model);
    unload(wide);
    unload(narrow);
}

int main(void)
{
    for (int i = 0; i < COUNT_OF(cases); i++) {
        check_case(&cases[i], &bf16_kind);
        check_weights(&cases[i]);
        if (same(cases[i].model, "gpt") || same(cases[i].model, "seq2seq")) check_case(&cases[i], &fp16_kind);
    }
    return finish();
}
