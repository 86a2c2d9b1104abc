return {
  config = { batch = 4, seq = 8, vocab = 16 },
  forward = function(c, input)
    return nn.lineer(nn.zeros { 2, 3 }, { out = 4 }):mean()
  end,
}
