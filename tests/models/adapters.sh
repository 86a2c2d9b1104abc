# adapters.sh: adapters as PEFT computes them: its first 20 losses with rsLoRA and with DoRA, from its folders; folders and merged
# weights; a resumed run; the base that adapters belong to is known by a hash, and another one refused; what is refused.
set -eu
. tests/models/common
. tests/models/beside
from=tests/reference/low_rank base=tests/reference/preference
llama="models/llama.lua --set vocab=99 --set layers=2 --set heads=4 --set kv_heads=2 --set width=32 --set hidden=64 --set seq=32 --set batch=4 --set tied=false --set context=95 --set pack=false"
recipe="--set lr=3e-3 --set schedule=constant --set warmup=0 --set decay=0 --set clip=1 --set beta2=0.95 --set log_every=1"
data="--data $from/text.txt --order contiguous --val-fraction 0 --set sep=none"
losses() { sed -n 's/.*"split":"train","loss":\([^,]*\),.*/\1/p' "$1/metrics.jsonl" | tr '\n' ' '; }
loss() { "$@" --json 2>"$TMP/said" | tr ',{' '\n\n' | sed -n 's/^"loss": *//p' | head -n 1; }

# shellcheck disable=SC2086
{
    must "$LATHE" build $llama -o "$TMP/plain"
    must "$LATHE" build $llama --lora rank=4,alpha=6,rslora=true -o "$TMP/rslora"
    must "$LATHE" build $llama --check-stages --lora rank=4,alpha=6,rslora,dora=true -o "$TMP/dora"
    must "$LATHE" build $llama --lora rank=4,alpha=6,rslora,dora --frozen q8_0 -o "$TMP/eight"
}
plain="$TMP/plain/trainer" dora="$TMP/dora/trainer" eight="$TMP/eight/trainer"
must "$dora" selftest
must "$eight" selftest
must "$dora" info
grep -q '^adapters rank=4,alpha=6,rslora,dora: [0-9,]* parameters are trained, [0-9,]* frozen$' "$TMP/said" || tell "info does not tell of the adapters"
must "$eight" info
grep -q 'frozen in q8_0$' "$TMP/said" || tell "info does not tell of 8 bits"

# ---- PEFT's losses; its folder is written as it was
for kind in rslora dora; do
    # shellcheck disable=SC2086
    must "$TMP/$kind/trainer" train --init $base --adapter $from/$kind $data $recipe --steps 20 --save-every 10 --out "$TMP/run-$kind"
    near 1e-4 "$(sed -n "s/^$kind //p" $from/losses.txt)" "$(losses "$TMP/run-$kind")" || tell "$kind: losses $(losses "$TMP/run-$kind")"
    must "$TMP/$kind/trainer" export --to peft --weights $base --adapter $from/$kind --out "$TMP/again-$kind"
    cmp -s "$TMP/again-$kind/adapter_model.safetensors" "$from/$kind/adapter_model.safetensors" && tell "the folder does not say its base"
    must "$TMP/$kind/trainer" export --to peft --weights $base --adapter "$TMP/again-$kind" --out "$TMP/twice-$kind"
    cmp -s "$TMP/again-$kind/adapter_model.safetensors" "$TMP/twice-$kind/adapter_model.safetensors" || tell "$kind: a folder read and written is another"
    grep -q "\"base_model_name_or_path\": \"$base\"" "$TMP/again-$kind/adapter_config.json" || tell "the folder does not name its base"
done
must "$dora" export --to peft --weights "$TMP/run-dora" --out "$TMP/peft"
grep -q "\"base_model_name_or_path\": \"$base\"" "$TMP/peft/adapter_config.json" || tell "a run's folder does not name its base"
grep -q '"use_dora": true' "$TMP/peft/adapter_config.json" || tell "the folder does not say that it is decomposed"

