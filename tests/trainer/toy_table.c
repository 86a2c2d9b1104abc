/* toy_table.c: softmax regression written by hand as the compiler would print it, for tests of the trainer with a CSV.
 */
#include "lathe_rt.h"

enum { B = 5, F = 3, K = 4 }; /* batch, features, classes */

typedef struct Table {
    float weight[K][F], padding[16 - K * F];
} Table;
typedef struct In {
    float x[B][F];
    int32_t labels[B];
} In;
typedef struct Out {
    float loss, accuracy;
} Out;

static void row(const Table *p, Table *d, const float *x, int label, Out *o)
{
    float logits[K], sum = 0, most = -INFINITY;
    for (int k = 0; k < K; k++) {
        logits[k] = 0;
        for (int f = 0; f < F; f++) logits[k] += p->weight[k][f] * x[f];
        most = max_f32(most, logits[k]);
    }
    for (int k = 0; k < K; k++) sum += exp_f32(logits[k] - most);
    for (int k = 0; d && k < K; k++)
        for (int f = 0; f < F; f++) d->weight[k][f] += (exp_f32(logits[k] - most) / sum - (k == label)) * x[f] / B;
    o->loss += (log_f32(sum) + most - logits[label]) / B;
    o->accuracy += (logits[label] == most) / (float)B;
}

static void both(const Lathe_call *c, Table *d)
{
    const In *in = c->in;
    Out o = {0, 0};
    if (d) memset(d, 0, sizeof *d);
    for (int b = 0; b < B; b++) row(c->params, d, in->x[b], in->labels[b], &o);
    *(Out *)c->out = o;
}
static void train(const Lathe_call *c) { both(c, c->grads); }
static void eval(const Lathe_call *c) { both(c, NULL); }

static const Lathe_param params[] = {
    {"weight", "weight", "table.lua:2", 2, 0, {K, F}, {F, 1}, 0, LATHE_UNIFORM, -0.1, 0.1, true, 0, 0, false},
};
static const Lathe_tensor inputs[] = {
    {.name = "x", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 2, .dim = {B, F}, .offset = offsetof(In, x)},
    {.name = "labels",
     .role = LATHE_FEATURES,
     .dtype = LATHE_I32,
     .rank = 1,
     .dim = {B},
     .offset = offsetof(In, labels)},
};
static const Lathe_tensor outputs[] = {
    {.name = "loss", .dtype = LATHE_F32, .rank = 0, .dim = {0}, .offset = offsetof(Out, loss)},
    {.name = "accuracy", .dtype = LATHE_F32, .rank = 0, .dim = {0}, .offset = offsetof(Out, accuracy)},
    {.name = "logits",
     .dtype = LATHE_F32,
     .rank = 2,
     .dim = {B, K},
     .offset = 0}, /* of grad, which this toy does not have: tells the classes */
};
static const Lathe_entry entries[] = {
    {"train", train, 0, sizeof(In), sizeof(Out), B, 2, 2, inputs, outputs, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, NULL},
    {"eval", eval, 0, sizeof(In), sizeof(Out), B, 2, 3, inputs, outputs, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, NULL},
};
static const Lathe_bytes plan[] = {
    {"parameters", 64}, {"gradients", 64}, {"optimizer", 64}, {"states", 0},
    {"inputs", 128},    {"outputs", 64},   {"work", 0},
};

const Lathe_model lathe_model = {
    .name = "table",
    .config = "",
    .precision = "fp32",
    .source_hash = "0",
    .real = LATHE_F32,
    .batch = B,
    .params = 1,
    .entries = 2,
    .categories = 7,
    .param = params,
    .entry = entries,
    .parameter_count = K * F,
    .flat_elements = 16,
    .recipe = {.optimizer = LATHE_SGD,
               .bits = 32,
               .lr = 0.5,
               .momentum = 0.9,
               .steps = 200,
               .shuffle_tokens = LATHE_SHUFFLE_TOKENS,
               .eval_tokens = LATHE_EVAL_TOKENS,
               .accumulate = 1,
               .val_fraction = 0.25,
               .csv_target = "class"},
    .plan = plan,
    .planned_bytes = 384,
    .lower_bound_bytes = 384,
};

int main(int argc, char **argv) { return lathe_main(&lathe_model, argc, argv); }
