-- head.lua: a head whose weight is the embedding's, in chunks of rows: one kernel between its products, the gradient in
-- one place.
-- args: --check-stages --head-rows 8
return {
  config = { vocab = 21, width = 16, batch = 2, seq = 10 },
  forward = function(c, input)
    local table = nn.embedding { rows = c.vocab, width = c.width, name = "table" }
    local x = nn.tanh(table(input.tokens))
    local loss, _, predicted = nn.linear_cross_entropy(x, input.targets, { weight = table.weight, smoothing = 0.1 })
    return loss, { accuracy = nn.accuracy(predicted, input.targets) }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.text { tokenizer = "bytes" },
  decode = false,
}
