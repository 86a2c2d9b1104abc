-- narrow_logits.lua: fewer classes than the targets' vocabulary.
return {
  config = { vocab = 256, width = 8, seq = 8, batch = 4 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local logits = nn.linear(x, { out = 100, name = "head" })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.text { tokenizer = "bytes" },
}
