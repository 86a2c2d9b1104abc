return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  decode = false,
  forward = function(c, input)
    return nn.embedding(input.tokens, { name = "embed", rows = c.vocab, width = c.width }):mean()
  end,
  sample = function(c, input)
    return nn.max(input.targets, 0)
  end,
}
