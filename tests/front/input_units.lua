-- A class is not scaled, so it has no units.
return {
  config = { features = 3, classes = 3, batch = 8 },
  forward = function(c, input)
    local logits = nn.linear(input.features, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets) * input.target_deviation
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class" },
}
