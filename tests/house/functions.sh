# functions.sh: no function of the compiler has the name of another of its rooms, static ones too, nor one of the
# runtime; and no file of either, nor code of the tests, is longer than 500 lines: names and files can be found by what they say.
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

# long FILE…: those of more than 500 lines.
long() { wc -l "$@" | awk '$2 != "total" && $1 > 500 { print $2 }'; }
# Of tests/ what is written by hand to be run: no descriptions that are refused, nor recordings.
code() { find tests \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' -o -name '*.sh' -o -name '*.py' -o -name '*.awk' -o -name '*.lua' \) | sort; }
[ "$(code | wc -l)" -gt 300 ] || complain "only $(code | wc -l) files of tests' code were found"
# shellcheck disable=SC2046  # names without blanks
for file in $(long compiler/*.[ch] compiler/*/*.[ch] runtime/*/*.[ch] runtime/*/*.cu runtime/*/*.cuh $(code)); do
    complain "$file has more than 500 lines"
done
awk 'BEGIN { for (i = 0; i < 501; i++) print "" }' >"$TMP/long.c"
[ "$(long "$TMP/long.c" tests/run.sh)" = "$TMP/long.c" ] || complain "nobody minds a long file"
exit $failed
