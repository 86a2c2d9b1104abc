# expert_adapters.sh: adapters on nn.experts as PEFT computes them: its first 20 losses, from a folder with A and B of each expert's matrix;
# folders and merged weights; over experts in 8 bits; a run that is killed goes on to the same bits; the router has none unless it is named.
set -eu
. tests/models/common
. tests/models/beside
from=tests/reference/expert_low_rank text=tests/reference/low_rank/text.txt tokenizer=tests/reference/preference
sizes="models/llama.lua --set vocab=99 --set layers=2 --set heads=4 --set kv_heads=2 --set width=32 --set hidden=32 --set experts=4 --set active=2 --set seq=32 --set batch=4 --set tied=false --set context=95 --set pack=false"
recipe="--set lr=3e-3 --set schedule=constant --set warmup=0 --set decay=0 --set clip=1 --set beta2=0.95 --set log_every=1"
data="--data $text --tokenizer $tokenizer --order contiguous --val-fraction 0 --set sep=none"
losses() { sed -n 's/.*"split":"train","loss":\([^,]*\),.*/\1/p' "$1/metrics.jsonl" | tr '\n' ' '; }
loss() { "$@" --val-data $text --tokenizer $tokenizer --set sep=none --json 2>"$TMP/said" | tr ',{' '\n\n' | sed -n 's/^"loss": *//p' | head -n 1; }
adapters() { head -c 20000 "$1/adapter_model.safetensors" | tr ',{' '\n\n' | grep -a -o '^"[a-z][^"]*lora_[^"]*":' | sort; }

for kind in mixtral qwen3_moe; do
    words="$sizes --set kind=$kind"
    [ $kind = mixtral ] || words="$words --set head_width=8"
    # shellcheck disable=SC2086
    {
        must "$LATHE" build $words --check-stages --lora rank=2,alpha=3 -o "$TMP/$kind"
        must "$TMP/$kind/trainer" train --init $from/$kind --adapter $from/${kind}_adapter $data $recipe --steps 20 --out "$TMP/run-$kind"
    }
    near 1e-5 "$(sed -n "s/^$kind //p" $from/losses.txt)" "$(losses "$TMP/run-$kind")" || tell "$kind: losses $(losses "$TMP/run-$kind")"
    must "$TMP/$kind/trainer" export --to peft --weights $from/$kind --adapter $from/${kind}_adapter --out "$TMP/again-$kind"
    adapters "$TMP/again-$kind" >"$TMP/again.names"
    adapters $from/${kind}_adapter | cmp -s - "$TMP/again.names" || tell "$kind: the folder has other names than PEFT's"
    must "$TMP/$kind/trainer" export --to peft --weights $from/$kind --adapter "$TMP/again-$kind" --out "$TMP/twice-$kind"
    cmp -s "$TMP/again-$kind/adapter_model.safetensors" "$TMP/twice-$kind/adapter_model.safetensors" || tell "$kind: a folder read and written is another"
done
mixtral="$TMP/mixtral/trainer" moe="$sizes --set kind=mixtral"

# ---- the run's adapters, the folder over the base, and merged weights give one loss
# shellcheck disable=SC2086
must "$LATHE" build $moe -o "$TMP/plain"
must "$mixtral" export --to hf --weights "$TMP/run-mixtral" --out "$TMP/merged"
must "$mixtral" export --to peft --weights "$TMP/run-mixtral" --out "$TMP/peft"
a=$(loss "$mixtral" eval --weights "$TMP/run-mixtral")
b=$(loss "$mixtral" eval --weights $from/mixtral --adapter "$TMP/peft")
c=$(loss "$TMP/plain/trainer" eval --weights "$TMP/merged")
d=$(loss "$TMP/plain/trainer" eval --weights $from/mixtral)
[ "$a" = "$b" ] && near 1e-5 "$a" "$c" && ! near 1e-2 "$a" "$d" || tell "losses: $a, folder $b, merged $c; base $d"

# ---- experts in 8 bits have the losses of the same weights in fp32, and no gradient
# shellcheck disable=SC2086
{
    must "$LATHE" build $moe --check-stages --lora rank=2,alpha=3 --frozen q8_0 -o "$TMP/eight"
    must "$TMP/eight/trainer" init --init $from/mixtral --out "$TMP/rounded.safetensors"
    for which in eight mixtral; do
        must "$TMP/$which/trainer" train --init "$TMP/rounded.safetensors" $data $recipe --steps 6 --out "$TMP/bits-$which"
    done
}
[ -n "$(losses "$TMP/bits-eight")" ] && [ "$(losses "$TMP/bits-eight")" = "$(losses "$TMP/bits-mixtral")" ] || tell "8 bits: losses $(losses "$TMP/bits-eight"), in fp32 $(losses "$TMP/bits-mixtral")"
trained=$("$mixtral" info | sed -n 's/^adapters .*: \([0-9,]*\) parameters are trained.*/\1/p' | tr -d ,)
[ "$trained" = $((2 * (4 * 3 * 2 * (32 + 32) + 2 * (2 * (32 + 32) + 2 * (32 + 16))))) ] || tell "$trained parameters are trained"

# ---- killed at any time, a run goes on to the same bits
# shellcheck disable=SC2086
{
    must "$mixtral" train --init $from/mixtral $data $recipe --steps 18 --save-every 2 --keep-last 0 --out "$TMP/whole"
    "$mixtral" train --init $from/mixtral $data $recipe --steps 18 --save-every 2 --keep-last 0 --out "$TMP/killed" >"$TMP/said" 2>&1 &
}
run=$!
for i in $(seq 300); do [ -e "$TMP/killed/checkpoints/step-4" ] && break || sleep 0.02; done
kill -9 $run 2>/dev/null || :
wait $run 2>/dev/null || :
must "$mixtral" train --resume --threads 1 --out "$TMP/killed"
cmp -s "$TMP/whole/model.safetensors" "$TMP/killed/model.safetensors" || tell "a run that was killed has other bits"

# ---- the router: by name alone; what is refused
# shellcheck disable=SC2086
{
    must "$LATHE" dump $moe --lora rank=2 --after front
    grep -q 'experts.w1.lora_A' "$TMP/said" && ! grep -q 'gate.lora_A' "$TMP/said" || tell "an adapter of the router, or none of the experts"
    must "$LATHE" dump $moe --lora 'rank=2,match=*block_sparse_moe.gate.*' --after front
    grep -q 'gate.lora_A' "$TMP/said" && ! grep -q 'experts.w1.lora_A' "$TMP/said" || tell "the router is named, and has no adapter"
    refuse 1 'adapters of experts are not decomposed' "$LATHE" check $moe --lora rank=2,dora
    must "$LATHE" check $moe --lora 'rank=2,dora,match=*.self_attn.*'
    refuse 2 "names 2 of the 8 parameters called" "$LATHE" check $moe --lora 'rank=2,match=*.experts.1.w1.*'
}
cp -r $from/mixtral_adapter "$TMP/fused" && sed 's/^{/{ "target_parameters": ["gate_up_proj"],/' $from/mixtral_adapter/adapter_config.json >"$TMP/fused/adapter_config.json"
refuse 3 'target_parameters: it adapts what is no linear layer, such as all experts as one parameter' "$mixtral" eval --weights $from/mixtral --adapter "$TMP/fused" --val-data $text --tokenizer $tokenizer
refuse 2 'their adapters are not kept there yet' "$TMP/qwen3_moe/trainer" export --to gguf-adapter --weights "$TMP/run-qwen3_moe" --out "$TMP/none.gguf"
[ ! -e "$TMP/none.gguf" ] || tell "a refused file is there"
