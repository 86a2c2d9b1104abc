# switches.sh: every pass that has a switch can be left out: the model compiles, and its folder is another one; `lathe passes`
# and `lathe help` know the same switches.
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
top=$PWD
model="$top/models/char_rnn.lua --config tiny"
cd "$TMP"

"$LATHE" passes | sed -n 's/.*  *--no-\([a-z-]*\) .*/\1/p' | sort >"$TMP/listed"
"$LATHE" help | sed -n 's/^  --no-\([a-z-]*\) .*/\1/p' | sort >"$TMP/helped"
[ "$(wc -l <"$TMP/listed")" -gt 10 ] || complain "passes lists few switches: $(cat "$TMP/listed")"
cmp -s "$TMP/listed" "$TMP/helped" || complain "passes and help list other switches"

# shellcheck disable=SC2086
plain=$("$LATHE" build $model --source)
while read -r name; do
    # shellcheck disable=SC2086
    folder=$("$LATHE" build $model --check-stages --no-"$name" --source) || complain "--no-$name: does not compile"
    [ "$folder" != "$plain" ] || complain "--no-$name: builds into the folder of a build with it"
    rm -r "$folder"
    # shellcheck disable=SC2086
    "$LATHE" build $model --target cuda --check-stages --no-"$name" --source -o cuda >/dev/null ||
        complain "--no-$name: does not compile for CUDA"
done <"$TMP/listed"
rm -r "$plain"
# shellcheck disable=SC2086
! "$LATHE" build $model --no-fus --source >"$TMP/said" 2>&1 || complain "--no-fus is taken"
grep -q 'did you mean --no-fuse' "$TMP/said" || complain "--no-fus: $(cat "$TMP/said")"
exit $failed
