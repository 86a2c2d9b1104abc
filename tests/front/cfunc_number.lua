-- cfunc_number.lua: a fraction where an int is wanted.
local f = nn.cfunc [[ float f(float x, int n) { return x * n; } ]]
return {
  config = { features = 6, batch = 4, vocab = 3 },
  forward = function(c, input)
    local x = nn.linear(input.features, { out = 3 })
    return nn.cross_entropy(f(x, 2.5), input.targets)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 } },
  data = data.csv { target = "class" },
}
