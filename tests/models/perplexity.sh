# perplexity.sh: where the loss has other terms, perplexity is of the output cross_entropy alone.
set -eu
. tests/models/common
must() { timeout 200 "$@" >"$TMP/said" 2>"$TMP/errors" || { cat "$TMP/errors"; tell "exit code $?: $*"; }; }
number() { sed -n "s/.*\"$1\":\([-0-9.e]*\).*/\1/p" "$2" | tail -n 1; }

seq 1 400 | tr '\n' ' ' >"$TMP/text.txt"
must "$LATHE" build models/llama.lua --set kind=mixtral --set experts=4 --set balance=2.0 --set layers=1 --set width=16 \
    --set heads=2 --set kv_heads=1 --set hidden=16 --set seq=16 --set batch=2 --set vocab=256 --set tokenizer=bytes -o "$TMP/built"
must "$TMP/built/trainer" train --data "$TMP/text.txt" --out "$TMP/run" --steps 2
must "$TMP/built/trainer" eval --data "$TMP/text.txt" --weights "$TMP/run" --json
loss=$(number loss "$TMP/said") entropy=$(number cross_entropy "$TMP/said") perplexity=$(number perplexity "$TMP/said")
awk "BEGIN { d = $perplexity / exp($entropy) - 1; exit !(d < 1e-4 && d > -1e-4 && $loss > $entropy + 1) }" ||
    tell "perplexity $perplexity, cross entropy $entropy, loss $loss"
