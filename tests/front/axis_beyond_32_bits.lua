return { config = { batch = 2, seq = 4, vocab = 256, width = 8 }, forward = function(c, input)
  local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
  x = x + nn.sin(x:pad(1, 1 << 31) * 2):mean { 1, keep = true }
  return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets) end,
  data = data.text { tokenizer = "bytes" } }
