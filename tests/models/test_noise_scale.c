/* test_noise_scale.c: what noise_scale adds to a step: the mean of the squared norms of the parts' gradients is that of
 * the entry grad on each part, in models of layers, of tied weights, of recurrences; with it, gradients
 * stay as they were.  The running means are those of formulas written anew. */
#include "harness.h"
#include "runtime/step/noise.h"

#include <math.h>
#include <string.h>

static double squares_of_gradients(const Live *l)
{
    double sum = 0;
    for (int k = 0; k < l->model->params; k++) {
        const Lathe_param *p = &l->model->param[k];
        double norm = norm_of(read_param(l, l->grads, p), param_elements(p));
        sum += norm * norm;
    }
    return sum;
}

/* Inputs of one part, out of those of the step. */
static void take_part(Live *l, int train, int grad, int64_t part, int64_t parts)
{
    const Lathe_entry *e = &l->model->entry[grad];
    for (int k = 0; k < e->inputs; k++) {
        const Lathe_tensor *to = &e->input[k], *from = input_of(l, train, to->name);
        const int64_t n = tensor_elements(to);
        must(tensor_elements(from) == n * parts);
        for (int64_t i = 0; i < n; i++)
            set_element(to->dtype, input_at(l, grad, to->name), i,
                        get_element(from->dtype, input_at(l, train, to->name), part * n + i));
    }
}

static void check(const char *words, double bound)
{
    Rng r = rng_of(3);
    Live *l = build_model(format("%s --set noise_scale=1", words)), *plain = build_model(words);
    const int train = entry_index(l, "train"), grad = entry_index(l, "grad");
    const int64_t parts = l->model->entry[train].parts;
    double mean = 0;
    fill_params(l, &r);
    fill_inputs(l, train, &r);
    call_entry(l, train);
    const double got = *read_output(l, train, LATHE_PART_SQUARES), whole = squares_of_gradients(l);
    for (int64_t part = 0; part < parts; part++) {
        take_part(l, train, grad, part, parts);
        call_entry(l, grad);
        mean += squares_of_gradients(l) / (double)parts;
    }
    expect(parts > 1 && fabs(got - mean) <= bound * mean, "%s: %.12g, and of the parts alone %.12g", words, got, mean);
    expect(mean > whole * 1.001, "%s: the whole has %.12g, the parts %.12g", words, whole, mean);

    r = rng_of(3);
    fill_params(plain, &r);
    fill_inputs(plain, train, &r);
    call_entry(plain, train);
    const double without = squares_of_gradients(plain);
    expect(fabs(without - whole) <= bound * whole, "%s: |g|² is %.12g, and without noise_scale %.12g", words, whole,
           without);
    unload(l);
    unload(plain);
}

/* Each step has `rows` rows in `parts` parts. */
static void check_means(void)
{
    const double wholes[] = {5, 3, 4, INFINITY, 2.5}, of_parts[] = {9, 8, 10, 7, 7.5};
    const int64_t rows = 12, parts = 3;
    double signal = 0, noise = 0, weight = 0;
    Noise n = {0};
    expect(isnan(noise_scale(&n)), "nothing is known before the first step");
    for (int k = 0; k < COUNT_OF(wholes); k++) {
        note_noise(&n, wholes[k], of_parts[k], rows, parts);
        if (isinf(wholes[k])) continue; /* gradients overflowed */
        signal = 0.99 * signal + 0.01 * (12 * wholes[k] - 4 * of_parts[k]) / 8;
        noise = 0.99 * noise + 0.01 * (of_parts[k] - wholes[k]) / (1.0 / 4 - 1.0 / 12);
        weight = 0.99 * weight + 0.01;
        const double wanted = (noise / weight) / (signal / weight); /* bias corrected */
        expect(fabs(noise_scale(&n) / wanted - 1) < 1e-12, "step %d: %g, expected %g", k, noise_scale(&n), wanted);
    }
    expect(n.steps == 4, "%lld steps are measured", (long long)n.steps);
    note_noise(&n, 1, 1e6, rows, parts);
    expect(isnan(noise_scale(&n)), "no signal can be told, found %g", noise_scale(&n));
}

int main(void)
{
    static const char small[] = "models/gpt.lua --set layers=3 --set width=8 --set heads=2 --set seq=6 --set vocab=13 "
                                "--set dropout=0 --set batch=2 --set accumulate=3";
    check_means();
    check(format("%s --precision fp64", small), 1e-12);
    check(small, 1e-5);
    check(format("%s --precision fp64 --set tied=false", small), 1e-12);
    check("models/char_rnn.lua --config tiny --precision fp64 --set dropout=0 --set accumulate=2", 1e-12);
    check("models/mlp.lua --precision fp64 --set batch=5 --set accumulate=4", 1e-12);
    return finish();
}
