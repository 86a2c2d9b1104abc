return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = nn.conv1d(x, { out = 12, kernel = 3, padding = 1 })
    local logits = nn.linear(x, { out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
}
