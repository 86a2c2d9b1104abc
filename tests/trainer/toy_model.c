/* toy_model.c: a program as the compiler would print it, written by hand: a bigram model, for tests of the trainer
 * alone.
 *
 *     logits[v] = table[token][v] + layer[0].bias[v] + layer[1].bias[v]
 *
 * Its tables use everything that the trainer must handle: micro-batches, copies of a parameter in an array of structs,
 * padding, a metric, a state (the number of tokens seen since it was zero, which must agree with position). */
#include "lathe_rt.h"

#include <signal.h>
#include <stdlib.h>

enum {
    A = 2,  /* micro-batches */
    B = 4,  /* batch */
    T = 8,  /* seq */
    V = 24, /* vocab */
    L = 2,  /* layers */
    PAD = 32 - V
};

typedef struct Toy { /* parameters, and gradients */
    struct {
        float bias[V], padding[PAD];
    } layer[L];
    float table[V][V];
} Toy;

typedef struct Train_in {
    int32_t tokens[A][B][T], targets[A][B][T], seed, step;
} Train_in;
typedef struct Eval_in {
    int32_t tokens[B][T], targets[B][T];
} Eval_in;
typedef struct Eval_out {
    float loss, accuracy;
} Eval_out;
typedef struct Grad_out {
    float loss, accuracy, logits[B][T][V];
} Grad_out;
typedef struct Decode_in {
    int32_t tokens[1][1], position;
} Decode_in;
typedef struct Decode_out {
    float logits[1][1][V];
} Decode_out;

static void find_logits(float *logits, const Toy *p, int token)
{
    for (int v = 0; v < V; v++) {
        logits[v] = p->table[token][v];
        for (int l = 0; l < L; l++) logits[v] += p->layer[l].bias[v];
    }
}

/* Loss of one token; its gradient times share is added to d where there is one. */
static float token_loss(const Toy *p, Toy *d, int token, int target, float share, float *right)
{
    float logits[V], sum = 0, most = -INFINITY;
    find_logits(logits, p, token);
    for (int v = 0; v < V; v++) most = max_f32(most, logits[v]);
    for (int v = 0; v < V; v++) sum += exp_f32(logits[v] - most);
    *right += logits[target] == most;
    for (int v = 0; d && v < V; v++) {
        float g = share * (exp_f32(logits[v] - most) / sum - (v == target));
        d->table[token][v] += g;
        for (int l = 0; l < L; l++) d->layer[l].bias[v] += g;
    }
    return log_f32(sum) + most - logits[target];
}

/* Means over a batch; gradients times share are added to d where there is one. */
static Eval_out batch_loss(const Toy *p, Toy *d, float share, const int32_t tokens[B][T], const int32_t targets[B][T])
{
    Eval_out o = {0, 0};
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++)
            o.loss += token_loss(p, d, tokens[b][t], targets[b][t], share / (B * T), &o.accuracy);
    return (Eval_out){o.loss / (B * T), o.accuracy / (B * T)};
}

/* TOY_AT="30 COMMAND": tests of what changes while a run goes on: a command for the shell, before that step. */
static void do_as_told(int step)
{
    const char *told = getenv("TOY_AT");
    if (told && step == atoi(told) && system(strchr(told, ' ')) != 0) abort();
}

static void train(const Lathe_call *c)
{
    const Train_in *in = c->in;
    do_as_told(in->step);
    const char *when = getenv("TOY_NAN_AT"); /* tests of divergence */
    Eval_out sum = {0, 0};
    memset(c->grads, 0, sizeof(Toy));
    for (int a = 0; a < A; a++) {
        Eval_out o = batch_loss(c->params, c->grads, 1.0f / A, in->tokens[a], in->targets[a]);
        sum.loss += o.loss / A;
        sum.accuracy += o.accuracy / A;
    }
    if (when && in->step >= atoi(when)) sum.loss = NAN;
    *(Eval_out *)c->out = sum;
    memset(c->work, 0xff, 64);
}

