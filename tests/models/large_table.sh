# large_table.sh: a table that is too large for memory, here 8 KB, lies in a file but for that: under every split, resumed, of
# weights, as a table or a CSV, it gives the bits of one in memory; nothing of it is left, and a disk that is full is told.
set -eu
. tests/models/common
top=$PWD
case $LATHE in /*) ;; *) LATHE=$PWD/$LATHE ;; esac
cd "$TMP"
mkdir rows

awk 'BEGIN { srand(3); print "who,a,b,town,w,class"
    for (r = 0; r < 40000; r++) { x = int(400 * rand()); y = int(30 * rand())
        print "p" int(90 * rand()) "," x "," (y % 7 ? y : "") "," (x % 3 ? "Bern" : "Zug") "," int(4 * rand()) "," (x + 9 * y > 330 ? "high" : "low") } }' >t.csv
must "$LATHE" train "$top/models/tabular.lua" --set target=class --set weight=w --set group=who --set split=group --set width=8 \
    --data t.csv -o built --out build --steps 1

# both OUT WORDS…: trains in memory, and from a file, in two halves.
both() {
    out=$1
    shift
    must built/trainer train --data t.csv --set group=who --steps 60 --set schedule_steps=60 --out "memory-$out" "$@"
    must env LATHE_TABLE_MEMORY=8K TMPDIR="$TMP/rows" built/trainer train --data t.csv --set group=who --steps 30 --set schedule_steps=60 --out "file-$out" "$@"
    must env LATHE_TABLE_MEMORY=8K TMPDIR="$TMP/rows" built/trainer train --resume --steps 60 --set schedule_steps=60 --out "file-$out"
    for name in model.safetensors table.json; do cmp "memory-$out/$name" "file-$out/$name" || tell "$out: another $name"; done
    must built/trainer eval --json --out "memory-$out"
    sed 's/,"weights".*//' said >expected
    must env LATHE_TABLE_MEMORY=8K TMPDIR="$TMP/rows" built/trainer eval --json --out "file-$out"
    sed 's/,"weights".*//' said | cmp - expected || tell "$out: another evaluation"
    [ -z "$(ls rows)" ] || tell "$out left $(ls rows)"
}
both last --set split=last
both hash --set split=hash
both group --set split=group
both stratified --set split=stratified
both fold --fold 2/3
must built/trainer predict --data t.csv --weights memory-last --out p.csv
must env LATHE_TABLE_MEMORY=8K TMPDIR="$TMP/rows" built/trainer predict --data t.csv --weights memory-last --out q.csv
cmp p.csv q.csv || tell "other predictions"

# The memory is the limit's and a megabyte more, of about two; the file is gone as soon as it is there.
LATHE_TABLE_MEMORY=8K TMPDIR="$TMP/rows" built/trainer train --data t.csv --set group=who --steps 1000000 --set eval_every=0 --out killed >said 2>&1 &
run=$!
for wait in $(seq 600); do ! grep -q 'step 1/' said || break; sleep 0.1; done
grep -q 'step 1/' said || tell "no step"
grep -q '([0-9.]* MB beside it' said && grep -q '(1\.[0-9]* MB beside it' said || tell "the memory"
[ -z "$(ls rows)" ] || tell "a running one has $(ls rows)"
kill -KILL $run
wait $run || true
refuse 3 'need a temporary file here, which cannot be made: no such file or directory; name a folder with room in TMPDIR' \
    env LATHE_TABLE_MEMORY=8K TMPDIR="$TMP/none" built/trainer train --data t.csv --set group=who --out other
(ulimit -f 1; trap '' XFSZ; refuse 3 'which cannot be written: file too large; name a folder with room' \
    env LATHE_TABLE_MEMORY=8K TMPDIR="$TMP/rows" built/trainer train --data t.csv --set group=who --out other)
refuse 2 'LATHE_TABLE_MEMORY=much: expected a number of bytes' env LATHE_TABLE_MEMORY=much built/trainer train --data t.csv --set group=who --out other

# A CSV of numbers.
awk -F , 'NR == 1 { print "x,y,class"; next } { print $2 / 400 "," $3 / 30 "," ($6 == "high") }' t.csv >n.csv
cat >numbers.lua <<'EOF'
return {
  config = { features = 2, classes = 2, batch = 16 },
  forward = function(c, input)
    local logits = nn.linear(input.features, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.adamw { lr = 1e-2 }, steps = 60 },
  data = data.csv { target = "class", val_fraction = 0.2, split = "stratified" },
}
EOF
must "$LATHE" train numbers.lua --data n.csv -o numbers --out n-memory
must env LATHE_TABLE_MEMORY=1K TMPDIR="$TMP/rows" numbers/trainer train --data n.csv --out n-file
cmp n-memory/model.safetensors n-file/model.safetensors || tell "other weights of a CSV"