# ---- the run's adapters, the folder over the base, and merged weights give one loss; magnitudes that are not given change nothing
# shellcheck disable=SC2086
{
    must "$dora" export --to hf --weights "$TMP/run-dora" --out "$TMP/merged"
    a=$(loss "$dora" eval --weights "$TMP/run-dora" --val-data $from/text.txt --set sep=none)
    b=$(loss "$dora" eval --weights $base --adapter "$TMP/peft" --val-data $from/text.txt --set sep=none)
    c=$(loss "$plain" eval --weights "$TMP/merged" --val-data $from/text.txt --set sep=none)
    d=$(loss "$dora" eval --weights $base --val-data $from/text.txt --set sep=none)
    e=$(loss "$plain" eval --weights $base --val-data $from/text.txt --set sep=none)
}
[ "$a" = "$b" ] && near 1e-5 "$a" "$c" && near 1e-6 "$d" "$e" && ! near 1e-2 "$a" "$e" || tell "losses: $a, folder $b, merged $c; base $d, $e"
# shellcheck disable=SC2086
must "$dora" train $data --resume="$TMP/run-dora/checkpoints/step-10" --steps 20 --threads 1 --out "$TMP/cut"
cmp -s "$TMP/run-dora/checkpoints/step-20/model.safetensors" "$TMP/cut/checkpoints/step-20/model.safetensors" || tell "a resumed run has other bits"

# ---- over a base in 8 bits, and merged from there in fp32
# shellcheck disable=SC2086
{
    must "$eight" train --init $base --adapter $from/dora $data $recipe --steps 20 --out "$TMP/run-eight"
    near 2e-3 "$(sed -n 's/^dora //p' $from/losses.txt)" "$(losses "$TMP/run-eight")" || tell "8 bits: losses $(losses "$TMP/run-eight")"
    must "$eight" export --to hf --weights "$TMP/run-eight" --out "$TMP/merged-eight"
    a=$(loss "$eight" eval --weights "$TMP/run-eight" --val-data $from/text.txt --set sep=none)
    b=$(loss "$plain" eval --weights "$TMP/merged-eight" --val-data $from/text.txt --set sep=none)
}
near 1e-5 "$a" "$b" || tell "losses over 8 bits: $a, merged $b"
must "$eight" export --to peft --weights "$TMP/run-eight" --out "$TMP/peft-eight"
must "$dora" eval --weights $base --adapter "$TMP/peft-eight" --val-data $from/text.txt --set sep=none
for type in q8_0 'f16,*up_proj*=q4_0'; do
    must "$eight" export --to gguf --type "$type" --weights "$TMP/run-eight" --out "$TMP/eight.gguf"
    grep -q 'is rounded away' "$TMP/said" || tell "$type: adapters that are rounded away are not told"
done
must "$eight" export --to gguf --type f16 --weights "$TMP/run-eight" --out "$TMP/eight.gguf"
! grep -q 'is rounded away' "$TMP/said" || tell "f16 rounds no adapters away"

# ---- the base: the same numbers in another format are the same, one changed byte is another
must "$plain" export --to hf --weights $base --out "$TMP/copied"
must "$plain" init --init $base --out "$TMP/copied.safetensors"
must "$plain" export --to gguf --weights $base --out "$TMP/copied.gguf"
for copy in copied copied.safetensors copied.gguf; do
    must "$dora" eval --weights "$TMP/$copy" --adapter "$TMP/peft" --val-data $from/text.txt --set tokenizer=$base --set sep=none
