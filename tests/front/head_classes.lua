-- head_classes.lua: fewer classes than the targets' vocabulary.
return {
  config = { vocab = 50, width = 16, seq = 8, batch = 2 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local w = nn.param { name = "w", shape = { c.vocab - 1, c.width } }
    return (nn.linear_cross_entropy(x, input.targets, { weight = w }))
  end,
  train = { optimizer = optim.sgd { lr = 0.1 } },
  data = data.text { tokenizer = "bytes" },
}
