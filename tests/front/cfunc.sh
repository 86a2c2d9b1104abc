# cfunc.sh: swiglu, snake and huber in C become the kernels that built-in operations become, word for word; without libclang
# everything but nn.cfunc works; a C text opens no file.
# compiled: as for users
failures=0
wrong() { echo "FAILED: $*"; failures=$((failures + 1)); }
skip() { echo "$*"; exit 77; }
# expect NAME COMMAND…: the output of the command has the words of $want in it
expect() {
    name=$1
    shift
    "$@" >"$TMP/out" 2>&1
    grep -q -- "$want" "$TMP/out" || { wrong "$name: not told: $want"; cat "$TMP/out"; }
}

want='apt install libclang1-19' expect 'no libclang' env LATHE_LIBCLANG="$TMP/none.so" "$LATHE" check tests/front/cfunc_zero.lua
want='is sound' expect 'others without libclang' env LATHE_LIBCLANG="$TMP/none.so" "$LATHE" check models/mlp.lua
echo 'int clang_createIndex(int a, int b) { return a + b; }' >"$TMP/old.c"
${CC:-cc} -shared -fPIC -o "$TMP/old.so" "$TMP/old.c"
want='is older; on Debian' expect 'an old libclang' env LATHE_LIBCLANG="$TMP/old.so" "$LATHE" check tests/front/cfunc_zero.lua
"$LATHE" check tests/front/cfunc_zero.lua 2>&1 | grep -q 'needs libclang' && skip "libclang 17 or newer is not here"

# ------------------------------------------------------------------ the same kernels

cat >"$TMP/pair.lua" <<'LUA'
local swiglu = nn.cfunc [[ float swiglu(float gate, float up) { return gate * (0.5f + 0.5f * tanhf(0.5f * gate)) * up; } ]]
local snake = nn.cfunc [[ float snake(float x, float a) { float s = sinf(a * x); return x + s * s / a; } ]]
local huber = nn.cfunc [[
  float huber(float error, float delta) {
    float size = fabsf(error);
    if (size < delta) return 0.5f * error * error;
    return delta * (size - 0.5f * delta);
  }
]]
local builtin = {
  swiglu = function(gate, up) return nn.silu(gate) * up end,
  snake = function(x, a)
    local s = nn.sin(a * x)
    return x + s ^ 2 / a
  end,
  huber = function(error, delta)
    local size = nn.abs(error)
    return nn.where(nn.lt(size, delta), 0.5 * error * error, delta * (size - 0.5 * delta))
  end,
}
return {
  config = { features = 32, batch = 64, hidden = 48, c = false },
  forward = function(c, input)
    local f = c.c and { swiglu = swiglu, snake = snake, huber = huber } or builtin
    local x = nn.linear(input.features, { name = "in", out = c.hidden })
    local alpha = nn.param { name = "alpha", shape = { c.hidden }, init = 1 }
    x = f.snake(nn.layernorm(x), alpha)
    x = f.swiglu(nn.linear(x, { name = "gate", out = c.hidden }), nn.linear(x, { name = "up", out = c.hidden }))
    local y = nn.linear(x, { name = "head", out = 8 })
    return f.huber(y - input.features:slice(1, 0, 8), 0.75):mean(), { y = y }
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 10 },
  data = data.csv { target = "t" },
}
LUA
# A comment on one line, as the lines that it cites decide where it breaks.
unwrapped() {
    awk '/^\/\*/ { inside = 1 } inside { sub(/^ \* +/, ""); gsub(/  +/, " ") }
        { last = !inside || /\*\/$/; printf "%s%s", $0, last ? "\n" : " " } last { inside = 0 }' "$1"
}
# What is not the description's name, lines and options, which differ.
text_of() {
    "$LATHE" build "$TMP/pair.lua" --set "c=$1" -o "$TMP/$1" >"$TMP/out" 2>&1 || { wrong "c=$1 is not built"; cat "$TMP/out"; }
    unwrapped "$TMP/$1/model.c" | sed -e 's/pair.lua:[0-9]*/pair.lua/g' -e 's/ pair\.lua[a-z0-9_., ]* moves/ moves/' |
        grep -v -e 'hash' -e 'c *= *\(true\|false\)' -e '{"c", ' >"$TMP/$1.c"
}
text_of true
text_of false
diff -u "$TMP/false.c" "$TMP/true.c" >"$TMP/diff" || { wrong "the kernels of functions in C are others than those of built-in operations"; head -n 40 "$TMP/diff"; }
[ "$(grep -c '^KERNEL' "$TMP/true.c")" -gt 5 ] || wrong "there are no kernels to compare"

# ------------------------------------------------------------------ no file is read for the text

secret=$TMP/secret.h
echo 'static float secret(float x) { return x; }' >"$secret"
tried=0
while IFS= read -r way; do
    {
        echo 'local f = nn.cfunc [==['
        printf '%s\n' "$way" | sed "s|FILE|$secret|; s|NEWLINE|\\
|g"
        echo 'float f(float x) { return secret(x); }'
        echo ']==]'
        echo 'return { forward = f }'
    } >"$TMP/peek.lua"
    "$LATHE" check "$TMP/peek.lua" >"$TMP/out" 2>&1
    [ $? = 1 ] && grep -q 'peek.lua:[0-9]*:[0-9]*: error: ' "$TMP/out" && ! grep -q "forward" "$TMP/out" || { wrong "let through: $way"; cat "$TMP/out"; }
    tried=$((tried + 1))
done <<'WAYS'
#include "FILE"
#include <FILE>
  #  include <FILE>
%:include <FILE>
%: include <FILE>
??=include <FILE>
/**/#include <FILE>
#/**/include <FILE>
# /* NEWLINE */ include <FILE>
#include_next <FILE>
#import <FILE>
#define PATH <FILE>NEWLINE#include PATH
#define HASH #NEWLINEHASH include <FILE>
/* // */ #include <FILE>
// /*NEWLINE#include <FILE>NEWLINE// */
#pragma include_alias(<a.h>, <FILE>)
#line 1NEWLINE#include <FILE>
#embed <FILE>
#if 0NEWLINE#elif 1NEWLINE#include <FILE>NEWLINE#endif
WAYS
[ $tried -gt 15 ] || wrong "only $tried ways were tried"
exit $((failures > 0))
