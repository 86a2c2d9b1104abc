-- contrastive: each row is compared with the other rows, and a micro-batch has fewer of them
return { config = { features = 6, batch = 8, accumulate = 2 }, forward = function(c, input)
  local a = nn.linear(input.features, { name = "a", out = 4 })
  local b = nn.linear(input.features, { name = "b", out = 4 })
  local scores = nn.dot(a, b, { contract = { -1, -1 } })
  return nn.cross_entropy(scores, nn.iota(a:size(0)))
end,
train = function(c) return { optimizer = optim.sgd { lr = 0.1 }, steps = 1, accumulate = c.accumulate } end,
data = data.csv { target = "class" } }
