-- snapshots.lua: the class of a small picture from a file.
return {
  config = { side = 12, channels = 3, classes = 3, hidden = 16, resize = 0, batch = 8, steps = 60 },
  inputs = {
    image = { "f32", "side", "side", "channels" },
    label = { "i32", below = "classes", target = true },
  },
  forward = function(c, input)
    local pixels = input.image:reshape { c.batch, -1 } / 255 - 0.5
    local hidden = nn.gelu(nn.linear(pixels, { name = "up", out = c.hidden }))
    local logits = nn.linear(nn.dropout(hidden, 0.1), { name = "head", out = c.classes })
    local mixed = { other = input.label_other, share = input.label_share }
    return nn.cross_entropy(logits, input.label, mixed), { logits = logits, accuracy = nn.accuracy(logits, input.label) }
  end,
  train = function(c) return { optimizer = optim.adamw { lr = 3e-3 }, steps = c.steps, eval_every = 20, save_every = 20 } end,
  data = function(c) return data.images { val_fraction = 0.25, resize = c.resize, crop = "random", pad = 2, flip = true } end,
}
