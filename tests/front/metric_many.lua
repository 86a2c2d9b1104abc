-- More metrics than a trainer keeps.
return {
  config = { features = 3, classes = 3, batch = 8 },
  forward = function(c, input)
    local logits = nn.linear(input.features, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  metrics = function(c, out, input)
    local all = {}
    for k = 1, 256 do all["power_" .. k] = (out.logits ^ k):mean() end
    return all
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class" },
}
