return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  decode = false,
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { name = "embed", rows = c.vocab, width = c.width })
    local norm = nn.batchnorm { name = "norm" }
    local h = nn.scan(x, nn.zeros { c.batch, c.width }, function(x, h)
      return norm(x + h), x
    end)
    return h:mean()
  end,
}
