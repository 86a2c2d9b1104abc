-- Labels are of the words of one text, so no column has a second.
return {
  config = { vocab = 20, width = 8, seq = 6, batch = 2, classes = 3 },
  inputs = {
    tokens = { "i32", "seq", below = "vocab" }, labels = { "i32", "seq", below = "classes", target = true },
  },
  forward = function(c, input)
    local logits = nn.embedding(input.tokens, { rows = c.vocab, width = c.classes })
    return nn.cross_entropy(logits, input.labels, { ignore = -100 }), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.sentences { text = "tokens", second = "more", target = "labels" },
}
