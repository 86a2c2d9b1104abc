-- samples.lua: convolutions and what lies between them run over some samples, then over the next.
-- args: --all-panels --check-stages
return {
  config = { side = 4, channels = 8, classes = 3, batch = 6 },
  inputs = { image = { "f32", "side", "side", "channels" }, label = { "i32", below = "classes", target = true } },
  forward = function(c, input)
    local x = nn.relu(nn.conv2d(input.image, { name = "first", out = 8, kernel = 3, padding = 1 }))
    x = nn.relu(nn.conv2d(x, { name = "second", out = 8, kernel = 3, padding = 1, stride = 2 }))
    local logits = nn.linear(x:mean(1, 2), { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.label)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.arrays(),
}
