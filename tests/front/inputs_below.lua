return {
  config = { batch = 4, width = 8, vocab = 20, seq = 6 },
  inputs = { x = { "f32", 3, below = 4 } },
  forward = function(c, input)
    return input.x:mean()
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.arrays {},
}
