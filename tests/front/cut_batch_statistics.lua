-- a mean and a variance over the batch
return { config = { features = 6, batch = 8, accumulate = 2 }, forward = function(c, input)
  local x = nn.linear(input.features, { name = "up", out = 4 })
  local centred = x - x:mean { 0, keep = true }
  x = centred * nn.rsqrt((centred * centred):mean { 0, keep = true } + 1e-5)
  return nn.cross_entropy(nn.linear(x, { name = "head", out = 3 }), input.targets)
end,
train = function(c) return { optimizer = optim.sgd { lr = 0.1 }, steps = 1, accumulate = c.accumulate } end,
data = data.csv { target = "class" } }
