return {
  config = { vocab = 8, width = 4, seq = 4, batch = 2 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    return nn.cross_entropy(nn.linear(x, { out = c.vocab, name = "out" }), input.targets)
  end,
  hf = {
    config = { model_type = "bert" },
    pooling = "max",
  },
}
