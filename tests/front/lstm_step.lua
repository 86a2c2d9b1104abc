return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  decode = false,
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local cell, zero = nn.lstm_step { hidden = 5, layers = 2 }, nn.zeros { c.batch, 5 }
    local _, ys = nn.scan(x, { h = { zero }, c = { zero } }, function(xt, s)
      local h, new = cell(xt, s)
      return new, h
    end)
    return ys:mean()
  end,
}
