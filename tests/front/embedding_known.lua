return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local places = nn.embedding(nn.iota(c.seq) * 2, { name = "places", rows = c.seq, width = c.width })
    return nn.cross_entropy(nn.linear(x + places, { out = c.vocab }), input.targets)
  end,
}
