-- digits.lua: a description that declares its inputs: a picture, a class, and a weight of the row.
return {
  config = { image = 6, classes = 4, hidden = 16, batch = 8, steps = 60 },
  inputs = {
    image = { "f32", "image", "image", 1 },
    label = { "i32", below = "classes", target = true },
    weight = { "f32", target = true },
  },
  forward = function(c, input)
    local hidden = nn.relu(nn.linear(input.image:reshape { c.batch, -1 }, { name = "up", out = c.hidden }))
    local logits = nn.linear(hidden, { name = "head", out = c.classes })
    local losses = nn.nll(nn.log_softmax(logits), input.label, { reduction = "none" })
    return (losses * input.weight):mean(), {
      logits = logits, hidden = hidden, accuracy = nn.accuracy(logits, input.label),
      most = hidden:max(-1), losses = losses,
    }
  end,
  train = function(c) return { optimizer = optim.adamw { lr = 1e-2 }, steps = c.steps, eval_every = 20 } end,
  data = data.arrays { val_fraction = 0.2 },
}
