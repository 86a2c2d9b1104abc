-- padded.lua: rows that a product reads or writes begin at multiples of 16 bytes on a GPU: 131 logits lie 132 apart, over which
-- their derivative is made; the output's do not, and rows of 10 numbers would grow too much.
-- args: --check-stages --target cuda
return {
  config = { width = 16, batch = 24, features = 16 },
  forward = function(c, input)
    local x = nn.linear(nn.tanh(nn.linear(input.features, { name = "up", out = 10 })), { name = "down", out = c.width })
    local logits = nn.linear(x, { name = "head", out = 131 })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
