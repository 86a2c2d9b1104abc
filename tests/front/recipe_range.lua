-- What a trainer's --set refuses, a description may not say either; and the other way round.
return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input) return nn.zeros { 2, c.width }:mean() end,
  train = {
    optimizer = optim.adamw { lr = 2e9, beta1 = 1.5 },
  },
}
