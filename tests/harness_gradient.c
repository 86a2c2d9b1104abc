/* harness_gradient.c: compares the gradients that an entry writes with difference quotients of its loss, in fp64. */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Probe {
    Live *l;
    int entry;
    double *start; /* all parameters, flat */
    double *grads; /* as the entry wrote them at start, flat */
    double loss;
    double worst; /* error relative to its tensor's gradient, of all comparisons */
} Probe;

static double loss_along(const Probe *p, const double *direction, double h)
{
    double *params = (double *)p->l->params;
    int64_t n = p->l->model->flat_elements;
    for (int64_t i = 0; i < n; i++) params[i] = p->start[i] + h * direction[i];
    call_entry(p->l, p->entry);
    memcpy(params, p->start, (size_t)n * sizeof *params);
    return loss_of(p->l, p->entry);
}

/* A wrong derivative is wrong at every distance; a kink or rounding spoils one of them. */
static bool agrees(Probe *p, const double *direction, double norm, double *quotient)
{
    static const double distances[] = {1e-5, 2e-6, 1e-4};
    double analytic = 0, best = INFINITY;
    for (int64_t i = 0; i < p->l->model->flat_elements; i++) analytic += p->grads[i] * direction[i];
    for (int k = 0; k < COUNT_OF(distances); k++) {
        double h = distances[k];
        double numeric = (loss_along(p, direction, h) - loss_along(p, direction, -h)) / (2 * h);
        double rounding = 32 * 2.2e-16 * fmax(1, fabs(p->loss)) / h;
        double error = fabs(numeric - analytic);
        if (error <= best || k == 0) {
            best = error;
            *quotient = numeric;
        }
        if (error <= 1e-6 * norm + rounding) {
            if (norm > 1e3 * rounding) p->worst = fmax(p->worst, error / norm);
            return true;
        }
    }
    return false;
}

static void check_direction(Probe *p, const char *what, const char *where, const double *direction, double norm)
{
    double quotient = NAN, analytic = 0;
    bool ok = agrees(p, direction, norm, &quotient);
    for (int64_t i = 0; i < p->l->model->flat_elements; i++) analytic += p->grads[i] * direction[i];
    expect(
        ok,
        "%s: derivative along %s: generated code says %.12g, differences of the loss %.12g (norm of its gradient %.3g)",
        what, where, analytic, quotient, norm);
}

static void check_param(Probe *p, const char *what, const Lathe_param *param, int samples, Rng *r)
{
    int64_t n = param_elements(param);
    double *direction = calloc((size_t)p->l->model->flat_elements, sizeof *direction);
    double sum = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = flat_place(param, i);
        direction[at] = normal(r);
        sum += direction[at] * direction[at];
        norm += p->grads[at] * p->grads[at];
    }
    for (int64_t i = 0; i < n; i++) direction[flat_place(param, i)] /= sqrt(sum);
    check_direction(p, what, param->name, direction, sqrt(norm));
    for (int k = 0; k < samples; k++) {
        int64_t i = below(r, n);
        memset(direction, 0, (size_t)p->l->model->flat_elements * sizeof *direction);
        direction[flat_place(param, i)] = 1;
        check_direction(p, what, format("%s[%lld]", param->name, (long long)i), direction, sqrt(norm));
    }
    free(direction);
}

/* What lies between the parameters in the flat array must not be written. */
static void check_padding(const Probe *p, const char *what)
{
    const Lathe_model *m = p->l->model;
    char *taken = calloc((size_t)m->flat_elements + 1, 1);
    for (int k = 0; k < m->params; k++)
        for (int64_t i = 0; i < param_elements(&m->param[k]) && lathe_is_trained(m, &m->param[k]); i++)
            taken[flat_place(&m->param[k], i)]++;
    int64_t twice = 0, written = 0;
    for (int64_t i = 0; i < m->flat_elements; i++) {
        twice += taken[i] > 1;
        written += !taken[i] && p->grads[i] != 0;
    }
    expect(!twice, "%s: parameters overlap in %lld elements", what, (long long)twice);
    expect(!written, "%s: %lld elements of padding hold a gradient", what, (long long)written);
    free(taken);
}

double check_gradients(Live *l, int entry, const char *what, const char *prefix, int samples, Rng *r)
{
    must(l->model->real == LATHE_F64);
    size_t bytes = (size_t)l->model->flat_elements * sizeof(double);
    Probe p = {.l = l, .entry = entry, .start = malloc(bytes), .grads = malloc(bytes)};
    memcpy(p.start, l->params, bytes);
    memset(l->grads, 0, bytes);
    call_entry(l, entry);
    memcpy(p.grads, l->grads, bytes);
    p.loss = loss_of(l, entry);
    expect(isfinite(p.loss), "%s: loss is %g", what, p.loss);
    check_padding(&p, what);
    for (int k = 0; k < l->model->params; k++)
        if (starts_with(l->model->param[k].name, prefix) && lathe_is_trained(l->model, &l->model->param[k]))
            check_param(&p, what, &l->model->param[k], samples, r);
    free(p.start);
    free(p.grads);
    return p.worst;
}
