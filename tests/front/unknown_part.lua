return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  foward = function(c, input) return nn.zeros { 2, c.width }:mean() end,
}
