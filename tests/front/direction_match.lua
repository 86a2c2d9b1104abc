-- Each pattern must name a parameter.

return {
  config = { vocab = 9, seq = 4, batch = 2 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { name = "embed", rows = c.vocab, width = 8 })
    x = nn.stack(2, x, function(x) return x + nn.linear(x, { name = "up", out = 8 }) end)
    return nn.cross_entropy(nn.linear(x, { name = "head", out = c.vocab }), input.targets)
  end,
  data = function() return data.text { tokenizer = "bytes" } end,
  train = { optimizer = optim.muon { match = { "layer.*.weight", "haed*" } } },
}
