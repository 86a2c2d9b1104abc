# deep.sh: fault 5: no pass recurses along a description: each kind of tests/models/unrolled.lua, 2,000 steps long, compiles to
# the text on a stack of 512 KB (some passes keep polynomials of 400 terms there on a GPU: 1 MB).
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "${BUILD:-build}/CMakeCache.txt" || { echo 'skipped: frames of sanitizers are larger'; exit 77; }
failed=0
compiles() {    # KILOBYTES KIND STEPS [OPTION…]
    kilobytes=$1 kind=$2 steps=$3
    shift 3
    (ulimit -s "$kilobytes" && exec "$LATHE" build --source tests/models/unrolled.lua --set kind="$kind" --set n="$steps" "$@" \
        -o "$TMP/built") >"$TMP/out" 2>"$TMP/err" </dev/null && return
    echo "failed: exit $?: $kind, $steps steps $*"
    tail -n 3 "$TMP/err"
    failed=1
}
for kind in $(sed -n 's/^function kinds\.\([a-z_]*\).*/\1/p' tests/models/unrolled.lua); do
    case $kind in
    lstm | layers | stack | attention | loops | averages) steps=300 ;;     # many operations a step
    cfunc) steps=300 ;;                                 # the C front end nests lines of a body
    *) steps=2000 ;;
    esac
    compiles 512 "$kind" $steps
done
compiles 1024 rows 2000 --target cuda
for kind in lstm layers chain; do
    compiles 512 "$kind" 200 --precision bf16
    compiles 1024 "$kind" 200 --target cuda --precision bf16
done

# What would take too much memory is refused: so many operations, or so many bytes.
refused() {     # WORDS COMMAND…
    words=$1
    shift
    "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
    [ $? = 1 ] && grep -q "$words" "$TMP/err" && return
    echo "failed: not refused: $*"
    cat "$TMP/err"
    failed=1
}
unrolled="$LATHE build --source tests/models/unrolled.lua -o $TMP/built"
refused 'unrolled.lua:4: error: the description makes more than 200000 operations' $unrolled --set kind=chain --set n=110000
refused 'takes more than 0.1 GB of memory' env LATHE_COMPILER_MB=100 $unrolled --set kind=chain --set n=2000
exit $failed
