# preference.sh: preference pairs (--prefer): the first 20 losses and what is evaluated after them are TRL's, by DPO of all weights, of
# adapters and of chats, and by ORPO, also in micro-batches and with the loss of logits; a killed run resumes to the same bits and a
# changed one is refused; records that are no pairs.
set -eu
. tests/models/common
. tests/models/beside
from=tests/reference/preference
small="--set vocab=99 --set layers=2 --set heads=4 --set kv_heads=2 --set width=32 --set hidden=64 --set seq=95 --set tied=false"
whole="models/llama.lua $small"
recipe="--steps 20 --set schedule=constant --set warmup=0 --set decay=0 --set clip=1 --set beta2=0.95"

losses() { sed -n 's/.*"split":"train","loss":\([^,]*\),.*/\1/p' "$1/metrics.jsonl" | head -20 | tr '\n' ' ' | sed 's/ $//'; }
theirs() { sed -n "s/^$1 //p" $from/losses.txt; }
scores() { tr ',{' '\n\n' <"$TMP/said" | sed -n 's/^"\(loss\|rewards_[a-z]*\)":\(.*\)/\2/p' | tr '\n' ' ' | sed 's/ $//'; }

# as TRL: NAME TRAINER DATA OPTIONS…: losses of 20 steps that see all pairs, and an evaluation of all of them
as_trl() {
    name=$1 trainer=$TMP/$2/trainer data=$3
    shift 3
    run="$TMP/run-$name-${trainer#"$TMP"/}"
    # shellcheck disable=SC2086
    must "$trainer" train --init $from --data $from/$data.jsonl --val-fraction 0 $recipe --set sep=none "$@" --out "${run%/trainer}"
    run=${run%/trainer}
    near 1e-4 "$(theirs "$name")" "$(losses "$run")" 1e-3 || tell "$run: losses $(losses "$run") instead of $(theirs "$name")"
    "$trainer" eval --out "$run" --val-fraction 1 --json >"$TMP/said" 2>"$TMP/notes" || tell "$run is not evaluated"
    near 1e-4 "$(theirs "$name-eval")" "$(scores)" 1e-3 || tell "$run: evaluation $(scores) instead of $(theirs "$name-eval")"
}

# shellcheck disable=SC2086
{
    build dpo $whole --set batch=6 --prefer dpo,beta=0.3 --check-stages
    build parts $whole --set batch=2 --set accumulate=3 --prefer dpo,beta=0.3
    build low $whole --set batch=6 --prefer dpo,beta=0.3 --lora rank=4,alpha=8 --memory 90%
    build packed $whole --set batch=6 --set pack=true --prefer dpo,beta=0.3
    build orpo $whole --set batch=6 --prefer orpo,beta=0.3 --check-stages
    build orpo-parts $whole --set batch=3 --set accumulate=2 --prefer orpo,beta=0.3
}
as_trl dpo dpo pairs --set lr=3e-4
as_trl dpo parts pairs --set lr=3e-4
as_trl dpo packed pairs --set lr=3e-4
as_trl dpo-chats dpo chats --set lr=3e-4
as_trl dpo-lora low pairs --set lr=3e-3 --adapter $from/adapter
as_trl orpo orpo pairs --set lr=1e-3
as_trl orpo orpo-parts pairs --set lr=1e-3
[ ! -e "$TMP/run-orpo-orpo/reference.safetensors" ] || tell "ORPO has a reference"

# ---- answers of which the model becomes certain
awk 'BEGIN { for (i = 0; i < 8; i++) print "{\"prompt\": \"q\", \"chosen\": \"aa\", \"rejected\": \"b\"}" }' >"$TMP/certain.jsonl"
must "$TMP/orpo/trainer" train --init $from --data "$TMP/certain.jsonl" --val-fraction 0 --steps 800 --set lr=3e-2 --set schedule=constant --set sep=none --out "$TMP/certain"
! grep -q 'finite' "$TMP/said" || tell "odds of a certain answer are not finite"

# ---- a description of one's own, whose logits are whole, and which has several rows in a loss of its own beside it
sed 's/local loss, _, predicted = .*/local loss, predicted = nn.cross_entropy(logits, input.targets), logits:argmax(-1)/' models/llama.lua >"$TMP/logits.lua"
grep -q 'logits:argmax' "$TMP/logits.lua" || tell "models/llama.lua has another loss"
# shellcheck disable=SC2086
build logits "$TMP/logits.lua" $small --set batch=6 --prefer dpo,beta=0.3 --check-stages
as_trl dpo logits pairs --set lr=3e-4
# shellcheck disable=SC2086
build exact $whole --set batch=3 --set accumulate=2 --prefer dpo --precision fp64
must "$TMP/exact/trainer" selftest
"$LATHE" build models/llama.lua --prefer dpo --target cuda --source -o "$TMP/cuda" >"$TMP/said" 2>&1 || tell "no source for GPUs"

