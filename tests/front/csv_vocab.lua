-- Of a table the targets are classes: vocab is whatever the description wants it to be.  (Sound.)
return {
  config = { batch = 4, features = 2, vocab = 50, classes = 3, width = 8 },
  forward = function(c, input)
    local kind = nn.integers(input.features:select(1, 0), c.vocab)
    local x = nn.embedding(kind, { rows = c.vocab, width = c.width })
    local logits = nn.linear(x, { out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 1 },
  data = data.csv { target = "class" },
}
