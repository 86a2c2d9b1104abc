# ids.sh: ids out of range at run time: code 3 where the data holds them, 1 where the model has computed them; layer, line, id
# and range are named, the same for any threads, in training and in evaluation; what is saved stays.
set -eu
. tests/checks
# table FIRST LAST ROW VALUE: 100 rows, the column going round from FIRST to LAST, but VALUE in ROW
table() {
    awk -v a="$1" -v b="$2" -v row="$3" -v x="$4" 'BEGIN {
        print "a,b,class"
        for (i = 0; i < 100; i++) print (i == row ? x : a + i % (b - a + 1)) ",1." i "," i % 3
    }'
}
model="$LATHE build tests/models/ids.lua"
must $model -o "$TMP/ids"
trainer="$TMP/ids/trainer"
table 0 9 -1 0 >"$TMP/good.csv"
must "$trainer" train --data "$TMP/good.csv" --out "$TMP/run" --steps 5
grep -q '_id(' "$TMP/ids/model.c" || tell "nothing is checked"
grep -q 'computed_id(.*gather' "$TMP/ids/model.c" || tell "computed ids are not checked"

table 0 9 7 10 >"$TMP/high.csv"
table 0 9 7 -4 >"$TMP/low.csv"
for threads in 1 3; do
    refuse 3 'ids.lua:8: error: gather in embedding .entry train.: expected ids 0 to 9, found 10, .*the data' \
        "$trainer" train --data "$TMP/high.csv" --out "$TMP/none" --steps 60 --threads $threads
    refuse 3 'ids.lua:8: .* found -4' "$trainer" train --data "$TMP/low.csv" --out "$TMP/none" --steps 60 --threads $threads
done
refuse 3 'ids.lua:8: .*entry train.* found 10' "$trainer" train --resume --data "$TMP/high.csv" --out "$TMP/run" --steps 60
must "$trainer" eval --data "$TMP/good.csv" --out "$TMP/run"
table 0 9 97 12 >"$TMP/late.csv" # a row that is kept for evaluation
refuse 3 'ids.lua:8: .*entry eval.*: expected ids 0 to 9, found 12' "$trainer" eval --data "$TMP/late.csv" --out "$TMP/run"

must $model --set top=5 -o "$TMP/top"
refuse 1 'ids.lua:11: error: gather .entry train.: expected ids 0 to 3, found 4, which the model computed' \
    "$TMP/top/trainer" train --data "$TMP/good.csv" --out "$TMP/none"
must $model --set back=true --set rows=9 -o "$TMP/back" # gather and scatter_add meet it
refuse 3 'ids.lua:8: .*: expected ids 0 to 8, found 9' "$TMP/back/trainer" train --data "$TMP/good.csv" --out "$TMP/none" --steps 60

# data that is checked where it enters is not checked again
must "$LATHE" build models/gpt.lua --config char --set layers=1 --set width=16 --set heads=2 --set seq=8 --set batch=2 -o "$TMP/gpt"
! grep -q '_id(' "$TMP/gpt/model.c" || tell "tokens are checked twice"
