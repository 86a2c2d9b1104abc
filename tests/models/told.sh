# told.sh: numbers of the data that the model would see otherwise than they are, and settings without effect, are told.
set -eu
. tests/models/common
# says CODE WORDS COMMAND…
says() {
    wanted=$1 words=$2
    shift 2
    code=0
    "$@" >"$TMP/said" 2>&1 || code=$?
    [ $code = "$wanted" ] && grep -Eq -- "$words" "$TMP/said" || tell "exit code $code, or no \"$words\": $*"
}
silent() {
    "$@" >"$TMP/said" 2>&1 || tell "exit code $?: $*"
    ! grep -Eq 'warning|beyond the range|patience' "$TMP/said" || tell "nothing to tell: $*"
}
# table ROW VALUE: 40 rows; in ROW the first column holds VALUE
table() {
    awk -v row="$1" -v x="$2" 'BEGIN { print "time,b,class"; for (i = 0; i < 40; i++) print (i == row ? x : i) ",1." i "," i % 5 }'
}
table 3 16777217 >"$TMP/rounded.csv"
table 3 33554432 >"$TMP/even.csv"
table 3 -1e39 >"$TMP/beyond.csv"
"$LATHE" build tests/models/class_ids.lua -o "$TMP/single" >"$TMP/said" 2>&1 || tell "no build"
"$LATHE" build tests/models/class_ids.lua --precision fp64 -o "$TMP/double" >"$TMP/said" 2>&1 || tell "no build"
train() { "$TMP/$1/trainer" train --data "$TMP/$2.csv" --out "$TMP/run_$1_$2" --steps 2 $3; }
says 0 'rounded.csv:5:1: column "time": 16777217 becomes 16777216 in fp32, which holds integers up to 16777216' train single rounded ""
[ "$(grep -c 'becomes' "$TMP/said")" = 1 ] || tell "each column once"
silent train single even ""
silent train double rounded ""
says 3 'beyond.csv:5:1: .*column "time": -1e.39 is beyond the range of fp32' train single beyond ""
silent train double beyond ""
says 0 'patience counts evaluations, and the only one is at the end' train single even "--set patience=2 --eval-every 0 --out $TMP/a"
says 0 'patience counts evaluations, but no part of the data is kept for them' train single even "--set patience=2 --eval-every 1 --val-fraction 0 --out $TMP/b"
silent train single even "--set patience=2 --eval-every 1 --out $TMP/c"
# --memory compiles a description several times, and its remarks are made once.
sed 's/forward = function(c, input)/&\n    print("a remark")\n    local far = input.features * 16777217/' tests/models/class_ids.lua >"$TMP/remarks.lua"
says 0 'a remark' "$LATHE" plan "$TMP/remarks.lua" --memory 90%
[ "$(grep -c 'a remark' "$TMP/said")" = 1 ] && [ "$(grep -c 'becomes' "$TMP/said")" = 1 ] || tell "each remark once"
