-- cfunc_int_zero.lua: an integer division by zero.
local f = nn.cfunc [[ float f(float x, int n) { return x + 7 % (n - n); } ]]
return {
  config = { features = 6, batch = 4, vocab = 3 },
  forward = function(c, input)
    local x = nn.linear(input.features, { out = 3 })
    return nn.cross_entropy(f(x, 3), input.targets)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 } },
  data = data.csv { target = "class" },
}
