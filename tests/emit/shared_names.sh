# shared_names.sh: a function that kernels of two layers share is called after what their names have in common, but not
# where that begins with a number: 0_x of down_0_x and join_0_x.
set -eu
cat >"$TMP/shared.lua" <<'E'
local function block(x)
  x = nn.tanh(nn.linear(x, { name = "up", out = 8 })):cumsum(-1)
  return x
end
return {
  config = { features = 8, classes = 3, batch = 4 },
  forward = function(c, input)
    local both = nn.scope("join_0", block, nn.scope("down_0", block, input.features)) * 2
    return nn.cross_entropy(nn.linear(both, { name = "head", out = c.classes }), input.targets)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 } },
  data = data.csv { target = "class" },
}
E
"$LATHE" build "$TMP/shared.lua" -o "$TMP/built" >"$TMP/said" 2>&1 || { cat "$TMP/said"; exit 1; }
grep -o '^KERNEL void [a-z_0-9]*' "$TMP/built/model.c" | sed 's/.* //' >"$TMP/names"
cat "$TMP/names"
grep -qx 'down_0_x_or_join_0_x' "$TMP/names"
