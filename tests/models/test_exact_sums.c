/* test_exact_sums.c: --exact-sums: losses, counts and gradients of a batch are the same bits however its groups of rows
 * are shared among ranks, batch and accumulate. The ranks are calls of one program, whose sums are added up here. */
#include "harness.h"
#include "lathe_rt.h"
#include "math/engine.h"

#include <string.h>

enum { GROUP = 2, BATCH_ROWS = 8, MOST_RANKS = BATCH_ROWS / GROUP, MOST_CALLS = 8, MOST_NUMBERS = 64 };

typedef struct Case {
    const char *name, *arguments; /* of a description in models/, or NULL and its text: */
    const char *forward;          /* the body of forward(c, input), of a CSV of six features in three classes */
} Case;

static const Case cases[] = {
    {"gpt packed",
     "models/gpt.lua --config char --set pack=true --set layers=2 --set width=24 --set heads=3 --set seq=12 "
     "--set vocab=19 --set dropout=0.1",
     NULL},
    {"pointer_generator", "models/pointer_generator.lua --config tiny --set coverage=0.5 --set dropout=0.2", NULL},
    {"weights over their sum", NULL,
     "local w = nn.exp(input.features)\n"
     "return ((y * y):sum { -1, keep = true } * (w / w:sum { 0, keep = true })):sum() + 0.01 * (y * y):mean() + 0.01 * "
     "head.weight:sum(), { mean = w:mean() }"},
    {"features by their mean", NULL,
     "local mean = input.features:mean { 0, keep = true }\n"
     "local z = nn.linear(input.features - mean, { name = \"z\", out = 3 })\n"
     "return (z * z):mean() + nn.where(nn.lt(0, mean), mean, 0):sum() * (y * y):mean()"},
    {"rnn", "models/char_rnn.lua --set width=20 --set hidden=24 --set seq=9 --set vocab=19", NULL},
};

static const char description[] =
    "return { config = { features = 6, batch = 8, accumulate = 1 }, forward = function(c, input)\n"
    "  local head = nn.linear { name = \"head\", out = 3 }\n  local y = nn.tanh(head(input.features))\n%s\nend,\n"
    "train = function(c) return { optimizer = optim.sgd { lr = 0.1 }, steps = 1, accumulate = c.accumulate } end,\n"
    "data = data.csv { target = \"class\" } }\n";

static const char *arguments_of(const Case *c, int batch, int accumulate, bool exact)
{
    const char *base = c->arguments;
    if (!base) {
        char *path = format("%s/case.lua", temp_folder()), *text = format(description, c->forward);
        must(write_file(path, text, strlen(text)));
        base = path;
    }
    return format("%s --set batch=%d --set accumulate=%d%s", base, batch, accumulate,
                  exact ? format(" --exact-sums %d", GROUP) : "");
}

/* ------------------------------------------------------------------ ranks */

static struct Asked {
    int numbers;
    float own[MOST_RANKS][MOST_NUMBERS], total[MOST_NUMBERS];
} asked[MOST_CALLS];
static int calls, rank;
static bool settled; /* totals are those of what the ranks give */

/* ((0 + 1) + (2 + 3)), an element of each rank every `apart` floats */
static float in_pairs(const float *first, int64_t apart, int n)
{
    return n == 1 ? *first : in_pairs(first, apart, n / 2) + in_pairs(first + apart * (n / 2), apart, n / 2);
}

/* Of the ranks' last calls; what it was then is kept. */
static void over_calls(void *to, const void *from, int64_t bytes)
{
    struct Asked *a = &asked[calls++];
    must(calls <= MOST_CALLS && bytes <= (int64_t)sizeof a->total);
    a->numbers = (int)(bytes / 4);
    settled &= memcmp(a->own[rank], from, (size_t)bytes) == 0;
    memcpy(a->own[rank], from, (size_t)bytes);
    memcpy(to, a->total, (size_t)bytes);
}

static void add_up_calls(int ranks)
{
    for (int k = 0; k < MOST_CALLS; k++)
        for (int i = 0; i < asked[k].numbers; i++)
            asked[k].total[i] = in_pairs(&asked[k].own[0][i], MOST_NUMBERS, ranks);
}

/* ------------------------------------------------------------------ a step */

typedef struct Step { /* of all ranks */
    int64_t elements, numbers;
    float *grads, *out; /* gradients; outputs of one number */
} Step;

