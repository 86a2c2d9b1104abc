# lora.sh: adapters of low rank (--lora): only they have gradients and moments, which are right in fp64; merged
# weights give the same losses, a resumed run the same bits; what is refused.
set -eu
. tests/models/common
gpt="models/gpt.lua --config char --set layers=2 --set width=32 --set heads=2 --set seq=24 --set batch=8 --set vocab=256 --set tokenizer=bytes --set dropout=0"
awk 'BEGIN { for (i = 0; i < 900; i++) { x = (x * 1103515245 + 12345) % 2147483648
    print substr("the cat sat on a mat and ran to the sea", x % 20 + 1, 3 + x % 17) " " i % 10 } }' >"$TMP/t.txt"
refuses() { # WORDS OPTIONS
    words=$1
    shift
    # shellcheck disable=SC2086
    refuse 2 "$words" "$LATHE" check $gpt "$@"
}
names() { head -c 20000 "$1" | tr ',{' '\n\n' | grep -a -o '^"[a-z][^"]*\.[^"]*":' | sort; }

# shellcheck disable=SC2086
must "$LATHE" build $gpt -o "$TMP/plain"
# shellcheck disable=SC2086
must "$LATHE" build $gpt --check-stages --lora rank=4,alpha=8,match=*.attn.*,match=*.mlp.c_fc.* -o "$TMP/low"
# shellcheck disable=SC2086
must "$LATHE" build $gpt --precision fp64 --lora rank=3,alpha=5,rslora,train=wpe.* -o "$TMP/exact"
plain="$TMP/plain/trainer" low="$TMP/low/trainer" exact="$TMP/exact/trainer"

must $exact selftest
must $plain train --data "$TMP/t.txt" --steps 60 --out "$TMP/base"
must $low train --data "$TMP/t.txt" --init "$TMP/base" --steps 20 --save-every 10 --set lr=1e-2 --out "$TMP/run"
must $low train --data "$TMP/t.txt" --resume="$TMP/run/checkpoints/step-10" --steps 20 --set lr=1e-2 --out "$TMP/cut"
cmp -s "$TMP/run/checkpoints/step-20/model.safetensors" "$TMP/cut/checkpoints/step-20/model.safetensors" ||
    tell "a resumed run has other bits"
names "$TMP/run/checkpoints/step-20/optimizer.safetensors" >"$TMP/said"
grep -q 'lora_A.weight' "$TMP/said" || tell "adapters have no moments"
! grep -v lora_ "$TMP/said" || tell "something frozen has moments"

# ---- merged weights in a trainer without adapters
must $low export --to hf --weights "$TMP/run" --out "$TMP/merged"
must $low export --to peft --weights "$TMP/run" --out "$TMP/peft"
[ "$(names "$TMP/peft/adapter_model.safetensors" | wc -l)" = 12 ] || tell "expected 12 tensors of adapters"
loss() { "$@" --json 2>"$TMP/said" | tr ',{' '\n\n' | sed -n 's/^"loss": *//p' | head -n 1; }
a=$(loss $low eval --weights "$TMP/run" --data "$TMP/t.txt") b=$(loss $plain eval --weights "$TMP/merged" --data "$TMP/t.txt")
c=$(loss $plain eval --weights "$TMP/base" --data "$TMP/t.txt")
awk "BEGIN { exit !($a > 0 && $a / $b - 1 < 1e-5 && $b / $a - 1 < 1e-5 && $c / $a > 1.001) }" ||
    tell "losses: $a with adapters, $b merged, $c before"

# ---- what is refused
refuses "names 1 of the 2 layers that have 'h.%d.attn.c_attn.weight'" --lora rank=2,match=h.0.*
refuses 'no nn.linear has a weight of such a name; their weights are h.%d.attn.c_attn.weight' --lora rank=2,match=wte.*
refuses 'train=head.*: no parameter has such a name' --lora rank=2,train=head.*
refuses "expected some of rank=N, alpha=X" --lora rnk=2
refuses 'rank=2.5: expected an integer' --lora rank=2.5
refuses 'rank=0: expected a number from 1' --lora rank=0
refuse 2 'this model has no adapters' $plain export --to peft --weights "$TMP/base" --out "$TMP/none"
