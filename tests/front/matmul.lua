return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local w = nn.param { name = "w", shape = { 20, c.width } }
    return x:matmul(w):mean()
  end,
}
