# frozen.sh: --frozen q8_0, --parameters q8_0 and the same with q4_0: matrices in 8 or 4 bits.  Losses, gradients and texts have the bits of a build that holds
# the same weights in fp32; a resumed run has the same bits; files keep the blocks; GGUF in and out; what is refused.
set -eu
. tests/models/common
small="--set layers=2 --set width=64 --set heads=2 --set seq=40 --set batch=4 --set vocab=256 --set tokenizer=bytes"
llama="models/llama.lua --config char $small --set kv_heads=1 --set hidden=96 --set context=64"
gpt="models/gpt.lua --config char $small --set dropout=0"
awk 'BEGIN { for (i = 0; i < 900; i++) { x = (x * 1103515245 + 12345) % 2147483648
    print substr("the cat sat on a mat and ran to the sea", x % 20 + 1, 3 + x % 17) " " i % 10 } }' >"$TMP/t.txt"
losses() { grep -o '"loss":[^,]*,\|"grad_norm":[^,]*' "$1/metrics.jsonl"; }

for case in llama-q8_0 gpt-q8_0 llama-q4_0; do
    model=${case%-*} type=${case#*-}
    eval "words=\$$model"
    at="$TMP/$case"
    mkdir "$at"
    # shellcheck disable=SC2086
    must "$LATHE" build $words --check-stages --lora rank=4,alpha=8 --frozen $type -o "$at/eight"
    # shellcheck disable=SC2086
    must "$LATHE" build $words --lora rank=4,alpha=8 -o "$at/wide"
    eight="$at/eight/trainer" wide="$at/wide/trainer"
    must $eight selftest
    must $eight train --data "$TMP/t.txt" --steps 8 --set lr=1e-2 --out "$at/base"

    # ---- the same bits as with the weights widened, however long the rows of a product are
    for kind in eight wide; do
        must "$at/$kind/trainer" train --data "$TMP/t.txt" --init "$at/base" --steps 12 --save-every 6 --set lr=1e-2 --out "$at/run-$kind"
        must "$at/$kind/trainer" generate --weights "$at/run-eight" --prompt 'the cat' --tokens 30 --seed 3
        cp "$TMP/said" "$at/$kind.txt"
        must "$at/$kind/trainer" export --to peft --weights "$at/run-$kind" --out "$at/peft-$kind"
    done
    losses "$at/run-eight" >"$at/eight.losses"
    losses "$at/run-wide" >"$at/wide.losses"
    [ "$(wc -l <"$at/eight.losses")" -ge 12 ] && cmp -s "$at/eight.losses" "$at/wide.losses" || tell "$case: losses or gradients differ from those of fp32"
    cmp -s "$at/eight.txt" "$at/wide.txt" || tell "$case: texts differ from those of fp32"
    cmp -s "$at/peft-eight/adapter_model.safetensors" "$at/peft-wide/adapter_model.safetensors" || tell "$case: adapters differ from those of fp32"

    # ---- merged in fp32, not in blocks, which would lose what is less than half a step
    for kind in eight wide; do must "$at/$kind/trainer" export --to hf --weights "$at/run-eight" --out "$at/merged-$kind"; done
    cmp -s "$at/merged-eight/model.safetensors" "$at/merged-wide/model.safetensors" || tell "$case: merged weights differ from those of fp32"

    # ---- resumed with other threads; the blocks stay as they are
    must $eight train --data "$TMP/t.txt" --resume="$at/run-eight/checkpoints/step-6" --threads 1 --out "$at/cut"
    for file in model optimizer; do
        cmp -s "$at/run-eight/checkpoints/step-12/$file.safetensors" "$at/cut/checkpoints/step-12/$file.safetensors" || tell "$case: a resumed run has another $file"
    done
done

# ---- files, and all weights in blocks: what evaluates and writes, with the same bits; out and in again the same; nothing trains
loss() { "$eight" eval --weights "$at/$1" --data "$TMP/t.txt" --json | grep -o '"loss":[^,]*'; }
plan() { "$LATHE" plan "$@" --json | tr -d '\n' | grep -o '"parameters": [0-9]*' | sed -n '2s/.*: //p'; }
# shellcheck disable=SC2086
must "$LATHE" build $llama -o "$TMP/plain"
for type in q8_0 q4_0; do
    at="$TMP/llama-$type" eight="$at/eight/trainer"
    bytes=34 upper=Q8_0 tenths=5
    [ $type = q8_0 ] || bytes=18 upper=Q4_0 tenths=4
    head -c 6000 "$at/base/model.safetensors" | grep -a -q "\"model.layers.0.mlp.down_proj.weight\":{\"dtype\":\"U8\",\"shape\":\[64,3,$bytes\]" || tell "$type: the file holds no blocks"
    head -c 6000 "$at/base/model.safetensors" | grep -a -q "\"blocks\":\"$upper\"" || tell "$type: the file does not say what its bytes are"
    [ "$(loss run-eight)" = "$(loss run-wide)" ] || tell "$type: weights that are rounded twice are others"

    # shellcheck disable=SC2086
    must "$LATHE" build $llama --check-stages --parameters $type -o "$at/answers"
    answers="$at/answers/trainer"
    must $answers init --init "$at/merged-eight" --out "$at/rounded.safetensors"
    must $answers export --to hf --weights "$at/rounded.safetensors" --out "$at/hf"
    must $answers init --init "$at/hf" --out "$at/again.safetensors"
    cmp -s "$at/rounded.safetensors" "$at/again.safetensors" || tell "$type: a folder written and read is another"
    for kind in $answers "$TMP/plain/trainer"; do
        "$kind" eval --weights "$at/hf" --data "$TMP/t.txt" --json | grep -o '"loss":[^,]*' >"$at/$(basename "$(dirname "$kind")").txt"
        "$kind" generate --weights "$at/hf" --prompt 'the cat' --tokens 30 --seed 3 >>"$at/$(basename "$(dirname "$kind")").txt"
    done
    [ "$(wc -c <"$at/plain.txt")" -gt 40 ] && cmp -s "$at/answers.txt" "$at/plain.txt" || tell "$type: weights in blocks answer otherwise"
    refuse 2 "this trainer does not train: it was built with --parameters $type" $answers train --data "$TMP/t.txt" --init "$at/hf" --out "$at/none"
    refuse 2 'this trainer does not train' $answers bench
    refuse 2 "--lora trains adapters beside weights in $type with --frozen $type" "$LATHE" check models/llama.lua --config char --parameters $type --lora rank=2
    refuse 2 "$type: for a CPU only" "$LATHE" check models/llama.lua --config char --lora rank=4 --target cuda --frozen $type

    # ---- what it takes
    # shellcheck disable=SC2086
    b=$(plan $llama --lora rank=4 --frozen $type) f=$(plan $llama --lora rank=4)
    [ "$((b * 10))" -lt "$((f * tenths))" ] || tell "$type: parameters take $b bytes, and $f in fp32"
done

# ---- refused
refuse 2 'expected fp32, q8_0 or q4_0' "$LATHE" check models/llama.lua --config char --frozen q4_1
refuse 2 'has no frozen matrix' "$LATHE" check models/llama.lua --config char --frozen q8_0
refuse 3 'expected Q4_0, found F32' $eight train --data "$TMP/t.txt" --resume="$at/run-wide/checkpoints/step-6" --out "$at/none"
