-- images.lua: classes of small images: convolutions of each kind, pools, norms over channels and a part that goes down
-- in size and up again.

return {
  config = { batch = 5, height = 9, width = 7, colours = 3, features = 189, classes = 4, channels = 6, accumulate = 1 },

  check = function(c) assert(c.features == c.height * c.width * c.colours, "features are height * width * colours") end,

  forward = function(c, input)
    local x = input.features:reshape { input.features:size(0), c.height, c.width, c.colours }
    x = nn.conv2d(x, { name = "stem", out = c.channels, kernel = 3, padding = "same" })
    x = nn.relu(nn.groupnorm(x, { name = "stem_norm", groups = 2 }))

    local down = nn.max_pool2d(x, { kernel = 3, stride = 2, padding = 1 })                          -- [B, 5, 4, channels]
    down = nn.silu(nn.conv2d(down, { name = "each", out = c.channels, kernel = 3, padding = 1, groups = c.channels }))
    down = nn.instancenorm(nn.conv2d(down, { name = "two", out = 2 * c.channels, kernel = { 2, 1 }, groups = 2 }))
    local up = nn.conv_transpose2d(nn.gelu(down), { name = "up", out = c.channels, kernel = 3, stride = 2, padding = 1 })
    up = nn.upsample(up, { size = { c.height, c.width }, mode = "bilinear" })

    local coarse = nn.avg_pool2d(x, { kernel = 3, stride = 2, padding = 1, count_include_pad = false })
    x = nn.local_response_norm(x + up, { size = 3, alpha = 0.1 }) + nn.upsample(coarse, { size = { c.height, c.width } })
    local bins = nn.adaptive_avg_pool2d(x, { size = { 2, 3 } }):reshape { x:size(0), 6 * c.channels }
    local logits = nn.linear(nn.concat({ bins, nn.adaptive_max_pool2d(x, { size = 1 }):reshape { x:size(0), -1 } }, -1),
      { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.targets), { logits = logits, accuracy = nn.accuracy(logits, input.targets) }
  end,

  train = function(c) return { optimizer = optim.adamw { lr = 1e-3 }, steps = 20, accumulate = c.accumulate } end,
  data = data.csv { target = "class" },
}
