/* test_functions.c: the library's functions without parameters, generated in fp64 and fp32, against values and
 * gradients recorded from PyTorch (functions.lua here has the cases, tests/reference/functions.py the same ones). */
#include "harness.h"

#include <math.h>
#include <string.h>

static void compare(const char *what, const double *got, const Recorded *expected, double bound)
{
    double norm = norm_of(expected->at, expected->n), error = norm_of_difference(got, expected->at, expected->n);
    expect(error <= bound * (norm > 0 ? norm : 1), "%s is off by %.3g (norm %.3g)", what, error, norm);
}

static void check(const char *precision, double bound)
{
    Recording file = open_recording("tests/reference/functions.safetensors");
    Live *l = build_model(format("tests/lua/functions.lua --precision %s", precision));
    int grad = entry_index(l, "grad"), seen = 0;
    const Lathe_entry *e = &l->model->entry[grad];
    for (int k = 0; k < l->model->params; k++)
        write_param(l, &l->model->param[k], recorded(&file, format("weight.%s", l->model->param[k].name)).at);
    call_entry(l, grad);
    for (int k = 0; k < e->outputs; k++) {
        if (same(e->output[k].name, "loss")) continue;
        Recorded y = recorded(&file, format("y.%s", e->output[k].name));
        must(tensor_elements(&e->output[k]) == y.n);
        compare(format("%s %s", precision, e->output[k].name), read_output(l, grad, e->output[k].name), &y, bound);
        seen++;
    }
    for (int k = 0; k < l->model->params; k++) {
        const Lathe_param *p = &l->model->param[k];
        Recorded g = recorded(&file, format("grad.%s", p->name));
        compare(format("%s gradient of %s", precision, p->name), read_param(l, l->grads, p), &g, bound);
    }
    expect(seen > 50, "only %d functions", seen);
    printf("%d functions in %s\n", seen, precision);
    unload(l);
}

int main(void)
{
    check("fp64", 1e-12);
    check("fp32", 2e-5);
    return finish();
}
