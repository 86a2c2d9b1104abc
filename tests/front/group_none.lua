-- A pattern that matches no parameter is told, with the names there are.
return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = nn.stack(2, x, function(x) return x + nn.linear(x, { out = c.width }) end, { name = "h" })
    return nn.cross_entropy(nn.linear(x, { name = "head", out = c.vocab }), input.targets)
  end,
  train = {
    groups = {
      { match = "h.1.*", lr_scale = 0.5 },
      { match = "*.biass", decay = 0 },
    },
  },
  data = data.text { tokenizer = "bytes" },
}
