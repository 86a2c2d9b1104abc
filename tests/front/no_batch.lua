return {
  config = { seq = 8, vocab = 16 },
  forward = function(c, input) return nn.zeros { 2 }:mean() end,
}
