# table.sh: a table as people have it, with text, missing values, dates and another order of columns, goes from the file to
# predictions of new rows in two commands; a hostile copy of it to the same; runs resume and repeat to the bit.
# compiled: as for users
set -eu
. tests/models/common
top=$PWD
case $LATHE in /*) ;; *) LATHE=$PWD/$LATHE ;; esac
cd "$TMP"

# A price from a city, a size that is sometimes missing, a date and whether there is a garden.
awk 'BEGIN {
    split("Bern;Basel;Zug, upper;\"Old\" Chur", city, ";"); split("5;4;9;2", base, ";"); srand(7)
    print "id,city,size,sold,garden,price"
    for (r = 0; r < 600; r++) {
        c = 1 + r % 4; size = 50 + (r * 37) % 100; day = 1 + r % 28; g = int(r / 3) % 2
        name = city[c]; if (name ~ /[,"]/) { gsub(/"/, "\"\"", name); name = "\"" name "\"" }
        printf "h%d,%s,%s,2021-%02d-%02d,%s,%.2f\n", r, r % 31 ? name : "", r % 11 ? size : "NA", 1 + r % 12, day,
            g ? "yes" : "no", base[c] * 100 + size * 3 + g * 50 + 2.5
    }
}' >houses.csv
head -n 401 houses.csv >train.csv
{ head -n 1 houses.csv; tail -n 200 houses.csv; } >new.csv

must "$LATHE" train "$top/models/tabular.lua" --set target=price --data train.csv -o built --out run --set steps=400
grep -q 'column "id" is left out: nearly every row has a text of its own' said || tell "the identifier"
grep -q 'table: 400 rows; 7 numbers, 2 categories of 9 values; target "price": a number' said || tell "the sizes"
must built/trainer predict --data new.csv --weights run --out p.csv
# R² of the predictions, in the target's units, on rows whose city and size are there.
r2() { paste -d '|' new.csv "$1" | awk -F '|' 'NR == 1 { next } { n = split($1, f, ","); if ($1 ~ /,NA,/ || $1 ~ /^h[0-9]*,,/) next
    t = f[n]; e += (t - $2) ^ 2; s += t; q += t * t; k++ } END { print 1 - e / (q - s * s / k) }'; }
awk "BEGIN { exit !($(r2 p.csv) > 0.97) }" || tell "R² $(r2 p.csv)"

# Without the target, columns in another order, other separators, line ends, quotes, a mark, empty lines: the same.
awk 'function field(s) { gsub(/"/, "\"\"", s); return "\"" s "\"" }
    BEGIN { printf "\357\273\277" }
    { gsub(/"Zug, upper"/, "Zug; upper"); gsub(/"""Old"" Chur"/, "\"Old\" Chur"); split($0, f, ",")
      sub(/;/, ",", f[2]); end = NR % 3 == 0 ? "\r\n" : NR % 3 == 1 ? "\n" : "\r"
      printf "%s;%s ;%s; %s;%s;more%s%s", field(f[5]), f[4], field(f[2]), f[3], f[1], end, NR % 5 ? "" : "\n\r\n" }' new.csv |
    sed '1s/"more\|more/extra/' >hostile.csv
must built/trainer predict --data hostile.csv --weights run --out h.csv
cmp p.csv h.csv || tell "other predictions from the hostile copy"
gzip -k hostile.csv
must built/trainer predict --data hostile.csv.gz --weights run --threads 1 --out g.csv
cmp p.csv g.csv || tell "other predictions from the packed copy, one thread"

must built/trainer train --data train.csv --out halves --steps 200 --set schedule_steps=400 --threads 1
must built/trainer train --resume --out halves --steps 400
cmp run/model.safetensors halves/model.safetensors || tell "other bits after resuming"
cmp run/table.json halves/table.json || tell "other columns after resuming"

# From another run's weights, columns mean what they meant there: other data does not move scales or ids.
must built/trainer train --data new.csv --init run --out further --steps 1
cmp run/table.json further/table.json || tell "other columns from the same weights"

must "$LATHE" train "$top/models/tabular.lua" --set target=price --data new.csv -o built --init run --out again --steps 1
cmp run/table.json again/table.json || tell "other columns from the same weights, built again"
must "$LATHE" train "$top/models/tabular.lua" --set target=price -o built --resume --out run --steps 401 --set schedule_steps=400

# A column that is constant in the training part, and a date in the same week day, do not become noise; nor do large numbers.
awk -F , 'BEGIN { OFS = "," } { print NR == 1 ? "flat,day" : (NR > 350 ? 0.3 : 0.1) ",2021-03-" (NR % 4 == 0 ? "01" : NR % 4 == 1 ? "08" : NR % 4 == 2 ? "15" : "22"), $0 }' train.csv >flat.csv
must "$LATHE" train "$top/models/tabular.lua" --set target=price --data flat.csv -o flat --out level --steps 5 --val-fraction 0.2
sed -n 's/.*"flat","kind":"number","flagged":false,"mean":\[\([^]]*\)\],"deviation":\[\([^]]*\)\].*/\1 \2/p' level/table.json |
    awk '{ exit !($1 > 0.09999 && $1 < 0.10001 && $2 == 0) }' || tell "$(cat level/table.json)"
