# wide_table.sh: a raw table of 1,000 columns, with a byte order mark, mixed line ends, quotes, line ends within quotes, blanks and
# empty lines, goes to predictions in two commands, which are those of a clean copy; columns that begin as numbers are texts.
set -eu
. tests/models/common
top=$PWD
case $LATHE in /*) ;; *) LATHE=$PWD/$LATHE ;; esac
cd "$TMP"

# Columns 1 to 940 are numbers, every 50th with some missing; then 20 are the same in all rows, 10 are dates, 29 are texts,
# of which every third begins with 20 numbers.  The target is the last column.
awk -v clean=train.csv -v hostile=raw.csv '
    function field(s, how) {
        if (how == "clean" && s !~ /[",\n]/) return s
        gsub(/"/, "\"\"", s)
        return how != "bare" || s ~ /[",;\n]/ ? "\"" s "\"" : s
    }
    function write(s, k, end) {
        printf "%s%s", field(s, "clean"), k < 1000 ? "," : "\n" >clean
        printf "%s%s%s%s", k % 7 ? "" : "  ", field(s, (r + k) % 3 ? "bare" : "quoted"), k % 5 ? "" : " ", k < 1000 ? ";" : end >hostile
    }
    BEGIN {
        srand(5); split("red,green,\"light\" blue,grey; or\nblack,x\"y", name, ",")
        printf "\357\273\277\r\n" >hostile
        for (r = 0; r <= 300; r++) {
            end = r % 3 == 0 ? "\r\n" : r % 3 == 1 ? "\n" : "\r"; sum = 0
            if (r % 9 == 4) printf "%s \t%s", end, end >hostile
            for (k = 1; k <= 1000; k++) {
                x = 2 * rand() - 1
                if (!r) s = k == 1000 ? "price, net" : "column \"" k "\""
                else if (k == 1000) s = sum
                else if (k <= 940) { s = k % 50 == 0 && r % 4 == 0 ? "NA" : sprintf("%.4f", x); if (k < 4) sum += k * s }
                else if (k <= 960) s = "same"
                else if (k <= 970) s = sprintf("2023-%02d-%02d", 1 + (r + k) % 12, 1 + r % 28)
                else s = k % 3 == 0 && r <= 20 ? r % 17 : name[1 + (r + k) % 5]
                write(s, k, end)
            }
        }
    }'
set -- --set "target=price, net" --set width=16 --set layers=1 --set batch=32 -o built
must "$LATHE" train "$top/models/tabular.lua" --data raw.csv "$@" --out raw --steps 40
grep -q 'table: 300 rows; 1008 numbers, 29 categories of 344 values; target "price, net": a number' said || tell "the sizes"
grep -q 'column "column "941"" is left out: it has the same value' said || tell "a column that is constant"
grep -q '12 more columns are left out' said || tell "the others"
must built/trainer predict --data raw.csv --weights raw --out raw-predictions.csv
must "$LATHE" train "$top/models/tabular.lua" --data train.csv "$@" --out clean --steps 40
must built/trainer predict --data train.csv --weights clean --out predictions.csv
cmp raw/model.safetensors clean/model.safetensors || tell "other weights"
cmp raw/table.json clean/table.json || tell "other columns"
cmp raw-predictions.csv predictions.csv || tell "other predictions"
[ "$(wc -l <predictions.csv)" = 301 ] || tell "$(wc -l <predictions.csv) lines of predictions"
