-- A table without columns of text has no categories.
return {
  config = { numbers = 3, categories = 0, levels = 0, classes = 0, batch = 8 },
  forward = function(c, input)
    return nn.mse(nn.linear(input.categories, { name = "head", out = 1 }), input.targets)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.table { target = "price" },
}
