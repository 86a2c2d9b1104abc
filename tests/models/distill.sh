# distill.sh: a student that imitates a teacher (--distill): the first 20 losses are PyTorch's, of all weights and of adapters, of heads
# and of logits in memory, in micro-batches and in blocks; gradients are right in fp64; a killed run resumes to the same bits, and with
# another teacher it is refused; files have the student alone; teachers that do not fit, by tokens, classes, columns.
set -eu
. tests/models/common
. tests/models/beside
from=tests/reference/preference with=tests/reference/distill
small="--set vocab=99 --set layers=2 --set heads=4 --set kv_heads=2 --set width=32 --set hidden=64 --set context=95 --set tied=false --set seq=24"
student="models/llama.lua $small --set loss_on=target"
teacher="models/llama.lua,layers=3,heads=6,kv_heads=2,width=48,hidden=80,vocab=99,context=64"
recipe="--set schedule=constant --set warmup=0 --set decay=0 --set clip=1 --set beta2=0.95"

# as PyTorch: NAME LIMIT TRAINER INPUTS LR OPTIONS…
as_pytorch() {
    name=$1 limit=$2 trainer=$TMP/$3/trainer inputs=$4 lr=$5
    shift 5
    # shellcheck disable=SC2086
    "$trainer" bench --weights $from --teacher $with --inputs "$inputs" --steps 18 --json $recipe --set lr="$lr" "$@" >"$TMP/said" 2>"$TMP/notes" || tell "$trainer: bench"
    ours=$(sed 's/.*"losses":\[\([^]]*\)\].*/\1/; s/,/ /g' "$TMP/said")
    near "$limit" "$(sed -n "s/^$name //p" $with/losses.txt)" "$ours" && [ "$(echo "$ours" | wc -w)" = 20 ] || tell "$trainer: losses $ours"
}
batch=$with/batch.safetensors

# shellcheck disable=SC2086
{
    sed 's/local loss, _, predicted = .*/local loss, predicted = nn.cross_entropy(logits, input.targets), logits:argmax(-1)/' models/llama.lua >"$TMP/logits.lua"
    grep -q 'logits:argmax' "$TMP/logits.lua" || tell "models/llama.lua has another loss"
    logits="$TMP/logits.lua,${teacher#*,}"
    build half $student --set batch=6 --distill "$teacher" --check-stages
    build chunks $student --set batch=6 --distill "$teacher" --head-rows 37 --check-stages
    build parts $student --set batch=2 --set accumulate=3 --distill "$teacher" --check-stages
    build soft $student --set batch=6 --distill "$teacher,alpha=1,temperature=1"
    build own-logits "$TMP/logits.lua" $small --set loss_on=target --set batch=6 --distill "$teacher" --check-stages
    build both-logits "$TMP/logits.lua" $small --set loss_on=target --set batch=6 --distill "$logits"
    build its-logits $student --set batch=6 --distill "$logits" --check-stages
    build low $student --set batch=6 --distill "$teacher,alpha=0.3,temperature=4" --lora rank=4,alpha=8 --check-stages
    build low8 $student --set batch=6 --distill "$teacher,alpha=0.3,temperature=4" --lora rank=4,alpha=8 --frozen q8_0 --check-stages
    build exact $student --set batch=3 --set accumulate=2 --distill "$teacher,alpha=0.3,temperature=3" --precision fp64
}
as_pytorch half 1e-6 half $batch 3e-3
as_pytorch half 1e-6 chunks $batch 3e-3
as_pytorch half 1e-6 parts $with/parts.safetensors 3e-3
as_pytorch soft 1e-6 soft $batch 3e-3
as_pytorch half 1e-6 own-logits $batch 3e-3
as_pytorch half 1e-6 both-logits $batch 3e-3
as_pytorch half 1e-6 its-logits $batch 3e-3
as_pytorch low 1e-6 low $batch 1e-2 --adapter $with/adapter
as_pytorch low 2e-3 low8 $batch 1e-2 --adapter $with/adapter
must "$TMP/exact/trainer" selftest

