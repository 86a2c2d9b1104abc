# functions.sh: no function of the compiler has the name of another of its rooms, static ones too, nor one of the
# runtime; and no file of either is longer than 500 lines: names and files can be found by what they say.
failed=0
complain() { echo "failed: $*"; failed=1; }

# defined FILE…: "room name" of each function.
defined() {
    awk '
        function room(file) { return file ~ /^compiler\/[^\/]*$/ ? "." : substr(file, 1, match(file, /\/[^\/]*$/) - 1) }
        function name(text) {
            sub(/\(.*/, "", text)
            sub(/.*[ *]/, "", text)
            return text
        }
        FNR == 1 { held = "" }
        /^[A-Za-z_][^;=#]*\)( \{.*)?$/ { held = $0 }
        /^\{/ && held != "" { print room(FILENAME), name(held); held = "" }
        /^[A-Za-z_][^;=#]*\) \{/ { print room(FILENAME), name($0); held = "" }
        /^[^{]/ && !/^[A-Za-z_][^;=#]*\)$/ && !/^ / { held = "" }' "$@"
}

# twice: names that stand in several rooms.
twice() { sort -u | awk '{ rooms[$2] = rooms[$2] " " $1; n[$2]++ } END { for (f in n) if (n[f] > 1) print f ":" rooms[f] }'; }

# once LEAST FILE…: their functions' names.
once() {
    least=$1
    shift
    defined "$@" | grep -v ' main$' >"$TMP/defined"
    [ "$(wc -l <"$TMP/defined")" -gt "$least" ] || complain "only $(wc -l <"$TMP/defined") functions were found"
    twice <"$TMP/defined" >"$TMP/twice"
    [ ! -s "$TMP/twice" ] || complain "names with two meanings: $(cat "$TMP/twice")"
}
once 2500 compiler/*.c compiler/*/*.c
once 1700 runtime/*/*.c
[ -n "$(printf 'compiler/plan settle\ncompiler/lower settle\n' | twice)" ] || complain "nobody minds a name in two rooms"

for file in compiler/*.[ch] compiler/*/*.[ch] runtime/*/*.[ch] runtime/*/*.cu runtime/*/*.cuh; do
    [ "$(wc -l <"$file")" -le 500 ] || complain "$file has more than 500 lines"
done
exit $failed
