-- ends.lua: on a GPU products add biases themselves, also those of a loop that goes back, and sum up what follows the weights.
-- args: --check-stages --target cuda
return {
  config = { layers = 2, width = 16, batch = 24, features = 16 },
  forward = function(c, input)
    local x = nn.stack(c.layers, input.features, function(x)
      return x + nn.gelu(nn.linear(x, { name = "up", out = c.width }), "tanh")
    end)
    local h = nn.linear(x, { name = "narrow", out = 8 })
    local logits = nn.linear(h, { name = "after", out = 3 })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
