# summaries.sh: models/pointer_generator.lua and models/seq2seq.lua train on pairs, stop and go on to the same bytes, and learn to
# copy: the loss of a target that stands in the source falls far below what its letters alone would give.
set -eu
awk 'BEGIN {
    print "source\ttarget"
    for (i = 0; i < 1200; i++) {
        for (word = ""; length(word) < 3; x = (x * 1103515245 + 12345) % 2147483648) word = word substr("abcdefghijklmnop", int(x / 65536) % 16 + 1, 1)
        print "say " word "\t" word
    }
}' >"$TMP/pairs.tsv"
. tests/models/common
loss() { sed -n '/"split":"val"/s/.*"loss":\([0-9.]*\),.*/\1/p' "$1/metrics.jsonl" | tail -n 1; }

# train NAME BOUND SETTINGS…: in one piece, and in two; the loss ends below BOUND
train() {
    name=$1 bound=$2
    shift 2
    must "$LATHE" build "models/$name.lua" --config tiny --set vocab=259 --set source_seq=8 --set seq=5 --set batch=16 "$@" -o "$TMP/$name"
    trainer="$TMP/$name/trainer" run="$TMP/$name-run"
    must "$trainer" train --data "$TMP/pairs.tsv" --set eval_every=100 --out "$run" --threads 1
    must "$trainer" train --data "$TMP/pairs.tsv" --set eval_every=100 --out "$run-2" --steps 70 --set schedule_steps=300
    must "$trainer" train --resume --out "$run-2" --steps 300
    cmp "$run/checkpoints/step-300/model.safetensors" "$run-2/checkpoints/step-300/model.safetensors" || tell "$name: not the same bytes"
    must "$trainer" eval --out "$run" --json
    grep -q '"accuracy":' "$TMP/said" || tell "$name: no accuracy"
    awk "BEGIN { exit !($(loss "$run") < $bound) }" || tell "$name: loss $(loss "$run")"
    echo "note: $name: loss $(loss "$run")"
}
# three letters of sixteen and an end: 2.08 a token
train pointer_generator 1.2 --set steps=300 --set width=16 --set hidden=24 --set layers=1 --set lr=1e-2 --set dropout=0.0
train seq2seq 1.2 --set steps=300 --set width=32 --set hidden=64 --set lr=5e-3
