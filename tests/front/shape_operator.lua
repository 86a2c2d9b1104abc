return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local scale = nn.param { name = "scale", shape = { c.seq } }
    local y = x * scale
    return y:mean()
  end,
}
