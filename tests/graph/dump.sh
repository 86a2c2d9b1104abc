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

# What kernels cannot be cut from is refused with its line, unless the pass before it makes something else of it.
cat >"$TMP/middle.graph" <<'END'
graph train
%1 = input x : f32[4, 6, 8]
%2 = sum %1 {1} : f32[4, 8]
value y = %2
END
taken "$TMP/middle.graph" --from normal --after plan
refused 'middle.graph:3: error: behind pass normal a reduction' "$TMP/middle.graph" --from straighten --after plan
cat >"$TMP/apart.graph" <<'END'
graph train
%1 = input a : f32[4, 6, 8]
%2 = parameter w : f32[6, 4, 8]
%3 = dot %1 %2 {0, 2, 0, 1, 1, 0} : f32[8, 8]
value y = %3
END
taken "$TMP/apart.graph" --from normal --after plan
refused 'apart.graph:4: error: behind pass normal contracted axes' "$TMP/apart.graph" --from straighten --after plan
cat >"$TMP/open.graph" <<'END'
graph train
open micro 2
    index %1 : i32[]
    %2 = input x : f32[]
    %3 = mul %2 %2 : f32[]
end
value loss = %3
END
refused 'open.graph: error: pass grad closes' "$TMP/open.graph" --from straighten --after plan

# What an end of a product reads is copied where it is no matrix; what comes with a product is made where it is one.
cat >"$TMP/turned.graph" <<'END'
graph train
%1 = input a : f32[24, 16]
%2 = parameter w : f32[32, 16]
%3 = input h : f32[32, 24]
%4 = permute %3 {1, 0} : f32[24, 32]
%5 = dot %1 %2 %4 {0, 1, 1, 1, 3} : f32[24, 32]
%6 = input row : f32[32]
%7 = flip %6 {0} : f32[32]
%8 = dot %1 %2 %7 {0, 1, 1, 1, 2} : f32[24, 32]
%9 = dot %1 %2 %7 {0, 1, 1, 1} : f32[24, 32]
%10 = permute %9 {1, 0} : f32[32, 24]
value y = %5
value gelu = %8
value turned = %10
END
taken "$TMP/turned.graph" --from straighten --after plan --target cuda --check-stages
[ "$(grep -c ': rows copy_' "$TMP/out")" = 3 ] || { echo failed: copies; grep ": rows" "$TMP/out"; failed=1; }

# A stack that nobody picks: what it would be of is not made.
cat >"$TMP/unread.graph" <<'END'
graph train
%1 = constant 0 : f32[]
%2 = input x : f32[3, 4, 8]
%3 = loop time 3
    index %4 : i32[]
    carry %5 = %1 : f32[]
    x %6 = %2 : f32[4, 8]
    %7 = sum %6 {0} : f32[8]
    %8 = sum %7 {0} : f32[]
    %9 = mul %6 %6 : f32[4, 8]
    %10 = sum %9 {0} : f32[8]
    %11 = add %5 %8 : f32[]
    next %5 = %11
    yield %10
end
%12 = pick %3 {0, 0} : f32[]
value y = %12
END
taken "$TMP/unread.graph" --from straighten --after plan --check-stages
exit $failed
