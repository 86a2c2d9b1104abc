/* test_narrow.c: --target cuda --precision bf16 and fp16: every entry of every model in the simulator of CUDA beside
 * fp32's C: outputs and states within 2e-2 of their norms, and so the losses of 2 steps of training, 20 in the long
 * run; first gradients to roundings.  Otherwise by turns a model in bf16, one in fp16; in the long run all in both, and
 * with a word as argument those that have it in their line. */
#include "harness_cuda.h"

#include <string.h>

/* Large enough for products by parameters to be narrow: 32 rows. */
static const char *const models[] = {
    "models/mlp.lua",
    "models/gpt.lua --set layers=2 --set width=64 --set heads=2 --set seq=32 --set batch=2 --set vocab=131"
    " --set gelu=tanh",
    "models/gpt.lua --set layers=1 --set width=16 --set heads=2 --set seq=16 --set batch=4 --set vocab=1100"
    " --set gelu=tanh --set tied=false --set bias=false --set accumulate=2",
    "models/char_rnn.lua --config tiny --set accumulate=2",
    "models/llama.lua --set layers=2 --set width=32 --set heads=4 --set kv_heads=2 --set hidden=48 --set seq=16"
    " --set batch=2 --set vocab=50",
    "models/postnorm.lua --set width=24 --set heads=3 --set hidden=40 --set seq=16 --set batch=3 --set vocab=31",
    "models/diffusion.lua --set layers=1 --set width=24 --set heads=2 --set cond=6 --set seq=12 --set batch=3"
    " --set vocab=20 --set chain=5",
    "models/pointer_generator.lua --config tiny --set coverage=0.5 --set source_seq=9",
    "models/seq2seq.lua --config tiny --set layers=2",
    "models/mu.lua --config tiny --set seq=6 --set vocab=40",
};

/* Of gradients, as in test_precision.c: to 16 roundings of what is saved, and of the two operands of products. */
enum { together = 3 * 16 };

static int count_narrow(const Module *m)
{
    int n = 0;
    for (int i = 0; i < m->desc->graphs.n; i++) {
        Nodes all = {0};
        all_nodes(m->desc->graphs.at[i], &all);
        for (int k = 0; k < all.n; k++) n += all.at[k]->op == OP_dot && is_stored(all.at[k]->in[0]->dtype);
    }
    return n;
}

static bool has_narrow_weights(const Module *m) { return m->plan.parameters < m->plan.gradients; }

static void test_model(const char *line, const char *precision)
{
    Rng rng = rng_of(7);
    Live *fp32 = build_model(line);
    const Module *m = compile_model(format("%s --target cuda --precision %s", line, precision));
    if (strstr(precision, "--parameters")) expect(has_narrow_weights(m), "%s keeps parameters in 32 bits", line);
    double rounding = same(precision, "fp16") ? 0x1p-12 : 0x1p-9;
    int products = count_narrow(m);
    expect(products > 0, "%s has no product of 16 bits", line);
    Both b = both_sides(m);
    worst = (Differences){0};
    compare_entries(&b.device, fp32, line, long_run() ? 20 : 2, 2e-2, together * rounding, &rng);
    printf("note: %s %s: %d products; training within %.1e, gradients %.1e, other entries %.1e\n", line, precision,
           products, worst.training, worst.gradient, worst.other);
    fflush(stdout);
    close_both(&b);
    unload(fp32);
}

static const char *const kinds[] = {"bf16", "bf16 --parameters bf16", "fp16"};

int main(int argc, char **argv)
{
    need_simulator();
    for (int i = 0; i < COUNT_OF(models); i++)
        for (int k = 0; k < COUNT_OF(kinds); k++)
            if (argc < 2 ? long_run() || i % COUNT_OF(kinds) == k : strstr(models[i], argv[1]) != NULL)
                test_model(models[i], kinds[k]);
    return finish();
}
