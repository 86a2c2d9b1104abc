# frozen.sh: --frozen q8_0, --parameters q8_0, the same with q4_0, and with types by patterns: matrices in 8 or 4 bits.  Losses, gradients and texts have the bits of a build that holds
# the same weights in fp32; a resumed run has the same bits; files keep the blocks; GGUF in and out; what is refused.
set -eu
. tests/models/common
small="--set layers=2 --set width=64 --set heads=2 --set seq=40 --set batch=4 --set vocab=256 --set tokenizer=bytes"
llama="models/llama.lua --config char $small --set kv_heads=1 --set hidden=96 --set context=64"
gpt="models/gpt.lua --config char $small --set dropout=0"
awk 'BEGIN { for (i = 0; i < 900; i++) { x = (x * 1103515245 + 12345) % 2147483648
    print substr("the cat sat on a mat and ran to the sea", x % 20 + 1, 3 + x % 17) " " i % 10 } }' >"$TMP/t.txt"
losses() { grep -o '"loss":[^,]*,\|"grad_norm":[^,]*' "$1/metrics.jsonl"; }

mixed="q4_0,*embed*=q8_0,*.v_proj.*=fp32"
for case in llama-q8_0 gpt-q8_0 llama-q4_0 llama-mixed; do
    model=${case%-*} type=${case#*-}
    [ $type != mixed ] || type=$mixed
    eval "words=\$$model"
    at="$TMP/$case"
    mkdir "$at"
    # shellcheck disable=SC2086
    must "$LATHE" build $words --check-stages --lora rank=4,alpha=8 --frozen "$type" -o "$at/eight"
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
    refuse 2 "this trainer does not train: it was built with --parameters, in $type" $answers train --data "$TMP/t.txt" --init "$at/hf" --out "$at/none"
    refuse 2 'this trainer does not train' $answers bench
    refuse 2 "--lora trains adapters beside weights in $type with --frozen $type" "$LATHE" check models/llama.lua --config char --parameters $type --lora rank=2
    refuse 2 "$type: for a CPU only" "$LATHE" check models/llama.lua --config char --lora rank=4 --target cuda --frozen $type

    # ---- what it takes
    # shellcheck disable=SC2086
    b=$(plan $llama --lora rank=4 --frozen $type) f=$(plan $llama --lora rank=4)
    [ "$((b * 10))" -lt "$((f * tenths))" ] || tell "$type: parameters take $b bytes, and $f in fp32"
done

# ---- types by patterns: what file and plan say, rounded again as such, and by a trainer that answers
at="$TMP/llama-mixed"
head -c 6000 "$at/base/model.safetensors" | grep -a -q '"blocks":"Q8_0 Q4_0"' || tell "mixed: the file does not say what its bytes are"
head -c 6000 "$at/base/model.safetensors" | grep -a -q '"model.embed_tokens.weight":{"dtype":"U8","shape":\[256,2,34\]' || tell "mixed: the table is not in 8 bits"
head -c 6000 "$at/base/model.safetensors" | grep -a -q '"model.layers.0.mlp.down_proj.weight":{"dtype":"U8","shape":\[64,3,18\]' || tell "mixed: a matrix is not in 4 bits"
head -c 6000 "$at/base/model.safetensors" | grep -a -q '"model.layers.0.self_attn.v_proj.weight":{"dtype":"F32"' || tell "mixed: v is not in fp32"
# shellcheck disable=SC2086
must "$LATHE" build $llama --check-stages --parameters "$mixed" -o "$at/answers"
for kind in "$at/answers" "$TMP/plain"; do
    "$kind/trainer" eval --weights "$at/merged-eight" --data "$TMP/t.txt" --json | grep -o '"loss":[^,]*' >>"$at/loss.$(basename "$kind")"
    must "$at/answers/trainer" init --init "$at/merged-eight" --out "$at/rounded.safetensors"
    "$kind/trainer" eval --weights "$at/rounded.safetensors" --data "$TMP/t.txt" --json | grep -o '"loss":[^,]*' >"$at/rounded.$(basename "$kind")"
done
[ -s "$at/rounded.plain" ] && cmp -s "$at/rounded.answers" "$at/rounded.plain" || tell "mixed: weights in blocks answer otherwise"
cmp -s "$at/loss.answers" "$at/rounded.answers" || tell "mixed: weights that are rounded twice are others"
refuse 2 'does not train: it was built with --parameters, in q8_0 and q4_0' "$at/answers/trainer" train --data "$TMP/t.txt" --init "$at/merged-eight" --out "$at/none"
# shellcheck disable=SC2086
b=$(plan $llama --lora rank=4 --frozen "$mixed") four=$(plan $llama --lora rank=4 --frozen q4_0)
[ $((b - four)) -eq $((256 * 64 / 32 * (34 - 18) + 2 * 32 * 64 / 32 * (128 - 18))) ] || tell "mixed: parameters take $b bytes, and $four in 4 bits"

# ---- refused
refuse 2 "found 'q8_0'" "$LATHE" check models/llama.lua --config char --lora rank=2 --frozen q4_0,q8_0
refuse 2 "found ''" "$LATHE" check models/llama.lua --config char --lora rank=2 --frozen ,q8_0
refuse 2 '--frozen *norm*=…: no frozen matrix whose rows are a multiple of 32 numbers has such a name; theirs are model.embed_tokens' "$LATHE" check models/llama.lua --config char --lora rank=2 --frozen 'q4_0,*norm*=q8_0'
refuse 2 '--frozen *.0.mlp*=… names 1 of the 4 matrices' "$LATHE" check models/llama.lua --config char --lora rank=2 --frozen 'q4_0,*.0.mlp*=q8_0'
refuse 2 '--parameters bf16,x=q8_0: expected' "$LATHE" check models/llama.lua --config char --parameters bf16,x=q8_0
refuse 2 'expected fp32, q8_0 or q4_0' "$LATHE" check models/llama.lua --config char --frozen q4_1
refuse 2 'has no frozen matrix' "$LATHE" check models/llama.lua --config char --frozen q8_0
refuse 3 'expected Q4_0, found F32' $eight train --data "$TMP/t.txt" --resume="$at/run-wide/checkpoints/step-6" --out "$at/none"
