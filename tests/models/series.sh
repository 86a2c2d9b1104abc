# series.sh: time series from a table, rows of all series mixed, to forecasts in their own units, which eval measures as
# awk does; columns in another order, arrays, threads, kills and resuming give the same bits; what is out of order,
# missing, short or said wrongly is told by file and row.
set -eu
. tests/models/common
. tests/models/killed
must "$LATHE" build tests/models/covariates.lua -o "$TMP/built"
top=$PWD trainer=$TMP/built/trainer
case $LATHE in /*) ;; *) LATHE=$PWD/$LATHE ;; esac
cd "$TMP"

# Five series of 60 to 100 days that begin on other days, mixed by day; some cells are empty; six days have the holiday alone.
awk 'function date(d) { m = 1; while (d >= long[m]) { d -= long[m]; m++ } return sprintf("2023-%02d-%02d", m, d + 1) }
    BEGIN { split("31 28 31 30 31 30 31 31", long, " "); srand(5); print "id,when,b,wind,holiday,a,comment"
    for (d = 0; d < 120; d++) for (s = 0; s < 5; s++) { t = d - s; n = 60 + 10 * s; if (t < 0 || t >= n + 6) continue
        b = sprintf("%.3f", 100 + 10 * s + 8 * sin((t + s) / 3)); a = sprintf("%.4f", 3 * s + cos(t / 4) + 2 * (t % 7 == 0))
        w = sprintf("%.2f", rand()); if (t % 17 == 5) b = ""; if (t % 23 == 9) w = "NA"
        if (t >= n) a = b = w = ""
        print "shop " s "," date(d) "," b "," w "," (t % 7 == 0) "," a ",ok" } }' >shops.csv

must "$trainer" train --data shops.csv --out run --threads 1
grep -q '^data: .* windows to train on, .* to evaluate; 8 windows a step' said || tell "windows"
steps=9000 kills=3 start="--data shops.csv --steps 9000 --eval-every 500 --save-every 150"
# shellcheck disable=SC2086
must "$trainer" train $start --out whole --threads 1
trainer=$TMP/built/trainer killed_and_resumed
cmp whole/table.json run/table.json || tell "other columns after resuming"

# Forecasts of every window, and what eval says of all windows: the same errors by awk, over what was observed.
must "$trainer" predict --data shops.csv --weights whole --every-window --out all.csv
must "$trainer" eval --data shops.csv --weights whole --val-fraction 1
sed -n 's/^\([ab]\): rmse \([^ ]*\) | mae \([^ ]*\) .*/\1 \2 \3/p' said >measured
awk -F , 'NR == FNR { if (FNR > 1) { i = ++n[$1]; at[$1, $2] = i; a[$1, i] = $6; b[$1, i] = $3; if ($6 != "") last[$1] = i } next } FNR == 1 { next }
    { i = at[$1, $2] + $3; if (at[$1, $2] + 4 > last[$1]) next
      if (a[$1, i] != "") { e = $5 - a[$1, i]; sa += e * e; ma += e < 0 ? -e : e; ka++ }
      if (b[$1, i] != "") { e = $4 - b[$1, i]; sb += e * e; mb += e < 0 ? -e : e; kb++ } }
    END { printf "b %.5g %.5g\na %.5g %.5g\n", sqrt(sb / kb), mb / kb, sqrt(sa / ka), ma / ka }' shops.csv all.csv >expected
head -n 1 all.csv | grep -qx 'series,after,step,b,a' || tell "$(head -n 1 all.csv)"
paste -d ' ' measured expected | awk '$1 != $4 || ($2 - $5) ^ 2 > 1e-8 * $5 ^ 2 || ($3 - $6) ^ 2 > 1e-8 * $6 ^ 2 { bad = 1 } END { exit bad || NR != 2 }' ||
    tell "measured $(cat measured), expected $(cat expected)"

# One forecast after the end of each series; it is that of its last window; other files than tables of steps.
must "$trainer" predict --data shops.csv --weights whole --out last.csv --threads 3
[ "$(awk -F , 'NR > 1 { n[$1 "," $2]++ } END { for (k in n) print k "," n[k] }' last.csv | sort | tr '\n' ' ')" = \
    "shop 0,2023-03-01,4 shop 1,2023-03-12,4 shop 2,2023-03-23,4 shop 3,2023-04-03,4 shop 4,2023-04-14,4 " ] || tell "$(cat last.csv)"
sed 1d last.csv | grep -qvxFf all.csv && tell "a last window differs"
must "$trainer" predict --data shops.csv --weights whole --out last.jsonl
grep -c '^{"row":[0-4],"series":"shop [0-4]","after":"2023-0[34]-[0-9]*","prediction":\[' last.jsonl | grep -qx 5 || tell "$(cat last.jsonl)"
must "$trainer" predict --data shops.csv --weights whole --out last.npy
head -c 100 last.npy | grep -qaF "'shape': (5, 4, 2,)" || tell "$(head -c 100 last.npy)"
must "$trainer" predict --data shops.csv --weights whole --only hidden --out hidden.csv
awk -F , '(NR == 1 && $1 $2 $3 != "seriesafterhidden_0") || NF != 18 { bad = 1 } END { exit bad || NR != 6 }' hidden.csv || tell "$(cat hidden.csv)"

