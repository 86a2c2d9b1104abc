return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input) return nn.zeros { 2, c.width }:mean() end,
  train = {
    optimizer = optim.adamw { lr = 2e9 },
    save_every = 1e300,
  },
}
