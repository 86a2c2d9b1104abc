# bad_input.sh: what the machine may lack: a C compiler, enough memory, a place to write.
# compiled: as for users
set -u
failed=0

# refuse CODE PATTERN COMMAND…: it must end with the code and say what the pattern wants, in few lines.
refuse() {
    wanted=$1 pattern=$2
    shift 2
    "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
    code=$?
    if [ $code != "$wanted" ] || ! grep -Eq -- "$pattern" "$TMP/err" || [ "$(wc -l <"$TMP/err")" -gt 6 ]; then
        echo "failed: $*"
        echo "  exit code $code, not $wanted; or no \"$pattern\" in:"
        sed 's/^/  | /' "$TMP/err"
        failed=1
    fi
}

model="models/gpt.lua --config char --set layers=1 --set width=16 --set heads=2 --set seq=8 --set batch=2"

refuse 1 'no C compiler' env PATH=/nonexistent "$LATHE" build $model -o "$TMP/a"
refuse 1 'CC=.*no-such-compiler' env CC=no-such-compiler "$LATHE" build $model -o "$TMP/a"

# A runtime library that does not fit.
mkdir "$TMP/runtime"
ln -s "$PWD"/runtime/* "$TMP/runtime"
ar rcs "$TMP/runtime/liblathe_rt.a"
refuse 1 'the linker cannot use .*/liblathe_rt.a, which is incomplete or of another version' \
    env LATHE_RUNTIME="$TMP/runtime" "$LATHE" build $model -o "$TMP/b"

# More than any machine has: refused before a byte of it is taken, with the figure.
"$LATHE" build $model --set batch=400000000 -o "$TMP/huge" >"$TMP/log" 2>&1
if [ -x "$TMP/huge/trainer" ]; then
    awk 'BEGIN { for (i = 0; i < 200; i++) print "some text to train on" }' >"$TMP/text"
    (if (ulimit -v 16000000 && "$TMP/huge/trainer" info) >"$TMP/log" 2>&1; then ulimit -v 16000000; fi # sanitizers take more
     refuse 1 '[0-9] .?B' "$TMP/huge/trainer" train --data "$TMP/text" --tokenizer bytes --out "$TMP/run"
     exit $failed) || failed=1
else
    refuse 1 '[0-9] .?B' "$LATHE" build $model --set batch=400000000 -o "$TMP/huge"
fi

# The same with a limit of one's own.
"$LATHE" build $model -o "$TMP/small" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
refuse 1 'memory' "$TMP/small/trainer" bench --memory-limit 1K
refuse 1 'width 36 must be a multiple of 2 \* heads 4' "$LATHE" check models/llama.lua --set width=36
refuse 2 'no option --stepz' "$TMP/small/trainer" train --stepz 5
refuse 2 'no command' "$LATHE" biuld models/gpt.lua
exit $failed
