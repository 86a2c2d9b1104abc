# row_weights.sh: a row of weight w counts in the loss as w equal rows do, in tables and CSVs, whatever the batches and
# micro-batches; predictions need no weights.
set -eu
. tests/models/common
top=$PWD
case $LATHE in /*) ;; *) LATHE=$PWD/$LATHE ;; esac
cd "$TMP"
awk 'BEGIN { print "x,c,count,y"; for (r = 0; r < 113; r++) printf "%d,k%d,%d,%g\n", r % 13, r % 3, r * r % 4, r % 13 * 2 + r % 3 + (r % 7 ? 0 : 9) }' >t.csv
# repeated FILE COLUMN: each row as often as its weight says, each with weight 1.
repeated() { awk -F , -v "k=$2" 'BEGIN { OFS = "," } NR == 1 { print; next } { n = $k; $k = 1; while (n-- > 0) print }' "$1"; }
loss() { sed -n 's/.*"loss":\([^,]*\),.*/\1/p' said; }
same() { echo "$1 $2" | awk '{ exit !(NF == 2 && ($1 - $2) ^ 2 <= 1e-10 * $1 * $1) }'; }
other() { ! same "$1" "$2"; }

tabular="$top/models/tabular.lua"
must "$LATHE" train "$tabular" --set target=y --set weight=count --data t.csv -o built --out run --set steps=10 --set layers=1 --set width=16 --set batch=16 --set dropout=0
repeated t.csv 3 >many.csv
must built/trainer eval --out run --data t.csv --val-fraction 1 --json
weighted=$(loss)
must built/trainer eval --out run --data many.csv --val-fraction 1 --json
same "$weighted" "$(loss)" || tell "loss $weighted of weighted rows"
sed '2,$s/^\([^,]*,[^,]*\),[^,]*,/\1,1,/' t.csv >even.csv
must built/trainer eval --out run --data even.csv --val-fraction 1 --json
other "$weighted" "$(loss)" || tell "loss $weighted whatever the weights"

# The whole batch weighs, however it is cut.
must "$LATHE" build "$tabular" --set target=y --set weight=count --set numbers=1 --set categories=1 --set levels=4 --set classes=0 --set layers=1 --set width=16 \
    --set batch=4 --set accumulate=4 --set dropout=0 -o parts
must built/trainer train --data t.csv --out whole --steps 12 --set log_every=1
must parts/trainer train --data t.csv --out parts --steps 12 --set log_every=1
for run in whole parts; do sed -n 's/.*"step":\([0-9]*\),.*"loss":\([^,]*\),.*/\1 \2/p' $run/metrics.jsonl >$run.losses; done
[ "$(wc -l <whole.losses)" -ge 12 ] || tell "losses of steps"
paste -d ' ' whole.losses parts.losses | awk '$1 != $3 || ($2 - $4) ^ 2 > 1e-8 * $2 * $2 { print; exit 1 }' >said || tell "other losses in parts"
cut -d , -f 1,2 t.csv >new.csv
must built/trainer predict --data new.csv --weights run --out p.csv
[ "$(wc -l <p.csv)" = 114 ] || tell "predictions without weights"

# Numbers in a CSV: the weight is no feature, wherever it stands.
cat >rows.lua <<'E'
return {
  config = { features = 2, classes = 3, batch = 8, steps = 20 },
  forward = function(c, input)
    local logits = nn.linear(input.features, { name = "head", out = c.classes })
    return nn.weighted_mean(nn.cross_entropy(logits, input.targets, { reduction = "none" }), input.weight), { logits = logits }
  end,
  train = function(c) return { optimizer = optim.adamw { lr = 1e-2 }, steps = c.steps } end,
  data = data.csv { target = "class", weight = "w" },
}
E
awk 'BEGIN { print "w,a,class,b"; for (r = 0; r < 61; r++) printf "%d,%d,%d,%d\n", r * r % 5, r % 7, r % 3, r % 4 }' >n.csv
must "$LATHE" train rows.lua --data n.csv -o rows --out n
must rows/trainer eval --out n --data n.csv --val-fraction 1 --json
weighted=$(loss)
repeated n.csv 1 >many.csv
must rows/trainer eval --out n --data many.csv --val-fraction 1 --json
same "$weighted" "$(loss)" || tell "loss $weighted of weighted rows of numbers"
must rows/trainer predict --data n.csv --weights n --out p.csv
cut -d , -f 2,4 n.csv >new.csv
must rows/trainer predict --data new.csv --weights n --out q.csv
cmp p.csv q.csv || tell "predictions depend on weights"

# So do weights of classes: many batches have the loss of one.
sed 's/nn.weighted_mean(nn.cross_entropy(logits, input.targets, { reduction = "none" }), input.weight)/nn.cross_entropy(logits, input.targets, { weight = nn.constant { 1, 2, 3 } })/
    s/, weight = "w"//' rows.lua >classes.lua
cut -d , -f 2- n.csv >k.csv
must "$LATHE" train classes.lua --data k.csv -o classes --out k
must "$LATHE" build classes.lua --set batch=61 -o classes61
must classes/trainer eval --out k --data k.csv --val-fraction 1 --json
weighted=$(loss)
must classes61/trainer eval --out k --data k.csv --val-fraction 1 --json
echo "$weighted $(loss)" | awk '{ exit !(NF == 2 && ($1 - $2) ^ 2 < 1e-10) }' || tell "loss $weighted of eight batches"

sed '4s/^\([^,]*,[^,]*\),[^,]*,/\1,-1,/' t.csv >bad.csv
refuse 3 'bad.csv:4, column "count": error: expected a weight of 0 or more, found -1' built/trainer train --data bad.csv
sed '4s/^\([^,]*,[^,]*\),[^,]*,/\1,,/' t.csv >bad.csv
refuse 3 'bad.csv:4, column "count": error: expected the weight of the row, found none' built/trainer train --data bad.csv
refuse 3 't.csv: error: expected a column "counts" (the weights of rows) among the 4: "x", "c", "count", "y"; did you mean "count"?' built/trainer train --data t.csv --set row_weight=counts
sed '3s/^[^,]*/-2/' n.csv >bad.csv
refuse 3 'column "w": expected a weight of 0 or more, found -2' rows/trainer train --data bad.csv
refuse 3 'expected a column "w" (the weights of rows) among the 2 that the first line names' rows/trainer train --data new.csv --set csv_target=b
must "$LATHE" build "$top/models/mlp.lua" --set features=2 -o mlp
refuse 2 'row_weight=w: mlp does not read the weights of rows' mlp/trainer train --data n.csv --set row_weight=w
sed 's/, weight = "w"//' rows.lua >none.lua
refuse 1 'there is no input.weight; it exists where data.csv or data.table says which column it is' "$LATHE" check none.lua
