-- Of rows, eval adds metrics by the task, which best may name.
return {
  config = { features = 3, classes = 3, batch = 8 },
  forward = function(c, input)
    local logits = nn.linear(input.features, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1, best = "macro_f2" },
  data = data.csv { target = "class" },
}