# ---- on text: the teacher comes as a folder, a GGUF file, a checkpoint; all have one hash
mkdir "$TMP/teacher"
cp $with/config.json $with/model.safetensors $from/tokenizer.json "$TMP/teacher"
must "$LATHE" new "$TMP/published" --from "$TMP/teacher"
big="$TMP/published/model.lua"
build big "$big"
must "$TMP/big/trainer" export --to gguf --weights "$TMP/teacher" --out "$TMP/teacher.gguf"
must "$TMP/big/trainer" init --init "$TMP/teacher" --out "$TMP/teacher.safetensors"
# shellcheck disable=SC2086
build text models/llama.lua $small --set pack=true --set batch=2 --set accumulate=2 --distill "$big"
trainer=$TMP/text/trainer text=tests/reference/low_rank/text.txt
hash_of() { sed -n 's/.*"hash": "\(.*\)".*/\1/p' "$1/checkpoints/step-$2/state.json"; }
for kind in teacher teacher.gguf teacher.safetensors; do
    must "$trainer" train --init $from --data $text --teacher "$TMP/$kind" --steps 20 --save-every 5 --set keep_last=0 --set warmup=2 --threads 2 --out "$TMP/run-$kind"
    grep -q 'teacher: model default, ' "$TMP/said" || tell "the banner has no teacher"
    cmp -s "$TMP/run-teacher/checkpoints/step-20/model.safetensors" "$TMP/run-$kind/checkpoints/step-20/model.safetensors" || tell "$kind: other bits"
    [ "$(hash_of "$TMP/run-teacher" 20)" = "$(hash_of "$TMP/run-$kind" 20)" ] || tell "$kind: another hash"
done
run=$TMP/run-teacher
must "$trainer" train --init $from --data $text --teacher "$TMP/teacher" --steps 20 --set warmup=2 --threads 1 --out "$TMP/one"
cmp -s "$run/checkpoints/step-20/model.safetensors" "$TMP/one/checkpoints/step-20/model.safetensors" || tell "one thread gives other bits"

# ---- killed, and resumed with what the checkpoint says of its teacher
"$trainer" train --init $from --data $text --teacher "$TMP/teacher" --steps 20 --save-every 1 --set warmup=2 --out "$TMP/killed" >"$TMP/said" 2>&1 &
process=$!
while kill -0 $process 2>/dev/null && [ ! -e "$TMP/killed/checkpoints/step-3" ]; do sleep 0.01; done
kill -KILL $process 2>/dev/null || true
wait $process || true
must "$trainer" train --resume --out "$TMP/killed"
for file in model optimizer; do
    cmp -s "$run/checkpoints/step-20/$file.safetensors" "$TMP/killed/checkpoints/step-20/$file.safetensors" || tell "a killed run has other bits"
done
must "$TMP/big/trainer" init --seed 3 --out "$TMP/other.safetensors"
refuse 3 'expected the teacher that the run began with, found other weights' "$trainer" train --resume --out "$TMP/killed" --steps 22 --teacher "$TMP/other.safetensors"
must "$trainer" train --resume="$run/checkpoints/step-15" --out "$TMP/moved" --teacher "$TMP/teacher.gguf"
cmp -s "$run/checkpoints/step-20/model.safetensors" "$TMP/moved/checkpoints/step-20/model.safetensors" || tell "the same teacher elsewhere gives other bits"
must "$trainer" train --resume="$TMP/run-teacher.gguf/checkpoints/step-15" --out "$TMP/again"
mv "$TMP/teacher.gguf" "$TMP/gone.gguf"
refuse 3 'the run had its teacher there: say where it is now, with --teacher PATH' "$trainer" train --resume="$TMP/run-teacher.gguf/checkpoints/step-15" --out "$TMP/again"

# ---- what is written has the student alone, and what it is without a teacher
# shellcheck disable=SC2086
build plain models/llama.lua $small --set pack=true --set batch=2 --set accumulate=2
names() { head -c 20000 "$1" | tr ',{' '\n\n' | grep -a -o '^"[a-z][^"]*\.[^"]*":' | sort; }
must "$TMP/plain/trainer" init --init $from --out "$TMP/plain.safetensors"
names "$TMP/plain.safetensors" >"$TMP/wanted"
names "$run/checkpoints/step-20/model.safetensors" >"$TMP/found"
cmp -s "$TMP/wanted" "$TMP/found" || tell "a checkpoint has other tensors: $(diff "$TMP/wanted" "$TMP/found")"
must "$trainer" export --to hf --weights "$run" --out "$TMP/hf"
must "$TMP/plain/trainer" export --to hf --weights "$run" --out "$TMP/hf-plain"
cmp -s "$TMP/hf/model.safetensors" "$TMP/hf-plain/model.safetensors" || tell "other weights are exported"
loss() { "$@" --json 2>"$TMP/notes" | tr ',{' '\n\n' | sed -n 's/^"loss": *//p' | head -n 1; }
a=$(loss "$trainer" eval --out "$run" --val-fraction 1) b=$(loss "$TMP/plain/trainer" eval --out "$run" --val-fraction 1)
[ -n "$a" ] && [ "$a" = "$b" ] || { cat "$TMP/notes"; tell "evaluated: $a, without a teacher $b"; }
must "$trainer" generate --out "$run" --prompt "the" --tokens 5
must "$trainer" info
grep -q 'teacher model default: ' "$TMP/said" || tell "info has no teacher"
must "$LATHE" plan models/llama.lua --distill "$teacher,vocab=256"
grep -q 'and [0-9,]* of the teacher' "$TMP/said" && grep -q '^  teacher  *[0-9,]* bytes' "$TMP/said" || tell "the plan does not say what the teacher costs"

