-- cfunc_arguments.lua: too few arguments.
local f = nn.cfunc [[ float f(float x, float a) { return x * a; } ]]
return {
  config = { features = 6, batch = 4, vocab = 3 },
  forward = function(c, input)
    local x = nn.linear(input.features, { out = 3 })
    return nn.cross_entropy(f(x), input.targets)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 } },
  data = data.csv { target = "class" },
}
