-- What varies pictures must know which input they are.
return {
  config = { side = 8, classes = 3, batch = 4 },
  inputs = { image = { "f32", "side", "side", 3 }, label = { "i32", below = "classes", target = true } },
  forward = function(c, input)
    local logits = nn.linear(input.image:reshape { c.batch, -1 }, { out = c.classes })
    return nn.cross_entropy(logits, input.label)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.arrays { flip = true },
}