/* Those of its rows, of the whole batch's. */
static void take_inputs(const Live *whole, const Live *part, int entry)
{
    const Lathe_entry *e = &part->model->entry[entry];
    for (int k = 0; k < e->inputs; k++) {
        const Lathe_tensor *t = &e->input[k];
        const char *all = input_at(whole, entry, t->name);
        int64_t from = t->rank ? rank * tensor_elements(t) : 0;
        for (int64_t i = 0; i < tensor_elements(t); i++)
            set_element(t->dtype, part->room[entry].in + t->offset, i, get_element(t->dtype, all, from + i));
        if (t->role == LATHE_FIRST_ROW)
            set_element(t->dtype, part->room[entry].in + t->offset, 0, rank * (double)e->rows);
    }
}

static void keep_results(const Live *l, int entry, Step *s)
{
    const Lathe_entry *e = &l->model->entry[entry];
    memcpy(s->grads + rank * s->elements, l->grads, sizeof(float) * (size_t)s->elements);
    s->numbers = 0;
    for (int k = 0; k < e->outputs; k++)
        if (e->output[k].rank == 0)
            s->out[rank * MOST_NUMBERS + s->numbers++] = (float)*read_output(l, entry, e->output[k].name);
}

static void mean_of_ranks(float *x, int64_t n, int64_t apart, int ranks)
{
    for (int64_t i = 0; i < n; i++) x[i] = in_pairs(x + i, apart, ranks) * (1 / (float)ranks);
}

/* Until the totals that the ranks were given are those of what they gave. */
static Step step_of(const Case *c, const Live *whole, int ranks, int accumulate, bool exact)
{
    Live *l = build_model(arguments_of(c, BATCH_ROWS / ranks / accumulate, accumulate, exact));
    const int entry = entry_index(l, "train");
    Step s = {.elements = l->model->flat_elements};
    s.grads = NEW_ARRAY(float, s.elements *ranks);
    s.out = NEW_ARRAY(float, MOST_NUMBERS *ranks);
    memcpy(l->params, whole->params, sizeof(float) * (size_t)s.elements);
    memset(asked, 0, sizeof asked);
    rt_init_gemm(1 + ranks % 3); /* threads */
    rt_over_ranks = over_calls;
    for (settled = false; !settled; add_up_calls(ranks)) {
        settled = true;
        for (rank = 0; rank < ranks; rank++) {
            calls = 0;
            take_inputs(whole, l, entry);
            call_entry(l, entry);
            keep_results(l, entry, &s);
        }
        settled &= calls == 0 || asked[0].total[asked[0].numbers - 1] == (float)ranks;
    }
    rt_over_ranks = NULL;
    mean_of_ranks(s.grads, s.elements, s.elements, ranks);
    mean_of_ranks(s.out, s.numbers, MOST_NUMBERS, ranks);
    unload(l);
    return s;
}

static bool same_bits(const Step *a, const Step *b)
{
    return memcmp(a->grads, b->grads, sizeof(float) * (size_t)a->elements) == 0 &&
           memcmp(a->out, b->out, sizeof(float) * (size_t)a->numbers) == 0;
}

static void run_case(void *user)
{
    const Case *c = user;
    Rng r = rng_of(11);
    Live *whole = build_model(arguments_of(c, BATCH_ROWS, 1, true));
    fill_params(whole, &r);
    fill_inputs(whole, entry_index(whole, "train"), &r);
    const Step one = step_of(c, whole, 1, 1, true), plain = step_of(c, whole, 1, 1, false);
    bool any = false;
    for (int64_t i = 0; i < one.elements; i++) any |= one.grads[i] != 0;
    expect(any, "%s: no gradient", c->name);
    for (int ranks = 1; ranks <= MOST_RANKS; ranks *= 2)
        for (int accumulate = 1; accumulate <= MOST_RANKS / ranks; accumulate *= 2) {
            if (ranks == 1 && accumulate == 1) continue;
            if (ranks * accumulate < MOST_RANKS && !long_run()) continue;
            const Step other = step_of(c, whole, ranks, accumulate, true);
            expect(same_bits(&one, &other), "%s: %d ranks, %d micro-batches: other bits", c->name, ranks, accumulate);
        }
    const Step rounded = step_of(c, whole, 2, 1, false);
    expect(!same_bits(&plain, &rounded), "%s: the same bits without --exact-sums: the test sees nothing", c->name);
    printf("%-24s %lld gradients and %lld numbers\n", c->name, (long long)one.elements, (long long)one.numbers);
    unload(whole);
}

int main(void)
{
    for (int i = 0; i < (long_run() ? COUNT_OF(cases) : 3); i++)
        expect(run_apart(run_case, (void *)&cases[i]), "%s", cases[i].name);
    return finish();
}
