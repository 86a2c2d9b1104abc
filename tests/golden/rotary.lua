-- rotary.lua: rotary positions of 6 steps of 2 heads of 4: one kernel each way.
-- args: --check-stages --brief
return {
  config = { batch = 24, features = 40 },
  forward = function(c, input)
    local x = nn.linear(input.features, { name = "before", out = 48, bias = false })
    local y = nn.rotary(x:reshape { c.batch, 6, 2, 4 }, nn.iota(6), 10000):reshape { c.batch, 48 }
    local logits = nn.linear(y, { name = "after", out = 3, bias = false })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
