/* test_emitted.c: the CUDA text of every ROWS and index kernel of every model, run in the simulator, gives what the C
 * kernel gives: bit for bit where no rows are reduced, else within rounding of sums in another order; the same bits in
 * every order of blocks and threads; and nothing for the simulator to complain of; and every entry gives what that of
 * the CPU target's text gives, train over 2 steps, 20 in the long run, and once more where cuBLASLt and cooperative
 * launches fail.  A barrier taken out of the text, and an index made too large, are complained of.  With a word as
 * argument: the models that have it in their line, and no mistakes. */
#include "harness_cuda.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* Small, but so that rows are taken by a thread, a warp and a block, and columns in shared memory, in registers of
 * warps and of blocks, a few a thread; and so that there are many blocks of them. */
static const char *const models[] = {
    "models/mlp.lua",
    "models/mlp.lua --set hidden=1600 --set batch=20 --set features=3",
    "models/mlp.lua --set hidden=9000 --set batch=20 --set features=3",
    "models/mlp.lua --set hidden=20 --set batch=521 --set features=3",
    "models/tabular.lua --set numbers=7 --set categories=3 --set levels=19 --set classes=3 --set embed=5 --set width=20"
    " --set layers=2 --set batch=9",
    "models/tabular.lua --set numbers=7 --set categories=0 --set width=20 --set layers=1 --set batch=9 --set "
    "dropout=0.0 --precision bf16",
    "models/vit.lua --set layers=2 --set width=20 --set heads=2 --set side=6 --set batch=3",
    "models/gpt.lua --set layers=1 --set width=520 --set heads=2 --set seq=3 --set batch=2 --set vocab=11",
    "models/gpt.lua --set layers=2 --set width=128 --set heads=2 --set seq=20 --set batch=2 --set vocab=65"
    " --set dropout=0.2",
    "models/gpt.lua --set layers=1 --set width=16 --set heads=2 --set seq=5 --set batch=3 --set vocab=1100"
    " --set gelu=tanh --set tied=false --set bias=false --set accumulate=2",
    "models/gpt.lua --set layers=2 --set width=32 --set heads=2 --set seq=6 --set batch=2 --set vocab=1031"
    " --set gelu=tanh",
    "models/gpt.lua --set layers=2 --set width=36 --set heads=3 --set seq=18 --set batch=2 --set vocab=1029"
    " --set dropout=0.3 --precision fp64",
    "models/gpt.lua --set layers=2 --set width=32 --set heads=2 --set seq=6 --set batch=2 --set vocab=31"
    " --set gelu=tanh --set accumulate=2 --no-sums --no-pair --no-absorb",
    "models/gpt.lua --set layers=1 --set width=32 --set heads=2 --set seq=6 --set batch=2 --set vocab=31"
    " --set gelu=tanh --precision bf16 --no-bias",
    "models/gpt.lua --set layers=2 --set width=24 --set heads=2 --set seq=18 --set batch=2 --set vocab=40"
    " --set dropout=0.2 --precision bf16",
    "models/char_rnn.lua --config tiny --set dropout=0.2 --set accumulate=2",
    "models/llama.lua --set layers=2 --set width=32 --set heads=4 --set kv_heads=2 --set hidden=48 --set seq=7"
    " --set batch=2 --set vocab=50",
    "tests/models/lstm20.lua",
    "tests/models/nested.lua --set dropout=0.3 --set reverse=true",
    "tests/models/copies.lua --set dense=false",
    "models/postnorm.lua --set width=20 --set heads=2 --set hidden=24 --set seq=7 --set batch=3 --set vocab=13",
    "models/diffusion.lua --set layers=1 --set width=24 --set heads=2 --set cond=6 --set seq=9 --set batch=3"
    " --set vocab=20 --set chain=5",
    "models/mu.lua --config tiny --set seq=6 --set vocab=40 --set accumulate=2",
    "models/pointer_generator.lua --config tiny --set coverage=0.5 --set source_seq=9 --set dropout=0.2",
    "models/seq2seq.lua --config tiny --set layers=2 --set dropout=0.2",
    "tests/models/images.lua",
    "tests/models/images.lua --set batch=2 --set channels=4 --precision bf16",
    "models/convnet.lua --set width=4 --set blocks=2 --set side=5 --set batch=3",
    "models/vae.lua --set side=3 --set channels=2 --set latent=5 --set hidden=37 --set batch=6",
    "models/vae.lua --set side=4 --set latent=3 --set hidden=20 --set batch=4 --set pixels=gaussian --precision bf16",
    "models/unet.lua --set side=8 --set channels=2 --set width=3 --set depth=2 --set batch=2",
    "models/twotower.lua --set length=7 --set embed=3 --set hidden=10 --set width=6 --set batch=5",
    "models/gnn.lua --set nodes=7 --set edges=11 --set width=6 --set rounds=3 --set batch=3",
    /* Lengths are drawn as 0 or 1 here: of many rows some can be spelled. */
    "models/speech.lua --set frames=13 --set n_mels=5 --set letters=4 --set vocab=6 --set width=8 --set batch=37",
    "models/speech.lua --config classes --set frames=9 --set n_mels=5 --set classes=3 --set width=8 --set layers=1"
    " --set batch=3",
    "models/gan.lua --set width=3 --set noise=5 --set batch=3",
    "tests/models/turns.lua --set normal=true --set drawn=true --set batch=4 --set accumulate=2",
    "models/forecast.lua --set past=20 --set ahead=3 --set channels=2 --set patch=8 --set patch_stride=4 --set width=12"
    " --set hidden=10 --set layers=2 --set batch=3",
    "tests/lua/batchnorm.lua --set accumulate=2",
    "tests/lua/batchnorm.lua --precision bf16",
    "tests/models/attends.lua",
    "tests/models/attends.lua --set pack=true --set dropout=0.2 --precision bf16",
};

