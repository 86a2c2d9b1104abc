return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12, source_seq = 6, features = 3 },
  decode = false,
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { name = "embed", rows = c.vocab, width = c.width })
    local y = x
    return y:mean()
  end,
  data = data.text { order = "contiguous", pack = true },
}
