return { config = { batch = 2, seq = 4, vocab = 256, width = 8 }, forward = function(c, input)
  local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
  local l = {}  for i = 1, 1000000 do l[i] = 0 end  x = x + x:sum(l)
  return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets) end,
  data = data.text { tokenizer = "bytes" } }
