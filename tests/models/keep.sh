# keep.sh: predictions stand beside columns of their data, whatever texts these have: a table of both, read again, gives
# the same table.
set -eu
. tests/models/common
top=$PWD
case $LATHE in /*) ;; *) LATHE=$PWD/$LATHE ;; esac
must "$LATHE" build models/mlp.lua --set features=2 --set classes=2 --set batch=3 -o "$TMP/mlp"
cd "$TMP"
awk 'BEGIN { print "id,city,size,big"; for (r = 0; r < 90; r++) printf "h%d,c%d,%d,%s\n", r, r % 4, r % 30, ((r % 30 > 15) ? "yes" : "no") }' >rows.csv
must "$LATHE" train "$top/models/tabular.lua" --set target=big --data rows.csv -o table --out run --set steps=5 --set layers=1 --set width=8

{ printf 'size;city;id;my "own", name\n' && printf '1;c1;007;"a ""quoted"", text"\n29; c2 ;-1;"two\nlines; one cell"\n' &&
    printf '12;c3;=1+2;"back\\slash \\x41 \\n"\n7;c0;1e3;\n3;c0;NA;"caf\303\251\ttab"\n'; } >new.csv
must table/trainer predict --data new.csv --weights run --keep 'id,city,size' --out p.csv
head -n 1 p.csv | grep -qx 'id,city,size,class,probability of no,probability of yes' || tell "$(head -n 1 p.csv)"
cut -d , -f 1-3 p.csv | sed 1d >kept
printf '007,c1,1\n-1,c2,29\n=1+2,c3,12\n1e3,c0,7\nNA,c0,3\n' | cmp - kept || tell "$(cat kept)"
must table/trainer predict --data new.csv --weights run --out plain.csv
cut -d , -f 4- p.csv | cmp - plain.csv || tell "other predictions beside kept columns"

# A name with a comma cannot be listed; rename the column.  Texts in quotes are as they were, also in JSON.
sed '1s/;"*my.*/;note/; 1s/;my.*/;note/' new.csv >named.csv
must table/trainer predict --data named.csv --weights run --keep note,id,city,size --out p.csv
grep -qx '"a ""quoted"", text",007,c1,1,.*' p.csv && grep -q '^lines; one cell",-1,c2,29,' p.csv && grep -qF 'back\slash \x41 \n,=1+2,' p.csv || tell "$(cat p.csv)"
must table/trainer predict --data p.csv --weights run --keep note,id,city,size --out again.csv
cmp p.csv again.csv || tell "another table when it is read again"
must table/trainer predict --data named.csv --weights run --keep 'note, id' --only logits --out p.jsonl
printf '%s\n' '{"row":0,"note":"a \"quoted\", text","id":"007","class":' '{"row":1,"note":"two\nlines; one cell","id":"-1","class":' \
    '{"row":2,"note":"back\\slash \\x41 \\n","id":"=1+2","class":' '{"row":3,"note":"","id":"1e3","class":' '{"row":4,"note":"café\ttab","id":"NA","class":' >heads
cut -d : -f 1-5 p.jsonl | sed 's/"class":.*/"class":/' | cmp - heads || tell "$(cat p.jsonl)"

# Several files, packed; numbers in a CSV as they are written there.
sed 1d rows.csv | split -l 50 - part
for f in partaa partab; do { head -n 1 rows.csv; cat $f; } >$f.csv; done
gzip partab.csv
must table/trainer predict --data partaa.csv partab.csv.gz --weights run --keep id,big --threads 1 --out p.csv
cut -d , -f 1,2 p.csv | cmp - - <<E || tell "two files"
$(cut -d , -f 1,4 rows.csv)
E
awk 'BEGIN { print "x,kind,y"; for (r = 0; r < 40; r++) printf "%.2f,%d,%de0\n", r / 8, int(r / 21), r % 5 }' >n.csv
must mlp/trainer train --data n.csv --set csv_target=kind --steps 3 --out numbers
must mlp/trainer predict --data n.csv --weights numbers --keep kind,x,y --out p.csv
cut -d , -f 1-3 p.csv | sed 1d >kept
awk -F , 'NR > 1 { print $2 "," $1 "," $3 }' n.csv | cmp - kept || tell "$(cat kept)"

refuse 3 'new.csv: error: --keep: there is no column "citi" among the 4: "size", "city", "id", "my "own", name"; did you mean "city"?' table/trainer predict --data new.csv --weights run --keep citi
refuse 3 'there is no column "id" among the 3' mlp/trainer predict --data n.csv --weights numbers --keep id
refuse 2 '--keep id,id names id twice' table/trainer predict --data new.csv --weights run --keep id,id
refuse 2 '--keep needs a file that can hold texts, .csv or .jsonl, and p.npy is none' table/trainer predict --data new.csv --weights run --keep id --only logits --out p.npy
sed 1s/id/class/ rows.csv >class.csv
refuse 2 '--keep class: the predictions have a column of that name' table/trainer predict --data class.csv --weights run --keep class
mkfifo pipe
cat new.csv >pipe &
refuse 3 'with --keep a table is read twice, and a pipe can be read only once' table/trainer predict --data pipe --weights run --keep id