/* What some model's text must have in it, or the list above is too short. */
static struct Wanted {
    const char *text;
    bool seen;
} wanted[] = {{"read_wide<", 0},
              {"write_wide(", 0},
              {"UNROLL for", 0},
              {"_row[k] = ", 0},
              {"_row[k][c - c4] = ", 0},
              {"warp_sum_f32", 0},
              {"block_sum_f32", 0},
              {"warp_max_f32", 0},
              {"block_max_f32", 0},
              {"warp_min_i32", 0},
              {"block_min_i32", 0},
              {"block_sum_f64", 0},
              {"__shared__ float", 0},
              {"[WARPS]", 0},
              {"[THREADS]", 0},
              {"b = k * 7;", 0},
              {"philox_word(*seed", 0},
              {"bool (*RESTRICT", 0},
              {"__shared__ double", 0},
              {"? 0 :", 0},
              {"GEMM_END_BIAS", 0},
              {"GEMM_END_SUM_", 0},
              {"attention<Bf16", 0},
              {"of_warp[WARPS][WIDTH]", 0},
              {"_of_warp[WARPS][WARP]", 0},
              {"_sums[c - c4]", 0},
              {"GEMM_END_GELU,", 0},
              {"GEMM_END_BIAS_GELU", 0},
              {"GEMM_END_GELU_BACK", 0},
              {"block_list(", 0},
              {"const auto each = [&]", 0},
              {"warp_first_f32", 0}};

static void look_for_wanted(const char *folder)
{
    char *text = read_file(format("%s/model.cu", folder), NULL);
    must(text);
    for (int i = 0; i < COUNT_OF(wanted); i++) wanted[i].seen |= strstr(text, wanted[i].text) != NULL;
}

/* Sums in another order, through the whole of a model; of 16 bits roundings elsewhere (test_narrow.c has more of
 * those). */
static double bound_of(const char *line) { return strstr(line, "fp64") ? 1e-11 : strstr(line, "bf16") ? 2e-2 : 1e-4; }

