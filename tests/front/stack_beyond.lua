return { config = { batch = 2, seq = 4, vocab = 256, width = 8 }, forward = function(c, input)
  local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
  x = nn.stack(1 << 31, x, function(x) return x * 2 end)
  return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets) end,
  data = data.text { tokenizer = "bytes" } }
