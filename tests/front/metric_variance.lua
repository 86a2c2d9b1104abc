-- A variance of all rows is made of means, and is refused where it is written although forward has the same value.
return {
  config = { features = 3, classes = 3, batch = 8 },
  forward = function(c, input)
    local logits = nn.linear(input.features, { name = "head", out = c.classes })
    local spread = logits:select(1, 0):var()
    return nn.cross_entropy(logits, input.targets), { logits = logits, spread = spread }
  end,
  metrics = function(c, out, input)
    return { spread_of_rows = out.logits:select(1, 0):var() }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class" },
}
