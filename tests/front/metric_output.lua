-- An output that forward does not have is no nil.
return {
  config = { features = 3, classes = 3, batch = 8 },
  forward = function(c, input)
    local logits = nn.linear(input.features, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits, sure = nn.softmax(logits) }
  end,
  metrics = function(c, out, input)
    return { each = out.logit:mean() }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class" },
}