# ---- in blocks of 8 bits, as adapters' bases; several rows of other kinds of data; GPUs
wide="models/llama.lua,layers=2,heads=4,kv_heads=2,width=64,hidden=96,vocab=99,context=64"
build wide models/llama.lua --set vocab=99 --set layers=2 --set heads=4 --set kv_heads=2 --set width=64 --set hidden=96 --set context=64 --set seq=24
must "$TMP/wide/trainer" init --seed 4 --out "$TMP/wide.safetensors"
# shellcheck disable=SC2086
{
    build whole $student --set batch=6 --distill "$wide"
    build eight $student --set batch=6 --distill "$wide" --frozen q8_0 --check-stages
}
first() { "$TMP/$1/trainer" bench --weights $from --teacher "$TMP/wide.safetensors" --inputs $batch --steps 1 --json | sed 's/.*"losses":\[\([^],]*\).*/\1/'; }
a=$(first whole) b=$(first eight)
awk "BEGIN { exit !($a > 0 && $a != $b && $a / $b - 1 < 1e-3 && $b / $a - 1 < 1e-3) }" || tell "losses: $a with a teacher in fp32, $b in q8_0"
must "$LATHE" dump models/llama.lua --distill "$teacher,vocab=256" --after schedule
cp "$TMP/said" "$TMP/read.kernels"
must "$LATHE" dump "$TMP/read.kernels" --after schedule
must "$LATHE" check models/vit.lua --distill models/vit.lua --check-stages
must "$LATHE" build models/llama.lua --distill "$teacher,vocab=256" --target cuda --source -o "$TMP/cuda"

# ---- what does not fit
refuse 2 'give the weights of the teacher model with --teacher PATH' "$trainer" train --init $from --data $text --out "$TMP/none"
refuse 2 'this trainer has no teacher; build it with --distill TEACHER.lua' "$TMP/plain/trainer" train --init $from --data $text --teacher "$TMP/teacher" --out "$TMP/none"
refuse 3 'num_hidden_layers: expected 3, found 2' "$trainer" train --init $from --data $text --teacher $from --out "$TMP/none"
refuse 3 'README.md: error: expected a safetensors file' "$trainer" train --init $from --data $text --teacher README.md --out "$TMP/none"
refuse 3 'model.layers.0.input_layernorm.weight' "$trainer" train --init $from --data $text --teacher "$TMP/plain.safetensors" --out "$TMP/none"
mkdir "$TMP/letters"
cp $with/config.json $with/model.safetensors "$TMP/letters"
sed 's/"A": *34/"A": 35/; s/"B": *35/"B": 34/' $from/tokenizer.json >"$TMP/letters/tokenizer.json"
refuse 3 'found another token 34 in the tokenizer beside it' "$trainer" train --init $from --data $text --teacher "$TMP/letters" --out "$TMP/none"
cp -r "$TMP/run-teacher" "$TMP/plainly"
refuse 2 'the run has a teacher, ' "$TMP/plain/trainer" train --resume --out "$TMP/plainly" --steps 22
must "$TMP/plain/trainer" train --init $from --data $text --steps 2 --set warmup=1 --out "$TMP/alone"
must "$trainer" train --resume --out "$TMP/alone" --steps 3 --teacher "$TMP/teacher"
grep -q 'the run had no teacher so far' "$TMP/said" || tell "a run gets a teacher silently"
refuse 2 'a teacher keeps it above' "$trainer" train --init $from --data $text --teacher "$TMP/teacher" --overfit --out "$TMP/none"
must "$trainer" train --init $from --data $text --teacher "$TMP/teacher" --dry-run
! grep -q 'random guessing' "$TMP/said" || tell "random guessing with a teacher"
refuse 2 '--gpus 2: --distill trains in one process' "$LATHE" plan models/llama.lua --distill "$teacher,vocab=256" --target cuda --gpus 2
LC_ALL=C sed 's/\(tokenizer.ggml.pre............\)[a-z]/\1Z/' "$TMP/gone.gguf" >"$TMP/unread.gguf"
must "$trainer" train --init $from --data $text --teacher "$TMP/unread.gguf" --steps 1 --set warmup=0 --out "$TMP/unread"
grep -q 'its tokens were not compared' "$TMP/said" || tell "tokens of a kind that is not read"

