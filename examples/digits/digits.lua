-- digits.lua: which digit a picture of 8 x 8 pixels shows.

return {
  config = { side = 8, classes = 10, hidden = 256, batch = 64, lr = 2e-3, steps = 400 },

  inputs = {
    pixels = { "f32", "side", "side" },
    label = { "i32", below = "classes", target = true },
  },

  forward = function(c, input)
    local x = input.pixels:reshape { c.batch, c.side * c.side }
    x = nn.relu(nn.linear(x, { name = "first", out = c.hidden }))
    x = nn.relu(nn.linear(x, { name = "second", out = c.hidden }))
    local logits = nn.linear(x, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.label), { logits = logits, accuracy = nn.accuracy(logits, input.label) }
  end,

  train = function(c)
    return { optimizer = optim.adamw { lr = c.lr }, schedule = optim.cosine { warmup = 20 }, steps = c.steps }
  end,

  data = data.arrays { val_fraction = 0.1 },
}
