# cache.sh: --cache bf16: a trained model writes the same text as with keys and values in fp32, whether prompts are read at once or not, with
# one row or several; what is refused.
set -eu
. tests/models/common
small="--set layers=2 --set width=64 --set heads=4 --set kv_heads=2 --set hidden=96 --set seq=40 --set batch=4 --set context=96"
llama="models/llama.lua --config char $small --set vocab=256 --set tokenizer=bytes"
awk 'BEGIN { for (i = 0; i < 900; i++) { x = (x * 1103515245 + 12345) % 2147483648
    print substr("the cat sat on a mat and ran to the sea", x % 20 + 1, 3 + x % 17) " " i % 10 } }' >"$TMP/t.txt"
for kind in fp32 bf16; do
    # shellcheck disable=SC2086
    must "$LATHE" build $llama --check-stages --cache $kind -o "$TMP/$kind"
done
# shellcheck disable=SC2086
must "$LATHE" build $llama --check-stages --cache bf16 --set rows=3 --set prefill=7 -o "$TMP/many"
must "$TMP/fp32/trainer" train --data "$TMP/t.txt" --steps 200 --out "$TMP/run"
must "$TMP/bf16/trainer" train --data "$TMP/t.txt" --steps 200 --out "$TMP/run-bf16"
cmp "$TMP/run/model.safetensors" "$TMP/run-bf16/model.safetensors" || tell "training reads no cache, and gave other weights"
for kind in fp32 bf16 many; do
    for prompt in 'the cat sat on' 'a mat and ran to the sea and sat' 'on'; do
        must "$TMP/$kind/trainer" generate --out "$TMP/run" --prompt "$prompt" --tokens 80 --set temperature=0
        cat "$TMP/said" >>"$TMP/$kind.txt"
    done
done
[ "$(wc -c <"$TMP/fp32.txt")" -gt 240 ] || tell "there is no text"
for kind in bf16 many; do cmp "$TMP/fp32.txt" "$TMP/$kind.txt" || tell "$kind: the text differs"; done
refuse 2 '--cache bf16: for a CPU only' "$LATHE" check models/llama.lua --config char --target cuda --cache bf16
refuse 2 '--cache bf16: with --precision fp64' "$LATHE" check models/llama.lua --config char --precision fp64 --cache bf16
refuse 2 '--cache q8_0: expected fp32 or bf16' "$LATHE" check models/llama.lua --config char --cache q8_0
