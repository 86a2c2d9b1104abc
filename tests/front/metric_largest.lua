-- The largest of all rows is no function of sums over rows.
return {
  config = { features = 3, classes = 3, batch = 8 },
  forward = function(c, input)
    local logits = nn.linear(input.features, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  metrics = function(c, out, input)
    return { largest = out.logits:max(-1):max(0) }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class" },
}
