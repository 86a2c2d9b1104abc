-- widened.lua: what is kept in 16 bits is widened by whoever reads it: the gradient of the second norm and what is made again
-- of the first one, which begin with the same value, are two kernels, and nothing in fp32 passes between them.
-- args: --check-stages --target cuda --precision bf16 --brief
return {
  config = { layers = 2, width = 16, batch = 64, features = 16 },
  forward = function(c, input)
    local x = nn.stack(c.layers, input.features, function(x)
      x = x + nn.linear(nn.tanh(nn.linear(nn.layernorm(x, { name = "ln_1" }), { name = "a", out = 32 })), { name = "b", out = c.width })
      return x + nn.linear(nn.tanh(nn.linear(nn.layernorm(x, { name = "ln_2" }), { name = "c", out = 32 })), { name = "d", out = c.width })
    end)
    local logits = nn.linear(x, { name = "head", out = 3 })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