done
at=$(($(wc -c <$base/model.safetensors) / 2)) # a low byte of some weight
change() { # FILE: one bit of its middle
    byte=$(od -An -tu1 -j "$at" -N 1 "$1" | tr -d ' ')
    # shellcheck disable=SC2059
    printf "\\$(printf %o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$at" conv=notrunc 2>/dev/null
}
cp -r $base "$TMP/changed"
change "$TMP/changed/model.safetensors"
other() { # CODE WORDS OPTIONS: of an adapter over the changed base
    code=$1 words=$2
    shift 2
    refuse "$code" "$words" "$dora" eval --weights "$TMP/changed" --val-data $from/text.txt --set sep=none "$@"
}
other 3 'it was trained over weights of hash ' --adapter "$TMP/peft"
grep -q -- '--other-base' "$TMP/said" || tell "the message does not say what to do"
must "$dora" eval --weights "$TMP/changed" --adapter "$TMP/peft" --other-base --val-data $from/text.txt --set sep=none
must "$dora" eval --weights "$TMP/changed" --adapter $from/dora --val-data $from/text.txt --set sep=none
refuse 3 'it was trained over weights of hash ' "$dora" train --init "$TMP/changed" --adapter "$TMP/peft" --data $from/text.txt --out "$TMP/none"
[ ! -e "$TMP/none" ] || tell "a refused run has a folder"
must "$TMP/rslora/trainer" export --to gguf-adapter --weights "$TMP/run-rslora" --out "$TMP/adapter.gguf"
must "$TMP/rslora/trainer" eval --weights "$TMP/copied.gguf" --adapter "$TMP/adapter.gguf" --val-data $from/text.txt --set sep=none
refuse 3 'it was trained over weights of hash ' "$TMP/rslora/trainer" eval --weights "$TMP/changed" --adapter "$TMP/adapter.gguf" --val-data $from/text.txt

# ---- bench takes adapters, too; what has its own does not
must "$dora" bench --steps 1 --weights $base --adapter "$TMP/peft"
refuse 2 'give these with --weights' "$dora" bench --steps 1 --adapter "$TMP/peft"
refuse 2 'these weights have adapters of their own' "$dora" eval --weights "$TMP/run-dora" --adapter "$TMP/peft" --val-data $from/text.txt
refuse 2 'these weights have adapters of their own' "$dora" train --init "$TMP/run-dora" --adapter "$TMP/peft" --data $from/text.txt --out "$TMP/none"

# ---- what is refused
refuse 2 'which llama.cpp and its files do not know' "$dora" export --to gguf-adapter --weights "$TMP/run-dora" --out "$TMP/none.gguf"
refuse 2 'which llama.cpp and its files do not know' "$dora" eval --weights $base --adapter "$TMP/adapter.gguf" --val-data $from/text.txt
must "$dora" export --to gguf --weights "$TMP/run-dora" --out "$TMP/merged.gguf"
refuse 3 'found those of --lora rank=4,alpha=6,rslora,dora' "$TMP/rslora/trainer" eval --weights $base --adapter "$TMP/peft" --val-data $from/text.txt
refuse 3 'found those of --lora rank=4,alpha=6,rslora;' "$dora" eval --weights "$TMP/run-rslora" --val-data $from/text.txt
# shellcheck disable=SC2086
refuse 2 'dora=maybe: expected true or false' "$LATHE" check $llama --lora rank=2,dora=maybe
# shellcheck disable=SC2086
refuse 2 'trains nothing' "$LATHE" train $llama --parameters q8_0 --data $from/text.txt -o "$TMP/nothing"
[ ! -e "$TMP/nothing" ] || tell "it was built"

# hostile FIND REPLACEMENT WORDS: the folder with other bytes of the same number in the head of its tensors
hostile() {
    rm -rf "$TMP/other"
    cp -r "$TMP/peft" "$TMP/other"
    LC_ALL=C sed "1s/$1/$2/" "$TMP/peft/adapter_model.safetensors" >"$TMP/other/adapter_model.safetensors"
    cmp -s "$TMP/other/adapter_model.safetensors" "$TMP/peft/adapter_model.safetensors" && tell "nothing was changed: $1"
    refuse 3 "$3" "$dora" eval --weights $base --adapter "$TMP/other" --val-data $from/text.txt
}
hostile 'layers.1.mlp.up_proj.lora_magnitude_vector' 'layers.1.mlp.up_proj.lora_magnitude_vectoR' 'layers.1.mlp.up_proj.lora_magnitude_vector is missing'
hostile 'layers.1.mlp.up_proj.lora_B' 'layers.7.mlp.up_proj.lora_B' 'layers.1.mlp.up_proj.lora_B.weight is missing'
hostile '"shape":\[64\]' '"shape":[46]' 'tensor '
hostile '"shape":\[64,4\]' '"shape":[4,64]' 'expected [64, 4] of reals, found [4, 64]'
