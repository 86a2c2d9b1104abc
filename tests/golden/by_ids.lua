-- by_ids.lua: a mixture of experts: a row is read once for all of its experts, and gradients are made in their place.
-- args: --check-stages --brief
return {
  config = { batch = 24, features = 40 },
  forward = function(c, input)
    local y, routers = nn.experts(input.features, { experts = 3, active = 2, hidden = 7 })
    local logits = nn.linear(y, { name = "after", out = 3, bias = false })
    return nn.cross_entropy(logits, input.targets) + nn.balance_loss(routers, 2), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
