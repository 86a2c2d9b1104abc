return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local mean = nn.weighted_mean(x, input.targets)
    return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets)
  end,
}
