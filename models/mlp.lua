-- mlp.lua: the smallest model: classes from the columns of a CSV file.

return {
  config = { features = 4, classes = 3, hidden = 32, batch = 16, lr = 1e-2, steps = 500, target = "class" },

  forward = function(c, input)
    local h = nn.relu(nn.linear(input.features, { name = "up", out = c.hidden }))
    local logits = nn.linear(h, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits, accuracy = nn.accuracy(logits, input.targets) }
  end,

  train = function(c)
    return { optimizer = optim.adamw { lr = c.lr }, steps = c.steps, eval_every = 100 }
  end,

  data = function(c) return data.csv { target = c.target, val_fraction = 0.2 } end,
}
