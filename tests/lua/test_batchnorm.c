/* test_batchnorm.c: nn.batchnorm, generated in fp64 and fp32, against what PyTorch recorded (batchnorm.lua here,
 * tests/reference/batchnorm.py): losses, gradients and running statistics of six batches, one or two of them in a step;
 * then outputs and gradients in evaluation. */
#include "harness.h"

#include <string.h>

enum { BATCHES = 6 };

typedef struct Case {
    Live *l;
    Recording said;
    const char *words;
    double bound;
} Case;

/* "layers.%d.norm.weight" of copy c */
static const char *name_of(const Lathe_param *p, int64_t c)
{
    return p->loops ? format(p->export_name, (int)c) : p->name;
}

static int64_t copies(const Lathe_param *p) { return p->loops ? p->dim[0] : 1; }

static void compare(const Case *c, const char *what, const double *got, const double *wanted, int64_t n)
{
    double norm = norm_of(wanted, n), error = norm_of_difference(got, wanted, n);
    expect(error <= c->bound * (norm > 0.1 ? norm : 0.1), "%s: %s is off by %.3g (norm %.3g)", c->words, what, error,
           norm);
}

/* The mean of elements [from … to-1] of what was recorded for each batch. */
static double *mean_of(const Case *c, const char *name, int from, int to)
{
    Recorded r = recorded(&c->said, name);
    int64_t each = r.n / BATCHES;
    double *mean = NEW_ARRAY(double, each);
    for (int k = from; k < to; k++)
        for (int64_t i = 0; i < each; i++) mean[i] += r.at[k * each + i] / (to - from);
    return mean;
}

static void take_weights(Case *c)
{
    for (int k = 0; k < c->l->model->params; k++) {
        const Lathe_param *p = &c->l->model->param[k];
        int64_t each = param_elements(p) / copies(p);
        double *all = NEW_ARRAY(double, param_elements(p));
        for (int64_t i = 0; i < copies(p); i++)
            memcpy(all + i * each, recorded(&c->said, format("weight.%s", name_of(p, i))).at,
                   sizeof *all * (size_t)each);
        write_param(c->l, p, all);
    }
}

/* Batches from … of the recording into an entry's inputs. */
static void take_batches(const Case *c, int entry, int from)
{
    static const char *const names[] = {"image", "by"};
    for (int k = 0; k < COUNT_OF(names); k++) {
        const Lathe_tensor *t = input_of(c->l, entry, names[k]);
        Recorded r = recorded(&c->said, names[k]);
        for (int64_t i = 0; i < tensor_elements(t); i++)
            set_element(t->dtype, input_at(c->l, entry, names[k]), i, r.at[from * (r.n / BATCHES) + i]);
    }
}

/* prefix: of what was recorded, for each batch or (evaluation, whose batches are all) once. */
static void compare_gradients(const Case *c, const char *prefix, int from, int to)
{
    for (int k = 0; k < c->l->model->params; k++) {
        const Lathe_param *p = &c->l->model->param[k];
        double *got = read_param(c->l, c->l->grads, p);
        int64_t each = param_elements(p) / copies(p);
        for (int64_t i = 0; i < copies(p); i++) {
            const char *name = format("%s%s", prefix, name_of(p, i));
            compare(c, name, got + i * each, to ? mean_of(c, name, from, to) : recorded(&c->said, name).at, each);
        }
    }
}

static void compare_states(const Case *c, int batch)
{
    int n = 0;
    for (int k = 0; k < c->l->model->states; k++) {
        const Lathe_tensor *s = &c->l->model->state[k];
        const Lathe_param *p = &c->l->model->statistic[n++];
        must(s->role == LATHE_STATISTIC && same(s->name, p->name));
        int64_t each = tensor_elements(s) / copies(p);
        double *got = NEW_ARRAY(double, each);
        for (int64_t i = 0; i < copies(p); i++) {
            for (int64_t e = 0; e < each; e++) got[e] = get_element(s->dtype, c->l->state + s->offset, i * each + e);
            const char *name = format("state.%s", name_of(p, i));
            compare(c, name, got, mean_of(c, name, batch, batch + 1), each);
        }
    }
    expect(n == 12, "%s: %d statistics", c->words, n);
}

static void train(const Case *c, int accumulate)
{
    int entry = entry_index(c->l, "train");
    for (int from = 0; from < BATCHES; from += accumulate) {
        take_batches(c, entry, from);
        call_entry(c->l, entry);
        double loss = loss_of(c->l, entry);
        compare(c, "the loss", &loss, mean_of(c, "loss", from, from + accumulate), 1);
        compare_gradients(c, "grad.", from, from + accumulate);
        compare_states(c, from + accumulate - 1);
    }
}

static void evaluate(const Case *c)
{
    int entry = entry_index(c->l, "grad");
    const Lathe_entry *e = &c->l->model->entry[entry];
    take_batches(c, entry, 0);
    call_entry(c->l, entry);
    for (int k = 0; k < e->outputs; k++) {
        const char *name = e->output[k].name, *as = same(name, "loss") ? "eval.loss" : format("y.%s", name);
        compare(c, as, read_output(c->l, entry, name), recorded(&c->said, as).at, tensor_elements(&e->output[k]));
    }
    compare_gradients(c, "eval.grad.", 0, 0);
    compare_states(c, BATCHES - 1); /* it changes none */
}

static void check(const char *precision, double bound, int accumulate)
{
    const char *words = format("--precision %s --set accumulate=%d", precision, accumulate);
    Case c = {.words = words, .bound = bound, .said = open_recording("tests/reference/batchnorm.safetensors")};
    c.l = build_model(format("tests/lua/batchnorm.lua %s", words));
    take_weights(&c);
    train(&c, accumulate);
    evaluate(&c);
    unload(c.l);
}

int main(void)
{
    check("fp64", 1e-12, 1);
    check("fp64", 1e-12, 2);
    check("fp32", 1e-5, 1);
    check("fp32", 1e-5, 2);
    return finish();
}
