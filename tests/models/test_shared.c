/* test_shared.c: parameters that are used at several places (tests/models/shared.lua) have one gradient: generated
 * code's against differences of the loss that the interpreter finds for the description as it is written. */
#include "harness.h"

#include <math.h>
#include <string.h>

typedef struct Point { /* the parameters, one of them moved */
    const Live *l;
    int entry, moved;
    double *values;
} Point;

static Value feed(void *user, const Node *leaf)
{
    const Point *p = user;
    const Lathe_model *m = p->l->model;
    Value v = {leaf->shape, NEW_ARRAY(double, elements(leaf->shape))};
    if (leaf->op == OP_input) {
        const Lathe_tensor *t = input_of(p->l, p->entry, leaf->name);
        const void *at = input_at(p->l, p->entry, leaf->name);
        for (int64_t i = 0; i < elements(leaf->shape); i++) v.at[i] = get_element(t->dtype, at, i);
        return v;
    }
    for (int k = 0; k < m->params; k++)
        if (same(m->param[k].name, leaf->name))
            v.at = k == p->moved ? p->values : read_param(p->l, p->l->params, &m->param[k]);
    return v;
}

static double loss_at(const Graph *g, Point *p)
{
    Value *outs = NEW_ARRAY(Value, g->outs.n);
    eval_graph(g, feed, p, outs);
    return outs[0].at[0];
}

/* The derivative of the loss along a direction of parameter k. */
static double slope(const Graph *g, Point *p, int k, const double *direction)
{
    const double step = 1e-5;
    const Lathe_param *param = &p->l->model->param[k];
    const double *at = read_param(p->l, p->l->params, param);
    double side[2];
    p->moved = k;
    p->values = NEW_ARRAY(double, param_elements(param));
    for (int s = 0; s < 2; s++) {
        for (int64_t i = 0; i < param_elements(param); i++) p->values[i] = at[i] + (s ? step : -step) * direction[i];
        side[s] = loss_at(g, p);
    }
    p->moved = -1;
    return (side[1] - side[0]) / (2 * step);
}

static void check_param(const char *what, const Graph *g, Point *p, int k, Rng *r)
{
    enum { ELEMENTS = 4 };
    const Lathe_param *param = &p->l->model->param[k];
    int64_t n = param_elements(param);
    const double *gradient = read_param(p->l, p->l->grads, param);
    double *direction = NEW_ARRAY(double, n), norm = norm_of(gradient, n);
    expect(norm > 1e-3, "%s, %s: its gradient has norm %g", what, param->name, norm);
    for (int trial = 0; trial <= ELEMENTS; trial++) { /* all at once, then some by themselves */
        double wanted = 0, length = 0;
        int64_t one = below(r, n);
        for (int64_t i = 0; i < n; i++) {
            direction[i] = trial ? i == one : normal(r);
            wanted += gradient[i] * direction[i];
            length += direction[i] * direction[i];
        }
        double found = slope(g, p, k, direction);
        expect(fabs(found - wanted) < 1e-7 * (norm * sqrt(length) + 1),
               "%s, %s: %.10g along a direction, by differences %.10g", what, param->name, wanted, found);
    }
}

static void try(const char *settings)
{
    static const char *const names[] = {"embed.weight", "both.weight", "both.bias"};
    Rng r = rng_of(21);
    Live *l = build_model(format("tests/models/shared.lua --precision fp64 %s", settings));
    int entry = entry_index(l, "grad"), shared = 0;
    Desc *written = front(&options);
    Graph *g = NULL;
    for (int i = 0; i < written->graphs.n; i++)
        if (same(written->graphs.at[i]->name, "grad")) g = written->graphs.at[i];
    fill_params(l, &r);
    fill_inputs(l, entry, &r);
    call_entry(l, entry);
    Point p = {.l = l, .entry = entry, .moved = -1};
    expect(fabs(loss_at(g, &p) - loss_of(l, entry)) < 1e-12, "%s: the interpreter finds another loss", settings);
    for (int k = 0; k < l->model->params; k++) {
        for (int i = 0; i < COUNT_OF(names); i++) shared += same(l->model->param[k].name, names[i]);
        check_param(settings, g, &p, k, &r);
    }
    expect(l->model->params == 5 && shared == 3, "%s: %d parameters", settings, l->model->params);
    unload(l);
}

int main(void)
{
    try("--set copies=3");
    try("--set chunked=true");
    try("--set checkpoint=true --no-whole");
    try("--no-merge --no-fuse --no-split");
    return finish();
}