# Columns in another order, tabs, quotes, other line ends, series one after another: the same forecasts.
{ head -n 1 shops.csv; sed 1d shops.csv | sort -s -t , -k 1,1; } |
    awk -F , '{ printf "%s\t%s\t\"%s\"\t%s\t%s\t%s\r\n", $6, $5, $4, $1, $3, $2 }' >other.tsv
must "$trainer" predict --data other.tsv --weights whole --out other.csv
sort last.csv >a && sort other.csv >b && cmp a b || tell "other forecasts from the other table"
awk -F , 'NR > 1 { printf "{\"id\": \"%s\", \"when\": \"%s\", \"holiday\": %s", $1, $2, $5; if ($6 != "") printf ", \"a\": %s", $6
    if ($3 != "") printf ", \"b\": %s", $3; if ($4 != "") printf ", \"wind\": %s", $4 == "NA" ? "null" : $4; print "}" }' shops.csv >shops.jsonl
must "$trainer" predict --data shops.jsonl --weights whole --out json.csv
cmp last.csv json.csv || tell "other forecasts from JSON lines"

# What was learned is of the rows before the cut, where they are observed.
awk -F , 'NR > 1 { i = ++n[$1]; x[$1, i] = $3; if ($6 != "") m[$1] = i } END { for (s in m) { cut = int(m[s] * 0.75)
    for (i = 1; i <= cut; i++) if (x[s, i] != "") { k++; t += x[s, i] } } printf "%.9f\n", t / k }' shops.csv >mean
sed 's/.*"name":"b","kind":"target","flagged":false,"mean":\[\([^]]*\)\].*/\1/' run/table.json | paste -d ' ' - mean |
    awk '{ exit !(($1 - $2) ^ 2 < 1e-14) }' || tell "mean $(cat mean): $(cat run/table.json)"
must "$trainer" train --data shops.csv --out bygroup --set split=group --steps 3
grep -q 'to evaluate (by group series)' said || tell "groups"
must "$trainer" train --data shops.csv --out byhash --set split=hash --fold 1/2 --steps 3
must "$trainer" eval --out byhash
grep -q '^over [0-9,]* windows: fold 1 of 2, by the hash of a series' said || tell "folds of series"
refuse 2 'folds are of whole series: --set split=group' "$trainer" train --data shops.csv --out x --fold 1/2 --steps 1
refuse 2 'split=stratified divides classes; series are divided in time' "$trainer" train --data shops.csv --out x --set split=stratified
refuse 2 'split is hash as given, and last in the checkpoint' "$trainer" train --resume --out run --set split=hash --steps 3010

# Equal series under other names on both sides are told; a gap, with its row; series that are too short.
awk 'NR == 1 || /^shop [01],/ { print } /^shop 0,/ { for (i = 5; i < 12; i++) { sub(/^shop [0-9]*/, "shop " i); print } }' shops.csv >twice.csv
must "$trainer" train --data twice.csv --out leak --set split=group --steps 1
grep -q 'note: [0-9]* of the [0-9]* windows to evaluate are equal to one that is trained on' said || tell "a leak"
sed '200,230d' shops.csv >gap.csv
must "$trainer" train --data gap.csv --out gap --steps 1
grep -q 'note: gap.csv:[0-9]*: the row comes at 2023-[0-9-]* after 2023-[0-9-]*, a longer time than usual; there are 5 such gaps' said || tell "a gap"
{ cat shops.csv; echo "shop 9,2023-01-01,1,1,0,1,ok"; echo "shop 9,2023-01-02,1,1,0,2,ok"; } >short.csv
must "$trainer" train --data short.csv --out short --steps 1
grep -q '1 of the 6 series has fewer than 16 rows, a window, such as "shop 9" with 2, and is left out' said || tell "a short series"
must "$trainer" predict --data short.csv --weights whole --out short.csv.csv
grep -q '1 of the 6 series has fewer than 12 rows, which a forecast starts from, such as "shop 9" with 2' said || tell "a short series"
head -n 20 shops.csv >few.csv
refuse 3 'expected a series of at least 16 rows, a window; the longest of 5 has 6' "$trainer" train --data few.csv --out x

