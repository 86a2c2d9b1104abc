-- A kernel whose padding reaches further than offsets can.
return {
  config = { batch = 2, seq = 8, vocab = 256, width = 4 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local y = nn.conv1d(x, { out = 4, kernel = 3, padding = 1000000000 })
    return nn.cross_entropy(nn.linear(y, { out = c.vocab }), input.targets)
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 5 },
  data = data.text { tokenizer = "bytes" },
}
