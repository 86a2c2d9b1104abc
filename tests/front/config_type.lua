return {
  config = { batch = 4, seq = 8, vocab = 16, layers = 3 },
  configs = {
    big = {
      layers = 3.5,
    },
  },
  forward = function() return nn.zeros { 1 }:mean() end,
}
