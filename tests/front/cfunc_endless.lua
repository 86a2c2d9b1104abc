-- cfunc_endless.lua: a loop without an end.
local f = nn.cfunc [[ float f(float x) { for (;;) x += 1; return x; } ]]
return {
  config = { features = 6, batch = 4, vocab = 3 },
  forward = function(c, input)
    local x = nn.linear(input.features, { out = 3 })
    return nn.cross_entropy(f(x), input.targets)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 } },
  data = data.csv { target = "class" },
}
