# sample.sh: samples by a description's own `sample`: texts that begin with prompts, numbers; the same for any threads,
# others for another seed; after evaluations, the same on resuming; what the user asks that cannot be.
set -eu
. tests/models/common
awk 'BEGIN { for (i = 0; i < 400; i++) print "the cat sat on " i % 7 " mats" }' >"$TMP/t.txt"
must "$LATHE" build models/diffusion.lua --config cpu --set layers=1 --set width=16 --set heads=2 --set cond=4 \
    --set seq=24 --set batch=4 --set chain=8 --set vocab=40 -o "$TMP/built"
trainer="$TMP/built/trainer"
start="--data $TMP/t.txt --set eval_every=10 --set eval_rows=8 --set samples=[\"the\",\"cat\",\"\",\"\",\"mats\"]"

# shellcheck disable=SC2086
must "$trainer" train $start --steps 30 --out "$TMP/whole"
[ "$(grep -c '"split":"sample"' "$TMP/whole/metrics.jsonl")" = 15 ] || tell "five samples after each of three evaluations expected"
grep -q '"prompt":"mats","text":"mats' "$TMP/whole/metrics.jsonl" || tell "a sample begins with its prompt"
# shellcheck disable=SC2086
must "$trainer" train $start --steps 20 --set schedule_steps=30 --out "$TMP/halves"
must "$trainer" train --resume --out "$TMP/halves" --steps 30 --threads 1
samples() { grep -v '"split":"train"' "$1/metrics.jsonl" | grep sample; }
[ "$(samples "$TMP/whole")" = "$(samples "$TMP/halves")" ] || tell "samples of a resumed run are others"
cmp "$TMP/whole/model.safetensors" "$TMP/halves/model.safetensors" || tell "another model"
# shellcheck disable=SC2086
must "$trainer" train --data "$TMP/t.txt" --set eval_every=10 --set eval_rows=8 --set samples= --steps 30 --out "$TMP/quiet"
cmp "$TMP/whole/model.safetensors" "$TMP/quiet/model.safetensors" || tell "samples touch what is trained"
must "$trainer" train $start --steps 30 --dry-run
grep -q '^samples: about' "$TMP/said" || tell "no word of the samples' time"

draw() { name=$1; shift; "$trainer" generate --out "$TMP/whole" "$@" >"$TMP/$name" 2>&1 || tell "generate $*"; }
draw one --threads 1 --samples 6 --json
draw three --threads 3 --samples 6 --json
cmp "$TMP/one" "$TMP/three" || tell "threads tell in what is drawn"
draw other --seed 2 --samples 6 --json
cmp -s "$TMP/one" "$TMP/other" && tell "the seed does not tell"
[ "$(tr '{' '\n' <"$TMP/one" | grep -c '"text"')" = 6 ] || tell "six samples"
[ "$(tr '{' '\n' <"$TMP/one" | grep '"text"' | sort -u | wc -l)" = 6 ] || tell "each is another, beyond a batch too"
draw prompts --prompt 'the cat' sat --samples 2
[ "$(grep -c '^the cat' "$TMP/prompts")" -ge 2 ] && [ "$(grep -c '^sat' "$TMP/prompts")" -ge 2 ] || { cat "$TMP/prompts"; tell "prompts"; }
refuse 2 'the prompt has 40 tokens, but diffusion makes texts of 24' "$trainer" generate --out "$TMP/whole" \
    --prompt "$(head -c 40 "$TMP/t.txt")"
refuse 3 'is not one of the' "$trainer" generate --out "$TMP/whole" --prompt Z
refuse 2 'sample_tokens has no effect' "$trainer" generate --out "$TMP/whole" --tokens 9
refuse 2 'more than 1000000 in all' "$trainer" generate --out "$TMP/whole" --samples 1e9
refuse 2 'expected 1 to' "$trainer" train --data "$TMP/t.txt" --steps 1 --set samples=0 --out "$TMP/none"

# numbers, of a table's model
must "$LATHE" build tests/models/drawn.lua -o "$TMP/numbers"
awk 'BEGIN { print "a,b,c,class"; for (i = 0; i < 99; i++) print i % 7 ",1." i ",-" i % 5 "," i % 2 }' >"$TMP/t.csv"
must "$TMP/numbers/trainer" train --data "$TMP/t.csv" --out "$TMP/table"
grep -q '"split":"sample".*"outputs":.*"x":{"shape":\[3\],"values":\[' "$TMP/table/metrics.jsonl" || tell "numbers in metrics.jsonl"
must "$TMP/numbers/trainer" generate --out "$TMP/table" --samples 20
[ "$(grep -c '^walk' "$TMP/said")" = 20 ] && [ "$(grep -A 1 '^x \[3\]' "$TMP/said" | grep -cE '^[-0-9.e]+ [-0-9.e]+ [-0-9.e]+$')" = 20 ] ||
    tell "twenty rows of numbers"
must "$TMP/numbers/trainer" generate --weights "$TMP/table" --samples 2
refuse 2 'for numbers `--json > FILE`' "$TMP/numbers/trainer" generate --weights "$TMP/table" --out "$TMP/s.npy"
refuse 2 'takes no prompt' "$TMP/numbers/trainer" generate --out "$TMP/table" --prompt the
echo "samples of texts and numbers, any threads, resumed"
