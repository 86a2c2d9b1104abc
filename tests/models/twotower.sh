# twotower.sh: vectors of one side are predicted from the arrays of that side alone, and are those of both; what is found
# first is the pair; what is missing is told.
set -eu
. tests/models/common
must "$LATHE" build models/twotower.lua --set length=12 --set embed=16 --set hidden=16 --set width=8 --set batch=20 --set dropout=0 --set steps=200 -o "$TMP/built"
trainer="$TMP/built/trainer"
cd "$TMP"

# texts FILE: rows of 12 bytes, zeros behind each line of standard input
texts() {
    printf "\223NUMPY\1\0\166\0%-117s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': ($(wc -l <lines), 12), }" >"$1"
    while read -r line; do
        printf '%s' "$line"
        head -c $((12 - ${#line})) /dev/zero
    done <lines >>"$1"
}
words='sun moon star rain snow wind fire rock sand lake'
for a in $words; do for b in old new big red; do echo "$a $b"; done; done >lines
texts query.npy
for a in $words; do for b in alt neu gross rot; do echo "$b $(printf %s "$a" | tr a-z n-za-m)"; done; done >lines
texts item.npy

must "$trainer" train --data query.npy item.npy --out run --val-fraction 0 --threads 1
must "$trainer" train --data query.npy item.npy --out other --val-fraction 0 --threads 2
cmp run/model.safetensors other/model.safetensors || tell "other bits with other threads"
must "$trainer" predict --data query.npy item.npy --weights run --out both.csv
must "$trainer" predict --data query.npy --weights run --only query --out queries.csv
must "$trainer" predict --data item.npy --weights run --only item --out items.csv
paste -d , items.csv queries.csv >sides.csv
cmp both.csv sides.csv || tell "other vectors of one side"
must "$trainer" predict --data query.npy item.npy --weights run --only query --out again.csv
cmp queries.csv again.csv || tell "other vectors where the other side is there, too"
awk -F , 'NR > 1 { for (k = 1; k <= 8; k++) { item[NR, k] = $k; query[NR, k] = $(k + 8) } }
    END { for (q = 2; q <= NR; q++) {
        for (i = 2; i <= NR; i++) { near[i] = 0; for (k = 1; k <= 8; k++) near[i] += query[q, k] * item[i, k] }
        first = 1; for (i = 2; i <= NR; i++) if (near[i] > near[q]) first = 0
        found += first
    } print found; exit !(found >= 0.9 * (NR - 1)) }' both.csv >said || tell "pairs that are found first"

refuse 3 'query.npy: error: there is no array for input item i32 [12] below 256; expected item i32 [12] below 256' "$trainer" predict --data query.npy --weights run --only item --out no.csv
refuse 3 'there is no array for input item i32 [12] below 256; expected item i32 [12] below 256, query i32 [12] below 256' "$trainer" predict --data query.npy --weights run --out no.csv
