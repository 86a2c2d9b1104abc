-- row numbers are the same node as the positions before them, and the line is theirs all the same
return { config = { seq = 8, vocab = 256, width = 8, batch = 4, accumulate = 2 }, forward = function(c, input)
  local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
  x = x + nn.sinusoidal(nn.positions(input.tokens), c.width)
  local rows = nn.iota(c.batch):cast("f32"):unsqueeze(-1):unsqueeze(-1)
  return nn.cross_entropy(nn.linear(x * rows, { name = "head", out = c.vocab }), input.targets)
end,
train = function(c) return { optimizer = optim.sgd { lr = 0.1 }, steps = 1, accumulate = c.accumulate } end,
data = data.text { tokenizer = "bytes" } }
