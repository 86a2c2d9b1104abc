# exact_refused.sh: what --exact-sums cannot be with is refused, with the reason and the line; lathe plan says what it costs.
set -eu
failed=0
tell() { echo "failed: $*"; failed=1; }

refused() { # CODE WORDS OPTIONS…
    code=$1 words=$2
    shift 2
    got=0
    "$LATHE" check "$@" >"$TMP/said" 2>&1 || got=$?
    [ "$got" = "$code" ] || tell "$*: exit code $got, not $code"
    grep -q -- "$words" "$TMP/said" || tell "$*: not refused with '$words': $(head -n 3 "$TMP/said")"
}

gpt='models/gpt.lua --config char --set layers=1'
# shellcheck disable=SC2086
{
    refused 2 'expected a number of rows' $gpt --exact-sums 0
    refused 2 'gpt.lua:[0-9]*: .*batch = 12 is no multiple' $gpt --exact-sums 8
    refused 2 'gpt.lua:[0-9]*: .*12 groups of 1 row.*only a power of two' $gpt --exact-sums 1
    refused 2 'it is for processors' $gpt --exact-sums 3 --target cuda
    refused 2 'it is for trainers' $gpt --exact-sums 3 --library
    refused 2 'noise_scale' $gpt --exact-sums 3 --set noise_scale=true --set accumulate=2
    refused 2 'accumulate_at' $gpt --exact-sums 3 --set accumulate_at=0:1,9:2 --set accumulate=2
    refused 2 'gan.lua:[0-9]*: all rows of a batch share the statistics' models/gan.lua --exact-sums 2
}
# shellcheck disable=SC2086
"$LATHE" plan $gpt --set accumulate=2 --exact-sums 3 >"$TMP/said"
grep -q '^--exact-sums: a step has 8 groups of 3 rows' "$TMP/said" || tell "the plan does not say what a step is"
# Of eight groups three sums are open at a time, and one of them is the gradients'.
awk '{ gsub(",", "") } $1 == "gradients" { all = $2 } $1 == "partial" { part = $3 } END { exit part == 2 * all && part > 0 ? 0 : 1 }' "$TMP/said" ||
    tell "the plan's partial gradients are not two of three: $(grep gradients "$TMP/said")"
exit $failed
