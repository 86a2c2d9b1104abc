return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = nn.linear(x, { name = "mix", out = c.width })
    x = nn.linear(x, { name = "mix", out = c.width })
    return x:mean()
  end,
}
