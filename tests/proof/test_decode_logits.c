/* test_decode_logits.c: one token at a time over caches gives the logits of the whole sequence at once, at every
 * position. */
#include "harness.h"

#include <math.h>
#include <string.h>

/* The decode entry's logits for sequence `ids`, one position after another, [seq][vocab]. */
static double *decoded(Live *l, int decode, const double *ids, int64_t seq, int64_t vocab)
{
    double *logits = NEW_ARRAY(double, seq *vocab);
    const Lathe_entry *e = &l->model->entry[decode];
    const Lathe_tensor *tokens = input_of(l, decode, "tokens");
    const Lathe_tensor *position = find_tensor(e->input, e->inputs, "position"); /* a recurrence needs none */
    memset(l->state, 0, (size_t)l->model->state_bytes);
    for (int64_t t = 0; t < seq; t++) {
        set_element(tokens->dtype, l->room[decode].in + tokens->offset, 0, ids[t]);
        if (position) set_element(position->dtype, l->room[decode].in + position->offset, 0, (double)t);
        call_entry(l, decode);
        memcpy(logits + t * vocab, read_output(l, decode, "logits"), sizeof(double) * (size_t)vocab);
    }
    return logits;
}

static void compare_model(const char *what, const char *arguments, double bound)
{
    Rng r = rng_of(3);
    Live *l = build_model(arguments);
    int whole = entry_index(l, "grad"), decode = entry_index(l, "decode");
    if (!expect(whole >= 0 && decode >= 0, "%s: has a grad and a decode entry", what)) return;
    fill_params(l, &r);
    fill_inputs(l, whole, &r);
    call_entry(l, whole);
    int64_t seq = l->model->seq, vocab = l->model->vocab, batch = l->model->batch;
    double *expected = read_output(l, whole, "logits"), worst = 0; /* [B][T][V] */
    for (int64_t b = 0; b < batch; b++) {
        double *ids = NEW_ARRAY(double, seq);
        for (int64_t t = 0; t < seq; t++) ids[t] = get_element(LATHE_I32, input_at(l, whole, "tokens"), b * seq + t);
        double *got = decoded(l, decode, ids, seq, vocab);
        for (int64_t t = 0; t < seq; t++) {
            const double *row = expected + (b * seq + t) * vocab;
            double error = norm_of_difference(got + t * vocab, row, vocab) / norm_of(row, vocab);
            expect(error <= bound, "%s: sequence %lld position %lld: logits differ by %.2g of their norm", what,
                   (long long)b, (long long)t, error);
            worst = fmax(worst, error);
        }
    }
    printf("%-28s %lld positions, worst difference %.1e\n", what, (long long)(batch * seq), worst);
    unload(l);
}

int main(void)
{
    compare_model("gpt",
                  "models/gpt.lua --config char --set layers=3 --set width=24 --set heads=3 --set seq=17 --set batch=2 "
                  "--precision fp64",
                  1e-12);
    compare_model("gpt in fp32",
                  "models/gpt.lua --config char --set layers=2 --set width=32 --set heads=4 --set seq=33 "
                  "--set batch=2",
                  2e-5);
    compare_model("char_rnn", "models/char_rnn.lua --set seq=13 --set batch=3 --set width=20 --precision fp64", 1e-12);
    compare_model(
        "char_rnn, three layers",
        "models/char_rnn.lua --set layers=3 --set hidden=24 --set seq=13 --set batch=3 --set width=20 --precision fp64",
        1e-12);
    compare_model("llama",
                  "models/llama.lua --set layers=3 --set width=24 --set hidden=40 --set vocab=17 --set seq=11 "
                  "--set batch=2 --set tied=false --precision fp64",
                  1e-12);
    compare_model("llama in fp32", "models/llama.lua --set layers=2 --set width=32 --set seq=33 --set batch=2", 2e-5);
    return finish();
}
