return {
  config = { batch = 4, seq = 6, vocab = 9, width = 8 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local logits = nn.linear(x + nn.shift(x), { out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  generate = { rows = 2, slots = 3 },
}