# ---- batches in an order of their own, cut at any step
awk 'BEGIN { for (i = 0; i < 60; i++) printf "{\"prompt\": \"what is %d?\", \"chosen\": \"it is %d.\", \"rejected\": \"no idea %d!\"}\n", i % 40, i * i, i }' >"$TMP/many.jsonl"
# shellcheck disable=SC2086
build byte $whole --set vocab=256 --set batch=4 --prefer dpo --lora rank=2
byte=$TMP/byte/trainer
must "$byte" train --data "$TMP/many.jsonl" --steps 30 --save-every 5 --eval-every 10 --set lr=1e-2 --set keep_last=0 --out "$TMP/one"
grep -q 'pairs to train on' "$TMP/said" || tell "the banner does not count pairs"
[ "$(grep -c 'reference: ' "$TMP/said")" = 1 ] || tell "the reference is not computed once"
cp -r "$TMP/one" "$TMP/killed"
rm -r "$TMP/killed/checkpoints/step-20" "$TMP/killed/checkpoints/step-25" "$TMP/killed/checkpoints/step-30"
must "$byte" train --resume="$TMP/killed/checkpoints/step-15" --out "$TMP/killed"
! grep 'reference: ' "$TMP/said" || tell "a resumed run computes the reference again"
cmp -s "$TMP/one/checkpoints/step-30/model.safetensors" "$TMP/killed/checkpoints/step-30/model.safetensors" || tell "a resumed run has other bits"
must "$byte" train --resume="$TMP/one/checkpoints/step-15" --out "$TMP/other"
cmp -s "$TMP/one/reference.safetensors" "$TMP/other/reference.safetensors" || tell "a run in another folder has no reference of its own"
must "$byte" eval --out "$TMP/other"
must "$byte" generate --out "$TMP/one" --prompt "what" --tokens 5
must "$byte" train --data "$TMP/many.jsonl" --val-data "$TMP/many.jsonl" --steps 2 --out "$TMP/held"
must "$byte" eval --out "$TMP/held"
(cd "$TMP/one" && must "$byte" eval --weights checkpoints/step-30 --data "$TMP/many.jsonl")
(cd "$TMP/one/checkpoints/step-30" && must "$byte" eval --weights . --data "$TMP/many.jsonl")
must "$byte" train --data "$TMP/many.jsonl" --dry-run
must "$byte" bench --steps 2

mkdir "$TMP/stale"
cp "$TMP/one/reference.safetensors" "$TMP/stale"
must "$byte" train --data "$TMP/many.jsonl" --init "$TMP/one" --steps 1 --out "$TMP/stale"
! cmp -s "$TMP/one/reference.safetensors" "$TMP/stale/reference.safetensors" || tell "a new run takes a reference that lay there"

sed 's/it is 9/it was 9/' "$TMP/many.jsonl" >"$TMP/changed.jsonl"
refuse 3 'these are not the preference pairs that the run began with' "$byte" train --resume --out "$TMP/one" --data "$TMP/changed.jsonl" --steps 40
refuse 3 'these are not the preference pairs' "$byte" eval --out "$TMP/one" --data "$TMP/changed.jsonl"
rm "$TMP/other/reference.safetensors"
refuse 3 'other/reference.safetensors: error: expected the log-probabilities that preference pairs are compared with' "$byte" train --resume --out "$TMP/other" --steps 40

