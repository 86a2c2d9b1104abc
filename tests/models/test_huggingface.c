/* test_huggingface.c: folders that Hugging Face's transformers wrote (tests/reference/huggingface.py) give, through the
 * trainer's import, the logits and the loss that transformers computed from them. */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* runtime/trainer/trainer.h, whose other names are not meant for programs that link the compiler. */
void load_weights(const Lathe_model *m, const char *path, void *flat, void *statistics, const char *except);
char *weights_file(const char *path);

static void give_ids(Live *l, int entry, const char *name, const Recorded *ids)
{
    int32_t *at = input_at(l, entry, name);
    must(ids->n == tensor_elements(input_of(l, entry, name)));
    for (int64_t i = 0; i < ids->n; i++) at[i] = (int32_t)ids->at[i];
}

/* Every logit within `tolerance` of theirs; those of padding are the mean of their row, since so are the rows they come
 * from. */
static double worst_logit(const double *ours, const Recorded *theirs, int64_t vocab)
{
    int64_t ids = theirs->shape.dim[2], rows = theirs->n / ids;
    double worst = 0;
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0;
        for (int64_t i = 0; i < ids; i++) {
            mean += theirs->at[r * ids + i] / (double)ids;
            worst = fmax(worst, fabs(ours[r * vocab + i] - theirs->at[r * ids + i]));
        }
        for (int64_t i = ids; i < vocab; i++) worst = fmax(worst, fabs(ours[r * vocab + i] - mean));
    }
    return worst;
}

static void compare(const char *folder, const char *arguments, double tolerance)
{
    char *path = format("tests/reference/%s", folder);
    Recording r = open_recording(format("%s/expected.safetensors", path));
    Recorded tokens = recorded(&r, "tokens"), targets = recorded(&r, "targets"), logits = recorded(&r, "logits"),
             loss = recorded(&r, "loss");
    Live *l = build_model(arguments);
    int entry = entry_index(l, "grad");
    load_weights(l->model, weights_file(path), l->params, NULL, NULL);
    give_ids(l, entry, "tokens", &tokens);
    give_ids(l, entry, "targets", &targets);
    call_entry(l, entry);
    double apart = worst_logit(read_output(l, entry, "logits"), &logits, l->model->vocab);
    expect(apart < tolerance, "%s, %s: logits are %g apart", folder, arguments, apart);
    double off = fabs(loss_of(l, entry) - loss.at[0]);
    bool padded = l->model->vocab > logits.shape.dim[2];
    expect(padded ? loss_of(l, entry) > loss.at[0] : off < tolerance, "%s, %s: loss %.15g, theirs %.15g", folder,
           arguments, loss_of(l, entry), loss.at[0]);
    printf("note: %s: logits within %.2g of transformers'%s\n", folder, apart, padded ? ", padded" : "");
    unload(l);
}

int main(void)
{
    static const char gpt[] =
        "models/gpt.lua --set layers=2 --set heads=2 --set width=16 --set seq=12 --set batch=2 --set gelu=tanh";
    static const char llama[] =
        "models/llama.lua --set layers=2 --set heads=4 --set kv_heads=2 --set width=24 --set hidden=34 "
        "--set seq=12 --set batch=2 --set tied=false --set rope_theta=500.0";
    compare("hf_gpt2", format("%s --set vocab=61 --set layout=in_out --precision fp64", gpt), 1e-12);
    compare("hf_gpt2", format("%s --set vocab=64 --precision fp64", gpt), 1e-12);
    compare("hf_gpt2", format("%s --set vocab=61", gpt), 1e-5);
    compare("hf_llama", format("%s --set vocab=61 --precision fp64", llama), 2e-6);
    compare("hf_llama", format("%s --set vocab=64 --precision fp64", llama), 2e-6);
    compare("hf_llama", format("%s --set vocab=61", llama), 1e-5);
    static const struct {
        const char *folder, *kind;
    } families[] = {
        {"hf_llama3", "kind=llama --set width=64 --set rope=llama3 --set rope_factor=8.0 --set rope_context=16 "
                      "--set rope_theta=500.0"},
        {"hf_yarn", "kind=llama --set width=64 --set rope=yarn --set rope_factor=4.0 --set rope_context=8 "
                    "--set rope_theta=500.0"},
        {"hf_dynamic", "kind=qwen2 --set rope=dynamic --set rope_factor=2.0 --set context=8 --set rope_theta=500.0"},
        {"hf_longrope", "kind=phi3 --set width=32 --set tied=false --set rotary_share=0.75 --set rope=longrope "
                        "--set rope_context=8 --set rope_short=1.0,1.25,1.5 --set rope_long=1.5,3.0,5.0 "
                        "--set rope_theta=500.0"},
        {"hf_mistral", "kind=mistral --set head_width=8 --set window=5 --set tied=false --set rope_theta=1e6"},
        {"hf_qwen2", "kind=qwen2 --set rope=linear --set rope_factor=4.0 --set rope_theta=1e6"},
        {"hf_qwen3", "kind=qwen3 --set head_width=10 --set tied=false --set rope_theta=1e6"},
        {"hf_mixtral", "kind=mixtral --set window=5 --set tied=false --set rope_theta=1e6 --set experts=5 "
                       "--set balance=0.5"},
        {"hf_qwen3_moe", "kind=qwen3_moe --set head_width=10 --set tied=false --set rope_theta=1e6 --set experts=5 "
                         "--set active=3 --set hidden=18 --set normalised=false --set balance=0.5"},
        {"hf_gemma", "kind=gemma --set head_width=10"},
        {"hf_gemma2", "kind=gemma2 --set layers=3 --set head_width=10 --set window=5 --set full_every=2 "
                      "--set score_cap=2.0 --set logit_cap=3.0"},
        {"hf_gemma3", "kind=gemma3_text --set layers=4 --set head_width=10 --set window=5 --set full_every=3 "
                      "--set rope=linear --set rope_factor=8.0 --set rope_theta=1e6 --set rope_local=100.0"},
        {"hf_smollm3", "kind=smollm3 --set layers=4 --set head_width=10 --set no_rope_interval=4 --set rope_theta=5e6"},
        {"hf_olmo2", "kind=olmo2 --set tied=false --set rope_theta=5e5"},
        {"hf_biases", "kind=llama --set attention_bias=true --set mlp_bias=true"},
        {"hf_phi3", "kind=phi3 --set width=32 --set tied=false --set window=5 --set rotary_share=0.75 "
                    "--set rope_theta=5e4"},
    };
    static const char neox[] =
        "models/neox.lua --set layers=2 --set heads=3 --set width=24 --set hidden=34 --set seq=12 "
        "--set context=64 --set batch=2 --set vocab=61 --set rotary_share=0.5";
    compare("hf_neox", format("%s --precision fp64", neox), 2e-6);
    compare("hf_neox", neox, 1e-5);
    compare("hf_neox_serial",
            format("%s --set parallel=false --set activation=gelu_fast --set rope_theta=5e4 --precision fp64", neox),
            2e-6);
    for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
        const char *sizes =
            format("models/llama.lua --set layers=2 --set heads=4 --set kv_heads=2 --set width=24 "
                   "--set hidden=34 --set seq=12 --set context=64 --set batch=2 --set vocab=61 --set %s",
                   families[k].kind);
        compare(families[k].folder, format("%s --precision fp64", sizes), 2e-6);
        compare(families[k].folder, sizes, 1e-5);
    }
    return finish();
}
