-- A table has a class or numbers to predict.
return {
  config = { numbers = 3, categories = 0, levels = 1, classes = 4, targets = 2, batch = 8 },
  forward = function(c, input)
    local logits = nn.linear(input.numbers, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.table { target = "kind,price" },
}
