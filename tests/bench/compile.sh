#!/bin/sh
# compile.sh: what `lathe build --source` takes for loops of Lua that are unrolled (tests/models/unrolled.lua), against the
# number of operations that the description makes: a table of seconds of processor time and MB, and each as a multiple of
# the line before it.
#
#   tests/bench/compile.sh [LATHE [OPTION…]]        OPTION: of lathe build, such as --target cuda
set -u
cd "$(dirname "$0")/../.."
lathe=${1:-build/lathe}
[ $# = 0 ] || shift
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

# operations KIND STEPS: of the entry train, as the description makes them
operations() {
    "$lathe" dump tests/models/unrolled.lua --after front --set kind="$1" --set n="$2" |
        awk '/^graph/ { train = $2 ~ /^train/ } train && / = / { n++ } END { print n }'
}

# measured COMMAND…: "seconds MB"
measured() {
    /usr/bin/time -f '%U %M' "$@" 2>&1 >/dev/null | awk 'NF == 2 { printf "%.2f %.0f", $1, $2 / 1000 }'
}

printf '%-10s %10s %8s %10s %8s\n' kind operations steps seconds MB
for kind in chain shared lstm layers; do
    at_50=$(operations $kind 50) at_100=$(operations $kind 100) before=
    for wanted in 100 1000 10000 100000; do
        steps=$(awk "BEGIN { n = int($wanted * 50 / ($at_100 - $at_50) + 0.5); print n < 1 ? 1 : n }")
        now=$(measured "$lathe" build --source tests/models/unrolled.lua --set kind=$kind --set n="$steps" -o "$temp/out" "$@")
        echo "$kind $wanted $steps $now $before" | awk '{
            printf "%-10s %10d %8d %10s %8s", $1, $2, $3, $4, $5
            if (NF > 5) printf "   x %.1f  x %.1f", $4 / ($6 + 1e-9), $5 / $7
            print "" }'
        before=$now
    done
done
