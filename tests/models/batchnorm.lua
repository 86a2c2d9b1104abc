-- batchnorm.lua: for convnet.sh: three micro-batches with statistics of their own, one after the other.
return {
  config = { image = 6, classes = 4, hidden = 12, batch = 5, steps = 60 },
  inputs = {
    image = { "f32", "image", "image", 1 },
    label = { "i32", below = "classes", target = true },
  },
  forward = function(c, input)
    local x = nn.linear(input.image:reshape { c.batch, -1 }, { name = "up", out = c.hidden })
    x = nn.stack(2, x, function(y)
      return y + nn.relu(nn.batchnorm(nn.linear(y, { name = "linear", out = c.hidden }), { name = "norm" }))
    end)
    local logits = nn.linear(nn.dropout(x, 0.1), { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.label), { logits = logits, accuracy = nn.accuracy(logits, input.label) }
  end,
  train = function(c) return { optimizer = optim.adamw { lr = 1e-2 }, steps = c.steps, accumulate = 3 } end,
  data = data.arrays { val_fraction = 0.2 },
}