sed '2s/^[0-9.]*,/1e200,/' flat.csv >odd.csv
refuse 3 'column "flat": error: its numbers are too large to be scaled, up to 1e+200' flat/trainer train --data odd.csv --out other
head -n 1 new.csv >none.csv
refuse 3 "nowhere: error: expected a run's folder or a safetensors file, but it cannot be read" built/trainer predict --data new.csv --weights nowhere
refuse 3 'none.csv: error: there are no rows to predict' built/trainer predict --data none.csv --weights run --out n.csv
refuse 3 'drop: there is no column "prize" among the 8' flat/trainer train --data flat.csv --out other --set "drop=id, prize"
cp new.csv own.csv
refuse 2 '--out own.csv would replace the data' built/trainer predict --data own.csv --weights run --out own.csv
refuse 2 '--only prediction,prediction names prediction twice' built/trainer predict --data new.csv --weights run --only prediction,prediction
mkfifo pipe
refuse 3 'a table to train on is read twice' flat/trainer train --data pipe --out other

# What is new: a city, a missing garden.  What cannot be: text for a number, no such column, another table.
sed '2s/^\(h[0-9]*\),[^,]*,/\1,Nowhere,/' new.csv >odd.csv
must built/trainer predict --data odd.csv --weights run --out o.csv
grep -q 'column "city": 1 value is not in the training data, such as "Nowhere" at odd.csv:2, column "city"' said || tell "a city"
sed '5s/2021-[0-9]*-[0-9]*/yesterday/' new.csv >odd.csv
refuse 3 'odd.csv:5, column "sold": error: expected a date such as 2024-02-29, as in training, found "yesterday"' built/trainer predict --data odd.csv --weights run
sed 's/^\(h[0-9]*,.*\),[0-9NA]*,2021/\1,large,2021/' new.csv >odd.csv
refuse 3 'odd.csv:2, column "size": error: expected a number, found "large"' built/trainer predict --data odd.csv --weights run
sed '1s/size/area/' new.csv >odd.csv
refuse 3 'expected a column "size", as in the training data, found none among the 6' built/trainer predict --data odd.csv --weights run
cut -d , -f 1-3 new.csv >odd.csv
refuse 3 'expected the target in a column "price"' built/trainer train --data odd.csv
sed '1s/garden/garden,x/; 2,$s/,\([a-z]*\),\([0-9.]*\)$/,\1,1\2,\2/' train.csv >wide.csv
refuse 3 'the data has 8 numbers, and this trainer was built for 7' built/trainer train --data wide.csv --out other
sed '3s/,[0-9.]*$/,/' train.csv >odd.csv
refuse 3 'odd.csv:3, column "price": error: expected a value of the target in each row' built/trainer train --data odd.csv --out other
refuse 3 'expected the target in a column "prize" (--set csv_target=COLUMN names another), found none among' "$LATHE" train "$top/models/tabular.lua" --set target=prize --data train.csv
sed '7s/,[0-9.]*$/,1.2.3/' train.csv >odd.csv
refuse 3 'odd.csv:7, column "price": error: expected a number, as in 399 of 400 rows, found "1.2.3"' built/trainer train --data odd.csv --out other
sed '9s/^\(h[0-9]*,[^,]*\),[0-9]*,/\1,large,/; 12s/2021-[0-9]*-[0-9]*/May/' train.csv >odd.csv
refuse 3 'column "size" is a category: 362 of its 363 values are numbers; "large" (odd.csv:9, column "size") is not one' built/trainer train --data odd.csv --out other
grep -q 'column "sold" is a category: 399 of its 400 values are dates; "May" (odd.csv:12, column "sold") is not one' said || tell "a date"
{ head -n 2 new.csv; echo 'h1,"Bern'; } >odd.csv
refuse 3 'odd.csv:3: error: expected a closing "' built/trainer predict --data odd.csv --weights run
refuse 1 'the sizes of the table are not known' "$LATHE" check "$top/models/tabular.lua" --set numbers=0 --set categories=0

