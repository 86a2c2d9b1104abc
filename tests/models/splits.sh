# splits.sh: rows are divided by hash, group, class and in folds, alike in training, evaluation and after resuming, with
# statistics of the training part alone; equal rows on both sides are told, and another split on resuming is refused.
set -eu
. tests/models/common
. tests/npy
top=$PWD
case $LATHE in /*) ;; *) LATHE=$PWD/$LATHE ;; esac
must "$LATHE" build tests/models/digits.lua --set image=1 --set classes=7 -o "$TMP/digits"
must "$LATHE" build models/mlp.lua --set features=2 --set classes=7 --set batch=8 -o "$TMP/mlp"
cd "$TMP"

# 203 rows: a person p0 … p30, a city which the person lives in, a size that tells the city's number, a class.
awk 'BEGIN { print "id,who,city,size,kind"; for (r = 0; r < 203; r++) { who = (r * r + 3 * r) % 31; city = who % 7
    printf "h%d,p%d,c%d,%d,%s\n", r, who, city, 100 * city + r % 5, (r % 11 < 2) ? "rare" : (r % 3) ? "a" : "b" } }' >rows.csv
must "$LATHE" train "$top/models/tabular.lua" --set target=city --data rows.csv -o city --out r0 --set steps=6 --set batch=16 --set layers=1 --set width=16
must "$LATHE" build "$top/models/tabular.lua" --set target=kind --set numbers=1 --set categories=2 --set levels=40 --set classes=3 --set batch=16 --set layers=1 --set width=16 -o kind

# counts: the rows of each class in the evaluation that was said as JSON.
counts() { sed -n '/"confusion"/{s/.*"confusion":\[\[\(.*\)\]\].*/\1/; s/\],\[/ /g; p}' said | tr -d '"' | awk '{ for (i = 1; i <= NF; i++) { k = split($i, x, ","); s = 0
    for (j = 1; j <= k; j++) s += x[j]; printf "%s%d", (i > 1 ? " " : ""), s } print "" }'; }
# of_folds N TRAINER ARGUMENTS…: a line of counts for each fold.
of_folds() {
    n=$1 program=$2
    shift 2
    for k in $(seq "$n"); do must "$program" eval --data rows.csv --out r0 --json --fold "$k/$n" "$@"; counts; done
}
# covers FILE: together the folds have each row once, as the file has them.
covers() { awk '{ for (i = 1; i <= NF; i++) s[i] += $i } END { for (i = 1; i <= NF; i++) printf "%s%d", (i > 1 ? " " : ""), s[i]; print "" }' "$1"; }
must city/trainer eval --data rows.csv --out r0 --json --val-fraction 1
all=$(counts)
[ "$all" = "$(awk -F , 'NR > 1 { n[$3]++ } END { for (i = 0; i < 7; i++) printf "%s%d", (i ? " " : ""), n["c" i]; print "" }' rows.csv)" ] || tell "counts $all"
for by in last hash stratified "group --set group=who" "group --set group=city"; do
    # shellcheck disable=SC2086
    of_folds 5 city/trainer --set split=$by >folds
    [ "$(covers folds)" = "$all" ] || tell "split=$by: folds have $(covers folds), the data $all"
done
awk '{ for (i = 1; i <= NF; i++) c[i] += $i > 0 } END { for (i = 1; i <= NF; i++) if (c[i] != 1) exit 1 }' folds || tell "a city in two folds: $(cat folds)"
of_folds 5 city/trainer --set split=stratified >folds
echo "$all" | cat - folds | awk 'NR == 1 { for (i = 1; i <= NF; i++) all[i] = $i; next } { s = 0
    for (i = 1; i <= NF; i++) { s += $i; if ($i < int(all[i] / 5) || $i > int((all[i] + 4) / 5)) exit 1 }
    if (s != 40 && s != 41) exit 1 }' || tell "classes are not divided alike: $(cat folds)"

# A run remembers its split: eval has the part that the run kept; scales are of the rows that it trained on; the bits do
# not depend on threads or on being resumed.
must city/trainer train --data rows.csv --out g --set split=group --set group=city --set steps=40 --threads 1
grep -q 'to evaluate (by group city)' said || tell "the split is told"
grep -q 'column "city" is the group' said && tell "the target is no input"
must city/trainer eval --out g --json
counts >kept
must city/trainer eval --out g --data rows.csv --json
[ "$(cat kept)" = "$(counts)" ] || tell "another part of the same file: $(counts), not $(cat kept)"
sed 's/.*"name":"size","kind":"number","flagged":false,"mean":\[\([^]]*\)\].*/\1/' g/table.json >mean
awk -F , 'NR == FNR { n = split($1, held, " "); next } FNR == 1 { next }
    { if (held[substr($3, 2) + 1] == 0) { s += $4; k++ } } END { printf "%.9g\n", s / k }' kept rows.csv >expected
