# plan_texts.sh: the states of decode are planned for runs that write texts, and only for these; a run that is told to by
# --set takes them beside its plan, says so, and trains to the same bits.
set -u
failed=0
wrong() { echo "failed: $*"; failed=1; }
cp models/gpt.lua "$TMP/gpt.lua"
cat >"$TMP/writes.lua" <<'END'
local model = require "gpt"
local train = model.train
model.train = function(c)
  local t = train(c)
  t.samples = { "a" }
  return t
end
return model
END
sizes='--set layers=2 --set width=32 --set heads=2 --set batch=2 --set seq=32 --set vocab=256'
for model in gpt writes; do
    "$LATHE" build "$TMP/$model.lua" $sizes -o "$TMP/$model" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
done
bytes() { sed -n "s/^ *$2 *\([0-9,]*\) bytes.*/\1/p" "$TMP/$1/plan.txt" | head -n 1 | tr -d ,; }
total() { sed -n 's/^memory of [^:]*: \([0-9,]*\) bytes.*/\1/p' "$TMP/$1/plan.txt" | tr -d ,; }
[ "$(bytes gpt states)$(bytes gpt generation)" = 00 ] || wrong 'states are planned that no run uses'
[ "$(bytes writes states)" = $((2 * 2 * 32 * 32 * 4)) ] || wrong "$(bytes writes states) bytes for keys and values"
"$LATHE" build "$TMP/writes.lua" $sizes --cache bf16 -o "$TMP/halves" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
[ "$(bytes halves states)" = $((2 * 2 * 32 * 32 * 2)) ] || wrong "$(bytes halves states) bytes for keys and values in bf16"
[ $(($(total writes) - $(total gpt))) = $(($(bytes writes states) + $(bytes writes generation))) ] ||
    wrong 'the totals differ by something else'

awk 'BEGIN { for (i = 0; i < 900; i++) print "the cat sat on mat " i * 7919 % 1000 }' >"$TMP/t.txt"
run() { # NAME OPTION …: a run of a trainer; its memory as told
    name=$1 model=$2
    shift 2
    "$TMP/$model/trainer" train --data "$TMP/t.txt" --steps 4 --eval-every 2 --set lr=0.01 --out "$TMP/$name" "$@" \
        >"$TMP/$name.log" 2>&1 || { cat "$TMP/$name.log"; wrong "$name did not train"; }
    sed -n 's/.*threads\{0,1\}, \([0-9.]* [kMG]*B\) of memory.*/\1/p' "$TMP/$name.log"
}
without=$(run plain gpt) with=$(run foreseen writes)
told=$(run told gpt --set samples='["a"]')
[ -n "$with" ] && [ "$told" = "$with" ] && [ "$told" != "$without" ] || wrong "memory told: $without, $with, $told"
for name in foreseen told; do
    cmp -s "$TMP/plain/model.safetensors" "$TMP/$name/model.safetensors" || wrong "$name has other weights"
done
for name in foreseen told; do grep '^sample\|^|' "$TMP/$name.log" >"$TMP/$name.texts"; done
[ -s "$TMP/told.texts" ] && cmp -s "$TMP/foreseen.texts" "$TMP/told.texts" || { cat "$TMP/told.log"; wrong 'the samples differ'; }
exit $failed
