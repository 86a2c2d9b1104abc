-- cfunc_infinite.lua: a constant that is not finite.
local f = nn.cfunc [[
  #define HUGE 1e30f
  float f(float x) { return x + HUGE * HUGE; }
]]
return {
  config = { features = 6, batch = 4, vocab = 3 },
  forward = function(c, input)
    local x = nn.linear(input.features, { out = 3 })
    return nn.cross_entropy(f(x), input.targets)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 } },
  data = data.csv { target = "class" },
}
