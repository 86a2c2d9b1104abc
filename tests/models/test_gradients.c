/* test_gradients.c: gradients of whole models through generated code in fp64, small odd sizes, against differences. */
#include "harness.h"

#include <math.h>
#include <sys/mman.h>

typedef struct Case {
    const char *what, *entry, *arguments;
    int samples; /* elements of each parameter */
} Case;

static const Case cases[] = {
    {"gpt", "grad",
     "models/gpt.lua --config char --set layers=2 --set width=18 --set heads=3 --set seq=7 --set batch=3 "
     "--set vocab=13",
     3},
    {"gpt with dropout, accumulated", "train",
     "models/gpt.lua --config char --set layers=3 --set width=20 --set heads=2 --set seq=5 "
     "--set batch=2 --set vocab=11 --set dropout=0.2 --set accumulate=2",
     3},
    {"gpt as gpt2", "grad",
     "models/gpt.lua --config gpt2 --set layers=2 --set width=18 --set heads=3 --set seq=7 --set batch=2 "
     "--set vocab=13",
     3},
    {"gpt as stream", "grad",
     "models/gpt.lua --config stream --set layers=2 --set width=18 --set heads=3 --set seq=7 --set batch=2 "
     "--set vocab=13",
     3},
    {"gpt, documents packed", "train",
     "models/gpt.lua --config char --set layers=2 --set width=18 --set heads=3 --set seq=7 --set batch=3 "
     "--set vocab=13 --set pack=true --set accumulate=2",
     3},
    {"llama, documents packed", "grad",
     "models/llama.lua --set layers=2 --set width=24 --set heads=4 --set hidden=34 --set seq=7 --set batch=3 "
     "--set vocab=13 --set pack=true",
     3},
    {"llama", "grad",
     "models/llama.lua --set layers=2 --set width=24 --set heads=4 --set hidden=34 --set seq=7 --set batch=3 "
     "--set vocab=13 --set tied=false",
     3},
    {"llama, accumulated", "train",
     "models/llama.lua --set layers=3 --set width=20 --set heads=2 --set kv_heads=1 --set hidden=32 --set seq=5 "
     "--set batch=2 --set vocab=11 --set accumulate=2",
     3},
    {"llama as smollm", "grad",
     "models/llama.lua --config smollm --set layers=2 --set width=18 --set hidden=20 --set seq=6 --set batch=2 "
     "--set vocab=13",
     3},
    {"llama as olmo2", "grad",
     "models/llama.lua --set kind=olmo2 --set layers=2 --set width=24 --set heads=4 --set hidden=34 --set seq=7 "
     "--set batch=2 --set vocab=13",
     3},
    {"llama as phi3", "grad",
     "models/llama.lua --set kind=phi3 --set rotary_share=0.75 --set window=3 --set layers=2 --set width=32 "
     "--set heads=4 --set hidden=34 --set seq=7 --set batch=2 --set vocab=13",
     3},
    {"llama as mixtral", "grad",
     "models/llama.lua --set kind=mixtral --set experts=5 --set balance=0.5 --set layers=2 --set width=24 "
     "--set heads=4 --set hidden=34 --set seq=7 --set batch=2 --set vocab=13",
     3},
    {"llama as qwen3_moe", "grad",
     "models/llama.lua --set kind=qwen3_moe --set experts=5 --set active=3 --set normalised=false --set layers=2 "
     "--set width=24 --set heads=4 --set hidden=34 --set seq=7 --set batch=2 --set vocab=13",
     3},
    {"llama as smollm3", "grad",
     "models/llama.lua --set kind=smollm3 --set no_rope_interval=2 --set layers=2 --set width=24 --set heads=4 "
     "--set hidden=34 --set seq=7 --set batch=2 --set vocab=13",
     3},
    {"llama as gemma2", "grad",
     "models/llama.lua --set kind=gemma2 --set window=3 --set full_every=2 --set score_cap=2.0 --set logit_cap=3.0 "
     "--set layers=2 --set width=24 --set heads=4 --set hidden=34 --set seq=7 --set batch=2 --set vocab=13",
     3},
    {"llama as gemma3_text", "grad",
     "models/llama.lua --set kind=gemma3_text --set window=3 --set full_every=2 --set rope_local=10.0 --set layers=2 "
     "--set width=24 --set heads=4 --set hidden=34 --set seq=7 --set batch=2 --set vocab=13",
     3},
    {"neox", "grad",
     "models/neox.lua --set layers=2 --set width=24 --set heads=3 --set rotary_share=0.5 --set hidden=34 --set seq=7 "
     "--set batch=2 --set vocab=13",
     3},
    {"gpt, targets of pairs", "grad",
     "models/gpt.lua --config char --set layers=2 --set width=18 --set heads=3 --set seq=7 --set batch=3 "
     "--set vocab=13 --set loss_on=target",
     3},
    {"encoder and decoder over pairs", "grad", "tests/models/pairs.lua", 3},
    {"encoder and decoder, accumulated", "train", "tests/models/pairs.lua --set accumulate=2", 3},
    {"sums of two products, carried", "grad", "tests/models/two_products.lua", 4},
    {"the same with adapters", "grad", "tests/models/two_products.lua --lora rank=2", 4},
    {"loops in loops with adapters", "grad", "tests/models/nested.lua --lora rank=2", 3},
    {"shared layers with adapters", "grad", "tests/models/shared.lua --lora rank=2", 3},
    {"lstm20", "grad", "tests/models/lstm20.lua", 4},
    {"unrolled, an output a step", "grad", "tests/models/unrolled.lua --set kind=outputs --set n=40", 3},
    {"unrolled, a sum a step", "grad", "tests/models/unrolled.lua --set kind=sums --set n=70", 3},
    {"unrolled, sums one after another", "grad", "tests/models/unrolled.lua --set kind=phases --set n=70", 3},
    {"unrolled, lstm", "grad", "tests/models/unrolled.lua --set kind=lstm --set n=12", 3},
    {"char_rnn", "grad", "models/char_rnn.lua --set width=10 --set hidden=9 --set seq=6 --set batch=3 --set vocab=11",
     4},
    {"char_rnn, three layers, dropout", "train",
     "models/char_rnn.lua --set width=6 --set hidden=5 --set layers=3 --set seq=6 --set batch=2 --set vocab=7 "
     "--set dropout=0.3 --set accumulate=2",
     3},
    {"lstm, both ways, ragged", "train", "tests/models/recurrent.lua --set dropout=0.3", 3},
    {"gru, both ways, ragged, in a map", "grad", "tests/models/recurrent.lua --set kind=gru --set copies=2", 3},
    {"rnn, one bias, in a map", "grad",
     "tests/models/recurrent.lua --set kind=rnn --set bias=one --set both=false --set copies=2", 3},
    {"pointer_generator", "grad", "models/pointer_generator.lua --config tiny", 3},
    {"pointer_generator, coverage, renamed", "train",
     "models/pointer_generator.lua --config tiny --set coverage=0.7 --set renaming=0.5 --set accumulate=1 --set "
     "layers=1",
     3},
    {"pointer_generator, coverage, accumulated", "train",
     "models/pointer_generator.lua --config tiny --set coverage=0.7 --set accumulate=2 --set layers=1", 3},
    {"pointer_generator without pointer", "train",
     "models/pointer_generator.lua --config tiny --set pointer=false --set smoothing=0.2 --set layers=3", 3},
    {"seq2seq", "grad", "models/seq2seq.lua --config tiny", 3},
    {"seq2seq, untied, sinusoids, accumulated", "train",
     "models/seq2seq.lua --config tiny --set tied=false --set positions=sinusoidal --set dropout=0.2 --set "
     "smoothing=0.1 "
     "--set accumulate=2",
     3},
    {"mlp", "grad", "models/mlp.lua", 4},
    {"postnorm", "grad",
     "models/postnorm.lua --set width=18 --set heads=3 --set hidden=20 --set seq=7 --set batch=3 --set vocab=13", 3},
    {"postnorm, sees its targets, accumulated", "train",
     "models/postnorm.lua --set width=12 --set heads=2 --set hidden=10 --set seq=5 --set batch=2 --set vocab=11 "
     "--set causal=false --set accumulate=2",
     3},
    {"mu", "train", "models/mu.lua --config tiny --set seq=5 --set vocab=13 --set accumulate=2", 3},
    {"mu, in raster order, sees its targets", "grad",
     "models/mu.lua --config tiny --set seq=6 --set vocab=11 --set causal=false --set raster=true", 3},
    {"diffusion", "grad",
     "models/diffusion.lua --config cpu --set layers=2 --set width=18 --set heads=3 --set cond=5 --set seq=6 --set "
     "batch=3 "
     "--set vocab=7",
     3},
    {"diffusion, attention doubled, dropout", "train",
     "models/diffusion.lua --config doubled --set layers=2 --set width=12 --set heads=2 --set cond=4 --set seq=5 "
     "--set batch=2 --set vocab=9",
     3},
    {"library", "grad", "tests/models/library.lua", 4},
    {"library, accumulated", "train",
     "tests/models/library.lua --set smoothing=0 --set by_place=false --set accumulate=2", 4},
    {"attention's options", "grad", "tests/models/attends.lua", 4},
    {"attention's options, packed, dropout, accumulated", "train",
     "tests/models/attends.lua --set pack=true --set dropout=0.2 --set accumulate=2 --set seq=7", 3},
    {"images", "grad", "tests/models/images.lua", 4},
    {"images, accumulated", "train", "tests/models/images.lua --set accumulate=2", 3},
    {"vae", "train", "models/vae.lua --set side=3 --set channels=2 --set latent=3 --set hidden=5 --set batch=4", 4},
    {"vae, gaussian", "train",
     "models/vae.lua --set side=3 --set latent=3 --set hidden=5 --set batch=4 --set pixels=gaussian", 4},
    {"unet", "train", "models/unet.lua --set side=8 --set channels=2 --set width=3 --set depth=2 --set batch=2", 4},
    {"unet, to images", "grad",
     "models/unet.lua --config denoise --set side=4 --set width=3 --set depth=1 --set batch=2", 4},
    {"twotower", "train", "models/twotower.lua --set length=6 --set embed=3 --set hidden=4 --set width=3 --set batch=3",
     3},
    {"gnn", "train", "models/gnn.lua --set nodes=5 --set edges=7 --set width=4 --set batch=3", 4},
    {"gnn, classes", "grad",
     "models/gnn.lua --set nodes=4 --set edges=9 --set width=3 --set rounds=2 --set batch=2 --set classes=3", 4},
    {"rows of zeros", "grad", "tests/models/padding.lua", 6},
    {"copies in layers", "train", "tests/models/copies.lua --set accumulate=2", 4},
    {"copies of the same", "grad", "tests/models/copies.lua --set over=false", 4},
    {"copies without products", "grad", "tests/models/copies.lua --set dense=false", 4},
    {"nested loops", "train", "tests/models/nested.lua", 5},
    {"nested loops, recomputed", "train", "tests/models/nested.lua --set checkpoint=true", 5},
    {"nested loops, reversed, dropout", "train",
     "tests/models/nested.lua --set reverse=true --set dropout=0.2 --set seq=7", 5},
    {"nested loops, not split", "train", "tests/models/nested.lua --no-split --no-recompute", 5},
};

typedef struct Turn {
    int number; /* of cases */
    Rng rng;
} Turn;

static void check_case(void *turn)
{
    Rng *r = &((Turn *)turn)->rng;
    const Case *c = &cases[((Turn *)turn)->number];
    Live *l = build_model(format("%s --precision fp64", c->arguments));
    int entry = entry_index(l, c->entry);
    if (expect(entry >= 0, "%s: has an entry %s", c->what, c->entry)) {
        fill_params(l, r);
        fill_inputs(l, entry, r);
        double worst = check_gradients(l, entry, c->what, "", c->samples, r);
        printf("%-32s %3d tensors, %6lld parameters, worst relative error %.1e\n", c->what, l->model->params,
               (long long)l->model->parameter_count, worst);
    }
    unload(l);
}

/* A process for each: the compiler forks to learn axes, at a cost that grows with all that its process holds. */
int main(void)
{
    Turn *turn = mmap(NULL, sizeof *turn, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(turn != MAP_FAILED);
    turn->rng = rng_of(11);
    for (; turn->number < COUNT_OF(cases); turn->number++)
        expect(run_apart(check_case, turn), "%s", cases[turn->number].what);
    return finish();
}
