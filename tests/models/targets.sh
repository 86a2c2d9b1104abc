# targets.sh: several numbers of a table are predicted at once, each in its own units, and measured each by itself.
set -eu
. tests/models/common
top=$PWD
case $LATHE in /*) ;; *) LATHE=$PWD/$LATHE ;; esac
cd "$TMP"
awk 'BEGIN { print "rent,x,city,\"rooms, all\",id"; for (r = 0; r < 300; r++) { x = r * 7 % 50; c = r % 3
    printf "%.2f,%d,c%d,%.3f,h%d\n", 1000 * c + 20 * x + 5, x, c, 0.01 * x + 0.1 * c, r } }' >t.csv
tabular="$top/models/tabular.lua"
sed '1s/"rooms, all"/rooms/' t.csv >rows.csv
must "$LATHE" train "$tabular" --set target=rooms,rent --data rows.csv -o built --out run --set steps=300 --set layers=1 --set width=32 --set dropout=0
grep -q 'target "rent": a number, "rooms": a number' said || tell "the targets"
must built/trainer eval --out run --json
cp said scores
must built/trainer eval --out run
grep -q '^rent: rmse .* | mae .* | r2 0\.9.*; over all 60 rows$' said && grep -q '^rooms: rmse .* | r2 0\.9' said || tell "a line for each target"

# Predictions have the order of the columns, names and units of the targets; metrics are theirs.
cut -d , -f 2,3 rows.csv >new.csv
must built/trainer predict --data new.csv --weights run --out p.csv
head -n 1 p.csv | grep -qx 'prediction of rent,prediction of rooms' || tell "$(head -n 1 p.csv)"
paste -d , rows.csv p.csv | tail -n 60 | awk -F , '{ for (k = 0; k < 2; k++) { y = $(k ? 4 : 1); d = y - $(6 + k); e[k] += d * d; a[k] += d < 0 ? -d : d; s[k] += y; q[k] += y * y; n[k]++ } }
    END { for (k = 0; k < 2; k++) printf "%.7g %.7g %.7g\n", sqrt(e[k] / n[k]), a[k] / n[k], 1 - e[k] / (q[k] - s[k] * s[k] / n[k]) }' >expected
sed -n 's/.*"metrics":{"rent":{"rmse":\([^,]*\),"mae":\([^,]*\),"r2":\([^,]*\),[^}]*},"rooms":{"rmse":\([^,]*\),"mae":\([^,]*\),"r2":\([^,]*\),[^}]*}}.*/\1 \2 \3\n\4 \5 \6/p' scores |
    paste -d ' ' - expected | awk '{ for (i = 1; i <= 3; i++) if (($i - $(i + 3)) ^ 2 > 1e-10 * $i * $i) bad = 1 } END { exit bad || NF != 6 || NR != 2 }' || tell "metrics $(cat scores), by the predictions $(cat expected)"
must built/trainer predict --data new.csv --weights run --out p.jsonl
[ "$(sed -n '7s/.*\[\(.*\)\].*/\1/p' p.jsonl)" = "$(sed -n 8p p.csv)" ] || tell "another row 6 in JSON: $(sed -n 7p p.jsonl)"
must built/trainer predict --data new.csv --weights run --out p.npy
[ "$(wc -c <p.npy)" = $((128 + 300 * 8)) ] || tell "an array of two columns"

# Means are of the training part, a target's name may have a comma if it is alone, and runs resume to the same bits.
tr '{' '\n' <run/table.json | sed -n 's/.*"name":"rooms".*"mean":\[\([^]]*\)\].*/\1/p' >mean
head -n 241 rows.csv | awk -F , 'NR > 1 { s += $4 } END { printf "%.9g\n", s / 240 }' | paste -d ' ' mean - | awk '{ exit !(($1 - $2) ^ 2 < 1e-12) }' || tell "mean $(cat mean)"
must built/trainer train --data rows.csv --out halves --steps 40 --set schedule_steps=300 --threads 1
must built/trainer train --resume --out halves --steps 300
cmp run/model.safetensors halves/model.safetensors || tell "other bits after resuming"
must "$LATHE" train "$tabular" --set 'target=rooms, all' --data t.csv -o one --out one-run --set steps=3 --set layers=1 --set width=8
grep -q 'target "rooms, all": a number' said || tell "a target with a comma"

refuse 3 'target: there is no column "rums" among the 5' "$LATHE" train "$tabular" --set target=rent,rums --data rows.csv
refuse 3 'column "city": error: expected a number in each row, since there are 2 targets, found "c0"; a table has one target of classes, or several of numbers' "$LATHE" train "$tabular" --set target=rent,city --data rows.csv
refuse 3 'since there are 2 targets, found task=class; a table has' "$LATHE" train "$tabular" --set target=rent,rooms --set task=class --data rows.csv
refuse 3 'the data has 1 targets, and this trainer was built for 2' built/trainer train --data rows.csv --set csv_target=rent --set drop=rooms --out other
refuse 2 'split=stratified divides each class alike, but the target is a number' built/trainer train --data rows.csv --set split=stratified --out other
sed '5s/^[^,]*/NA/' rows.csv >bad.csv
refuse 3 'bad.csv:5, column "rent": error: expected a value of the target in each row' built/trainer train --data bad.csv --out other
