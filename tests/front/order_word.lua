return {
  config = { vocab = 256, seq = 8, batch = 2 },
  forward = function(c, input)
    return nn.cross_entropy(nn.embedding(input.tokens, { rows = c.vocab, width = c.vocab }), input.targets)
  end,
  train = { steps = 1 },
  data = data.text {
    order = "epoch",
  },
}
