# dump.sh: where a graph's text may start: not within the cutting of kernels, and with ends of products no earlier than where
# these are made, on targets that have them.
set -u
failed=0
refused() {     # WORDS OPTION…
    words=$1
    shift
    "$LATHE" dump "$@" >"$TMP/out" 2>"$TMP/err"
    [ $? != 0 ] && grep -q -- "$words" "$TMP/err" && ! grep -q 'internal error' "$TMP/err" && return
    echo "failed: not refused: $*"
    cat "$TMP/err"
    failed=1
}
taken() {
    "$LATHE" dump "$@" >"$TMP/out" 2>"$TMP/err" && [ -s "$TMP/out" ] && return
    echo "failed: $*"
    cat "$TMP/err"
    failed=1
}
cutting=tests/golden/cutting.graph ended=tests/golden/ends_in_gelu.graph
taken $cutting --from straighten --after plan
taken $cutting --after plan
refused 'starts with a pass over graphs, or with straighten' $cutting --from absorb --after plan
refused 'starts with a pass over graphs, or with straighten' $cutting --from order --after plan
"$LATHE" dump $ended --from gelu --after gelu --target cuda >"$TMP/ended.graph"
taken "$TMP/ended.graph" --from gelu --after plan --target cuda
taken "$TMP/ended.graph" --from straighten --after plan --target cuda --no-sums --no-pair
refused 'passes before bias do not know' "$TMP/ended.graph" --from simplify --after plan --target cuda
refused 'products of cpu do not' "$TMP/ended.graph" --from gelu --after plan
exit $failed
