-- Of a metric whose name does not tell it, the description says which values are better.
return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local logits = nn.linear(nn.embedding(input.tokens, { rows = c.vocab, width = c.width }), { out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { coverage = nn.accuracy(logits, input.targets) }
  end,
  train = {
    best = "coverage",
  },
  data = data.text { tokenizer = "bytes" },
}
