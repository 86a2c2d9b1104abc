return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  decode = false,
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local lengths = nn.constant({ 8, 3, 9, 1 }, "i32")
    local ys = nn.lstm(x, { hidden = 5, lengths = lengths })
    return ys:mean()
  end,
}
