-- A student whose loss is the lesson's mean times a number, with other terms
-- args: --distill tests/front/distill_sum_of.lua,taught=true
return {
  config = { vocab = 16, width = 8, seq = 4, batch = 2, taught = false },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local logits = nn.linear(x, { out = c.vocab })
    local loss = nn.cross_entropy(logits, input.targets)
    if c.taught then return loss end
    return 0.5 * (loss + 0.1 * (logits * logits):mean() - (x * x):mean()) / 3, { plain = loss }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 5 },
  data = data.text {},
}
