# small.sh: what is left out of a library is what its model does not reach: char_rnn --inference has less than 100,000 bytes, and a
# small network that trains needs little memory; its steps have the bits of the same file with everything in it.
# compiled: as for users
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
cc=${CC:-cc}
if grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "${BUILD:-build}/CMakeCache.txt"; then
    "$LATHE" build models/char_rnn.lua --library --inference -o "$TMP/rnn" >/dev/null
    strip -o "$TMP/rnn.so" "$TMP/rnn/libchar_rnn.so"
    [ "$(wc -c <"$TMP/rnn.so")" -lt 100000 ] || complain "char_rnn --inference has $(wc -c <"$TMP/rnn.so") bytes"
fi

# Products for thin loops and for the engine, of few rows and of many.
"$LATHE" build models/mlp.lua --set features=40 --set hidden=37 --set batch=16 --set classes=13 --amalgamation -o "$TMP/mlp" >/dev/null
awk '/^#define LATHE_PRODUCTS/ { out = 1 } !out { print } !/\\$/ { out = 0 }' "$TMP/mlp/mlp.c" >"$TMP/all.c"
for file in "$TMP/mlp/mlp.c" "$TMP/all.c"; do
    $cc -O1 -w -fopenmp -I"$TMP/mlp" -c "$file" -o "$TMP/library.o"
    $cc -O1 -Wall -Wextra -Werror -I"$TMP/mlp" tests/library/small_driver.c "$TMP/library.o" -lm -lpthread -o "$TMP/driver"
    for threads in 1 3; do "$TMP/driver" $threads >>"$TMP/hashes" 2>>"$TMP/bytes" || complain "$file, $threads threads: $(cat "$TMP/hashes")"; done
done
[ "$(sort -u "$TMP/hashes" | wc -l)" = 1 ] || complain "other bits: $(cat "$TMP/hashes")"
set -- $(cat "$TMP/bytes")
[ "$1" -lt 150000 ] || complain "it needs $1 bytes"
[ "$3" -gt 1900000 ] || complain "nothing was left out: $1 and $3 bytes"
exit $failed
