return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12, features = 3 },
  decode = false,
  forward = function(c, input)
    return nn.embedding(input.features:cast("i32"), { name = "embed", rows = c.vocab, width = c.width }):mean()
  end,
  data = data.csv { target = "class" },
  sample = function(c, input)
    return nn.integers(nn.zeros { c.batch, c.seq }, c.vocab)
  end,
}
