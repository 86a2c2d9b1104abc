return { config = { batch = 2, seq = 4, vocab = 256, width = 8 }, forward = function(c, input)
  local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
  x = x + nn.constant({ 1 << 40 }, "i32"):cast("f32")
  return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets) end,
  data = data.text { tokenizer = "bytes" } }