# Classes by their names.
must "$LATHE" train "$top/models/tabular.lua" --set target=garden --data train.csv -o classes --out kinds --set steps=200
must classes/trainer predict --data new.csv --weights kinds --out c.csv
head -n 1 c.csv | grep -qx 'class,probability of no,probability of yes' || tell "$(head -n 1 c.csv)"
right=$(paste -d '|' new.csv c.csv | awk -F '|' 'NR > 1 { n = split($1, f, ","); split($2, g, ","); k += f[n - 1] == g[1] } END { print k }')
[ "$right" -gt 150 ] || tell "$right of 200 gardens"

# What eval says of the task, from the predictions by definition: pairs of rows for the area under the curve.
must classes/trainer eval --out kinds --data new.csv --val-fraction 1 --json
paste -d '|' new.csv c.csv | awk -F '|' 'NR > 1 { n = split($1, f, ","); split($2, g, ","); yes = f[n - 1] == "yes"
        p[++k] = g[3]; is[k] = yes; right += f[n - 1] == g[1]; brier += (g[3] - yes) ^ 2; loss -= log(yes ? g[3] : g[2]) }
    END { for (i = 1; i <= k; i++) if (is[i]) for (j = 1; j <= k; j++) if (!is[j]) { pairs++; auc += p[i] > p[j] ? 1 : p[i] == p[j] ? .5 : 0 }
        print right / k, auc / pairs, brier / k, loss / k }' >expected
sed 's/.*"metrics":{"accuracy":\([^,]*\),.*"log_loss":\([^,]*\),"auc":\([^,]*\),.*"brier":\([^,]*\),.*/\1 \3 \4 \2/' said |
    paste -d ' ' - expected | awk '{ for (i = 1; i <= 4; i++) if (($i - $(i + 4)) ^ 2 > 1e-9) bad = 1 } END { exit bad || NF != 8 }' ||
    tell "other metrics than $(cat expected)"
must built/trainer eval --out run --data new.csv --val-fraction 1 --json
paste -d '|' new.csv p.csv | awk -F '|' 'NR > 1 { n = split($1, f, ","); t = f[n]; d = t - $2; e += d * d; a += d < 0 ? -d : d; s += t; q += t * t; k++ }
    END { printf "%.9g %.9g %.9g\n", sqrt(e / k), a / k, 1 - e / (q - s * s / k) }' >expected
sed 's/.*"rmse":\([^,]*\),"mae":\([^,]*\),"r2":\([^,]*\),.*/\1 \2 \3/' said | paste -d ' ' - expected |
    awk '{ for (i = 1; i <= 3; i++) if (($i - $(i + 3)) ^ 2 > 1e-8 * $i * $i) bad = 1 } END { exit bad || NF != 6 }' || tell "other metrics than $(cat expected)"
