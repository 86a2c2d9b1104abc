# names.sh: what generated code calls its values and kernels, over the text of every model: no name ends in an operation or
# in a number that the description did not give; a copy of an array's element is called after the array; a kernel has one name
# in model.c, in plan.txt and in what profiles print.
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }

# Words that are operations, but for those that descriptions use as words for values themselves.
sed -n 's/^\(MAP1\|MAP2\|MAPX\|CMP2\|LOGIC1\|LOGIC2\|RED\|CORE\|OWN\) *( *\([a-z_0-9]*\),.*/\2/p' compiler/graph/ops.def >"$TMP/ops"
[ "$(wc -l <"$TMP/ops")" -gt 50 ] || complain "graph/ops.def has another form: these operations were found: $(cat "$TMP/ops")"

# Names of kernels, of arrays in the arena, of numbers inside kernels.
names_in() {
    sed -n -e 's/^KERNEL void \([A-Za-z_0-9]*\)(.*/\1/p' -e 's/^    [a-z0-9_]* (\**\([A-Za-z_0-9]*\))\[.*= (void \*).*/\1/p' \
        -e 's/^    [a-z0-9_]* \*\([A-Za-z_0-9]*\) = (void \*).*/\1/p' \
        -e 's/^ *const \(float\|double\|bool\) \([A-Za-z_0-9]*\) = .*/\2/p' "$1" | sort -u
}

# The words that a description gives: its own and the library's locals, parameters, names of layers, keys.
words_of() { cat "$1" compiler/lua/*.lua | grep -oE '[A-Za-z_][A-Za-z_0-9]*' | grep -vE '^(sum|max|exp|log|cast|concat|gather|slice)$' | sort -u; }

check() {       # FILE MODEL.lua
    names_in "$1" >"$TMP/names"
    [ -s "$TMP/names" ] || complain "$1: no names were found"
    words_of "$2" >"$TMP/words"
    grep '^[0-9]' "$TMP/names" && complain "$1: a name begins with a number"
    while read -r value; do
        last=${value##*_}
        if grep -qxF "$last" "$TMP/ops" && ! grep -qE "local [a-z_, ]*\b$last\b" "$2" &&
            ! { [ "${value%cos_and_sin}" != "$value" ] && grep -q 'local cos, sin' compiler/lua/*.lua; }; then
            complain "$1: $value ends in an operation"
        fi
        case $value in
        *_bf16 | *_f16 | *_f32) ;;
        *[2-9] | *[0-9][0-9])
            word=$value      # ln_2 of make_ln_2, d_h_ln_2, …
            while ! grep -qxF "$word" "$TMP/words" && [ "$word" != "${word#*_}" ]; do word=${word#*_}; done
            grep -qxF "$word" "$TMP/words" || complain "$1: $value ends in a number"
            ;;
        esac
    done <"$TMP/names"
    grep -nE 'const [a-z0-9]+ ([xyzuvw]|value) = [a-z_0-9]+(\[[^]]*\])+;' "$1" && complain "$1: a copy of one element has a letter for a name"
    return 0
}

# The table of kernels in model.c, which profiles read, has step and name; so has plan.txt, where a loop in one launch
# is a line of its own.
same_kernels() {        # FOLDER TABLE TEXT
    sed -n -e 's/^ *\([0-9][0-9]*\)  *\([A-Za-z_0-9]*\): [0-9]* rows in panels$/\1 \2/p' -e 's/^ *\([0-9][0-9]*\) .* in one launch$/\1 loop/p' \
        -e 's/^ *\([0-9][0-9]*\)  *\([A-Za-z_0-9]*\)  (.*/\1 \2/p' -e 's/^ *\([0-9][0-9]*\)  *\([A-Za-z_0-9]*\)  *[0-9,]* bytes$/\1 \2/p' \
        "$1/plan.txt" | sort -u >"$TMP/plan"
    sed -n 's/^    {\([0-9][0-9]*\), "\([A-Za-z_0-9]*\)", .*/\1 \2/p' "$1/$2" | sort -u >"$TMP/table"
    [ -s "$TMP/table" ] || complain "$1/$2 has no table of kernels"
    comm -13 "$TMP/plan" "$TMP/table" | while read -r step kernel; do
        grep -q "^$step loop$" "$TMP/plan" || echo "$step $kernel"
    done >"$TMP/only"
    [ ! -s "$TMP/only" ] || complain "$1: $2 calls these otherwise than plan.txt: $(tr '\n' ' ' <"$TMP/only")"
    [ "$3" != model.c ] || sed -n 's/^KERNEL void \([A-Za-z_0-9]*\)(.*/\1/p' "$1/$3" | while read -r kernel; do
        grep -q " $kernel$" "$TMP/plan" || echo "$kernel"
    done >"$TMP/only"
    [ ! -s "$TMP/only" ] || complain "$1: plan.txt has no kernel $(tr '\n' ' ' <"$TMP/only")"
}

for model in models/*.lua; do
    name=${model##*/}
    name=${name%.lua}
    for target in cpu cuda; do
        "$LATHE" build "$model" --target $target --source -o "$TMP/$name-$target" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
        text=model.c table=model.c
        [ $target = cpu ] || text=model.cu table=tables.c
        check "$TMP/$name-$target/$text" "$model"
        same_kernels "$TMP/$name-$target" $table $text
    done
done
exit $failed
