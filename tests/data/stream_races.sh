# stream_races.sh: the threads of the data's stream under ThreadSanitizer: 1 and 3 encoders over many short and a few long
# documents, taken whole and closed in the middle.  Then the same with a lock taken out of a copy: that must be reported.
# LATHE_LONG=1: a corpus ten times as large.
# compiled: as for users
set -eu
cc=${CC:-cc}
echo 'int main(void) { return 0; }' >"$TMP/try.c"
"$cc" -fsanitize=thread "$TMP/try.c" -o "$TMP/try" 2>/dev/null && "$TMP/try" 2>/dev/null ||
    { echo "skipped: programs with ThreadSanitizer do not build or run here"; exit 77; }

lines=40000
[ -z "${LATHE_LONG:-}" ] || lines=400000
mkdir "$TMP/corpus"
awk -v n=$lines -v to="$TMP/corpus/" 'BEGIN {
    for (i = 0; i < n; i++) {
        x = (x * 1103515245 + 12345) % 2147483648
        print "line " x (x % 7 == 0 ? "\n" : "") >(to x % 9 ".txt")
    }
}'
files=$(find runtime/base runtime/source runtime/token runtime/data runtime/model runtime/step -name "*.c" | sort)
flags="-g -O1 -fsanitize=thread -Iruntime $(pkg-config --cflags --libs jansson) -ffunction-sections -Wl,--gc-sections"
libraries="-ljansson -lz -lzstd -lpcre2-8 -lpthread -lm"

build() {       # FILE WITH-THE-THREADS OUT
    # shellcheck disable=SC2086
    "$cc" tests/data/stream_drive.c $1 $flags -DLATHE_WITH_ZLIB -DLATHE_WITH_ZSTD -DLATHE_WITH_PCRE2 -o "$2" $libraries
}

build "$files" "$TMP/drive"
export TSAN_OPTIONS=exitcode=66:halt_on_error=1
for pack in 0 1; do
    for readers in 1 3; do
        "$TMP/drive" $readers 20000 0 $pack "$TMP/corpus" >"$TMP/said" 2>&1 || { cat "$TMP/said"; exit 1; }
        sed 's/, [0-9.]* s,.*//' "$TMP/said" >"$TMP/rows-$pack-$readers"
        "$TMP/drive" $readers 20000 800 $pack "$TMP/corpus" >"$TMP/said" 2>&1 || { cat "$TMP/said"; exit 1; }
    done
    cmp "$TMP/rows-$pack-1" "$TMP/rows-$pack-3"
done

# hand_on() of the reader without its lock
sed '/^static void hand_on/,/^}/ { /pthread_mutex/d }' runtime/data/parcels.c >"$TMP/parcels.c"
build "$(echo "$files" | sed "s|runtime/data/parcels.c|$TMP/parcels.c|")" "$TMP/racing"
if "$TMP/racing" 3 20000 0 0 "$TMP/corpus" >"$TMP/said" 2>&1 || ! grep -q 'data race' "$TMP/said"; then
    echo "a planted race was not found"
    exit 1
fi
