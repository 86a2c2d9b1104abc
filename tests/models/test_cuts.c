/* test_cuts.c: a batch trains the same thing however it is cut: loss, metrics and gradients of micro-batches, of cuts
 * by
 * --memory and of heads in chunks are those of the whole batch, to rounding; what cannot be cut so is refused. */
#include "harness.h"

#include <math.h>
#include <string.h>

typedef struct Case {
    const char *name, *arguments; /* of a description in models/, or NULL and its text: */
    const char *forward;          /* the body of forward(c, input), of a CSV of six features in three classes */
    int64_t batch;
} Case;

static const Case cases[] = {
    {"gpt packed",
     "models/gpt.lua --config char --set pack=true --set layers=2 --set width=24 --set heads=3 --set seq=12 "
     "--set vocab=19 --set dropout=0.1",
     NULL, 8},
    {"seq2seq", "models/seq2seq.lua --config tiny", NULL, 4},
    {"pointer_generator", "models/pointer_generator.lua --config tiny --set coverage=0.5 --set dropout=0.2", NULL, 4},
    {"diffusion", "models/diffusion.lua --set layers=1 --set width=24 --set heads=3 --set seq=6", NULL, 4},
    {"masked mean", NULL,
     "local counts = nn.lt(0, input.features:select(1, 0))\n"
     "return nn.masked_mean((y * y):mean(-1), counts), { counted = nn.where(counts, 1.0, 0 * y:select(1, 0)):mean() }",
     8},
    {"weights over their sum", NULL,
     "local w = nn.exp(input.features:select(1, 1))\n"
     "return ((y * y):sum(-1) * (w / w:sum())):sum() + 0.01 * (y * y):mean(), { mean = w:mean() }",
     8},
    {"weighted rows", NULL,
     "local loss = nn.linear_cross_entropy(input.features, input.targets, { weight = head.weight, row_weight = "
     "nn.exp(input.features:select(1, 0)) })\n"
     "return loss, { logits = y }",
     8},
    {"sums, one by the batch's size", NULL, "return (y * y):sum() / c.batch + y:abs():sum() + 0.1 * head.weight:sum()", 8},
    {"columns overwritten", NULL,
     "local ids = nn.constant({ 2, 0 }, \"i32\")\n"
     "local z = y:overwrite(ids, nn.exp(y:slice(1, 0, 2)), -1)\n"
     "z = z:overwrite(y:argmax(-1):unsqueeze(1), 2 * y:slice(1, 1, 2), 1, 1)\n"
     "return (z * z):mean() + y:transpose(0, 1):overwrite(ids, y:slice(1, 0, 2):transpose(0, 1), 0):abs():mean()",
     8},
    {"features by their mean", NULL,
     "local mean = input.features:mean { 0, keep = true }\n"
     "local z = nn.linear(input.features - mean, { name = \"z\", out = 3 })\n"
     "return (z * z):mean() + nn.where(nn.lt(0, mean), mean, 0):sum() * (y * y):mean()",
     8},
};

static const char description[] =
    "return { config = { features = 6, batch = 8, accumulate = 1 }, forward = function(c, input)\n"
    "  local head = nn.linear { name = \"head\", out = 3 }\n  local y = nn.tanh(head(input.features))\n%s\nend,\n"
    "train = function(c) return { optimizer = optim.sgd { lr = 0.1 }, steps = 1, accumulate = c.accumulate } end,\n"
    "data = data.csv { target = \"class\" } }\n";

static const char *arguments_of(const Case *c, int64_t batch, int64_t parts)
{
    const char *base = c->arguments;
    if (!base) {
        char *path = format("%s/case.lua", temp_folder()), *text = format(description, c->forward);
        must(write_file(path, text, strlen(text)));
        base = path;
    }
    return format("%s --precision fp64 --set batch=%lld --set accumulate=%lld", base, (long long)batch,
                  (long long)parts);
}

typedef struct Reference { /* what all cuts are held against */
    Live *live;
    int entry;
    double *grads;
} Reference;

/* The same numbers in the same order: [parts][batch] is the whole batch. */
static void same_inputs(const Reference *w, Live *cut, int entry)
{
    const Lathe_entry *e = &cut->model->entry[entry];
    for (int k = 0; k < e->inputs; k++) {
        const Lathe_tensor *t = &e->input[k];
        for (int64_t i = 0; i < tensor_elements(t); i++)
            set_element(t->dtype, cut->room[entry].in + t->offset, i,
                        get_element(t->dtype, input_at(w->live, w->entry, t->name), i));
    }
}

static void compare(const Case *c, const Reference *w, const char *how, const char *arguments)
{
    Live *l = build_model(arguments);
    int entry = entry_index(l, "train");
    const Lathe_entry *e = &l->model->entry[entry];
    int64_t n = l->model->flat_elements;
    memcpy(l->params, w->live->params, sizeof(double) * (size_t)n);
    same_inputs(w, l, entry);
    call_entry(l, entry);
    double error = norm_of_difference((double *)l->grads, w->grads, n) / norm_of(w->grads, n), worst = 0;
    for (int k = 0; k < e->outputs; k++) {
        double a = *read_output(l, entry, e->output[k].name), b = *read_output(w->live, w->entry, e->output[k].name);
        worst = fmax(worst, fabs(a - b) / fmax(fabs(b), 1e-3));
    }
    expect(worst < 1e-12, "%s, %s: outputs are off by %.1e", c->name, how, worst);
    expect(error < 1e-12, "%s, %s: gradients are off by %.1e", c->name, how, error);
    printf("%-28s %-20s outputs within %.0e, gradients within %.0e\n", c->name, how, worst, error);
    unload(l);
}

static void run_case(void *user)
{
    const Case *c = user;
    Rng r = rng_of(7);
    Reference w = {.live = build_model(arguments_of(c, c->batch, 1))};
    w.entry = entry_index(w.live, "train");
    int64_t n = w.live->model->flat_elements;
    fill_params(w.live, &r);
    fill_inputs(w.live, w.entry, &r);
    call_entry(w.live, w.entry);
    w.grads = copy_of(w.live->grads, sizeof(double) * (size_t)n);
    expect(norm_of(w.grads, n) > 0, "%s: no gradient", c->name);
    const char *whole = arguments_of(c, c->batch, 1), *halves = arguments_of(c, c->batch / 2, 2);
    compare(c, &w, "micro-batches", halves);
    compare(c, &w, "single rows", arguments_of(c, 1, c->batch));
    compare(c, &w, "--memory", format("%s --split 2", whole));
    compare(c, &w, "both, head in chunks", format("%s --split 2 --head-rows 3", halves));
    unload(w.live);
}

int main(void)
{
    for (int i = 0; i < COUNT_OF(cases); i++) expect(run_apart(run_case, (void *)&cases[i]), "%s", cases[i].name);
    return finish();
}
