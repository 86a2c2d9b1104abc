return { config = { batch = 2, seq = 4, vocab = 256, width = 8 }, forward = function(c, input)
  local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
  return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets) end,
  train = { steps = 1, accumulate = 1 << 40, optimizer = optim.sgd { lr = 1 } },
  data = data.text { tokenizer = "bytes" } }
