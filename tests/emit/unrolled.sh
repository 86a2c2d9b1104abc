# unrolled.sh: fault 5: descriptions that outsiders wrote as plain loops of Lua (tests/models/unrolled.lua) are compiled to the
# text, in seconds: test_growth has the bytes.
failed=0
# within SECONDS COMMAND… of KIND and N
within() {
    seconds=$1
    shift
    timeout "$seconds" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null && return
    echo "failed: exit code $?, $seconds s are allowed: $*"
    tail -n 3 "$TMP/err"
    failed=1
}
model="tests/models/unrolled.lua -o $TMP/built"
within 60 "$LATHE" build --source $model --set kind=outputs --set n=40         # fault 5, min1
within 60 "$LATHE" build --source $model --set kind=sums --set n=100           # fault 5, min5
within 20 "$LATHE" build --source $model --set kind=chain --set n=200          # fault 5, unroll_200_slow
within 20 "$LATHE" build --source $model --set kind=cfunc --set n=300          # fault 5, cfunc_fan_hang
within 100 "$LATHE" build --source $model --set kind=chain --set n=12000       # fault 5, unroll_12000_segfault
exit $failed
