# emitted.sh: the emitted char models are short and warning-free; 48 layers are as many statements as 2.
# compiled: as for users
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }

build() {       # NAME ARGUMENTS…: seconds in $seconds
    name=$1
    shift
    begin=$(date +%s%N)
    "$LATHE" build "models/$model.lua" --config char "$@" -o "$TMP/$name" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
    seconds=$(awk "BEGIN { printf \"%.2f\", ($(date +%s%N) - $begin) / 1e9 }")
}

statements() { tr -cd ';{' <"$TMP/$1/model.c" | wc -c; }         # NAME; lines are broken where numbers are long

warnings() {    # FILE
    for compiler in gcc clang; do
        if ! command -v $compiler >/dev/null; then
            echo "$compiler is not here: not tried"
        elif ! $compiler -std=gnu11 -Wall -Wextra -fsyntax-only -fopenmp -Iruntime -I"${1%/*}" "$1" >"$TMP/log" 2>&1 ||
            [ -s "$TMP/log" ]; then
            head -n 20 "$TMP/log"
            complain "$compiler -Wall -Wextra is not silent about model.c of $model"
        fi
    done
}

for model in gpt llama; do
    build char
    lines=$(wc -l <"$TMP/char/model.c")
    echo "note: $model char: model.c has $lines lines, built in $seconds s"
    [ "$lines" -lt 1500 ] || complain "model.c of $model char has $lines lines, not below 1,500"
    long=$(awk 'length > 100' "$TMP/char/model.c" | wc -l)
    [ "$long" = 0 ] || complain "$long lines of model.c of $model are longer than 100 columns"
    warnings "$TMP/char/model.c"

    build two --set layers=2
    two=$(statements two) two_seconds=$seconds
    build many --set layers=48
    many=$(statements many)
    echo "note: $model with 2 layers: $two statements, $two_seconds s; 48 layers: $many, $seconds s"
    [ "$two" = "$many" ] || complain "48 layers of $model take $many statements, 2 take $two"
done
exit $failed
