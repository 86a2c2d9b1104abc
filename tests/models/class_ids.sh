# class_ids.sh: an id that chooses a class is one of them, whatever it went through: in both forms of cross entropy and where
# else ids choose, code 3 with line, id and range; targets of -100 can be left out, exactly those.
set -eu
. tests/checks
# table ROW VALUE: 40 rows of classes 0 to 4, but VALUE in ROW
table() {
    awk -v row="$1" -v x="$2" 'BEGIN { print "a,b,class"; for (i = 0; i < 40; i++) print i ",1." i "," (i == row ? x : i % 5) }'
}
table -1 0 >"$TMP/good.csv"
table 3 5 >"$TMP/high.csv"
table 3 -100 >"$TMP/hundred.csv"
table 3 -1 >"$TMP/one.csv"
table 3 1.5 >"$TMP/fraction.csv"
for form in plain head nll hot; do             # fault 2, oob2
    must "$LATHE" build tests/models/class_ids.lua --set form=$form -o "$TMP/$form"
    must "$TMP/$form/trainer" train --data "$TMP/good.csv" --out "$TMP/run" --steps 10
    for threads in 1 2; do
        refuse 3 'class_ids.lua:(15|16|17|18): error: class ids.*entry train.*expected ids 0 to 4, found 5, which depends on the data alone; give the layer .* more outputs .out = 6 or more., or correct the data' \
            "$TMP/$form/trainer" train --data "$TMP/high.csv" --out "$TMP/none" --steps 30 --threads $threads
    done
done
for through in select where; do                # fault 2, oob
    must "$LATHE" build tests/models/class_ids.lua --set through=$through -o "$TMP/$through"
    refuse 3 'class ids.*entry train.*expected ids 0 to 4, found 5, which depends on the data alone' \
        "$TMP/$through/trainer" train --data "$TMP/high.csv" --out "$TMP/none" --steps 30
done
refuse 3 'expected a class, 0 or more, found 1.5; classes are whole numbers; is this a column to be predicted as a number' \
    "$TMP/plain/trainer" train --data "$TMP/fraction.csv" --out "$TMP/none"
refuse 3 'one.csv.*expected a class, 0 or more, found -1' "$TMP/plain/trainer" train --data "$TMP/one.csv" --out "$TMP/none"

# -100 counts for none where the description says so, in data and in inputs of `grad`
for form in plain head nll; do
    must "$LATHE" build tests/models/class_ids.lua --set form=$form --set bare=true --set ignore=-100 -o "$TMP/bare_$form"
    must "$TMP/bare_$form/trainer" train --data "$TMP/hundred.csv" --out "$TMP/bare" --steps 30
    refuse 3 'expected a class, 0 or more \(or -100, which losses leave out\), found -1' \
        "$TMP/bare_$form/trainer" train --data "$TMP/one.csv" --out "$TMP/none"
    refuse 3 'class ids.* of which -100 counts for none .entry train.: expected ids 0 to 4, found 5' \
        "$TMP/bare_$form/trainer" train --data "$TMP/high.csv" --out "$TMP/none" --steps 30
done
# inputs TARGET: a safetensors file of batch 4 whose first target is TARGET
inputs() {
    awk -v t="$1" 'BEGIN {
        h = "{\"features\":{\"dtype\":\"F32\",\"shape\":[4,2],\"data_offsets\":[0,32]},\"targets\":{\"dtype\":\"I32\",\"shape\":[4],\"data_offsets\":[32,48]}}"
        while (length(h) % 8) h = h " "
        n = length(h)
        printf "\\%03o\\%03o\\000\\000\\000\\000\\000\\000", n % 256, int(n / 256)
        printf "%s", h
        for (i = 0; i < 8; i++) printf "\\000\\000\\200\\077"
        x = t < 0 ? t + 4294967296 : t
        for (i = 0; i < 4; i++) { printf "\\%03o", x % 256; x = int(x / 256) }
        printf "\\001\\000\\000\\000\\002\\000\\000\\000\\003\\000\\000\\000"
    }' >"$TMP/bytes"
    # shellcheck disable=SC2059
    printf "$(cat "$TMP/bytes")" >"$TMP/in.safetensors"
}
must "$TMP/bare_plain/trainer" init --out "$TMP/w.safetensors" --seed 1
grad="$TMP/bare_plain/trainer grad --weights $TMP/w.safetensors --inputs $TMP/in.safetensors --out $TMP/g.safetensors"
inputs -100
must $grad
inputs 4
must $grad
inputs -99
refuse 3 'class ids.*expected ids 0 to 4, found -99' $grad