paste -d ' ' mean expected | awk '{ exit !(($1 - $2) ^ 2 < 1e-12) }' || tell "mean $(cat mean), of the training part $(cat expected)"
for by in hash stratified "group --set group=who --set as_categories=who"; do
    rm -rf a b
    # shellcheck disable=SC2086
    must city/trainer train --data rows.csv --out a --set split=$by --fold 2/3 --steps 30 --threads 1
    # shellcheck disable=SC2086
    must city/trainer train --data rows.csv --out b --set split=$by --fold 2/3 --steps 15 --set schedule_steps=30 --threads 2
    must city/trainer train --resume --out b --steps 30
    grep -q 'to evaluate (fold 2 of 3, ' said || tell "the fold is remembered"
    cmp a/model.safetensors b/model.safetensors && cmp a/table.json b/table.json || tell "split=$by: other bits after resuming, with more threads"
done

sed '2s/,[a-z]*$/,zz/' rows.csv >four.csv
refuse 3 'the data has 4 classes (a, b, rare, zz), and this trainer was built for 3' kind/trainer train --data four.csv --out no

# A hashed row stays on its side when rows are added; a table's columns may come in another order.
must city/trainer train --data rows.csv --out h --set split=hash --steps 6
must city/trainer eval --out h --json
counts >kept
awk -F , 'BEGIN { OFS = "," } { print $5, $3, $1, $2, $4 }' rows.csv >turned.csv
must city/trainer eval --out h --data turned.csv --json
[ "$(counts)" = "$(cat kept)" ] || tell "other rows in another order of columns"
{ cat rows.csv; sed -n '2,$s/^h/x/p' rows.csv; } >more.csv
{ head -n 1 rows.csv; sed -n '2,$s/^h/x/p' rows.csv; } >new.csv
must city/trainer eval --out h --data new.csv --json
counts >added
must city/trainer eval --out h --data more.csv --json
[ "$(counts)" = "$(cat kept added | covers /dev/stdin)" ] || tell "rows change sides when others come"

# Rows that are equal in all that the model reads: the last 40 of 203 are evaluated, 9 of them again at the start.
{ head -n 1 rows.csv; tail -n 9 rows.csv | sed 's/^h/y/'; sed '1d' rows.csv; } >twice.csv
must kind/trainer train --data twice.csv --out e --steps 1
same=$(awk -F , 'NR == 1 { next } { sub(/^[^,]*,/, ""); x[++n] = $0 } END { t = int(n * (1 - 0.2)); for (i = 1; i <= t; i++) seen[x[i]] = 1
    for (i = t + 1; i <= n; i++) k += x[i] in seen; print k }' twice.csv)
[ "$same" -ge 9 ] && grep -q "note: $same of the 43 rows to evaluate are equal to one that is trained on" said || tell "$same equal rows"
must kind/trainer train --data rows.csv --val-data twice.csv --out e --steps 1
grep -q "note: 212 of the 212 rows to evaluate are equal to one" said || tell "equal rows in the data for evaluation"

# Numbers in a CSV: by hash equal rows are on one side; groups and classes as in tables.
awk 'BEGIN { print "a,class,b"; for (r = 0; r < 203; r++) printf "%d,%d,%d\n", r % 13, r * r % 7, r % 5 }' >n.csv
must mlp/trainer train --data n.csv --out n --set split=hash --steps 5
grep -q 'equal to one' said && tell "equal rows on both sides"
must mlp/trainer train --data n.csv --out n --set split=group --set group=a --fold 3/13 --steps 5
grep -q '187 rows to train on, 16 to evaluate (fold 3 of 13, by group a)' said || tell "a group a fold"
must mlp/trainer train --data n.csv --out n --set split=stratified --val-fraction 0.1 --steps 5
grep -q '183 rows to train on, 20 to evaluate (stratified by class)' said || tell "a tenth"

# The group is no input unless the description asks for it, and new rows need none.
{ echo "id,who,size,kind"; sed '1d; s/^\([^,]*,[^,]*\),[^,]*/\1/' rows.csv; } >people.csv
must "$LATHE" train "$top/models/tabular.lua" --set target=kind --set group=who --data people.csv -o people --out p --set steps=6 --set batch=16 --set layers=1 --set width=16
grep -q '^note: table: 203 rows; 1 number, 0 categories' said || tell "the group among the inputs"
grep -q 'to evaluate (by group who)' said || tell "group alone means split=group"
cut -d, -f1,3 people.csv >strangers.csv
must people/trainer predict --data strangers.csv --weights p --out p.csv
must "$LATHE" train "$top/models/tabular.lua" --set target=kind --set group=who --set as_categories=who --data people.csv -o both --out p2 --set steps=6 --set batch=16 --set layers=1 --set width=16
grep -q 'note: column "who" is the group, and an input too' said || tell "a group that is an input, too"
refuse 3 'column "who", the group, is no input unless categories name it (--set as_categories=who)' both/trainer train --data people.csv --set group=who --out no
awk 'BEGIN { print "a,who,class,b"; for (r = 0; r < 203; r++) printf "%d,person %d,%d,%d\n", r % 13, r % 31, r * r % 7, r % 5 }' >m.csv
must mlp/trainer train --data m.csv --out m --set group=who --fold 3/31 --steps 5
grep -q '196 rows to train on, 7 to evaluate (fold 3 of 31, by group who)' said || tell "groups of texts in a CSV of numbers"
must mlp/trainer predict --data m.csv --weights m --out with.csv
cut -d, -f1,4 m.csv >m-new.csv
must mlp/trainer predict --data m-new.csv --weights m --out without.csv
cmp with.csv without.csv || tell "predictions depend on the group"

