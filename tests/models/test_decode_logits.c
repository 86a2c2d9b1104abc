/* test_decode_logits.c: decode gives the logits of the whole sequence, for models of every kind; see decoder.h. */
#include "decoder.h"

int main(void)
{
    compare_model("gpt",
                  "models/gpt.lua --config char --set layers=3 --set width=24 --set heads=3 --set seq=17 --set batch=2 "
                  "--precision fp64",
                  1e-12);
    compare_model("gpt, three rows",
                  "models/gpt.lua --config char --set layers=3 --set width=24 --set heads=3 --set seq=9 --set batch=4 "
                  "--set rows=3 --precision fp64",
                  1e-12);
    compare_model("gpt in fp32",
                  "models/gpt.lua --config char --set layers=2 --set width=32 --set heads=4 --set seq=33 "
                  "--set batch=2",
                  2e-5);
    compare_model("char_rnn", "models/char_rnn.lua --set seq=13 --set batch=3 --set width=20 --precision fp64", 1e-12);
    compare_model("char_rnn, three layers",
                  "models/char_rnn.lua --set layers=3 --set hidden=24 --set seq=13 --set batch=3 --set width=20 "
                  "--set rows=2 --precision fp64",
                  1e-12);
    compare_model("llama",
                  "models/llama.lua --set layers=3 --set width=24 --set hidden=40 --set vocab=17 --set seq=11 "
                  "--set batch=2 --set tied=false --set rows=5 --precision fp64",
                  1e-12);
    compare_model("attention's options", "tests/models/attends.lua --set rows=2 --precision fp64", 1e-12);
    compare_model("attention's options in fp32", "tests/models/attends.lua", 2e-5);
    compare_model("gpt, prompts read at once",
                  "models/gpt.lua --config char --set layers=3 --set width=24 --set heads=3 --set seq=17 --set batch=2 "
                  "--set prefill=4 --precision fp64",
                  1e-12);
    compare_model("llama, prompts of three rows",
                  "models/llama.lua --set layers=3 --set width=24 --set hidden=40 --set vocab=17 --set seq=11 "
                  "--set context=12 --set batch=4 --set rows=3 --set prefill=5 --precision fp64",
                  1e-12);
    compare_model("keys and values in bf16, prompts read at once",
                  "models/llama.lua --set layers=3 --set width=24 --set hidden=40 --set vocab=17 --set seq=11 "
                  "--set context=12 --set batch=4 --set rows=3 --set prefill=5 --cache bf16",
                  1e-2);
    compare_model("keys and values in bf16, a window",
                  "models/gpt.lua --config char --set layers=2 --set width=32 --set heads=4 --set seq=33 --set batch=2 "
                  "--cache bf16",
                  1e-2);
    compare_model(
        "keys and values in blocks, prompts read at once",
        "models/llama.lua --set layers=3 --set width=128 --set heads=4 --set kv_heads=2 --set hidden=40 --set vocab=17 "
        "--set seq=11 --set context=12 --set batch=4 --set rows=3 --set prefill=5 --cache q8_0",
        1e-2);
    compare_model(
        "keys and values in blocks, a window",
        "models/llama.lua --set kind=mistral --set window=3 --set width=96 --set heads=3 --set kv_heads=1 --set seq=33 "
        "--set batch=2 --set prefill=8 --cache q8_0",
        1e-2);
    compare_model("keys and values in blocks, learned positions",
                  "models/gpt.lua --config char --set layers=2 --set width=64 --set heads=2 --set seq=33 --set batch=2 "
                  "--cache q8_0",
                  1e-2);
    compare_model("a window, prompts read at once",
                  "models/llama.lua --set kind=mistral --set window=3 --set width=32 --set seq=33 --set batch=2 "
                  "--set prefill=8",
                  2e-5);
    compare_model(
        "phi3, prompts read at once",
        "models/llama.lua --set kind=phi3 --set rotary_share=0.75 --set window=3 --set width=32 --set heads=4 "
        "--set vocab=17 --set seq=17 --set batch=2 --set prefill=4 --precision fp64",
        1e-12);
    compare_model("experts, prompts read at once",
                  "models/llama.lua --set kind=mixtral --set experts=5 --set balance=0.1 --set width=32 --set heads=4 "
                  "--set vocab=17 --set seq=17 --set batch=2 --set prefill=4 --precision fp64",
                  1e-12);
    compare_model("smollm3, prompts read at once",
                  "models/llama.lua --set kind=smollm3 --set no_rope_interval=2 --set width=32 --set heads=4 "
                  "--set vocab=17 --set seq=17 --set batch=2 --set prefill=4 --precision fp64",
                  1e-12);
    compare_model(
        "gemma2, prompts read at once",
        "models/llama.lua --set kind=gemma2 --set window=3 --set full_every=2 --set score_cap=2.0 --set logit_cap=3.0 "
        "--set width=32 --set heads=4 --set vocab=17 --set seq=17 --set batch=2 --set prefill=4 --precision fp64",
        1e-12);
    compare_model(
        "gemma3, prompts read at once",
        "models/llama.lua --set kind=gemma3_text --set window=3 --set full_every=2 --set rope_local=10.0 "
        "--set width=32 --set heads=4 --set vocab=17 --set seq=17 --set batch=2 --set prefill=4 --precision fp64",
        1e-12);
    compare_model("neox, prompts read at once",
                  "models/neox.lua --set width=24 --set heads=3 --set rotary_share=0.5 --set layers=2 --set hidden=34 "
                  "--set vocab=17 --set seq=17 --set batch=2 --set prefill=4 --precision fp64",
                  1e-12);
    compare_model("attention's options, prompts",
                  "tests/models/attends.lua --set sums=false --set rows=2 --set prefill=4 --precision fp64", 1e-12);
    compare_model("packed, prompts",
                  "models/gpt.lua --config char --set layers=1 --set width=24 --set heads=3 --set seq=9 --set batch=2 "
                  "--set pack=true --set prefill=4 --precision fp64",
                  1e-12);
    compare_model("convolutions", "tests/models/library.lua --precision fp64", 1e-12);
    compare_model("llama in fp32", "models/llama.lua --set layers=2 --set width=32 --set seq=33 --set batch=2", 2e-5);
    compare_model("pairs", "tests/models/pairs.lua --set layers=2 --set batch=6 --precision fp64", 1e-12);
    compare_model("pointer_generator",
                  "models/pointer_generator.lua --config tiny --set source_seq=9 --set seq=6 --set batch=6 "
                  "--set coverage=1.0 --precision fp64",
                  1e-12);
    compare_model("pointer_generator, no pointer",
                  "models/pointer_generator.lua --config tiny --set pointer=false --set layers=3 --set batch=5 "
                  "--set rows=3 --precision fp64",
                  1e-12);
    compare_model("seq2seq",
                  "models/seq2seq.lua --config tiny --set layers=3 --set source_seq=9 --set seq=6 --set batch=6 "
                  "--precision fp64",
                  1e-12);
    compare_model("seq2seq, sinusoids",
                  "models/seq2seq.lua --config tiny --set tied=false --set positions=sinusoidal --set rows=1 "
                  "--precision fp64",
                  1e-12);
    return finish();
}
