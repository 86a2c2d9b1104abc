/* test_emitted.c: the CUDA text of every ROWS and index kernel of every model, run in the simulator, gives what the C
 * kernel gives: bit for bit where no rows are reduced, else within rounding of sums in another order; the same bits in
 * every order of blocks and threads; and nothing for the simulator to complain of; and every entry gives what that of
 * the CPU target's text gives, train over 2 steps, 20 in the long run, and once more where cuBLASLt and cooperative
 * launches fail.  A barrier taken out of the text, and an index made too large, are complained of.  With a word as
 * argument: the models that have it in their line, and no mistakes.  Models of text and plain rows are here, the others
 * in test_emitted_inputs.c. */
#include "harness_cuda.h"

#include <dlfcn.h>
#include <glob.h>
#include <string.h>

/* Small, but so that rows are taken by a thread, a warp and a block, and columns in shared memory, in registers of
 * warps and of blocks, a few a thread; and so that there are many blocks of them. */
static const char *const models[] = {
    "models/mlp.lua",
    "models/mlp.lua --set hidden=1600 --set batch=20 --set features=3",
    "models/mlp.lua --set hidden=9000 --set batch=20 --set features=3",
    "models/mlp.lua --set hidden=20 --set batch=521 --set features=3",
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
    "models/char_rnn.lua --config tiny --set dropout=0.2 --set accumulate=2 --set slots=3",
    "models/llama.lua --set layers=2 --set width=32 --set heads=4 --set kv_heads=2 --set hidden=48 --set seq=7"
    " --set batch=2 --set vocab=50",
    "models/llama.lua --set kind=gemma3_text --set layers=3 --set full_every=2 --set window=3 --set width=24 --set heads=3"
    " --set kv_heads=1 --set head_width=10 --set hidden=34 --set seq=7 --set batch=2 --set vocab=50 --set rope_local=100.0"
    " --set slots=3",
    "models/llama.lua --set kind=mixtral --set experts=4 --set balance=0.1 --set layers=2 --set width=24 --set heads=3"
    " --set kv_heads=1 --set hidden=34 --set seq=7 --set batch=2 --set vocab=50",
    "models/bert.lua --set layers=2 --set width=24 --set heads=3 --set hidden=34 --set vocab=40 --set seq=7 --set "
    "batch=3",
    "models/bert.lua --set head=tokens --set classes=5 --set layers=2 --set width=24 --set heads=3 --set hidden=34 "
    "--set vocab=40 --set seq=7 --set batch=3",
    "models/bert.lua --set kind=modernbert --set layers=2 --set width=24 --set heads=3 --set hidden=34 --set vocab=40 "
    "--set window=4 --set full_every=2 --set seq=7 --set batch=3",
    "models/bert.lua --set kind=modernbert --set head=masked --set mask_share=0.5 --set mask=3 --set cls=1 --set sep=2 "
    "--set layers=2 --set width=24 --set heads=3 --set hidden=34 --set vocab=40 --set seq=7 --set batch=3",
    "models/neox.lua --set layers=2 --set width=24 --set heads=3 --set rotary_share=0.5 --set hidden=34 --set seq=7"
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
    "tests/models/attends.lua --set slots=3",
    "tests/models/attends.lua --set pack=true --set dropout=0.2 --precision bf16",
};

/* What some model's text must have in it, or the list above is too short. */
static Wanted wanted[] = {{"read_wide<", 0},
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
    const char *text =
        format("%s%s", read_file("tests/sim/test_emitted.c", NULL), read_file("tests/sim/test_emitted_inputs.c", NULL));
    must(glob("models/*.lua", 0, NULL, &found) == 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        expect(strstr(text, format("\n    \"%s", found.gl_pathv[i])), "%s is in no list at the top of these tests",
               found.gl_pathv[i]);
    globfree(&found);
}

int main(int argc, char **argv)
{
    const char *chosen = argc > 1 ? argv[1] : "";
    every_model_is_here();
    compare_models(models, COUNT_OF(models), chosen, wanted, COUNT_OF(wanted));
    if (!*chosen) test_mistakes();
    return finish();
}
