return {
  config = { batch = 4, seq = 8, vocab = 16 },
  forward = function(c, input)
    return nn.zeros { 2, 3 }:reshap { 6 }:mean()
  end,
}