# ---- a damaged checkpoint is no teacher
must "$TMP/big/trainer" train --init "$TMP/teacher" --data $text --steps 1 --set warmup=0 --out "$TMP/big-run"
must "$trainer" train --init $from --data $text --teacher "$TMP/big-run" --steps 1 --set warmup=0 --out "$TMP/from-run"
damaged=$TMP/big-run/checkpoints/step-1/model.safetensors
printf '\001' | dd of="$damaged" bs=1 seek=$(($(wc -c <"$damaged") - 6)) conv=notrunc 2>/dev/null
refuse 3 'model.safetensors: error: ' "$trainer" train --init $from --data $text --teacher "$TMP/big-run" --steps 1 --set warmup=0 --out "$TMP/none"
grep -q 'damaged\|checksum' "$TMP/said" || tell "what is wrong with a damaged teacher"

# ---- classes and columns mean the same: a table of three kinds, whose columns have scales
cat >"$TMP/kinds.lua" <<'END'
return {
  config = { numbers = 2, categories = 0, levels = 1, classes = 9, width = 8, batch = 8 },
  forward = function(c, input)
    local logits = nn.linear(nn.relu(nn.linear(input.numbers, { out = c.width })), { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 3 },
  data = data.table { target = "kind" },
}
END
awk 'BEGIN { print "x,y,kind"; for (i = 0; i < 90; i++) print i * 7 % 31 / 4 "," i * 5 % 17 / 3 "," substr("abc", i % 3 + 1, 1) }' >"$TMP/kinds.csv"
sed 's/b$/z/; s/a$/b/' "$TMP/kinds.csv" >"$TMP/others.csv"
awk -F , -v OFS=, 'NR > 1 { $2 *= 2 } { print }' "$TMP/kinds.csv" >"$TMP/scaled.csv"
must "$LATHE" train "$TMP/kinds.lua" --set width=16 -o "$TMP/kinds-big" --data "$TMP/kinds.csv" --out "$TMP/kinds-run"
lesson="$TMP/kinds.lua,width=16"
must "$LATHE" train "$TMP/kinds.lua" --distill "$lesson" -o "$TMP/kinds" --data "$TMP/kinds.csv" --teacher "$TMP/kinds-run" --out "$TMP/kinds-student"
refuse 3 'with the same scales and values, found another "kind"' "$TMP/kinds/trainer" train --data "$TMP/others.csv" --teacher "$TMP/kinds-run" --out "$TMP/none"
refuse 3 'with the same scales and values, found another "y"' "$TMP/kinds/trainer" train --data "$TMP/scaled.csv" --teacher "$TMP/kinds-run" --out "$TMP/none"
must "$TMP/kinds/trainer" train --data "$TMP/scaled.csv" --init "$TMP/kinds-student" --teacher "$TMP/kinds-run" --out "$TMP/scaled"

# texts with labels, whose names a checkpoint has in classes.json, and Hugging Face's in id2label
cat >"$TMP/labels.lua" <<'END'
return {
  config = { vocab = 256, seq = 8, classes = 2, width = 8, batch = 4, tokenizer = "bytes" },
  inputs = { tokens = { "i32", "seq", below = "vocab" }, label = { "i32", below = "classes", target = true } },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width }):mean(1)
    local logits = nn.linear(x, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.label), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 3 },
  data = function(c) return data.sentences { text = "text", target = "label", tokenizer = c.tokenizer } end,
}
END
awk 'BEGIN { for (i = 0; i < 40; i++) print "{\"text\": \"row " i "\", \"label\": \"" (i % 2 ? "a" : "b") "\"}" }' >"$TMP/labels.jsonl"
sed 's/"b"}/"z"}/' "$TMP/labels.jsonl" >"$TMP/swapped.jsonl"
must "$LATHE" train "$TMP/labels.lua" --set width=16 -o "$TMP/labels-big" --data "$TMP/labels.jsonl" --out "$TMP/labels-run"
must "$LATHE" train "$TMP/labels.lua" --distill "$TMP/labels.lua,width=16" -o "$TMP/labels" --data "$TMP/labels.jsonl" --teacher "$TMP/labels-run" --out "$TMP/labels-student"
refuse 3 'in their order (a, z), found a, b' "$TMP/labels/trainer" train --data "$TMP/swapped.jsonl" --teacher "$TMP/labels-run" --out "$TMP/none"
mkdir "$TMP/labels-hf"
cp "$TMP/labels-run/model.safetensors" "$TMP/labels-hf"
echo '{"id2label": {"0": "b", "1": "a"}}' >"$TMP/labels-hf/config.json"
refuse 3 'in their order (a, b), found b, a' "$TMP/labels/trainer" train --data "$TMP/labels.jsonl" --teacher "$TMP/labels-hf/model.safetensors" --out "$TMP/none"
