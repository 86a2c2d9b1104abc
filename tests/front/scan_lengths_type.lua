return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  decode = false,
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local ys = nn.gru(x, { hidden = 5, lengths = nn.zeros { c.batch } })
    return ys:mean()
  end,
}
