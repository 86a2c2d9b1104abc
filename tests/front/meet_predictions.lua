-- predictions that depend on the other rows of the batch: a warning
-- exit: 0
return { config = { features = 6, batch = 8 }, forward = function(c, input)
  local x = nn.linear(input.features, { name = "up", out = 4 })
  local centred = x - x:mean { 0, keep = true }
  x = centred * nn.rsqrt((centred * centred):mean { 0, keep = true } + 1e-5)
  local logits = nn.linear(x, { name = "head", out = 3 })
  return nn.cross_entropy(logits, input.targets), { logits = logits }
end,
train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
data = data.csv { target = "class" } }
