local width = 12
return {
  config = { batch = 4, seq = 8, vocab = 16 },
  forward = function(c, input)
    return nn.zeros { widht }:mean()
  end,
}
