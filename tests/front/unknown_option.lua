return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    return nn.linear(nn.zeros { 2, 3 }, { out = 4, biass = false }):mean()
  end,
}
