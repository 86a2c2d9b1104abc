-- cfunc_overflow.lua: an int that overflows.
local f = nn.cfunc [[ float f(float x) { int n = 1; for (int i = 0; i < 40; i++) n *= 2; return x * n; } ]]
return {
  config = { features = 6, batch = 4, vocab = 3 },
  forward = function(c, input)
    local x = nn.linear(input.features, { out = 3 })
    return nn.cross_entropy(f(x), input.targets)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 } },
  data = data.csv { target = "class" },
}
