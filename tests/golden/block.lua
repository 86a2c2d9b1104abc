-- block.lua: a normalised branch with a gelu in it, twice: what the passes make of it.
-- args: --check-stages
return {
  config = { layers = 2, width = 16, batch = 2, features = 16, classes = 3 },
  forward = function(c, input)
    local x = nn.stack(c.layers, input.features, function(x)
      local h = nn.layernorm(x, { name = "norm" })
      return x + nn.mlp(h, { name = "mlp", hidden = 2 * c.width })
    end)
    local logits = nn.linear(x, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