# Hostile tables.
swap() { awk -v a="$1" -v b="$2" '{ l[NR] = $0 } END { for (i = 1; i <= NR; i++) print l[i == a ? b : i == b ? a : i] }' shops.csv; }
swap 300 305 >odd.csv
refuse 3 'expected a time after 2023-0' "$trainer" train --data odd.csv --out x
grep -q '^odd.csv:30[0-5], column "when": error: expected a time after 2023-[0-9-]*, that of the row before in series "shop [0-9]", found 2023-' said || tell "disorder"
awk '{ print } NR == 77 { print }' shops.csv >odd.csv
refuse 3 'odd.csv:78, column "when": error: expected a time after' "$trainer" train --data odd.csv --out x
grep -q 'found the same; sort the rows' said || tell "the same time"
sed '50s/2023-[0-9-]*/soon/' shops.csv >odd.csv
refuse 3 'odd.csv:50, column "when": error: expected a date such as 2024-02-29' "$trainer" train --data odd.csv --out x
sed '50s/2023-[0-9-]*//' shops.csv >odd.csv
refuse 3 'odd.csv:50, column "when": error: expected the time of the row, found none' "$trainer" train --data odd.csv --out x
sed '50s/^shop .,/,/' shops.csv >odd.csv
refuse 3 'odd.csv:50, column "id": error: expected the series of the row, found none' "$trainer" train --data odd.csv --out x
sed '50s/ok$/ok,/' shops.csv >odd.csv
refuse 3 'odd.csv:50: error: expected 7 fields' "$trainer" train --data odd.csv --out x
awk -F , 'BEGIN { OFS = "," } NR == 40 { $6 = "many" } { print }' shops.csv >odd.csv
refuse 3 'odd.csv:40, column "a": error: expected a number, found "many"' "$trainer" train --data odd.csv --out x
first=$(awk -F , 'NR > 1 && $3 == "" { print NR; exit }' shops.csv)
refuse 3 "shops.csv:$first, column \"b\": error: expected a number, found none" "$trainer" train --data shops.csv --out x --set missing=refuse
cut -d , -f 1-5,7 shops.csv >odd.csv
refuse 3 'odd.csv: error: expected a column "a", as in the training data, found none among the 6' "$trainer" predict --data odd.csv --weights whole
refuse 3 'target: there is no column "a" among the 6' "$trainer" train --data odd.csv --out x
refuse 3 'time: there is no column "day" among the 7' "$trainer" train --data shops.csv --out x --set time_column=day
refuse 2 'column "wind" is named by past and by known; it has one use' "$trainer" train --data shops.csv --out x --set known_columns=wind
refuse 3 'the data has 2 channels (input past), and this trainer was built for 3' "$trainer" train --data shops.csv --out x --set past_columns=
awk -F , '$6 != ""' shops.csv >odd.csv
refuse 3 'expected the columns known ahead for the 4 rows after the last of series "shop 0", found 0' "$trainer" predict --data odd.csv --weights whole
refuse 2 '--keep copies columns beside their rows' "$trainer" predict --data shops.csv --weights whole --keep id
mkfifo pipe
refuse 3 'series to train on are read twice' "$trainer" train --data pipe --out x

# Memory grows with rows, and has its limit.
awk 'BEGIN { print "id,when,b,wind,holiday,a"; for (i = 0; i < 200000; i++) print "s," i ",1,2," i % 2 ",3" }' >long.csv
refuse 1 'memory' "$trainer" train --data long.csv --out x --memory-limit 12M

# Arrays [series, time, columns] are what tables are; lathe train counts their channels.
awk 'BEGIN { srand(3); for (i = 0; i < 240; i++) print int(256 * rand()) }' >bytes
{ printf "\223NUMPY\1\0\166\0%-117s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 60, 2), }"
  printf "$(awk '{ printf "\\%03o", $1 }' bytes)"; } >numbers.npy
awk 'NR % 120 == 1 { if (f) close(f); f = "numbers" ++k ".csv"; print "0,1" >f } { x = NR % 2 ? $1 : x "," $1 } NR % 2 == 0 { print x >f }' bytes
small="--set past=16 --set ahead=4 --set patch=8 --set patch_stride=4 --set width=8 --set layers=1 --set hidden=8"
# shellcheck disable=SC2086
must "$LATHE" train "$top/models/forecast.lua" $small --data numbers.npy -o small --out npy --steps 4
# shellcheck disable=SC2086
must "$LATHE" train "$top/models/forecast.lua" $small --data numbers1.csv numbers2.csv -o small --out csv --steps 4 --threads 1
cmp npy/model.safetensors csv/model.safetensors || tell "other bits from arrays"
must small/trainer predict --data numbers.npy --weights csv --out p.csv
[ "$(awk -F , 'NR > 1 { n[$1 "," $2]++ } END { for (k in n) print k "," n[k] }' p.csv | sort | tr '\n' ' ')" = "numbers 0,60,4 numbers 1,60,4 " ] || tell "$(cat p.csv)"
must small/trainer predict --data numbers1.csv numbers2.csv --weights csv --out q.csv
cut -d , -f 2- p.csv >a && cut -d , -f 2- q.csv >b && cmp a b || tell "other forecasts from tables"
refuse 3 'expected an array [time, columns] or [series, time, columns], found 1 axes' small/trainer train --out x --data "$(printf "\223NUMPY\1\0\166\0%-117s\n12" "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }" >flat.npy; echo flat.npy)"
# shellcheck disable=SC2086
refuse 3 'error: target: there is no column "7"; those of an array are called 0 to 1' "$LATHE" train "$top/models/forecast.lua" $small --set target=7 --data numbers.npy --out x
