-- batchnorm.lua: a table by an MLP with batch norms: three micro-batches of a step, each with statistics of its own.
return {
  config = { batch = 5, features = 2, classes = 3, hidden = 12, steps = 60 },
  forward = function(c, input)
    local x = nn.linear(input.features, { name = "up", out = c.hidden })
    x = nn.stack(2, x, function(y)
      return y + nn.relu(nn.batchnorm(nn.linear(y, { name = "linear", out = c.hidden }), { name = "norm" }))
    end)
    local logits = nn.linear(nn.dropout(x, 0.1), { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits, accuracy = nn.accuracy(logits, input.targets) }
  end,
  train = function(c) return { optimizer = optim.adamw { lr = 1e-2 }, steps = c.steps, accumulate = 3 } end,
  data = data.csv { target = "class", val_fraction = 0.2 },
}