# Arrays: a group is an array of its own, which is no input.
bytes() { awk "BEGIN { for (r = 0; r < 83; r++) printf \"\\\\%03o\", $1 }"; }
mkdir arrays
npy_of arrays/image.npy '|u1' '(83,)' "$(bytes 'r % 17')"
npy_of arrays/label.npy '|u1' '(83,)' "$(bytes 'r % 7')"
npy_of arrays/weight.npy '|u1' '(83,)' "$(bytes 1)"
npy_of arrays/person.npy '|u1' '(83,)' "$(bytes 'r % 7 % 3')"
for by in last hash stratified "group --set group=person" "group --set group=label"; do
    # shellcheck disable=SC2086
    must digits/trainer train --data arrays --out d --set split=$by --fold 2/3 --steps 8
    # shellcheck disable=SC2086
    for k in 1 2 3; do must digits/trainer eval --data arrays --out d --json --set split=$by --fold $k/3; counts; done >folds
    [ "$(covers folds)" = "12 12 12 12 12 12 11" ] || tell "split=$by: folds of arrays have $(covers folds)"
done
awk '{ for (i = 1; i <= NF; i++) c[i] += $i > 0 } END { for (i = 1; i <= NF; i++) if (c[i] != 1) exit 1 }' folds || tell "a label in two folds"
must digits/trainer eval --out d --json
[ "$(counts)" = "$(sed -n 2p folds)" ] || tell "the run's own fold: $(counts)"
must digits/trainer predict --data arrays --weights d --out p.csv
[ "$(wc -l <p.csv)" = 84 ] || tell "predictions of all rows"

# What does not fit.
refuse 2 '--resume: split is last as given, and hash in the checkpoint' city/trainer train --resume --out h --set split=last
refuse 2 '--resume: fold is 1/3 as given, and 2/3 in the checkpoint' city/trainer train --resume --out a --fold 1/3
refuse 2 '--resume: val_fraction is 0.3 as given, and 0.2 in the checkpoint' city/trainer train --resume --out h --val-fraction 0.3
refuse 2 'fold=6/5: expected K/N' city/trainer train --data rows.csv --fold 6/5
refuse 2 'fold 1/5 and --val-fraction both say which rows are evaluated' city/trainer train --data rows.csv --fold 1/5 --val-fraction 0.1
refuse 2 '--val-data and --fold both say which data is evaluated' city/trainer train --data rows.csv --fold 1/5 --val-data rows.csv
refuse 2 'split=group: it is not said which column is the group' city/trainer train --data rows.csv --set split=group
refuse 3 'rows.csv: error: expected a column "whom", the group that rows are split by' city/trainer train --data rows.csv --set split=group --set group=whom
refuse 3 'n.csv: error: expected a column "c", the group' mlp/trainer train --data n.csv --set split=group --set group=c
refuse 3 'arrays: error: expected an array "city", the group' digits/trainer train --data arrays --set split=group --set group=city
refuse 3 'expected at least 8 different values of the group "city", one for each fold, found 7' city/trainer train --data rows.csv --set split=group --set group=city --fold 1/8
head -n 3 rows.csv >few.csv
refuse 3 'few.csv: error: expected rows to evaluate, found none (fold 1 of 9, by the order of the data)' city/trainer eval --data few.csv --out g --set split=last --fold 1/9
must city/trainer eval --data rows.csv --out a --fold 1/3
grep -q 'note: fold is 1/3 as given; it was 2/3 in training' said || tell "another fold"
sed 's/split = "last"/&/; s/val_fraction = 0.2/split = "group"/' "$top/models/mlp.lua" >group.lua
refuse 1 'split = "group" needs what says it, such as a column' "$LATHE" check group.lua
sed 's/split = "group"/split = "groups"/' group.lua >groups.lua
refuse 1 'split must be one of "last", "hash", "group", "stratified", found "groups"; did you mean ' "$LATHE" check groups.lua
