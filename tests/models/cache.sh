# cache.sh: --cache bf16 and q8_0: a trained model writes the same text as with keys and values in fp32, whether prompts are read at
# once or not, with one row, several or slots, and beside adapters; what its memory is; what is refused.
set -eu
. tests/models/common
small="--set layers=2 --set width=64 --set heads=2 --set kv_heads=1 --set hidden=96 --set seq=40 --set batch=4 --set context=96"
llama="models/llama.lua --config char $small --set vocab=256 --set tokenizer=bytes"
awk 'BEGIN { for (i = 0; i < 900; i++) { x = (x * 1103515245 + 12345) % 2147483648
    print substr("the cat sat on a mat and ran to the sea", x % 20 + 1, 3 + x % 17) " " i % 10 } }' >"$TMP/t.txt"
built() { # NAME OPTIONS…
    name=$1
    shift
    # shellcheck disable=SC2086
    must "$LATHE" build $llama --check-stages "$@" -o "$TMP/$name"
}
for kind in fp32 bf16 q8_0; do built $kind --cache $kind; done
built bf16-many --cache bf16 --set rows=3 --set prefill=7
built q8_0-many --cache q8_0 --set rows=3 --set prefill=7
built q8_0-slots --cache q8_0 --set slots=3 --set prefill=7
must "$TMP/fp32/trainer" train --data "$TMP/t.txt" --steps 200 --out "$TMP/run"
for kind in bf16 q8_0; do
    must "$TMP/$kind/trainer" train --data "$TMP/t.txt" --steps 200 --out "$TMP/run-$kind"
    cmp "$TMP/run/model.safetensors" "$TMP/run-$kind/model.safetensors" || tell "training reads no cache, and gave other weights"
done
for kind in fp32 bf16 q8_0 bf16-many q8_0-many q8_0-slots; do
    for prompt in 'the cat sat on' 'a mat and ran to the sea and sat' 'on'; do
        must "$TMP/$kind/trainer" generate --out "$TMP/run" --prompt "$prompt" --tokens 80 --set temperature=0
        cat "$TMP/said" >>"$TMP/$kind.txt"
    done
    cmp "$TMP/fp32.txt" "$TMP/$kind.txt" || tell "$kind: the text differs"
done
[ "$(wc -c <"$TMP/fp32.txt")" -gt 240 ] || tell "there is no text"

# Several texts at once are the same whatever the number of threads.
for threads in 1 2; do
    OMP_NUM_THREADS=$threads must "$TMP/q8_0-slots/trainer" generate --out "$TMP/run" --prompt 'the cat sat on' --tokens 80 --seed 3 \
        --prompt 'a mat and ran to the sea and sat' --prompt 'on' --set temperature=0.7
    cp "$TMP/said" "$TMP/slots.$threads"
done
cmp "$TMP/slots.1" "$TMP/slots.2" || tell "the number of threads changes what is written"

# Memory: 2 layers of keys and of values, 96 positions, one head of 32.
must "$TMP/q8_0/trainer" info
grep -q 'keys and values of decode in q8_0: 13,056 bytes' "$TMP/said" || tell "info says nothing of 2 · 2 · 96 · 34 bytes"
must "$TMP/q8_0/trainer" info --json
grep -q '"cache": *"q8_0"' "$TMP/said" && grep -q '"cache_bytes": *13056' "$TMP/said" || tell "neither does its JSON"
# shellcheck disable=SC2086
must "$LATHE" plan $llama --cache q8_0
grep -q 'in q8_0 (--cache): 13,056 bytes, in fp32 49,152' "$TMP/said" || tell "plan says nothing of them"

refuse 2 '--cache bf16: for a CPU only' "$LATHE" check models/llama.lua --config char --target cuda --cache bf16
refuse 2 '--cache q8_0: for a CPU only' "$LATHE" check models/llama.lua --config char --target cuda --cache q8_0
refuse 2 '--cache bf16: with --precision fp64' "$LATHE" check models/llama.lua --config char --precision fp64 --cache bf16
refuse 2 '--cache q4_0: expected fp32, bf16 or q8_0' "$LATHE" check models/llama.lua --config char --cache q4_0
refuse 1 'the width of a head must be a multiple of 32, and it is 24' "$LATHE" check models/llama.lua --set head_width=24 --cache q8_0
grep -q '^models/llama.lua:[0-9]*: ' "$TMP/said" || tell "no line is named"
