# json_table.sh: JSON lines are the table that a CSV of the same values is, whatever the order of keys and whichever are
# left out; texts are kept as they are, and what is no row is told with its line.
set -eu
. tests/models/common
top=$PWD
case $LATHE in /*) ;; *) LATHE=$PWD/$LATHE ;; esac
cd "$TMP"
awk 'BEGIN { srand(5); print "id,city,size,sold,open,price"; for (r = 0; r < 300; r++) { c = r % 4
    printf "h%d,%s,%s,2021-%02d-%02d,%s,%.2f\n", r, ((r + 1) % 31 ? "c" c : ""), ((r + 1) % 11 ? 50 + r * 37 % 100 : ""), 1 + r % 12, 1 + r % 28, (r % 3 ? "true" : "false"), 100 * c + r % 7 * 1.25 } }' >rows.csv
# Keys in two orders; a missing value is null, or its key is not there.
awk -F , 'NR == 1 { next } {
    city = $2 == "" ? (NR % 2 ? ", \"city\": null" : "") : ", \"city\": \"" $2 "\""; size = $3 == "" ? (NR % 2 ? "" : ",\"size\":null") : ", \"size\" : " $3 (NR % 5 ? "" : ".0")
    if (NR % 2 == 0) printf "{\"id\": \"%s\"%s%s, \"sold\": \"%s\", \"open\": %s, \"price\": %s}%s\n", $1, city, size, $4, $5, $6, NR % 7 ? "" : "\r\n"
    else printf "  {\"price\":%s,\"open\":%s%s%s,\"sold\":\"%s\",\"id\":\"%s\"}\n", $6, $5, size, city, $4, $1 }' rows.csv >rows.jsonl

must "$LATHE" train "$top/models/tabular.lua" --set target=price --data rows.csv -o built --out a --set steps=20 --set layers=1 --set width=16
must "$LATHE" train "$top/models/tabular.lua" --set target=price --data rows.jsonl -o other --out b --set steps=20 --set layers=1 --set width=16
grep -q 'column "id" is left out: nearly every row has a text of its own' said || tell "the identifier"
must built/trainer predict --data rows.csv --weights a --out a.csv
gzip -k rows.jsonl
must built/trainer predict --data rows.jsonl.gz --weights a --threads 1 --out b.csv
cmp a.csv b.csv || tell "other predictions from JSON lines"
must other/trainer predict --data rows.jsonl --weights b --out c.csv
paste -d , a.csv c.csv | awk -F , 'NR > 1 && ($1 - $2) ^ 2 > 1e-6 * $1 * $1 { exit 1 }' || tell "another model from JSON lines"
must built/trainer train --data rows.jsonl --out h --set split=hash --steps 10
# error: rows evaluated, and the sum of their errors.
error() { sed -n 's/.*"rows":\([0-9]*\).*"mae":\([0-9.]*\).*/\1 \2/p' said | awk '{ print $1, $1 * $2 }'; }
must built/trainer eval --out h --json
error >parts
sed -n '1,60{s/{/{"more": 1, /;p;}' rows.jsonl >more.jsonl
must built/trainer eval --out h --data more.jsonl --json
error >>parts
cat more.jsonl rows.jsonl >both.jsonl
must built/trainer eval --out h --data both.jsonl --json
error | cat parts - | awk '{ n[NR] = $1; e[NR] = $2 } END { exit !(n[1] + n[2] == n[3] && (e[1] + e[2] - e[3]) ^ 2 < 1e-6) }' ||
    tell "rows change sides when others have another key: $(cat parts)"

# Texts, numbers and escapes are kept; a key that no line has is missing everywhere.
printf '%s\n' '{"id": "a \"x\", b", "size": 1.10, "sold": "2021-02-03", "open": true, "price": null, "n": 12345678901234567}' \
    '{"id": 7, "size": 1e3, "sold": null, "open": false, "n": -0.1}' '{"id": "caf\u00e9 \ud83d\ude00\n", "sold": "2021-02-03", "n": "x"}' >new.jsonl
must built/trainer predict --data new.jsonl --weights a --keep id,size,n --out p.jsonl
grep -q 'note: new.jsonl: no line has the key "city": its values count as missing' said || tell "a key that no line has"
printf '%s\n' '{"row":0,"id":"a \"x\", b","size":"1.1","n":"12345678901234567"' '{"row":1,"id":"7","size":"1000","n":"-0.1"' \
    '{"row":2,"id":"café 😀\n","size":"","n":"x"' >heads
sed 's/,"prediction".*//' p.jsonl | cmp - heads || tell "$(cat p.jsonl)"

bad() { # LINE WORDS
    { head -n 3 rows.jsonl && printf '%s\n' "$1"; } >bad.jsonl
    refuse 3 "$2" built/trainer predict --data bad.jsonl --weights a
}
bad '{"id": "x"' 'bad.jsonl:4: error: expected a JSON object in this line, found a fault in it'
bad '[1, 2]' 'bad.jsonl:4: error: expected a JSON object, {"column": value, …}, found another value'
bad '{"size": 1, "size": 2}' 'bad.jsonl:4: error: expected a JSON object in this line, found a fault in it: duplicate object key'
bad '{"id": ["x"]}' 'bad.jsonl:4, column "id": error: expected a text, a number, true, false or null, found a list'
bad '{"size": "large"}' 'bad.jsonl:4, column "size": error: expected a number, found "large"'
echo >empty.jsonl
refuse 3 'empty.jsonl: error: expected a table, found no rows' built/trainer predict --data empty.jsonl --weights a
sed 2s/price/prize/ rows.jsonl >odd.jsonl
refuse 3 'odd.jsonl:2, column "price": error: expected a value of the target in each row, found none' built/trainer train --data odd.jsonl --out o
sed s/price/prize/ rows.jsonl >odd.jsonl
refuse 3 'expected the target in a column "price" (--set csv_target=COLUMN names another), found none among' "$LATHE" train "$top/models/tabular.lua" --set target=price --data odd.jsonl
mkfifo pipe.jsonl
cat rows.jsonl >pipe.jsonl &
refuse 3 'a table of JSON lines is read twice, and a pipe can be read only once' built/trainer predict --data pipe.jsonl --weights a
