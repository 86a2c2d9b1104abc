return {
  config = { batch = 4, seq = 8, vocab = 16, width = 8 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width, name = "layers.0x" })
    return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets)
  end,
}
