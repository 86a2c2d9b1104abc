/* test_decode_slots.c: texts in slots have the logits and the bits that they have alone, for models of every kind; see
 * slots.h. */
#include "decoder.h"

/* Bounds are of the distance from the whole sequence, which no narrow cache rounds: of keys in 16 and 8 bits under
 * drawn weights 1e-2 and 3e-2 (measured: 1.6e-2).  Against decode alone, with the same cache, every bit counts. */
int main(void)
{
    compare_model("gpt",
                  "models/gpt.lua --config char --set layers=3 --set width=24 --set heads=3 --set seq=17 --set batch=2 "
                  "--set slots=3 --precision fp64",
                  1e-12);
    compare_model("gpt in fp32, wide",
                  "models/gpt.lua --config char --set layers=2 --set width=288 --set heads=4 --set seq=9 "
                  "--set batch=2 --set slots=13",
                  2e-5);
    compare_model("gpt, packed",
                  "models/gpt.lua --config char --set layers=1 --set width=24 --set heads=3 --set seq=9 --set batch=2 "
                  "--set pack=true --set prefill=4 --set slots=2 --precision fp64",
                  1e-12);
    compare_model("char_rnn, three layers",
                  "models/char_rnn.lua --set layers=3 --set hidden=24 --set seq=13 --set batch=3 --set width=20 "
                  "--set slots=4 --precision fp64",
                  1e-12);
    compare_model("llama in fp32",
                  "models/llama.lua --set layers=3 --set width=48 --set hidden=80 --set vocab=17 --set seq=11 "
                  "--set batch=2 --set tied=false --set prefill=5 --set slots=5",
                  2e-5);
    compare_model("a window",
                  "models/llama.lua --set kind=mistral --set window=3 --set width=32 --set seq=33 --set batch=2 "
                  "--set slots=4 --precision fp64",
                  1e-12);
    compare_model(
        "phi3",
        "models/llama.lua --set kind=phi3 --set rotary_share=0.75 --set window=3 --set width=32 --set heads=4 "
        "--set vocab=17 --set seq=17 --set batch=2 --set slots=3 --precision fp64",
        1e-12);
    compare_model("experts",
                  "models/llama.lua --set kind=mixtral --set experts=5 --set balance=0.1 --set width=32 --set heads=4 "
                  "--set vocab=17 --set seq=17 --set batch=2 --set slots=9 --precision fp64",
                  1e-12);
    compare_model("gemma3",
                  "models/llama.lua --set kind=gemma3_text --set window=3 --set full_every=2 --set rope_local=10.0 "
                  "--set width=32 --set heads=4 --set vocab=17 --set seq=17 --set batch=2 --set slots=3 "
                  "--precision fp64",
                  1e-12);
    compare_model("neox",
                  "models/neox.lua --set width=24 --set heads=3 --set rotary_share=0.5 --set layers=2 --set hidden=34 "
                  "--set vocab=17 --set seq=17 --set batch=2 --set slots=3 --precision fp64",
                  1e-12);
    compare_model(
        "keys and values in bf16",
        "models/llama.lua --set layers=3 --set width=48 --set hidden=80 --set vocab=17 --set seq=11 --set batch=2 "
        "--set prefill=5 --set slots=5 --cache bf16",
        1e-2);
    compare_model(
        "keys and values in blocks, a window",
        "models/llama.lua --set kind=gemma3_text --set window=3 --set full_every=2 --set rope_local=10.0 --set "
        "width=96 "
        "--set heads=4 --set head_width=32 --set vocab=17 --set seq=17 --set batch=2 --set prefill=5 --set slots=5 "
        "--cache q8_0",
        3e-2);
    compare_model("attention's options", "tests/models/attends.lua --set slots=3 --precision fp64", 1e-12);
    compare_model("attention's options in fp32", "tests/models/attends.lua --set slots=11", 2e-5);
    compare_model("the library", "tests/models/library.lua --set slots=3 --precision fp64", 1e-12);
    return finish();
}
