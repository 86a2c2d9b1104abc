-- adaln.lua: a norm without weights, shifted and scaled by a conditioning: one kernel each way.
-- args: --check-stages --brief
return {
  config = { batch = 24, features = 40 },
  forward = function(c, input)
    local x = nn.linear(input.features, { name = "before", out = 48, bias = false })
    local scale, shift = nn.linear(nn.silu(input.features), { name = "condition", out = 96 }):chunk(2, -1)
    local y = nn.layernorm(x, { name = "norm" }) * (1 + scale) + shift
    local logits = nn.linear(y, { name = "after", out = 3, bias = false })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