static void eval(const Lathe_call *c)
{
    const Eval_in *in = c->in;
    const char *when = getenv("TOY_STOP_IN_EVAL"); /* tests of interruption: SIGTERM at that call */
    static int calls;
    if (when && ++calls == atoi(when)) raise(SIGTERM);
    *(Eval_out *)c->out = batch_loss(c->params, NULL, 0, in->tokens, in->targets);
}

static void grad(const Lathe_call *c)
{
    const Eval_in *in = c->in;
    Grad_out *out = c->out;
    memset(c->grads, 0, sizeof(Toy));
    Eval_out o = batch_loss(c->params, c->grads, 1, in->tokens, in->targets);
    out->loss = o.loss;
    out->accuracy = o.accuracy;
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++) find_logits(out->logits[b][t], c->params, in->tokens[b][t]);
}

static void decode(const Lathe_call *c)
{
    const Decode_in *in = c->in;
    int32_t *seen = c->state;
    if (*seen != in->position || in->position >= T) abort();
    ++*seen;
    find_logits(((Decode_out *)c->out)->logits[0][0], c->params, in->tokens[0][0]);
}

/* ------------------------------------------------------------------ tables */

#define AT(type, field) (int64_t) offsetof(type, field)
#define COUNT(a)        (int)(sizeof(a) / sizeof *(a))

static const Lathe_param params[] = {
    {"layer.bias", "h.%d.bias", "toy.lua:3", 2, 1, {L, V}, {V + PAD, 1}, 0, LATHE_ZEROS, 0, 0, false, 0, 0, false},
    {"table", "table.weight", "toy.lua:4", 2, 0, {V, V}, {V, 1}, AT(Toy, table) / 4, LATHE_NORMAL, 0.02, 0, true, 0, 0, false},
};
static const Lathe_tensor train_in[] = {
    {.name = "tokens",
     .role = LATHE_TOKENS,
     .dtype = LATHE_I32,
     .rank = 3,
     .dim = {A, B, T},
     .offset = AT(Train_in, tokens)},
    {.name = "targets",
     .role = LATHE_TARGETS,
     .dtype = LATHE_I32,
     .rank = 3,
     .dim = {A, B, T},
     .offset = AT(Train_in, targets)},
    {.name = "seed", .role = LATHE_SEED, .dtype = LATHE_I32, .rank = 0, .dim = {0}, .offset = AT(Train_in, seed)},
    {.name = "step", .role = LATHE_STEP, .dtype = LATHE_I32, .rank = 0, .dim = {0}, .offset = AT(Train_in, step)},
};
static const Lathe_tensor eval_in[] = {
    {.name = "tokens",
     .role = LATHE_TOKENS,
     .dtype = LATHE_I32,
     .rank = 2,
     .dim = {B, T},
     .offset = AT(Eval_in, tokens)},
    {.name = "targets",
     .role = LATHE_TARGETS,
     .dtype = LATHE_I32,
     .rank = 2,
     .dim = {B, T},
     .offset = AT(Eval_in, targets)},
};
static const Lathe_tensor decode_in[] = {
    {.name = "tokens",
     .role = LATHE_TOKENS,
     .dtype = LATHE_I32,
     .rank = 2,
     .dim = {1, 1},
     .offset = AT(Decode_in, tokens)},
    {.name = "position",
     .role = LATHE_POSITION,
     .dtype = LATHE_I32,
     .rank = 0,
     .dim = {0},
     .offset = AT(Decode_in, position)},
};
static const Lathe_tensor grad_out[] = {
    {.name = "loss", .dtype = LATHE_F32, .rank = 0, .dim = {0}, .offset = AT(Grad_out, loss)},
    {.name = "accuracy", .dtype = LATHE_F32, .rank = 0, .dim = {0}, .offset = AT(Grad_out, accuracy)},
    {.name = "logits", .dtype = LATHE_F32, .rank = 3, .dim = {B, T, V}, .offset = AT(Grad_out, logits)},
};
static const Lathe_tensor decode_out[] = {
    {.name = "logits", .dtype = LATHE_F32, .rank = 3, .dim = {1, 1, V}, .offset = AT(Decode_out, logits)}};