# ---- records
bad() { # WORDS RECORD
    printf '{"prompt": "a", "chosen": "b", "rejected": "c"}\n\n%s\n' "$2" >"$TMP/bad.jsonl"
    refuse 3 "$TMP/bad.jsonl:3: error: $1" "$byte" train --data "$TMP/bad.jsonl" --steps 1 --out "$TMP/none"
}
message() { echo "[{\"role\": \"$1\", \"content\": \"$2\"}]"; }
said=$(message user hello) yes=$(message assistant yes) no=$(message assistant no)
bad 'expected "prompt", "chosen" and "rejected", found no "rejected"; there are "prompt", "chosen"' '{"prompt": "a", "chosen": "b"}'
bad 'expected "prompt", "chosen" and "rejected", found no "prompt"' '{"chosen": "b", "rejected": "c"}'
bad 'expected "rejected" to be a string or a list of messages' '{"prompt": "a", "chosen": "b", "rejected": 3}'
bad '"chosen" and "rejected" are the same answer' '{"prompt": "a", "chosen": "b", "rejected": "b"}'
bad 'the answer in "chosen" is empty' '{"prompt": "a", "chosen": " ", "rejected": "b"}'
bad '"prompt" is a string and "rejected" a list' "{\"prompt\": \"a\", \"chosen\": \"b\", \"rejected\": $no}"
bad 'expected the role system, developer, user, assistant or tool in "prompt", found "robot"' "{\"prompt\": $(message robot x), \"chosen\": $yes, \"rejected\": $no}"
bad "expected the answer in \"chosen\" to be the assistant's, found the role \"user\"" "{\"prompt\": $said, \"chosen\": $said, \"rejected\": $no}"
bad "the last message of \"prompt\" is the assistant's" "{\"prompt\": $yes, \"chosen\": $yes, \"rejected\": $no}"
bad '"prompt" has no message' "{\"prompt\": [], \"chosen\": $yes, \"rejected\": $no}"
bad 'a message of "chosen" has no role that is a string' "{\"prompt\": $said, \"chosen\": [{\"content\": \"x\"}], \"rejected\": $no}"
bad 'expected one message in "chosen"' "{\"prompt\": $said, \"chosen\": [], \"rejected\": $no}"
bad 'expected a JSON object in each line: duplicate object key' '{"prompt": "a", "prompt": "b", "chosen": "c", "rejected": "d"}'
echo '{"prompt": "", "chosen": "a", "rejected": "b"}' >"$TMP/bare.jsonl"
refuse 3 "$TMP/bare.jsonl:1: error: no token of an answer counts" "$byte" train --data "$TMP/bare.jsonl" --set sep=none --set bos=none --set eos=none --steps 1 --out "$TMP/none"
bad 'expected a JSON object in each line' '{"prompt": "a",'
bad 'expected an object with' '[]'
mkdir "$TMP/gemma"
cp $from/config.json $from/model.safetensors "$TMP/gemma"
sed 's/<|im_start|>/<start_of_turn>/; s/<|im_end|>/<end_of_turn>/; s/<|endoftext|>/<bos>/' $from/tokenizer.json >"$TMP/gemma/tokenizer.json"
for role in tool system; do
    echo "{\"prompt\": $(message $role hello), \"chosen\": $yes, \"rejected\": $no}" >"$TMP/bad.jsonl"
    refuse 3 "$TMP/bad.jsonl:1: error: message 1 of \"prompt\" ($role): " "$TMP/dpo/trainer" train --init "$TMP/gemma" --set chat=gemma --data "$TMP/bad.jsonl" --steps 1 --out "$TMP/none"
done
echo 'plain text' >"$TMP/text.txt"
refuse 3 'expected preference pairs as JSON lines' "$byte" train --data "$TMP/text.txt" --steps 1 --out "$TMP/none"
refuse 2 'which a pipe cannot be' "$byte" train --data - --steps 1 --out "$TMP/none" <"$TMP/many.jsonl"
long=$(printf '%0120d' 0)
{ cat "$TMP/many.jsonl"; echo "{\"prompt\": \"$long\", \"chosen\": \"b\", \"rejected\": \"c\"}"; echo "{\"prompt\": \"a\", \"chosen\": \"b\", \"rejected\": \"$long\"}"; echo '{}'; } >"$TMP/long.jsonl"
must "$byte" train --data "$TMP/long.jsonl" --steps 1 --set bad_records=1 --out "$TMP/long"
for words in '1 answer is cut' "1 pair is left out, since the prompt alone fills a sequence, the first: $TMP/long.jsonl:61" '1 malformed record is skipped'; do
    grep -qF "$words" "$TMP/said" || tell "no word of: $words"
done
must "$byte" train --data "$TMP/long.jsonl" --steps 1 --set bad_records=1 --set on_long=skip --out "$TMP/long"
grep -qF '2 pairs are left out, since prompt and answer are longer' "$TMP/said" || tell "long pairs are not skipped"

# ---- what cannot be trained so
refuse 2 'expected dpo or orpo' "$LATHE" check models/llama.lua --prefer kto
refuse 2 'beta=0: expected a number above 0' "$LATHE" check models/llama.lua --prefer dpo,beta=0
refuse 2 'in models/vit.lua the data is rows, not text' "$LATHE" check models/vit.lua --prefer dpo
refuse 2 'data.pairs is for an encoder and a decoder' "$LATHE" check models/seq2seq.lua --prefer dpo
sed 's/nn.cross_entropy(logits, input.targets)/nn.cross_entropy(logits, input.targets, { reduction = "sum" })/; s/nn.linear_cross_entropy(x, input.targets, {/&row_weight = nn.ones(input.targets.shape), /' models/llama.lua >"$TMP/sum.lua"
refuse 2 'is not nn.cross_entropy or nn.linear_cross_entropy of input.targets' "$LATHE" check "$TMP/sum.lua" --prefer dpo
sed 's/{ weight = head.weight }/{ weight = head.weight, smoothing = 0.1 }/' models/llama.lua >"$TMP/smooth.lua"
refuse 1 'leave smoothing out' "$LATHE" check "$TMP/smooth.lua" --prefer dpo
sed 's/return loss, out end/return loss + nn.cross_entropy(logits, input.targets), out end/' models/llama.lua >"$TMP/two.lua"
refuse 1 'takes one loss of input.targets, and this is the second' "$LATHE" check "$TMP/two.lua" --prefer dpo
