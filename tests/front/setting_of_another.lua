return {
  config = { vocab = 256, seq = 8, batch = 2 },
  forward = function(c, input)
    return nn.cross_entropy(nn.embedding(input.tokens, { rows = c.vocab, width = c.vocab }), input.targets)
  end,
  train = {
    optimizer = optim.sgd { lr = 0.1 },
    schedule = optim.step { every = 10, final_lr = 1e-5 },
  },
  data = data.text { tokenizer = "bytes" },
}
