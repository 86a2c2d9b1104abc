return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  decode = false,
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local zero = nn.zeros { 1, c.batch, 5 }
    local ys = nn.lstm(x, { hidden = 5, layers = 2, start = { h = zero, c = zero } })
    return ys:mean()
  end,
}
