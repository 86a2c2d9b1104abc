return {
  config = { batch = 4, features = 96, classes = 3 },
  forward = function(c, input)
    local x = input.features:reshape { c.batch, 8, 6, 2 }
    x = nn.max_pool2d(x, { kernel = { 3, 2 }, padding = 2 })
    return nn.cross_entropy(nn.linear(x:mean(1, 2), { out = c.classes }), input.targets)
  end,
  data = data.csv { target = "class" },
}