static int test_model(int number)
{
    Rng rng = rng_of((uint64_t)number);
    const char *line = models[number];
    Both b = both_sides(compile_model(format("%s --target cuda", line)));
    look_for_wanted(b.folder);
    expect(b.pairs.n > 0, "%s has no kernels", line);
    compare_sides(&b, line, 16, &rng);
    worst = (Differences){0};
    Live *cpu = build_model(line);
    compare_entries(&b.device, cpu, line, long_run() ? 20 : 2, bound_of(line), bound_of(line), &rng);
    memset(cpu->state, 0, (size_t)cpu->model->state_bytes);
    fill_statistics(cpu->model, cpu->state);
    setenv("SIM_REFUSES", "product cooperative", 1); /* by second ways alone: our products, launches for loops, */
    b.device.plain(true);                            /* plain loops for ids */
    compare_entries(&b.device, cpu, format("%s, second ways", line), 1, bound_of(line), bound_of(line), &rng);
    unsetenv("SIM_REFUSES");
    b.device.plain(false);
    unload(cpu);
    printf("%s%s: training within %.1e, gradients %.1e, other entries %.1e\n", long_run() ? "note: " : "", line,
           worst.training, worst.gradient, worst.other);
    fflush(stdout);
    close_both(&b);
    return b.pairs.n;
}

/* ------------------------------------------------------------------ mistakes put in */

static void test_mistakes(void)
{
    static const struct {
        const char *from, *to, *word;
    } mistakes[] = {
        {"    __syncthreads();\n", "", "since the last barrier"}, /* sums of other warps */
        {" >= ", " > ", "out of bounds"},                         /* if (i >= N) return; */
        {" ln_1[r][c] = ", " ln_1[r][c + 1] = ", "out of bounds"},
        {"lane == 0", "lane >= 0", "race"},
        {"if (block_any(e >= 0 && tokens[e] == id)) return;", "(void)e;", "race"}, /* two blocks add to a row */
    };
    Rng rng = rng_of(99);
    Both b = both_sides(compile_model("models/gpt.lua --set layers=1 --set width=20 --set heads=2 --set seq=18"
                                      " --set batch=2 --set vocab=40 --target cuda"));
    expect(same(first_complaint(&b, &b.device, &rng), "nothing"), "the text as it is is complained of");
    for (int i = 0; i < COUNT_OF(mistakes); i++) {
        Device d = device_with(&b, mistakes[i].from, mistakes[i].to);
        const char *report = first_complaint(&b, &d, &rng);
        expect(strstr(report, mistakes[i].word), "\"%s\" made \"%s\": %s", mistakes[i].from, mistakes[i].to, report);
        dlclose(d.library);
    }
    close_both(&b);
}

/* ------------------------------------------------------------------ */

static void every_model_is_here(void)
{
    glob_t found;
    must(glob("models/*.lua", 0, NULL, &found) == 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        bool here = false;
        for (int k = 0; k < COUNT_OF(models); k++) here |= starts_with(models[k], found.gl_pathv[i]);
        expect(here, "%s is not in the list at the top of this test", found.gl_pathv[i]);
    }
    globfree(&found);
}

static void every_text_is_seen(void)
{
    for (int i = 0; i < COUNT_OF(wanted); i++)
        expect(wanted[i].seen, "no model's text has \"%s\" in it", wanted[i].text);
}

int main(int argc, char **argv)
{
    const char *chosen = argc > 1 ? argv[1] : "";
    int kernels = 0;
    need_simulator();
    every_model_is_here();
    for (int i = 0; i < COUNT_OF(models); i++)
        if (strstr(models[i], chosen)) kernels += test_model(i);
    expect(finite_values > 0.9 * all_values, "too few finite values: %.0f of %.0f", finite_values, all_values);
    if (!*chosen) every_text_is_seen(), test_mistakes();
    printf("note: %d kernels of %d models; sums in another order differ by at most %.1f units of a norm's last place\n",
           kernels, COUNT_OF(models), largest_error);
    return finish();
}
