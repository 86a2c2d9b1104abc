# axes.sh: extents have the names of their axes whatever their numbers are: each model is compiled with sizes that are all different
# and with sizes that are alike (as many tokens in the vocabulary as positions, as many rows as heads), and what its text calls
# parameters, inputs, outputs, states and values in the arena is the same.
set -eu
failed=0
tell() { echo "failed: $*"; failed=1; }

# Arrays with their extents, a line each: STRUCT.member of model.h, ENTRY.value of what lies in the arena, without the numbers that
# tell those of one name apart.  Blocks of partial sums and what is packed have extents of their own.
arrays() {
    awk '/^ +(float|int|double|bool) [a-z_0-9]+\[.*\];/ && !/_pad\[/ { sub(/;.*/, ""); sub(/^ +[a-z]+ /, ""); member[n++] = $0 }
        /^} / { for (i = 0; i < n; i++) print substr($2, 1, length($2) - 1) "." member[i]; n = 0 }' "$1/model.h"
    awk '/^[a-z].* [a-z_0-9]+\(/ { entry = $0; sub(/\(.*/, "", entry); sub(/.* /, "", entry) }
        /^    [a-z]+ \(\*[a-z_0-9]+\)\[.*= \(void/ { sub(/ = .*/, ""); sub(/^.*\(\*/, ""); sub(/\)/, ""); print entry "." $0 }' "$1/model.c" |
        grep -v '_partial\|_packed' | sed 's/[0-9]*\[/[/' | sort
}

same_names() {  # NAME MODEL APART ALIKE: options of both
    for how in apart alike; do
        [ $how = apart ] && options=$3 || options=$4
        # shellcheck disable=SC2086
        "$LATHE" build "models/$2.lua" $options --source -o "$TMP/$1.$how" >"$TMP/log" 2>&1 || { cat "$TMP/log"; tell "$1, $how"; return; }
        arrays "$TMP/$1.$how" >"$TMP/$1.$how.arrays"
    done
    [ "$(wc -l <"$TMP/$1.apart.arrays")" -gt 10 ] || tell "$1: where are its arrays?"
    diff "$TMP/$1.apart.arrays" "$TMP/$1.alike.arrays" >"$TMP/differ" || { cat "$TMP/differ"; tell "$1: an extent has another name where sizes are alike"; }
    grep -hE '\[[0-9]{2,}\]' "$TMP/$1".*.arrays && tell "$1: an extent has no name" || true
}

same_names gpt gpt '--set batch=3 --set seq=10 --set vocab=37 --set width=24 --set heads=4 --set layers=5' \
    '--set batch=4 --set seq=24 --set vocab=24 --set width=24 --set heads=4 --set layers=4'
same_names odd gpt '--set batch=3 --set seq=31 --set vocab=37 --set width=24 --set heads=4 --set layers=5' \
    '--set batch=31 --set seq=31 --set vocab=32 --set width=32 --set heads=2 --set layers=31'
same_names llama llama '--set batch=3 --set seq=10 --set vocab=37 --set width=24 --set heads=6 --set kv_heads=2 --set layers=5' \
    '--set batch=4 --set seq=32 --set vocab=32 --set width=32 --set heads=4 --set kv_heads=4 --set layers=4'
same_names rnn char_rnn '--set batch=3 --set seq=10 --set vocab=37 --set width=24 --set hidden=40' \
    '--set batch=24 --set seq=24 --set vocab=24 --set width=24 --set hidden=24'
same_names seq2seq seq2seq '--set batch=3 --set seq=10 --set source_seq=14 --set vocab=37' '--set batch=14 --set seq=14 --set source_seq=14 --set vocab=14'
exit $failed
