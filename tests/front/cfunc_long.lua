-- cfunc_long.lua: loops that are too much code.
local f = nn.cfunc [[
  float f(float x) {
    for (int i = 0; i < 1000; i++)
      for (int k = 0; k < 1000; k++) x += i * k;
    return x;
  }
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
