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
must "$LATHE" build models/llama.lua --precision fp64 --lora rank=4 --set layers=2 --set vocab=300 --set batch=2 --set width=16 \
    --set heads=2 --set kv_heads=2 --set hidden=32 --set seq=8 -o "$TMP/bent" # its loss bends within a step of the test
must "$TMP/bent/trainer" selftest
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

# ---- the folder again, over the base
d=$(loss $low eval --weights "$TMP/base" --adapter "$TMP/peft" --data "$TMP/t.txt")
[ "$a" = "$d" ] || tell "losses: $a with the run's adapters, $d with those of its folder"
must $low export --to peft --weights "$TMP/base" --adapter "$TMP/peft" --out "$TMP/again"
cmp -s "$TMP/peft/adapter_model.safetensors" "$TMP/again/adapter_model.safetensors" || tell "a folder read and written is another"
must $low train --data "$TMP/t.txt" --init "$TMP/base" --adapter "$TMP/peft" --steps 1 --out "$TMP/further"
with() { # KEY VALUE WORDS: the folder with another value of its configuration is refused
    rm -rf "$TMP/other" && cp -r "$TMP/peft" "$TMP/other"
    grep -v "^  \"$1\":" "$TMP/peft/adapter_config.json" | sed "s/^{/{ \"$1\": $2,/; "'$!{N;s/,\n}/\n}/;P;D}' >"$TMP/other/adapter_config.json"
    refuse 3 "$3" $low eval --weights "$TMP/base" --adapter "$TMP/other" --data "$TMP/t.txt"
}
with r 5 'expected adapters of --lora rank=4,alpha=8, found those of --lora rank=5,alpha=8; build the trainer with the latter'
with use_rslora true 'found those of --lora rank=4,alpha=8,rslora'
with lora_alpha '"eight"' 'expected r, an integer, and lora_alpha, a number'
with use_dora true 'found those of --lora rank=4,alpha=8,dora'
with kasa_config '{"a": 1}' 'kasa_config: singular values lie between A and B (KaSA), which this program cannot compute'
with alpha_pattern '{"c_fc": 2}' 'alpha_pattern: alphas differ'
with init_lora_weights '"pissa"' 'init_lora_weights: "pissa" also changes the base'
with peft_type '"IA3"' 'peft_type must be "LORA"'
head -c 3000 "$TMP/peft/adapter_model.safetensors" >"$TMP/other/adapter_model.safetensors"
cp "$TMP/peft/adapter_config.json" "$TMP/other"
refuse 3 "$TMP/other/adapter_model.safetensors" $low eval --weights "$TMP/base" --adapter "$TMP/other" --data "$TMP/t.txt"
refuse 2 'this trainer has no adapters; build it with --lora rank=4,alpha=8' $plain eval --weights "$TMP/base" --adapter "$TMP/peft" --data "$TMP/t.txt"
refuse 2 'give these with --init' $low train --data "$TMP/t.txt" --adapter "$TMP/peft" --out "$TMP/none"
refuse 2 '--resume has its own' $low train --data "$TMP/t.txt" --adapter "$TMP/peft" --resume="$TMP/run"
# shellcheck disable=SC2086
must "$LATHE" build $gpt --lora rank=4,alpha=8,match=*.attn.* -o "$TMP/few"
refuse 3 'layers that have no adapter in this trainer, of 12' "$TMP/few/trainer" eval --weights "$TMP/base" --adapter "$TMP/peft" --data "$TMP/t.txt"
# shellcheck disable=SC2086
must "$LATHE" build $gpt --lora rank=4,alpha=8 -o "$TMP/many"
refuse 3 'lora_A.weight is missing' "$TMP/many/trainer" eval --weights "$TMP/base" --adapter "$TMP/peft" --data "$TMP/t.txt"

# ---- what is refused
refuses "names 1 of the 2 parameters called 'h.%d.attn.c_attn.weight'" --lora rank=2,match=h.0.*
refuses 'no nn.linear has a weight of such a name; their weights are h.%d.attn.c_attn.weight' --lora rank=2,match=wte.*
refuses 'train=head.*: no parameter has such a name' --lora rank=2,train=head.*
refuses "expected some of rank=N, alpha=X" --lora rnk=2
refuses 'rank=2.5: expected an integer' --lora rank=2.5
refuses 'rank=0: expected a number from 1' --lora rank=0
refuse 2 'this model has no adapters' $plain export --to peft --weights "$TMP/base" --out "$TMP/none"
refuses 'times 0 learn nothing' --lora alpha=0
refuse 3 'expected adapters, found weights without any' $low export --to peft --weights "$TMP/base" --out "$TMP/none"
refuse 2 'here is an adapter' $low export --to hf --weights "$TMP/run" --out "$TMP/peft"
refuse 2 'here is a model, and weights beside an adapter would have it twice' $low export --to peft --weights "$TMP/run" --out "$TMP/merged"
# shellcheck disable=SC2086
must "$LATHE" build $gpt --lora rank=4,match=*.attn.*,match=*.mlp.c_fc.* -o "$TMP/weak"
refuse 3 'expected adapters of --lora rank=4,alpha=4, found those of --lora rank=4,alpha=8' "$TMP/weak/trainer" eval --weights "$TMP/run" --data "$TMP/t.txt"

# ---- weights that are read elsewhere have no adapter: by the loss, by another layer; nor have layers that no loss reads
llama="models/llama.lua --set layers=1 --set tied=false --set vocab=300"
# shellcheck disable=SC2086
must "$LATHE" dump $llama --lora rank=2 --after front
grep -q 'q_proj.lora_A' "$TMP/said" || tell "no adapter"
! grep 'lm_head.lora_A' "$TMP/said" || tell "the head has an adapter that the loss does not see"
# shellcheck disable=SC2086
refuse 1 "'lm_head.weight' is read elsewhere too" "$LATHE" check $llama --lora match=lm_head.*
cat >"$TMP/shared.lua" <<'END'
return {
  config = { vocab = 256, width = 8, seq = 4, batch = 2 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { name = "embed", rows = c.vocab, width = c.width })
    local one = nn.linear { name = "one", out = c.width }
    local y = one(x)
    local again = nn.linear(nn.tanh(y), { weight = one.weight, bias = false })
    local logits = nn.linear(again, { name = "head", out = c.vocab })
    nn.linear(x, { name = "unread", out = 3 })
    return nn.cross_entropy(logits, input.targets), { unread = nn.linear(x, { name = "aside", out = 5 }) }
  end,
  decode = false,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 5 },
  data = data.text {},
}
END
must "$LATHE" dump "$TMP/shared.lua" --lora rank=2 --after front
grep -q 'head.lora_A' "$TMP/said" || tell "no adapter of the head"
! grep -E '(one|aside|unread).lora_A' "$TMP/said" || tell "an adapter that acts in one place of two, or in none"
refuse 1 "no gradient reaches the adapter of 'aside.weight'" "$LATHE" check "$TMP/shared.lua" --lora match=aside.*

# ---- groups of the description freeze what they name, but no adapter
sed 's/steps = 5 }/steps = 5, groups = { { match = "*", frozen = true } } }/' "$TMP/shared.lua" >"$TMP/groups.lua"
must "$LATHE" build "$TMP/groups.lua" --lora rank=2,match=head.* -o "$TMP/groups"
must "$TMP/groups/trainer" train --data "$TMP/t.txt" --out "$TMP/grouped"
grep -q '"grad_norm":0\.[0-9]*[1-9]' "$TMP/grouped/metrics.jsonl" || tell "the groups freeze the adapter"
