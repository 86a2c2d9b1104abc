# showcase.sh: generated/showcase holds what `lathe build` writes of two small models today, byte for byte, so that what a change
# of the compiler does to its output shows as a diff.  `tests/run.sh bless -k showcase` writes it anew.
set -u
failed=0

show() {        # NAME ARGUMENTS…
    name=$1 kept=generated/showcase/$1
    shift
    "$LATHE" build "$@" -o "$TMP/$name" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
    for file in model.c model.h model.plan.h plan.txt CMakeLists.txt; do
        if [ -n "${BLESS:-}" ]; then
            cmp -s "$TMP/$name/$file" "$kept/$file" && continue
            mkdir -p "$kept" && cp "$TMP/$name/$file" "$kept/$file" && echo "rewrote $kept/$file"
        else
            diff -u "$kept/$file" "$TMP/$name/$file" >"$TMP/diff" && continue
            echo "failed: $kept/$file is not what lathe writes (tests/run.sh bless -k showcase):"
            head -n 60 "$TMP/diff"
            failed=1
        fi
    done
    grep -n "$PWD\|$TMP" "$TMP/$name"/model.[ch] "$TMP/$name/plan.txt" "$TMP/$name/CMakeLists.txt" && { echo "failed: it names folders of this machine"; failed=1; }
}

show gpt-char models/gpt.lua --config char
show char_rnn models/char_rnn.lua
exit $failed
