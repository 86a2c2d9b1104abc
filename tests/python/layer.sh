# layer.sh: a layer (--layer) as a module of Python: gradients of inputs and parameters are the slopes of its outputs, in fp64; its
# two halves, run apart; what has no layer is refused.
# compiled: as for users
python=${PYTHON:-python3}
$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "skipped: no python3 of 3.11 or later"; exit 77; }
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "${BUILD:-build}/CMakeCache.txt" || { echo "skipped: Python is not built with sanitizers"; exit 77; }
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
module=$("$LATHE" build tests/python/layer.lua --precision fp64 --python --layer --check-stages -o "$TMP/layer")
${CC:-cc} -std=gnu11 -O1 -march=native -fopenmp -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror "$module" -o "$TMP/_model.abi3.so" -lm -lpthread
$python -B tests/python/layer.py "$TMP/_model.abi3.so" || complain "layer.py"

# refused WORDS FORWARD OPTION…
refused() {
    words=$1 forward=$2
    shift 2
    cat >"$TMP/no.lua" <<END
return {
  config = { batch = 4, width = 3 },
  inputs = { x = { "f32", "width" } },
  forward = function(c, input)
    $forward
  end,
  data = data.arrays {},
}
END
    ! "$LATHE" build "$TMP/no.lua" "$@" -o "$TMP/no" >"$TMP/said" 2>&1 || complain "not refused: $words"
    grep -q -- "$words" "$TMP/said" || complain "expected '$words': $(cat "$TMP/said")"
}
refused 'no.lua:4: .*no output with a row for each row' 'return nn.linear(input.x, { out = 1 }):mean()' --python --layer
refused "output 'd_y'.*give it another name" 'local y = nn.linear(input.x, { out = 2 }) return y:mean(), { d_y = y }' --python --layer
refused 'no.lua:5: .*batchnorm' 'local y = nn.batchnorm(input.x) return y:mean(), { y = y }' --python --layer
refused '--layer is for --python' 'local y = nn.linear(input.x, { out = 2 }) return y:mean(), { y = y }' --library --layer
refused '--layer is for --python' 'local y = nn.linear(input.x, { out = 2 }) return y:mean(), { y = y }' --python --layer --inference
exit $failed
