-- The best checkpoint is by a metric that there is.
return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local logits = nn.linear(nn.embedding(input.tokens, { rows = c.vocab, width = c.width }), { out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { coverage = nn.accuracy(logits, input.targets) }
  end,
  train = {
    best = "covrage",
  },
  data = data.text { tokenizer = "bytes" },
}
