/* test_documents.c: documents that share a sequence do not see each other: loss and gradients of a packed row are those
 * of its documents in rows of their own, each counting as often as it has targets; and padding counts nothing. */
#include "harness.h"

#include <math.h>
#include <string.h>

enum { SEQ = 16, DOCUMENTS = 3 };
static const int length[DOCUMENTS] = {5, 1, 7}; /* and 3 places of padding */

/* NULL: rotary positions need none. */
static int32_t *position_inputs(Live *l, int entry)
{
    const Lathe_entry *e = &l->model->entry[entry];
    return find_tensor(e->input, e->inputs, "positions") ? input_at(l, entry, "positions") : NULL;
}

/* A row of documents from … to, one behind the other; what they hold is drawn from their number alone. */
static void fill_row(Live *l, int entry, int from, int to)
{
    int at = 0;
    int32_t *tokens = input_at(l, entry, "tokens"), *targets = input_at(l, entry, "targets");
    int32_t *segments = input_at(l, entry, "segments"), *positions = position_inputs(l, entry);
    for (int k = from; k < to; k++) {
        Rng r = rng_of(100 + (uint64_t)k);
        for (int i = 0; i < length[k]; i++, at++) {
            tokens[at] = (int32_t)below(&r, l->model->vocab);
            targets[at] = (int32_t)below(&r, l->model->vocab);
            segments[at] = k - from + 1;
            if (positions) positions[at] = i;
        }
    }
    for (int i = 0; at < SEQ; at++, i++) {
        tokens[at] = segments[at] = 0;
        targets[at] = -1;
        if (positions) positions[at] = i;
    }
}

static double run_row(Live *l, int entry, int from, int to, double *grads)
{
    fill_row(l, entry, from, to);
    call_entry(l, entry);
    memcpy(grads, l->grads, sizeof *grads * (size_t)l->model->flat_elements);
    return loss_of(l, entry);
}

static void compare_model(const char *what, const char *arguments)
{
    Rng r = rng_of(5);
    Live *l = build_model(
        format("%s --precision fp64 --set pack=true --set batch=1 --set seq=%d --set vocab=19", arguments, SEQ));
    int entry = entry_index(l, "grad");
    int64_t n = l->model->flat_elements;
    double *packed = NEW_ARRAY(double, n), *one = NEW_ARRAY(double, n), *sum = NEW_ARRAY(double, n);
    fill_params(l, &r);
    fill_inputs(l, entry, &r);
    double loss = run_row(l, entry, 0, DOCUMENTS, packed), expected = 0;
    int targets = 0;
    for (int k = 0; k < DOCUMENTS; k++) {
        expected += length[k] * run_row(l, entry, k, k + 1, one);
        for (int64_t i = 0; i < n; i++) sum[i] += length[k] * one[i];
        targets += length[k];
    }
    for (int64_t i = 0; i < n; i++) sum[i] /= targets;
    double error = norm_of_difference(packed, sum, n) / norm_of(sum, n);
    expect(fabs(loss - expected / targets) < 1e-12 * fabs(loss), "%s: loss %.15g, apart %.15g", what, loss,
           expected / targets);
    expect(norm_of(sum, n) > 0 && error < 1e-12, "%s: gradients differ by %.1e", what, error);
    printf("%-8s loss %.6f, gradients within %.1e\n", what, loss, error);
    unload(l);
}

int main(void)
{
    compare_model("gpt", "models/gpt.lua --config char --set layers=2 --set width=24 --set heads=3");
    compare_model("llama", "models/llama.lua --set layers=2 --set width=24 --set heads=4 --set hidden=34");
    compare_model("neox", "models/neox.lua --set layers=2 --set width=24 --set heads=3 --set rotary_share=0.5");
    return finish();
}
