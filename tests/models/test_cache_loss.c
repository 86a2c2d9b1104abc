/* test_cache_loss.c: what a trained model loses by keys and values in fewer bits.  The model has learned to go on with
 * lines that repeat themselves, for which it must look back; new lines cost it as much with a cache of bf16 or q8_0 as
 * in fp32, within 0.2 % of the loss (measured: bf16 +0.04 %, q8_0 -0.08 %; perplexity 2.946, 2.947, 2.943). */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODEL                                                                                                          \
    "models/llama.lua --set layers=2 --set width=64 --set heads=2 --set kv_heads=1 --set hidden=96 --set vocab=32 "    \
    "--set seq=64 --set batch=8 "
enum { SEQ = 64, BATCH = 8, VOCAB = 32, STEPS = 300, LINES = 24 };

/* The same five ids again and again, one in twenty of them another one. */
static void draw_line(Rng *r, int32_t id[SEQ + 1])
{
    for (int64_t t = 0; t <= SEQ; t++) id[t] = t >= 5 && below(r, 20) ? id[t - 5] : (int32_t)below(r, VOCAB);
}

static void give_lines(Live *l, int entry, Rng *r)
{
    int32_t line[SEQ + 1], *tokens = input_at(l, entry, "tokens"), *targets = input_at(l, entry, "targets");
    for (int64_t b = 0; b < BATCH; b++) {
        draw_line(r, line);
        memcpy(tokens + b * SEQ, line, SEQ * sizeof *line);
        memcpy(targets + b * SEQ, line + 1, SEQ * sizeof *line);
    }
}

/* Adam (Kingma, Ba 2015). */
static double trained(Live *l, Rng *r)
{
    int entry = entry_index(l, "grad");
    int64_t n = l->model->flat_elements;
    double *m = calloc((size_t)n, sizeof *m), *v = calloc((size_t)n, sizeof *v), loss = 0;
    float *p = (float *)(void *)l->params, *g = (float *)(void *)l->grads;
    for (int s = 1; s <= STEPS; s++) {
        give_lines(l, entry, r);
        call_entry(l, entry);
        loss = loss_of(l, entry);
        for (int64_t i = 0; i < n; i++) {
            double d = isfinite(g[i]) ? g[i] : 0; /* NaN: gaps between parameters */
            m[i] += 0.1 * (d - m[i]), v[i] += 0.02 * (d * d - v[i]);
            p[i] -= (float)(5e-3 * m[i] / (1 - pow(0.9, s)) / (sqrt(v[i] / (1 - pow(0.98, s))) + 1e-8));
        }
    }
    free(m), free(v);
    return loss;
}

/* The loss of new lines, read token by token; they are the same for every model. */
static double loss_of_lines(Live *l)
{
    int entry = entry_index(l, "decode");
    int32_t line[SEQ + 1];
    double sum = 0;
    Rng r = rng_of(11);
    for (int k = 0; k < LINES; k++) {
        draw_line(&r, line);
        memset(l->state, 0, (size_t)l->model->state_bytes);
        for (int t = 0; t < SEQ; t++) {
            double all = 0, *logits;
            *(int32_t *)input_at(l, entry, "tokens") = line[t];
            *(int32_t *)input_at(l, entry, "position") = t;
            call_entry(l, entry);
            logits = read_output(l, entry, "logits");
            for (int i = 0; i < VOCAB; i++) all += exp(logits[i]);
            sum += log(all) - logits[line[t + 1]];
        }
    }
    return sum / (LINES * SEQ);
}

int main(void)
{
    static const char *const caches[] = {"bf16", "q8_0"};
    Rng r = rng_of(7);
    Live *l = build_model(MODEL);
    fill_params(l, &r);
    double last = trained(l, &r), whole = loss_of_lines(l);
    printf("loss %.3f at the end of training; of new lines %.5f, perplexity %.4f\n", last, whole, exp(whole));
    expect(whole < 0.6 * log(VOCAB), "the model has learned to look back: %.3f", whole);
    for (int i = 0; i < 2; i++) {
        Live *other = build_model(format(MODEL "--cache %s", caches[i]));
        expect(other->model->flat_elements == l->model->flat_elements, "the same parameters");
        memcpy(other->params, l->params, sizeof(float) * (size_t)l->model->flat_elements);
        double loss = loss_of_lines(other), off = loss / whole - 1;
        printf("%s: loss %.5f, perplexity %.4f, %+.4f %%\n", caches[i], loss, exp(loss), 100 * off);
        expect(loss != whole, "%s: nothing is rounded", caches[i]);
        expect(fabs(off) < 2e-3, "%s: the loss is %+.3g of what it was", caches[i], off);
        unload(other);
    }
    unload(l);
    return finish();
}
