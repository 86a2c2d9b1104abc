-- Labels of words are -100 where there is none, which the loss must say.
return {
  config = { vocab = 20, width = 8, seq = 6, batch = 2, classes = 3 },
  inputs = { tokens = { "i32", "seq", below = "vocab" }, labels = { "i32", "seq", below = "classes", target = true } },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local logits = nn.linear(x, { out = c.classes, name = "head" })
    return nn.cross_entropy(logits, input.labels), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.sentences { text = "tokens", target = "labels" },
}
