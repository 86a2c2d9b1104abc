-- A student whose cross entropy is a metric alone
-- args: --distill tests/front/distill_metric.lua,taught=true
return {
  config = { vocab = 16, width = 8, seq = 4, batch = 2, taught = false },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local logits = nn.linear(x, { out = c.vocab })
    local loss = nn.cross_entropy(logits, input.targets)
    if c.taught then return loss end
    return nn.mse(logits, nn.zeros(logits.shape)), { surprise = loss }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 5 },
  data = data.text {},
}