static const Lathe_tensor states[] = {
    {.name = "seen", .role = LATHE_STATE, .dtype = LATHE_I32, .rank = 0, .dim = {0}, .offset = 0, .rows_axis = -1}};

static const Lathe_entry entries[] = {
    {"train", train, 64, sizeof(Train_in), sizeof(Eval_out), A *B, COUNT(train_in), 2, train_in, grad_out, 0, NULL, 0,
     NULL, 0, NULL, NULL, A, 0, NULL},
    {"grad", grad, 0, sizeof(Eval_in), sizeof(Grad_out), B, COUNT(eval_in), 3, eval_in, grad_out, 0, NULL, 0, NULL, 0,
     NULL, NULL, 0, 0, NULL},
    {"eval", eval, 0, sizeof(Eval_in), sizeof(Eval_out), B, COUNT(eval_in), 2, eval_in, grad_out, 0, NULL, 0, NULL, 0,
     NULL, NULL, 0, 0, NULL},
    {"decode", decode, 0, sizeof(Decode_in), sizeof(Decode_out), 1, COUNT(decode_in), 1, decode_in, decode_out, 0, NULL,
     0, NULL, 0, NULL, NULL, 0, 0, NULL},
};
static const char *const knobs[][2] = {{"layers", "2"}, {"batch", "4"}, {"seq", "8"}, {"vocab", "24"}};

#define UP(n) (((n) + 63) / 64 * 64)
enum { GENERATION = UP(4 * (T + 1)) + UP(3 * (20 * 4 + 64) + 4 * 20 + 4096) }; /* lathe_generation_bytes() */
static const Lathe_bytes plan[] = {
    {"parameters", sizeof(Toy)},
    {"gradients", sizeof(Toy)},
    {"optimizer", 2 * sizeof(Toy)},
    {"states", 64},
    {"inputs", UP(sizeof(Eval_in))},
    {"outputs", UP(sizeof(Grad_out))},
    {"work", 0},
    {"blas", 0},
    {"data", 0},
    {"generation", GENERATION},
};
enum { TOTAL = 4 * sizeof(Toy) + 64 + GENERATION + UP(sizeof(Eval_in)) + UP(sizeof(Grad_out)) };

const Lathe_model lathe_model = {
    .name = "toy",
    .config = "tiny",
    .precision = "fp32",
    .source_hash = "0123456789abcdef",
    .real = LATHE_F32,
    .batch = B,
    .seq = T,
    .vocab = V,
    .params = COUNT(params),
    .entries = COUNT(entries),
    .states = 1,
    .knobs = COUNT(knobs),
    .categories = COUNT(plan),
    .param = params,
    .entry = entries,
    .state = states,
    .state_bytes = 4,
    .parameter_count = L * V + V * V,
    .flat_elements = sizeof(Toy) / 4,
    .recipe = {.optimizer = LATHE_ADAMW,
               .bits = 32,
               .lr = 0.05,
               .beta1 = 0.9,
               .beta2 = 0.99,
               .eps = 1e-8,
               .decay = 0.01,
               .schedule = LATHE_COSINE,
               .final_lr = 0.005,
               .warmup = 5,
               .steps = 60,
               .shuffle_tokens = LATHE_SHUFFLE_TOKENS,
               .eval_tokens = LATHE_EVAL_TOKENS,
               .clip = 1,
               .accumulate = A,
               .eval_every = 20,
               .tokenizer = LATHE_CHARS,
               .val_fraction = 0.1,
               .temperature = 1,
               .top_p = 1,
               .repetition_penalty = 1,
               .sample_tokens = 20},
    .knob = knobs,
    .plan = plan,
    .planned_bytes = TOTAL,
    .lower_bound_bytes = TOTAL,
};

int main(int argc, char **argv) { return lathe_main(&lathe_model, argc, argv); }
